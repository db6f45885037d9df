"""Rows by their place on disk: what is held is where it was said to be, whoever moved it a moment before."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.paste_fixtures import codes, column, contents, refs, value

PLACE_OF_CONTENT = "select ctid::text from content where content_hash = %s"
PLACE_OF_PASTE = "select ctid::text from pastes where short_code = %s"
LOCKED = "select hashes, places::text[], ref_counts from reaper_internal.lock_contents(array['h'], true)"
HELD = """
select codes, places::text[], hashes
  from reaper_internal.lock_pastes(%s, %s::tid[], true, reaper.clock())
"""
# The shapes of lock_due and lock_pastes, that wait between their look at a row and its lock.
CLAIM = """
select h.ctid::text
  from (select p.ctid
          from pastes p
         where p.expires_at <= reaper.clock() and p.deletion_status = 'NOT_EXPIRED'
           and pg_advisory_xact_lock_shared(7)::text = ''
         order by p.expires_at, p.short_code
         limit 10
           for update skip locked) as h
"""
HOLD = """
select h.ctid::text
  from (select p.ctid
          from pastes p
         where p.ctid = any (array[%s::tid]) and p.deletion_status = 'NOT_EXPIRED'
           and pg_advisory_xact_lock_shared(7)::text = ''
           for update skip locked) as h
"""
READ_BY_CODE = """
select idx_tup_read from pg_stat_user_indexes where indexrelid = 'pastes_pkey'::regclass
"""
NAMED = """
insert into pastes (short_code, content_hash) select 'b' || i, 'h' from generate_series(1, %s) as i
"""
# Within its page; to another page and other index entries; and several times.
MOVES = {
    "beside": ["update content set ref_count = ref_count + 1"],
    "elsewhere": ["update content set ref_count = ref_count + 1, object_key = repeat('k', 900)"],
    "often": ["update content set ref_count = ref_count + 1"] * 5,
}


@pytest.fixture
def full_page(checked_db):
    """Other contents beside those of the test, so that a longer row has no room where it was."""
    checked_db.execute("alter table content set (autovacuum_enabled = false)")
    checked_db.execute(
        "insert into content (content_hash, object_key) "
        "select 'full' || i, repeat('f', 600) || i from generate_series(1, 12) as i"
    )


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.usefixtures("full_page")
def test_content_that_moved_while_its_lock_was_waited_for_is_where_it_is_said_to_be(
    db, paste, worker, waits, move
):
    paste("a", content="h")
    before = value(db, PLACE_OF_CONTENT, "h")
    writer, waiting = worker("writer").connection, worker("waiting").connection
    with ThreadPoolExecutor(1) as pool, waiting.transaction(force_rollback=True):
        with writer.transaction():
            for statement in MOVES[move]:
                writer.execute(statement + " where content_hash = 'h'")
            writer.execute(NAMED, [len(MOVES[move])])
            answer = pool.submit(lambda: waiting.execute(LOCKED).fetchone())
            waits(waiting)
        hashes, places, counts = answer.result()
        after = value(db, PLACE_OF_CONTENT, "h")
    assert before != after
    assert (hashes, places, counts) == (["h"], [after], [1 + len(MOVES[move])])


@pytest.mark.parametrize("shape", ["claim", "hold"])
def test_a_paste_that_moved_between_the_look_and_the_lock_is_never_said_to_be_where_it_was(
    db, paste, worker, waits, shape
):
    paste("a", content="h")
    before = value(db, PLACE_OF_PASTE, "a")
    holder, looking = worker("holder").connection, worker("looking").connection
    looking.execute("set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off")
    query, arguments = (CLAIM, []) if shape == "claim" else (HOLD, [before])
    with ThreadPoolExecutor(1) as pool:
        with holder.transaction():
            holder.execute("select pg_advisory_xact_lock(7)")
            answer = pool.submit(column, looking, query, *arguments)
            waits(looking)
            db.execute("update pastes set expires_at = expires_at - interval '1 minute'")
        places = answer.result()
    after = value(db, PLACE_OF_PASTE, "a")
    assert before != after
    # By its key it is found where it is now; by its place it may also be left for another time.
    assert places == [after] or (shape == "hold" and places == [])


def test_a_row_that_has_moved_is_held_where_it_is_now(db, paste, claim):
    paste("a", content="h")
    claim()
    seen = value(db, PLACE_OF_PASTE, "a")
    db.execute("update pastes set expires_at = expires_at - interval '1 minute'")
    now = value(db, PLACE_OF_PASTE, "a")
    assert seen != now
    assert db.execute(HELD, [["a"], [seen]]).fetchone() == (["a"], [now], ["h"])


def test_a_row_that_is_not_marked_any_more_is_not_held(db, paste, claim):
    paste("a", content="h")
    paste("b", content="h")
    claim()
    places = column(db, "select unnest(places)::text from reaper.batches")
    db.execute("update pastes set deletion_status = 'NOT_EXPIRED' where short_code = 'a'")
    held = db.execute(HELD, [["a", "b"], places]).fetchone()
    assert held == (["b"], [value(db, PLACE_OF_PASTE, "b")], ["h"])


def test_a_place_that_another_row_has_by_now_is_not_held(db, paste, claim):
    paste("a", content="h")
    claim()
    # As if b had been seen under the code of a, where a had been before.
    place = value(db, PLACE_OF_PASTE, "a")
    assert db.execute(HELD, [["b"], [place]]).fetchone() == (None, None, None)


@pytest.mark.parametrize("room", [True, False], ids=["room on the page", "none"])
def test_a_claim_writes_its_rows_down_in_the_order_of_their_places(db, paste, me, room):
    """In any other order the drop would look for all of them by their codes."""
    db.execute(f"alter table pastes set (fillfactor = {50 if room else 100}, autovacuum_enabled = off)")
    paste.many("p", 300)
    # Codes, places and expiries are in three different orders.
    db.execute("update pastes set expires_at = expires_at - random() * interval '1 hour'")
    db.execute("vacuum pastes")
    me.claim()
    written = column(db, "select unnest(places)::text from reaper.batches")
    assert written == column(db, "select p.ctid::text from pastes p order by p.ctid")
    assert len(written) == 300


@pytest.mark.usefixtures("full_page")
def test_a_drop_that_waited_for_a_writer_counts_from_what_the_writer_left(db, paste, worker, me, waits):
    paste("a", content="h")
    batch = me.claim()
    dropper, writer = worker("dropper"), worker("writer").connection
    with ThreadPoolExecutor(1) as pool:
        with writer.transaction():
            writer.execute(MOVES["elsewhere"][0] + " where content_hash = 'h'")
            writer.execute("insert into pastes (short_code, content_hash) values ('live', 'h')")
            dropped = pool.submit(dropper.drop, batch)
            waits(dropper.connection)
        assert dropped.result() == []
    assert codes(db) == {"live"}
    assert refs(db, "h") == 1


@pytest.mark.usefixtures("full_page")
def test_content_that_a_writer_moved_and_left_dies_with_its_new_key(db, paste, worker, me, waits):
    paste("a", content="h")
    batch = me.claim()
    dropper, writer = worker("dropper"), worker("writer").connection
    with ThreadPoolExecutor(1) as pool:
        with writer.transaction():
            writer.execute("update content set object_key = repeat('k', 900) where content_hash = 'h'")
            dropped = pool.submit(dropper.drop, batch)
            waits(dropper.connection)
        assert [gone.object_key for gone in dropped.result()] == ["k" * 900]
    assert "h" not in contents(db)


def test_a_paste_without_content_is_deleted_like_any_other(db, paste, me):
    paste("a", content="h")
    paste("b", content="other")
    db.execute("set session_replication_role = replica; delete from content where content_hash = 'h'")
    db.execute("set session_replication_role = origin")
    batch = me.claim()
    assert [gone.content_hash for gone in me.drop(batch)] == ["other"]
    assert codes(db) == set()


@pytest.mark.parametrize("rows", [200, 5000])
def test_a_drop_looks_for_rows_where_the_claim_left_them_however_small_the_table(db, paste, me, rows):
    paste.many("p", rows)
    db.execute("analyze pastes; analyze content")
    batch = me.claim(100)
    read = figure(db, READ_BY_CODE)
    me.drop(batch)
    assert figure(db, READ_BY_CODE) == read
    assert len(codes(db)) == rows - 100
    batch = me.claim(100)
    db.execute("update reaper.batches set places = null")
    me.drop(batch)
    assert figure(db, READ_BY_CODE) > read, "the figure never moves"


def test_a_row_that_was_changed_after_its_claim_is_found_by_its_code(db, paste, me):
    paste.many("p", 10)
    batch = me.claim()
    db.execute("update pastes set content_hash = content_hash where short_code = 'p00003'")
    assert len(me.drop(batch)) == 10
    assert codes(db) == set()


def test_another_row_at_the_place_of_a_claimed_one_is_left_alone(db, paste, me):
    paste.many("p", 3)
    batch = me.claim()
    db.execute("update reaper.batches set places = places[2:] || places[:1]")
    paste("stranger", content="s")
    db.execute(
        "update reaper.batches set places[1] = (select ctid from pastes where short_code = 'stranger'),"
        " short_codes[1] = 'p00001'"
    )
    me.drop(batch)
    assert codes(db) == {"stranger"}


def figure(db, query):
    """A figure of the statistics, with everything in it that happened before."""
    db.execute("select pg_stat_force_next_flush()")
    db.execute("select 1")
    return value(db, query)

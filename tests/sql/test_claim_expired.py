"""claim_expired: its arguments, its cursor, and what it leaves alone."""

import pytest

from tests.support.paste_fixtures import batch_codes, codes, column, marked, record, refused, value


@pytest.mark.parametrize("limit", [0, -1, 10001, None])
def test_a_batch_size_outside_1_to_10000_is_refused_with_a_hint(me, limit):
    with refused("RP005", "invalid limit") as refusal:
        me.call("claim_expired", limit, "w")
    assert "1 to 10000" in refusal.value.diag.message_hint


@pytest.mark.parametrize("name", ["", None])
def test_a_worker_without_a_name_is_refused_with_a_hint(me, name):
    with refused("RP005", "p_worker must not be empty") as refusal:
        me.call("claim_expired", 1, name)
    assert "unique per process" in refusal.value.diag.message_hint


@pytest.mark.parametrize("limit", [1, 10000])
def test_the_smallest_and_the_largest_batch_are_possible(paste, me, limit):
    paste.many("p", 2)
    assert me.call("claim_expired", limit, "w")[0].claimed == min(limit, 2)


def test_nothing_due_returns_no_row_and_leaves_no_batch(db, paste, me):
    paste("alive", expires="1 day")
    assert me.call("claim_expired") == []
    assert db.execute("select from reaper.batches").rowcount == 0


def test_the_worker_is_the_login_unless_a_name_is_given(db, paste, me):
    paste("a")
    me.call("claim_expired")
    assert record(db, "select worker, session_user as login from reaper.batches").worker == db.info.user


def test_the_answer_says_how_many_rows_and_where_the_claim_ended(db, paste, me):
    paste("b", expires="-2 hours")
    paste("a", expires="-1 hour")
    (claim,) = me.call("claim_expired", 10, "w")
    assert claim.claimed == 2
    assert claim.last_short_code == "a"
    assert (
        claim.last_expires_at == record(db, "select expires_at from pastes where short_code = 'a'").expires_at
    )


def test_a_claim_goes_on_where_the_last_one_ended(db, paste, me):
    paste.many("p", 3)
    (first,) = me.call("claim_expired", 1, "w")
    (second,) = me.call("claim_expired", 1, "w", first.last_expires_at, first.last_short_code)
    assert batch_codes(db, first.batch_id) == {"p00001"}
    assert batch_codes(db, second.batch_id) == {"p00002"}


def test_the_cursor_passes_rows_that_came_back_behind_it(db, paste, me):
    paste.many("p", 3)
    (first,) = me.call("claim_expired", 2, "w")
    me.call("return_batch", first.batch_id)
    # Were the last code included, a drain that cannot release it would claim it for ever.
    (second,) = me.call("claim_expired", 10, "w", first.last_expires_at, first.last_short_code)
    assert batch_codes(db, second.batch_id) == {"p00003"} == marked(db)


def test_p_after_is_inclusive(db, paste, me):
    paste("a")
    expiry = record(db, "select expires_at from pastes").expires_at
    assert me.call("claim_expired", 10, "w", expiry)[0].claimed == 1


def test_a_cursor_beyond_all_due_rows_finds_nothing(paste, me):
    paste("a")
    assert me.call("claim_expired", 10, "w", "infinity") == []


def test_a_null_cursor_starts_at_the_beginning(paste, me):
    paste("a")
    assert me.call("claim_expired", 10, "w", None, None)[0].claimed == 1


def test_rows_that_expired_before_all_time_are_claimed_too(db, paste, me):
    paste("a", expires=None)
    db.execute("update pastes set expires_at = '-infinity'")
    assert db.execute("select claimed from reaper.claim_expired()").fetchone() == (1,)
    assert me.try_claim() is None


def test_rows_that_a_writer_holds_are_skipped_without_waiting(db, paste, worker, me):
    paste.many("p", 3)
    writer = worker("writer").connection
    db.execute("set lock_timeout = '1ms'")
    with writer.transaction():
        writer.execute("update pastes set expires_at = expires_at where short_code = 'p00002'")
        assert batch_codes(db, me.claim()) == {"p00001", "p00003"}
    assert batch_codes(db, me.claim()) == {"p00002"}


def test_a_row_that_was_extended_a_moment_ago_is_not_claimed(db, paste, me):
    paste.many("p", 2)
    db.execute("update pastes set expires_at = reaper.clock() + interval '1 day' where short_code = 'p00001'")
    assert batch_codes(db, me.claim()) == {"p00002"}


def test_a_claim_that_is_rolled_back_never_was(db, paste, me):
    paste("a")
    with db.transaction(force_rollback=True):
        me.claim()
    assert marked(db) == set()
    assert batch_codes(db, me.claim()) == codes(db)


REFUSING_UPDATES = """
create function refuse() returns trigger language plpgsql as $$
begin
    raise exception 'this row is frozen';
end;
$$;
create trigger frozen before update on pastes
    for each row when (old.short_code = 'p00002') execute function refuse()
"""


def test_a_row_that_cannot_even_be_marked_does_not_stop_the_others(db, paste, drain):
    paste.many("p", 4)
    db.execute(REFUSING_UPDATES)
    drain(limit=2)
    assert codes(db) == {"p00002"}
    blocked = record(db, "select short_code, sqlstate, message from reaper.blocked")
    assert blocked == ("p00002", "P0001", "this row is frozen")


def test_old_rows_that_violate_a_constraint_made_later_do_not_stop_the_others(db, paste, drain):
    paste.many("p", 4)
    db.execute("alter table pastes add constraint tidy check (short_code <> 'p00001') not valid")
    drain(limit=2)
    assert codes(db) == {"p00001"}


SWALLOWING_UPDATES = REFUSING_UPDATES.replace("raise exception 'this row is frozen'", "return null")


def test_a_row_whose_mark_a_trigger_swallows_does_not_make_a_drain_endless(db, paste, drain):
    paste.many("p", 4)
    db.execute(SWALLOWING_UPDATES)
    drain(limit=2)
    assert codes(db) == {"p00002"}
    assert record(db, "select sqlstate, message from reaper.blocked").sqlstate == "27000"


def test_a_claim_of_which_nothing_could_be_marked_looks_further(db, paste, me):
    paste("p00002", expires="-2 hours")
    paste("p00003")
    db.execute(REFUSING_UPDATES)
    assert batch_codes(db, me.claim(1)) == {"p00003"}


@pytest.fixture
def left(db, paste, me):
    """Rows p00001 …, marked, and in a batch that no worker holds, as a drop leaves them that were busy."""

    def make(count=3):
        paste.many("p", count)
        me.claim()
        db.execute("update reaper.batches set worker = null, places = null")

    return make


def test_a_claim_takes_marked_rows_that_no_worker_holds_before_it_returns_nothing(db, left, me):
    left()
    batch = me.claim()
    assert batch_codes(db, batch) == {"p00001", "p00002", "p00003"}
    assert value(db, "select count(*) from reaper.batches") == 1
    me.drop(batch)
    assert codes(db) == set()


def test_rows_that_are_not_marked_yet_are_claimed_first(db, left, paste, me):
    left()
    paste("new")
    assert batch_codes(db, me.claim()) == {"new"}
    assert batch_codes(db, me.claim()) == {"p00001", "p00002", "p00003"}


def test_of_marked_rows_too_no_more_are_claimed_than_were_asked_for(db, left, me):
    left(5)
    first, second = me.claim(2), me.claim(2)
    assert [len(batch_codes(db, batch)) for batch in (first, second)] == [2, 2]
    assert len(batch_codes(db, me.claim(2)) | batch_codes(db, first) | batch_codes(db, second)) == 5
    assert me.try_claim() is None


def test_a_claim_from_a_cursor_leaves_marked_rows_to_a_claim_from_the_start(left, me):
    left()
    assert me.call("claim_expired", 10, "w", "2000-01-01") == []
    assert me.call("claim_expired", 10, "w", None, "a") == []
    assert me.call("claim_expired", 10, "w", "-infinity")[0].claimed == 3


def test_of_marked_rows_held_ones_are_skipped_and_blocked_and_live_ones_are_returned(db, left, worker, me):
    """Were they claimed, a loop until nothing is due would not end while that lasts."""
    left(4)
    db.execute(
        "insert into reaper.blocked values ('p00001', '23503', 'liked', 1, now(), now() + interval '1 hour')"
    )
    db.execute("update pastes set expires_at = null where short_code = 'p00002'")
    writer = worker("writer").connection
    db.execute("set lock_timeout = '1ms'")
    with writer.transaction():
        writer.execute("select from pastes where short_code = 'p00003' for update")
        assert batch_codes(db, me.claim()) == {"p00004"}
        assert me.try_claim() is None
        assert column(db, "select short_codes from reaper.batches where worker is null") == [["p00003"]]
    assert batch_codes(db, me.claim()) == {"p00003"}
    assert me.try_claim() is None
    assert marked(db) == {"p00003", "p00004"}


def test_codes_whose_rows_are_gone_or_extended_leave_no_batch_behind(db, left, me):
    """A drain would wait for them, and a stream of new rows would keep it doing so."""
    left(2)
    db.execute("update content set ref_count = 0 where content_hash = 'p00001'")
    db.execute("delete from pastes where short_code = 'p00001'; select reaper.extend_paste('p00002', null)")
    assert me.try_claim() is None
    assert value(db, "select reaper.count_ownerless_rows()") == 0
    assert value(db, "select count(*) from reaper.batches") == 0


def test_marked_rows_are_claimed_while_a_drop_holds_their_content(db, left, worker, me):
    left()
    dropper = worker("dropper").connection
    db.execute("set lock_timeout = '1ms'")
    with dropper.transaction():
        dropper.execute("select from content for update")
        assert len(batch_codes(db, me.claim())) == 3


def test_a_claim_whose_transaction_stays_open_is_waited_for_not_for_ever(db, left, worker, me):
    left()
    db.execute(
        "alter function reaper_internal.claim_ownerless(integer, timestamptz) set lock_timeout = '10ms'"
    )
    slow = worker("slow")
    with slow.connection.transaction():
        assert slow.call("claim_expired", 1, "slow")[0].claimed == 1
        assert me.try_claim() is None
    assert len(batch_codes(db, me.claim())) == 2


def test_the_cursor_of_marked_rows_is_the_last_of_them(db, left, me):
    left()
    (claim,) = me.call("claim_expired", 10, "w")
    assert claim.last_short_code == "p00003"
    assert claim.last_expires_at == value(db, "select max(expires_at) from pastes")

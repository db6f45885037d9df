"""reap_expired: its arguments, its cursor, what it leaves alone, and the batch that it leaves."""

import pytest

from tests.support.paste_fixtures import (
    accounts,
    batch_codes,
    codes,
    column,
    contents,
    marked,
    record,
    refs,
    refused,
    value,
)

BATCH = """
select state, worker, short_codes, places, other_statuses,
       object_hashes, object_backends, object_keys, object_sizes, rows_claimed, rows_returned, rows_blocked,
       claimed_at = released_at and held_since = released_at as at_once
  from reaper.batches
"""


@pytest.mark.parametrize("limit", [0, -1, 10001, None])
def test_a_batch_size_outside_1_to_10000_is_refused_with_a_hint(db, paste, me, limit):
    paste("a")
    with refused("RP005", "invalid limit") as refusal:
        me.call("reap_expired", limit, "w")
    assert "1 to 10000" in refusal.value.diag.message_hint
    assert codes(db) == {"a"}


@pytest.mark.parametrize("name", ["", None])
@pytest.mark.parametrize("function", ["reap_expired", "reap_batch"])
def test_a_worker_without_a_name_is_refused_with_a_hint(me, function, name):
    with refused("RP005", "p_worker must not be empty") as refusal:
        me.call(function, 1, name, "-infinity", None)
    assert "unique per process" in refusal.value.diag.message_hint


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_other_isolation_levels_are_refused_with_the_way_out(db, paste, me, level):
    paste("a")
    with refused("RP006", level) as refusal, db.transaction():
        db.execute(f"set transaction isolation level {level}")
        me.reap()
    assert "read committed" in refusal.value.diag.message_hint
    assert codes(db) == {"a"}


def test_a_lost_right_is_refused_and_blames_no_row(db, paste, me):
    paste("a")
    db.execute("revoke delete on content from reaper_owner")
    with refused("RP010", "no right to delete rows of public.content"):
        me.reap()
    assert (codes(db), column(db, "select short_code from reaper.blocked")) == ({"a"}, [])
    db.execute("grant delete on content to reaper_owner")


def test_a_pause_of_the_drain_does_not_hold_a_call_by_hand(db, paste, me):
    """As with claim_expired: a pause stops drains, which ask for it, and RP011 is theirs."""
    paste("a")
    db.execute("select reaper.register_service('drain', '1 minute', 'drain', true)")
    db.execute("select reaper.pause('drain', '1 hour', 'for a test')")
    me.reap()
    assert codes(db) == set()


@pytest.mark.parametrize("limit", [1, 10000])
def test_the_smallest_and_the_largest_batch_are_possible(paste, me, limit):
    paste.many("p", 2)
    assert me.call("reap_expired", limit, "w")[0].released == min(limit, 2)


def test_nothing_due_returns_no_row_and_leaves_no_batch(db, paste, me):
    paste("alive", expires="1 day")
    paste("forever", expires=None)
    assert me.call("reap_expired") == []
    assert value(db, "select count(*) from reaper.batches") == 0
    assert codes(db) == {"alive", "forever"}


def test_the_worker_is_the_login_unless_a_name_is_given(db, paste, me):
    paste("a")
    me.call("reap_expired")
    assert value(db, "select worker from reaper.batches") == db.info.user


def test_the_oldest_go_first_and_the_answer_says_how_many_and_where_it_ended(db, paste, me):
    paste("c", expires="-1 hour")
    paste("b", expires="-2 hours")
    paste("a", expires="-3 hours")
    expiry = value(db, "select expires_at from pastes where short_code = 'b'")
    (reaped,) = me.call("reap_expired", 2, "w")
    assert (reaped.released, reaped.last_short_code, reaped.last_expires_at) == (2, "b", expiry)
    assert codes(db) == {"c"}


def test_a_release_goes_on_where_the_last_one_ended(db, paste, me):
    paste.many("p", 3)
    (first,) = me.call("reap_expired", 1, "w")
    (second,) = me.call("reap_expired", 1, "w", first.last_expires_at, first.last_short_code)
    assert batch_codes(db, second.batch_id) == {"p00002"}


def test_p_after_is_inclusive_and_p_after_code_is_not(db, paste, me):
    paste.many("p", 3)
    expiry = value(db, "select min(expires_at) from pastes")
    (reaped,) = me.call("reap_expired", 10, "w", expiry, "p00001")
    assert batch_codes(db, reaped.batch_id) == {"p00002", "p00003"}
    (reaped,) = me.call("reap_expired", 10, "w", expiry)
    assert batch_codes(db, reaped.batch_id) == {"p00001"}


def test_a_cursor_beyond_all_due_rows_finds_nothing(db, paste, me):
    paste("a")
    assert me.call("reap_expired", 10, "w", "infinity") == []
    assert me.call("reap_expired", 10, "w", value(db, "select expires_at from pastes"), "a") == []
    assert codes(db) == {"a"}


def test_a_release_of_rows_that_were_held_names_no_place_to_go_on_from(db, paste, worker, me):
    """Nothing that a client in any language could not read, such as -infinity."""
    paste.many("p", 3)
    batch = me.claim()
    holder = worker("holder").connection
    with holder.transaction():
        holder.execute("select from pastes where short_code = 'p00002' for update")
        me.drop(batch)
    (reaped,) = me.call("reap_expired", 10, "w")
    assert (reaped.released, reaped.last_expires_at, reaped.last_short_code) == (1, None, None)
    assert me.call("reap_expired", 10, "w", reaped.last_expires_at, reaped.last_short_code) == []
    assert codes(db) == set()


def test_a_null_cursor_starts_at_the_beginning(paste, me):
    paste("a")
    assert me.call("reap_expired", 10, "w", None, None)[0].released == 1


def test_rows_behind_the_cursor_and_rows_that_are_held_end_a_pass_without_an_error(db, paste, worker, me):
    """Only a call from the start waits and complains: a loop comes back to what it left."""
    paste.many("p", 2)
    expiry = value(db, "select min(expires_at) from pastes")
    holder = worker("holder").connection
    with holder.transaction():
        holder.execute("select from pastes where short_code = 'p00002' for update")
        assert me.call("reap_expired", 10, "w", expiry, "p00001") == []
    assert codes(db) == {"p00001", "p00002"}


def test_rows_that_live_are_blocked_or_marked_by_a_claim_are_left(db, paste, worker, me):
    paste.many("p", 4)
    paste("alive", expires="1 day")
    claimed = worker("other").claim(1)
    db.execute(
        "insert into reaper.blocked (short_code, sqlstate, message, blocked_at, next_attempt)"
        " values ('p00002', '23503', 'x', reaper.clock(), reaper.clock() + interval '1 hour')"
    )
    assert batch_codes(db, me.reap()) == {"p00003", "p00004"}
    assert codes(db) == {"p00001", "p00002", "alive"}
    assert (marked(db), batch_codes(db, claimed)) == ({"p00001"}, {"p00001"})
    assert me.try_reap() is None


def test_no_row_is_written_before_it_is_deleted(db, paste, me):
    paste.many("p", 100)
    me.reap()
    db.execute("select pg_stat_force_next_flush()")
    row = record(db, "select n_tup_upd, n_tup_del from pg_stat_user_tables where relname = 'pastes'")
    assert (row.n_tup_upd, row.n_tup_del) == (0, 100)


def test_a_release_that_is_rolled_back_never_was(db, paste, me):
    paste("a")
    with db.transaction(force_rollback=True):
        me.reap()
        assert codes(db) == set()
    assert (codes(db), contents(db), marked(db)) == ({"a"}, {"same"}, set())
    assert value(db, "select count(*) from reaper.batches") == 0


def test_shared_content_loses_one_reference_per_row_and_goes_with_the_last(db, paste, me):
    paste.many("p", 3, content="shared")
    paste("lonely", content="lonely")
    paste("alive", content="shared", expires="1 day")
    paste.many("q", 2, content="pair")
    batch = me.reap()
    assert {gone.content_hash for gone in me.drop(batch)} == {"lonely", "pair"}
    assert (refs(db, "shared"), contents(db)) == (1, {"shared"})


def test_references_of_one_content_in_several_batches_are_each_released_once(db, paste, me):
    paste.many("p", 5, content="shared")
    left = [(me.drop(me.reap(2)) and refs(db, "shared")) or refs(db, "shared") for _ in range(3)]
    assert left == [3, 1, None]
    assert codes(db) == set()


def test_a_paste_whose_content_is_lost_is_released_all_the_same(db, paste, me):
    paste.many("p", 3)
    with db.transaction():
        db.execute("set local session_replication_role = replica")
        db.execute("delete from content where content_hash = 'p00002'")
    assert len(me.drop(me.reap())) == 2
    assert codes(db) == set()


def test_the_batch_is_released_belongs_to_the_worker_and_lists_all_that_is_owed(db, paste, copy, me):
    paste("a", content="x")
    paste("b", content="y", own_key=False)
    copy("x", "east")
    copy("x", "west", key="elsewhere")
    batch = me.reap()
    journal = record(db, BATCH)
    assert (journal.state, journal.worker, journal.at_once) == ("RELEASED", me.name, True)
    assert (sorted(journal.short_codes), journal.places, journal.other_statuses) == (["a", "b"], None, None)
    assert (journal.rows_claimed, journal.rows_returned, journal.rows_blocked) == (2, 0, 0)
    owed = set(
        zip(
            journal.object_hashes,
            journal.object_backends,
            journal.object_keys,
            journal.object_sizes,
            strict=True,
        )
    )
    assert owed == {
        ("x", "east", "key of x", 10),
        ("x", "west", "elsewhere", 10),
        ("y", "default", "y", 10),
    }
    assert accounts(db) == {"east": (0, 10, 0), "west": (0, 10, 0), "default": (0, 10, 0)}
    assert column(db, "select object_key from reaper.retired_keys where object_key = 'y'") == ["y"]
    assert me.finish(batch)[:6] == (2, 0, 0, 3, 0, 30)
    assert accounts(db) == {}


def test_a_bare_name_is_retired_until_its_object_is_gone(db, paste, me):
    paste("a", content="abc123", own_key=False)
    batch = me.reap()
    with refused("RP004"):
        db.execute("insert into content (content_hash) values ('abc123')")
    me.finish(batch)
    db.execute("insert into content (content_hash) values ('abc123')")


def test_asked_again_the_batch_returns_the_same_objects_and_releases_nothing_twice(db, paste, me):
    paste.many("lonely", 3)
    paste("a", content="shared")
    paste("b", content="shared", expires="1 day")
    batch = me.reap()
    first = me.drop(batch)
    assert len(first) == 3
    assert sorted(me.drop(batch)) == sorted(first)
    (again,) = me.call("drop_batch", batch)
    assert sorted(again.object_keys) == sorted(gone.object_key for gone in first)
    assert sorted(me.call("released_codes", batch)[0].released_codes) == sorted(again.short_codes)
    assert refs(db, "shared") == 1


def test_a_worker_gets_the_codes_and_objects_with_the_batch(db, paste, me):
    paste("a", content="x")
    paste("b", content="y", expires="1 day")
    (reaped,) = me.call("reap_batch", 10, "w", "-infinity", None)
    assert (reaped.short_codes, reaped.content_hashes, reaped.backends) == (["a"], ["x"], ["default"])
    assert (reaped.object_keys, reaped.sizes, reaped.awaits_standby) == (["key of x"], [10], False)
    assert reaped.last_short_code == "a"
    assert me.call("reap_batch", 10, "w", "-infinity", None) == []
    assert batch_codes(db, reaped.batch_id) == {"a"}


def test_a_worker_is_told_to_await_the_standby_where_the_settings_say_so(db, paste, me):
    paste("a")
    db.execute("update reaper.settings set wait_for_standby = 'standby1'")
    (reaped,) = me.call("reap_batch", 10, "w", "-infinity", None)
    assert reaped.awaits_standby


def test_a_lost_answer_leaves_a_batch_that_the_next_worker_adopts(paste, worker, me):
    paste("a", content="x")
    batch = me.reap()
    # All that the worker knows after its connection broke.
    assert me.call("return_unknown_batches", me.name, [])[0] == (1,)
    heir = worker("heir")
    adopted = heir.adopt()
    assert (adopted.short_codes, adopted.object_keys) == (["a"], ["key of x"])
    with refused("RP001"):
        me.finish(batch)
    assert heir.finish(adopted.batch_id)[:4] == (1, 0, 0, 1)


def test_the_watchdog_hands_the_batch_of_a_silent_worker_on_and_resets_no_row(
    paste, clock, worker, me, reset_stuck
):
    paste.many("p", 3)
    me.heartbeat()
    batch = me.reap()
    clock.advance("61 seconds")
    assert reset_stuck() == (0, 0, 1)
    heir = worker("heir")
    assert heir.finish(heir.adopt().batch_id)[:4] == (3, 0, 0, 3)
    with refused("RP001"):
        me.finish(batch)


def test_a_worker_that_retires_leaves_its_batch_to_others(paste, worker, me):
    paste("a")
    me.heartbeat()
    me.reap()
    me.call("retire_worker", me.name)
    assert worker("heir").adopt() is not None


def test_a_released_batch_cannot_be_returned(db, paste, me):
    paste("a")
    batch = me.reap()
    with refused("RP001"):
        me.call("return_batch", batch)
    assert codes(db) == set()


@pytest.mark.parametrize("careless", ["off", "local"])
@pytest.mark.parametrize("function", ["reap_expired", "reap_batch", "reap_without_owner"])
def test_what_objects_are_deleted_for_is_durable_even_in_a_careless_session(
    db, paste, me, careless, function
):
    paste("a")
    db.execute(f"set synchronous_commit = {careless}")
    arguments = {"reap_without_owner": (1, "-infinity", None)}.get(function, (1, "w", "-infinity", None))
    with db.transaction():
        assert len(me.call(function, *arguments)) == 1
        assert value(db, "show synchronous_commit") == "on"


def test_a_stricter_session_stays_as_strict(db, paste, me):
    paste("a")
    db.execute("set synchronous_commit = remote_apply")
    with db.transaction():
        me.reap()
        assert value(db, "show synchronous_commit") == "remote_apply"


COMMENTS = "create table comments (code text references pastes {}); insert into comments values ('p00002')"


def test_several_bad_rows_among_a_thousand_are_told_from_the_rest(db, paste, me):
    paste.many("p", 1000)
    db.execute("create table comments (code text references pastes)")
    db.execute("insert into comments select short_code from pastes where short_code like '%%77'")
    batch = me.reap()
    assert len(me.drop(batch)) == 990
    assert me.finish(batch)[:3] == (990, 0, 10)
    assert value(db, "select count(*) from reaper.blocked") == 10
    assert me.try_reap() is None


@pytest.mark.parametrize("constraint", ["", "deferrable initially deferred"])
def test_a_batch_of_nothing_but_bad_rows_is_empty_and_a_loop_comes_to_its_end(db, paste, me, constraint):
    paste.many("p", 5)
    db.execute("create table comments as select short_code as code from pastes")
    db.execute(f"alter table comments add foreign key (code) references pastes {constraint}")
    (reaped,) = me.call("reap_expired", 3, "w")
    assert reaped.released == 0
    assert me.finish(reaped.batch_id) == (0, 0, 3, 0, 0, 0, 0, 0, 0)
    assert me.finish(me.reap())[:3] == (0, 0, 2)
    assert me.try_reap() is None
    assert len(codes(db)) == 5


def test_what_passes_by_itself_is_raised_to_the_caller_and_blames_no_row(db, paste, me):
    paste.many("p", 4)
    db.execute(
        "create function fail() returns trigger language plpgsql as"
        " $$ begin raise exception using errcode = '40001'; end $$;"
        "create trigger fail before delete on pastes for each row when (old.short_code = 'p00002')"
        " execute function fail()"
    )
    with refused("40001"):
        me.reap()
    assert value(db, "select count(*) from reaper.blocked") == 0
    assert len(codes(db)) == 4


def test_a_broken_promise_of_the_callers_own_transaction_is_not_blamed_on_the_rows(db, paste, me):
    paste.many("p", 3)
    db.execute("create table notes (code text references pastes deferrable initially deferred)")
    with refused("23503"), db.transaction():
        db.execute("insert into notes values ('nowhere')")
        me.reap()
    assert value(db, "select count(*) from reaper.blocked") == 0
    assert len(me.drop(me.reap())) == 3


def test_a_row_that_a_drop_left_marked_is_released_and_was_never_forgotten(db, paste, worker, me):
    paste.many("p", 3)
    batch = me.claim()
    holder = worker("holder").connection
    with holder.transaction():
        holder.execute("select from pastes where short_code = 'p00002' for update")
        me.drop(batch)
    assert marked(db) == {"p00002"}
    assert batch_codes(db, me.reap()) == {"p00002"}
    assert (codes(db), marked(db)) == (set(), set())
    assert column(db, "select short_codes from reaper.batches where state = 'CLAIMED'") == []


@pytest.mark.parametrize("change", ["expires_at = null", "expires_at = reaper.clock() + interval '1 day'"])
def test_a_row_that_a_drop_left_marked_and_that_lives_again_is_given_back(db, paste, worker, me, change):
    paste.many("p", 2)
    batch = me.claim()
    holder = worker("holder").connection
    with holder.transaction():
        holder.execute("select from pastes where short_code = 'p00002' for update")
        me.drop(batch)
    db.execute(f"update pastes set {change}")
    assert me.try_reap() is None
    assert (codes(db), marked(db), refs(db, "p00002")) == ({"p00002"}, set(), 1)


def test_a_claim_of_another_worker_is_never_taken(paste, worker, me):
    paste("a")
    batch = worker("other").claim()
    assert me.try_reap() is None
    assert len(worker("other").drop(batch)) == 1


def test_a_row_that_is_extended_is_never_released(db, paste, me):
    paste.many("p", 2)
    db.execute("select reaper.extend_paste('p00001', reaper.clock() + interval '1 day')")
    assert batch_codes(db, me.reap()) == {"p00002"}


def test_what_is_released_is_counted_in_the_runs(db, paste, me):
    paste.many("p", 3)
    me.finish(me.reap())
    run = record(
        db, "select worker, rows_claimed, rows_deleted, objects_deleted, bytes_freed from reaper.runs"
    )
    assert run == (me.name, 3, 3, 3, 30)

"""call reaper.drain(): the database half of a drain, from psql alone."""

import threading

import pytest

from tests.support.paste_fixtures import (
    codes,
    column,
    contents,
    findings,
    marked,
    record,
    refs,
    refused,
    value,
)

EVENT = "select wait_event from pg_stat_activity where pid = %s"


@pytest.fixture
def call_drain(checked_db):
    """Calls the procedure and returns what it said."""
    notices = []
    checked_db.add_notice_handler(lambda notice: notices.append(notice.message_primary))

    def call(*arguments):
        checked_db.execute(f"call reaper.drain({', '.join(['%s'] * len(arguments))})", arguments)
        return notices[-1]

    return call


def test_it_drains_all_that_is_due_and_nothing_else(db, paste, call_drain):
    paste.many("p", 25)
    paste("alive", content="p00001", expires="1 day")
    call_drain(10)
    assert codes(db) == {"alive"}
    assert contents(db) == {"p00001"}
    assert refs(db, "p00001") == 1


def test_its_batches_are_ownerless_afterwards_and_the_next_worker_adopts_them(db, paste, call_drain, drain):
    paste.many("p", 25)
    call_drain(10)
    states = db.execute("select state, worker, cardinality(object_keys) from reaper.batches").fetchall()
    assert sorted(states) == [("RELEASED", None, 5), ("RELEASED", None, 10), ("RELEASED", None, 10)]
    assert len(drain()) == 25
    assert value(db, "select count(*) from reaper.batches") == 0


def test_it_stops_after_the_batches_it_was_allowed(db, paste, call_drain):
    paste.many("p", 25)
    call_drain(10, 2)
    assert len(codes(db)) == 5
    assert marked(db) == set()


def test_batches_of_the_default_size_may_grow_but_not_where_their_number_is_given(db, paste, call_drain):
    paste.many("p", 3500)
    call_drain(1000, 2)
    assert column(db, "select cardinality(short_codes) from reaper.batches") == [1000, 1000]
    call_drain()
    assert codes(db) == set()
    sizes = column(db, "select cardinality(short_codes) from reaper.batches order by released_at")
    assert sizes[2] == 1000
    assert sum(sizes) == 3500


@pytest.mark.parametrize("allowed", [0, -1])
def test_no_batch_allowed_is_no_batch_done(db, paste, call_drain, allowed):
    paste("a")
    call_drain(10, allowed)
    assert codes(db) == {"a"}
    assert value(db, "select count(*) from reaper.batches") == 0


@pytest.mark.parametrize("size", [0, 10001, None])
def test_an_impossible_batch_size_is_refused(call_drain, size):
    with refused("RP005"):
        call_drain(size)


def test_nothing_due_is_no_error(call_drain):
    assert call_drain().startswith("drained 0 rows in 0 batches")


def test_it_says_how_many_rows_it_deleted(db, paste, call_drain):
    paste.many("p", 25)
    db.execute("create table comments (code text references pastes)")
    db.execute("insert into comments values ('p00013')")
    assert call_drain(10).startswith("drained 24 rows in 3 batches")


def test_inside_a_transaction_block_it_says_what_to_do_and_does_nothing(db, paste, call_drain):
    paste("a")
    with refused("2D000", "cannot run inside a transaction block") as refusal, db.transaction():
        call_drain()
    assert "AUTOCOMMIT on" in refusal.value.diag.message_hint
    assert "autocommit=True" in refusal.value.diag.message_hint
    assert marked(db) == set()


def test_psycopg_without_autocommit_is_told_too(paste, connect):
    paste("a")
    with refused("2D000", "cannot run inside a transaction block"):
        connect(autocommit=False).execute("call reaper.drain()")


SCRIPT = "begin; call reaper.drain()"
IN_FUNCTION = (
    "create function f() returns void language plpgsql as 'begin call reaper.drain(); end'; select f()"
)
IN_BLOCK = "do $$ begin call reaper.drain(); exception when no_data_found then null; end $$"


@pytest.mark.parametrize("statement", [SCRIPT, IN_FUNCTION, IN_BLOCK], ids=["script", "function", "block"])
def test_where_only_postgresql_can_tell_nothing_is_half_done(db, paste, connect, statement):
    paste("a")
    connection = connect()
    before = value(db, "select txid_snapshot_xmax(txid_current_snapshot())")
    with refused("2D000", "invalid transaction termination"):
        connection.execute(statement)
    connection.execute("rollback")
    assert marked(db) == set()
    # No transaction of ours had a number: nothing was written, and rolled back.
    created = 1 if statement == IN_FUNCTION else 0
    assert value(db, "select txid_snapshot_xmax(txid_current_snapshot())") - before <= created


def test_inside_a_transaction_block_of_the_extended_protocol_nothing_is_done(db, paste, call_drain):
    paste("a")
    with refused("2D000"), db.transaction():
        call_drain(10)
    assert marked(db) == set()


MINE = "create procedure mine() language plpgsql as 'begin commit; call reaper.drain(); end'"
CALLS = {
    "a DO block": ["do $$ begin call reaper.drain(); end $$"],
    "a DO block that committed": ["do $$ begin commit; perform pg_sleep(0.01); call reaper.drain(); end $$"],
    "a procedure that committed": [MINE, "call mine()"],
}


@pytest.mark.parametrize("statements", CALLS.values(), ids=CALLS)
def test_a_caller_that_may_commit_may_call_it(db, paste, statements):
    paste("a")
    for statement in statements:
        db.execute(statement)
    assert codes(db) == set()


@pytest.mark.parametrize("prepare", [False, True])
def test_the_extended_protocol_outside_a_transaction_block_is_served(db, paste, prepare):
    paste.many("p", 3)
    db.execute("call reaper.drain(%s)", [1], prepare=prepare)
    assert codes(db) == set()


def test_each_batch_is_committed_by_itself(db, paste, worker, waits):
    """A drain that dies in its third batch has done two."""
    paste.many("p", 25)
    holder, drainer = worker("holder").connection, worker("drainer").connection
    with holder.transaction():
        holder.execute("select from content where content_hash = 'p00021' for update")
        thread = threading.Thread(target=call_and_be_ended, args=[drainer])
        thread.start()
        waits(drainer)
        assert len(codes(db)) == 5
        db.execute("select pg_terminate_backend(%s)", [drainer.info.backend_pid])
        thread.join()
    assert (len(codes(db)), marked(db)) == (5, set())
    assert findings(db) == []


def call_and_be_ended(connection):
    with refused("57P01"):
        connection.execute("call reaper.drain(10)")


APPEARS_MEANWHILE = """
create function more() returns trigger language plpgsql as $$
begin
    insert into public.content (content_hash, object_key, ref_count) values ('late', 'late key', 1);
    insert into public.pastes (short_code, content_hash, expires_at) values ('late', 'late', '2000-01-01');
    return null;
end;
$$;
create trigger more after delete on pastes
    for each row when (old.short_code = 'p00025') execute function more()
"""


def test_rows_that_become_due_behind_its_cursor_are_drained_too(db, paste, call_drain):
    paste.many("p", 25)
    db.execute(APPEARS_MEANWHILE)
    call_drain(10)
    assert codes(db) == set() == contents(db)


def test_rows_that_somebody_holds_are_left_and_do_not_make_it_endless(db, paste, worker, call_drain):
    paste.many("p", 25)
    holder = worker("holder").connection
    with holder.transaction():
        holder.execute("select from pastes where short_code = 'p00013' for update")
        call_drain(10)
        assert codes(db) == {"p00013"}
    call_drain(10)
    assert codes(db) == set()


def test_content_that_somebody_holds_for_long_does_not_make_it_endless(db, paste, worker, call_drain):
    paste.many("p", 25)
    db.execute(
        "alter function reaper.reap_without_owner(integer, timestamptz, text) set lock_timeout = '1ms'"
    )
    holder = worker("holder").connection
    with holder.transaction():
        holder.execute("select from content where content_hash = 'p00013' for update")
        call_drain(10)
        assert codes(db) == {"p00013"}, "everything else went"
        assert marked(db) == set()
    call_drain(10)
    assert codes(db) == set()


def test_rows_that_were_held_between_claim_and_drop_are_taken_on_a_second_look(
    db, paste, worker, me, call_drain
):
    paste.many("p", 5)
    batch = me.claim()
    holder = worker("holder").connection
    with holder.transaction():
        holder.execute("select from pastes where short_code = 'p00003' for no key update")
        me.drop(batch)
    call_drain()
    assert codes(db) == set()


def test_a_row_that_somebody_holds_for_a_moment_is_looked_at_again(db, paste, me, worker):
    """The claim of another drain locks rows that it does not get, and lets go of them when it is over."""
    paste.many("p", 25)
    body = value(db, "select pg_get_functiondef('reaper.drain'::regproc)")
    assert body.count("'{0.05, 0.2, 1}'") == 1
    # As patient as the slowest machine needs.
    db.execute(body.replace("'{0.05, 0.2, 1}'", "array_fill(0.05::float8, array[1000])"))
    holder, drainer = worker("holder").connection, worker("drainer").connection
    batch = me.claim()
    thread = threading.Thread(target=lambda: drainer.execute("call reaper.drain(10)"))
    with holder.transaction():
        holder.execute("select from pastes where short_code = 'p00013' for update")
        me.drop(batch)
        assert value(db, "select reaper.count_ownerless_rows()") == 1
        thread.start()
        while value(db, EVENT, drainer.info.backend_pid) != "PgSleep":
            pass
    thread.join()
    assert codes(db) == set()


def test_one_undeletable_row_of_5000_does_not_stop_it(db, paste, call_drain):
    paste.many("p", 5000)
    db.execute("create table comments (id int, code text references pastes)")
    db.execute("insert into comments values (1, 'p02500')")
    call_drain()
    assert codes(db) == {"p02500"} == set(column(db, "select short_code from reaper.blocked"))
    assert record(db, "select sum(cardinality(short_codes)) as gone from reaper.batches").gone == 4999

"""reap_expired beside sessions that hold rows, other reaps, claims and writers."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import psycopg
import pytest

from tests.support.paste_fixtures import (
    batch_codes,
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
from tests.support.plain_clients import CLIENTS, FILL, mark_until_nothing_is_due, reap_until_nothing_is_due

PATIENCE = "alter function reaper.reap_expired(integer, text, timestamptz, text) set lock_timeout = '{}'"
SIGNATURE = "'reaper.reap_expired(integer, text, timestamptz, text)'::regprocedure"


@pytest.fixture
def holder(worker):
    """A session of the application's."""
    return worker("holder").connection


def test_a_paste_that_another_session_holds_is_left_and_then_complained_of(db, paste, holder, me):
    paste.many("p", 3)
    with holder.transaction():
        holder.execute("select from pastes where short_code = 'p00002' for update")
        assert batch_codes(db, me.reap()) == {"p00001", "p00003"}
        with refused("55P03", "due pastes are locked by other sessions: p00002") as refusal:
            me.try_reap()
        assert "ended their transactions" in refusal.value.diag.message_hint
        assert (codes(db), marked(db)) == ({"p00002"}, set())
    assert batch_codes(db, me.reap()) == {"p00002"}
    assert me.try_reap() is None


def test_the_complaint_names_five_of_many(paste, holder, me):
    paste.many("p", 9)
    with holder.transaction():
        holder.execute("select from pastes for update")
        with refused("55P03", r"sessions: p00001, p00002, p00003, p00004, p00005\n"):
            me.try_reap()


def test_a_content_that_another_session_holds_keeps_its_own_pastes_and_no_others(db, paste, holder, me):
    paste("a", content="held")
    paste("b", content="free")
    assert "lock_timeout=2s" in value(db, f"select proconfig from pg_proc where oid = {SIGNATURE}")
    db.execute(PATIENCE.format("10ms"))
    with holder.transaction():
        holder.execute("update content set ref_count = ref_count where content_hash = 'held'")
        assert [gone.content_hash for gone in me.drop(me.reap())] == ["free"]
        with refused("55P03"):
            me.try_reap()
    assert (codes(db), marked(db)) == ({"a"}, set())
    assert value(db, "select count(*) from reaper.blocked") == 0
    assert batch_codes(db, me.reap()) == {"a"}


def test_a_tenth_of_the_pastes_is_left_to_who_holds_their_content_and_nobody_waits(db, paste, holder, me):
    paste.many("p", 19)
    paste("x", content="held")
    # Whoever waited, if only for a moment, would fail the test.
    db.execute(PATIENCE.format("1h"))
    with holder.transaction():
        holder.execute("insert into pastes (short_code, content_hash) values ('late', 'held')")
        holder.execute("update content set ref_count = ref_count + 1 where content_hash = 'held'")
        assert len(me.drop(me.reap())) == 19
        assert codes(db) == {"x"}
    me.reap()
    assert (codes(db), refs(db, "held")) == ({"late"}, 1)


def test_what_is_left_is_waited_for_and_released_when_the_other_session_ends(
    db, paste, worker, holder, waits
):
    paste("a", content="held")
    reaper = worker("reaper")
    db.execute(PATIENCE.format("1h"))
    with ThreadPoolExecutor(1) as pool:
        with holder.transaction():
            holder.execute("update content set ref_count = ref_count")
            reaping = pool.submit(reaper.reap)
            waits(reaper.connection)
        assert batch_codes(db, reaping.result()) == {"a"}


# A reap that found nothing stands still for as long as somebody holds the advisory lock, and gives up what
# it locked after that.
SLOW_UNDO = """
create or replace function reaper_internal.undo() returns void language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared(1);
    raise exception sqlstate 'UNDO0' using message = 'undone';
end;
$$
"""


def test_a_content_that_it_locked_for_nothing_is_free_for_others_while_it_goes_on(
    db, paste, worker, holder, waits
):
    """Else two of them and a third, who takes it meanwhile, wait for each other in a circle."""
    paste("a", content="held")
    reaper, user, other = worker("reaper"), worker("user").connection, worker("other").connection
    db.execute(PATIENCE.format("1h"))
    db.execute(SLOW_UNDO)
    lock = "select from content where content_hash = 'held' for update"
    with ThreadPoolExecutor(2) as pool, other.transaction():
        other.execute("select from pastes where short_code = 'a' for update")
        with holder.transaction():
            holder.execute(lock)
            reaping = pool.submit(reaper.reap)
            waits(reaper.connection, "transactionid")
            db.execute("select pg_advisory_lock(1)")
        waits(reaper.connection, "advisory")
        with user.transaction():
            locking = pool.submit(user.execute, lock)
            waits(user)
            db.execute("select pg_advisory_unlock(1)")
            locking.result()
            waits(reaper.connection, "transactionid")
            assert not reaping.done()
    assert batch_codes(db, reaping.result()) == {"a"}


def test_a_paste_that_comes_while_it_waits_keeps_its_content(db, paste, worker, holder, waits):
    paste("dying", content="shared")
    reaper = worker("reaper")
    db.execute(PATIENCE.format("1h"))
    with ThreadPoolExecutor(1) as pool:
        with holder.transaction():
            holder.execute("insert into pastes (short_code, content_hash) values ('late', 'shared')")
            reaping = pool.submit(reaper.reap)
            waits(reaper.connection)
            holder.execute("update content set ref_count = ref_count + 1")
        assert batch_codes(db, reaping.result()) == {"dying"}
    assert (codes(db), refs(db, "shared")) == ({"late"}, 1)
    assert value(db, "select cardinality(object_keys) from reaper.batches") == 0


def test_a_paste_that_is_extended_while_it_waits_lives(db, paste, worker, holder, waits):
    paste("a", content="held")
    reaper = worker("reaper")
    db.execute(PATIENCE.format("1h"))
    with ThreadPoolExecutor(1) as pool:
        with holder.transaction():
            holder.execute("update content set ref_count = ref_count")
            reaping = pool.submit(reaper.try_reap)
            waits(reaper.connection)
            holder.execute("update pastes set expires_at = null")
        assert reaping.result() is None
    assert (codes(db), refs(db, "held")) == ({"a"}, 1)


def test_a_paste_that_gets_other_content_while_it_waits_releases_that_one(db, paste, worker, holder, waits):
    paste("a", content="old")
    paste("alive", content="new", expires="1 day")
    reaper = worker("reaper")
    db.execute(PATIENCE.format("1h"))
    with ThreadPoolExecutor(1) as pool:
        with holder.transaction():
            holder.execute("update content set ref_count = ref_count - 1 where content_hash = 'old'")
            reaping = pool.submit(reaper.try_reap)
            waits(reaper.connection)
            holder.execute("update pastes set content_hash = 'new' where short_code = 'a'")
            holder.execute("update content set ref_count = ref_count + 1 where content_hash = 'new'")
        reaping.result()
    reaper.drain(claim_mode="direct")
    assert (codes(db), refs(db, "old"), refs(db, "new")) == ({"alive"}, 0, 1)


@pytest.mark.parametrize("content", ["held", "shared"])
def test_no_paste_is_held_while_it_waits(db, paste, worker, holder, waits, content):
    """A writer that has a content and wants its paste next would meet it in a deadlock."""
    paste("a", content="held")
    paste("b", content=content)
    reaper = worker("reaper")
    db.execute(PATIENCE.format("1h"))
    with ThreadPoolExecutor(1) as pool:
        with holder.transaction():
            holder.execute("update content set ref_count = ref_count where content_hash = 'held'")
            reaping = pool.submit(reaper.reap)
            waits(reaper.connection)
            holder.execute("select from pastes for update nowait")
        assert batch_codes(db, reaping.result()) == {"a", "b"}


def test_a_row_that_lives_again_is_not_held_while_others_are_waited_for(db, paste, worker, holder, me, waits):
    """It was left marked by a drop, and is unmarked by whoever finds it; not before a wait."""
    paste.many("p", 2)
    batch = me.claim()
    with holder.transaction():
        holder.execute("select from pastes where short_code = 'p00002' for update")
        me.drop(batch)
    db.execute("update pastes set expires_at = null")
    paste("due", content="held")
    reaper = worker("reaper")
    db.execute(PATIENCE.format("1h"))
    with ThreadPoolExecutor(1) as pool:
        with holder.transaction():
            holder.execute("select from pastes where short_code = 'due' for update")
            holder.execute("update content set ref_count = ref_count where content_hash = 'held'")
            reaping = pool.submit(reaper.reap)
            waits(reaper.connection)
            holder.execute("select from pastes where short_code = 'p00002' for update nowait")
        assert batch_codes(db, reaping.result()) == {"due"}
    assert codes(db) == {"p00002"}


def test_it_waits_for_another_reap_and_finds_nothing_afterwards(db, paste, worker, me, waits):
    paste.many("p", 3, content="shared")
    db.execute(PATIENCE.format("1h"))
    other = worker("other")
    with ThreadPoolExecutor(1) as pool:
        with db.transaction():
            me.reap()
            reaping = pool.submit(other.try_reap)
            waits(other.connection)
        assert reaping.result() is None
    assert (codes(db), contents(db)) == (set(), set())


def test_it_releases_what_another_reap_gives_up(db, paste, worker, me, waits):
    paste.many("p", 3, content="shared")
    db.execute(PATIENCE.format("1h"))
    other = worker("other")
    with ThreadPoolExecutor(1) as pool:
        with db.transaction(force_rollback=True):
            me.reap()
            reaping = pool.submit(other.reap)
            waits(other.connection)
        assert len(batch_codes(db, reaping.result())) == 3


def test_a_session_that_is_ended_in_the_middle_leaves_every_row_as_it_was(db, paste, worker, holder, waits):
    paste.many("p", 30)
    reaper = worker("reaper")
    with holder.transaction():
        holder.execute("select from content for update")
        thread = threading.Thread(target=be_ended, args=[reaper])
        thread.start()
        waits(reaper.connection)
        db.execute("select pg_terminate_backend(%s)", [reaper.connection.info.backend_pid])
        thread.join()
    assert (len(codes(db)), marked(db)) == (30, set())
    assert value(db, "select count(*) from reaper.batches") == 0
    assert findings(db) == []


def be_ended(reaper):
    with refused("57P01"):
        reaper.reap()


def test_a_drain_that_is_cancelled_in_the_middle_leaves_nothing_marked(db, paste, worker, holder, waits):
    paste.many("p", 25)
    drainer = worker("drainer").connection
    with holder.transaction():
        holder.execute("select from content where content_hash in ('p00014', 'p00015') for update")
        thread = threading.Thread(target=be_cancelled, args=[drainer])
        thread.start()
        waits(drainer)
        db.execute("select pg_cancel_backend(%s)", [drainer.info.backend_pid])
        thread.join()
    assert (len(codes(db)), marked(db)) == (15, set())
    assert set(column(db, "select state from reaper.batches")) == {"RELEASED"}
    assert set(column(db, "select worker from reaper.batches")) == {None}


def be_cancelled(connection):
    with refused("57014"):
        connection.execute("call reaper.drain(10)")


@pytest.mark.parametrize("batch_size", [1000, 50])
@pytest.mark.usefixtures("checked_db")
def test_eight_plain_clients_leave_nothing_due_and_nothing_marked(db, dsn, sized, batch_size):
    rows = sized(50_000, 5_000)
    db.execute(FILL.format(rows=rows))
    with ThreadPoolExecutor(CLIENTS) as clients:
        size = min(batch_size, rows // 20)
        running = [clients.submit(reap_until_nothing_is_due, dsn, size) for _ in range(CLIENTS)]
    released = sum(client.result() for client in running)
    assert (len(codes(db)), len(marked(db)), released) == (0, 0, rows)
    assert value(db, "select count(*) from reaper.batches") == 0


@pytest.mark.usefixtures("checked_db")
def test_clients_that_mark_and_clients_that_reap_side_by_side_leave_nothing(db, dsn, sized):
    rows = sized(50_000, 5_000)
    db.execute(FILL.format(rows=rows))
    ways = cycle([mark_until_nothing_is_due, reap_until_nothing_is_due])
    with ThreadPoolExecutor(CLIENTS) as clients:
        running = [clients.submit(next(ways), dsn, 50) for _ in range(CLIENTS)]
    for client in running:
        client.result()
    assert (len(codes(db)), len(marked(db))) == (0, 0)
    assert record(db, "select sum(rows_deleted) as gone from reaper.runs").gone == rows
    assert value(db, "select count(*) from reaper.batches") == 0


def test_writers_that_take_content_then_paste_meet_no_deadlock(db, paste, dsn, sized):
    """As the doors write: the content's count first, its paste next."""
    over = threading.Event()
    rounds = sized(300, 10)

    def write(number):
        with psycopg.connect(dsn) as connection:
            while not over.is_set():
                connection.execute(
                    "update content set ref_count = ref_count where content_hash = %s", [f"h{number}"]
                )
                connection.execute(
                    "update pastes set expires_at = expires_at where content_hash = %s", [f"h{number}"]
                )
                connection.commit()

    with ThreadPoolExecutor(6) as pool:
        writers = [pool.submit(write, number) for number in range(2)]
        try:
            for turn in range(rounds):
                for number in range(4):
                    paste.many(f"p{turn}-{number}-", 5, content=f"h{number}")
                reapers = [pool.submit(reap_until_nothing_is_due, dsn, 7) for _ in range(2)]
                for reaper in reapers:
                    reaper.result()
        finally:
            over.set()
        for writer in writers:
            writer.result()
    assert codes(db) == set()

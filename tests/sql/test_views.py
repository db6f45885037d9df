"""The views, on a busy example: what an operator reads is what is there."""

import pytest

from tests.support.paste_fixtures import record, refused

EMPTY_WHEN_IDLE = ["backlog", "stuck", "in_flight", "recent_runs", "dlq", "blocked_rows"]


@pytest.fixture
def busy(db, paste, worker, clock):
    """One batch of each kind, and something in every queue."""
    clock.stop()
    paste("poison", expires="-3 hours")
    db.execute("create table comments (code text references pastes); insert into comments values ('poison')")
    for code in ("finished", "finished too"):
        paste(code, content=code, expires="-2 hours", size=100)
    for code in ("claimed", "lost", "orphaned", "released"):
        paste(code, content=code, expires="-1 hour", size=100)
    alive, dead = worker("alive"), worker("dead")
    batches = {}
    alive.heartbeat()
    dead.heartbeat()
    batches["finished"] = alive.claim(3)
    alive.drop(batches["finished"])
    alive.finish(
        batches["finished"],
        [
            {"object_key": "key of finished", "error": "AccessDenied", "permanent": True},
            {"object_key": "key of finished too", "error": "SlowDown"},
            {"short_code": "finished", "error": "no cache"},
        ],
    )
    for name, holder in (("claimed", alive), ("lost", dead), ("orphaned", dead), ("released", alive)):
        batches[name] = holder.claim(1)
    dead.drop(batches["orphaned"])
    alive.drop(batches["released"])
    clock.advance("5 minutes")
    alive.heartbeat()
    paste.many("waiting", 4)
    with refused("RP001"):
        alive.finish(batches["finished"])
    return batches


@pytest.mark.parametrize("view", EMPTY_WHEN_IDLE)
@pytest.mark.usefixtures("checked_db")
def test_nothing_to_do_shows_nothing(db, view):
    assert db.execute(f"select * from reaper.{view}").fetchall() == []


@pytest.mark.usefixtures("checked_db")
def test_an_idle_system_is_healthy(db):
    health = record(db, "select * from reaper.health")
    assert (health.verdict, health.due_rows, health.oldest_due) == ("ok", 0, None)
    assert (health.last_finished, health.refusals) == (None, 0)


@pytest.mark.usefixtures("busy")
def test_health_counts_what_is_there(db):
    health = record(db, "select *, reaper.clock() as now from reaper.health")
    assert health.verdict == "attention"  # a dead letter, a blocked row
    assert health.due_rows == 7  # four wait, two are claimed, one is blocked
    assert (health.batches_claimed, health.batches_released, health.batches_stuck) == (2, 2, 2)
    assert health.workers_alive == 1
    assert health.rows_blocked == 1
    assert (health.objects_queued, health.objects_dead, health.invalidations_queued) == (1, 1, 1)
    assert health.refusals == 1
    assert health.oldest_due == record(db, "select min(expires_at) as m from pastes").m
    assert health.last_finished == record(db, "select max(finished_at) as m from reaper.runs").m


@pytest.mark.usefixtures("busy")
def test_the_backlog_is_told_by_the_hour(db):
    rows = db.execute("select expired_in, waiting, in_progress from reaper.backlog").fetchall()
    assert (sum(row[1] for row in rows), sum(row[2] for row in rows)) == (5, 2)
    assert all(row[0].minute == 0 for row in rows)


def test_in_flight_shows_every_batch_with_its_holder_and_its_weight(db, busy):
    rows = {
        row[0]: row[1:]
        for row in db.execute("select batch_id, state, worker, codes, objects, bytes from reaper.in_flight")
    }
    assert rows == {
        busy["claimed"]: ("CLAIMED", "alive", 1, 0, None),
        busy["lost"]: ("CLAIMED", "dead", 1, 0, None),
        busy["orphaned"]: ("RELEASED", "dead", 1, 1, 100),
        busy["released"]: ("RELEASED", "alive", 1, 1, 100),
    }


def test_stuck_shows_the_batches_of_the_silent_worker(db, busy):
    rows = db.execute("select batch_id, reason from reaper.stuck").fetchall()
    assert set(rows) == {(busy[name], "the worker sends no heartbeat") for name in ("lost", "orphaned")}


def test_stuck_shows_what_nobody_holds_and_what_is_held_too_long(db, paste, claim, drop, clock):
    paste.many("p", 2)
    batch = claim(1)
    drop(batch)
    db.execute("select reaper.disown_batch(%s)", [batch])
    held = claim(1)
    assert db.execute("select batch_id, reason from reaper.stuck").fetchall() == [
        (batch, "no worker holds the batch")
    ]
    clock.advance("3 hours")
    assert (held, "held for over 2 hours") in db.execute(
        "select batch_id, reason from reaper.stuck"
    ).fetchall()


def test_the_watchdog_empties_stuck_of_all_but_what_waits_for_an_heir(db, busy, reset_stuck):
    assert reset_stuck() == (1, 1, 1)
    assert record(db, "select batch_id, reason from reaper.stuck") == (
        busy["orphaned"],
        "no worker holds the batch",
    )


def test_recent_runs_tell_what_became_of_each_batch(db, busy):
    run = record(db, "select * from reaper.recent_runs")
    assert (run.batch_id, run.worker) == (busy["finished"], "alive")
    assert (run.rows_deleted, run.rows_returned, run.rows_blocked) == (2, 0, 1)
    assert (run.objects_deleted, run.objects_failed, run.bytes_freed, run.invalidations_failed) == (
        0,
        2,
        0,
        1,
    )


@pytest.mark.usefixtures("busy")
def test_the_dead_letters_say_what_and_why(db):
    row = record(db, "select backend, object_key, size_bytes, attempts, last_error from reaper.dlq")
    assert row == ("default", "key of finished", 100, 1, "AccessDenied")


@pytest.mark.usefixtures("busy")
def test_blocked_rows_say_what_and_why_and_until_when(db):
    row = record(db, "select *, reaper.clock() as now from reaper.blocked_rows")
    assert (row.short_code, row.sqlstate, row.attempts) == ("poison", "23503", 1)
    assert "comments" in row.message
    assert row.expires_at < row.blocked_at < row.now < row.next_attempt


def test_a_paste_that_waits_for_over_26_hours_is_a_bad_sign(db, paste):
    paste("old", expires="-25 hours")
    assert record(db, "select verdict from reaper.health").verdict == "ok"
    paste("older", expires="-27 hours")
    assert record(db, "select verdict from reaper.health").verdict != "ok"

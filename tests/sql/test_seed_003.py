"""Seed 003, the watchdog: a crash at any arrow of the state machine leaves no row in limbo."""

import pytest

from tests.support.paste_fixtures import batch_codes, codes, contents, marked, record, refs, refused, value

MARK = "update pastes set deletion_status = 'DELETION_IN_PROGRESS', deletion_initiated_at = reaper.clock()"


def crash(worker):
    """The process dies: its connection is gone, and with it what was not committed."""
    worker.connection.close()


def states(db):
    return dict(db.execute("select short_code, deletion_status from pastes").fetchall())


def test_a_new_row_is_not_expired_and_nobody_has_initiated_its_deletion(db, paste):
    paste("a")
    row = record(db, "select deletion_status, deletion_initiated_at from pastes")
    assert row == ("NOT_EXPIRED", None)


def test_the_table_accepts_no_other_state(db, paste):
    paste("a")
    with refused("23514"):
        db.execute("update pastes set deletion_status = 'GONE'")


def test_without_a_watchdog_claimed_rows_stay_claimed(db, paste, clock, worker, drain):
    paste.many("p", 3)
    dead = worker("dead")
    dead.claim()
    crash(dead)
    clock.advance("1 year")
    assert drain() == set()
    assert len(marked(db)) == 3


def test_rows_of_a_crashed_worker_are_reset_after_two_hours(db, paste, clock, worker, reset_stuck):
    paste.many("p", 3)
    dead = worker("dead")
    dead.claim()
    crash(dead)
    clock.advance("1 hour 59 minutes")
    assert reset_stuck() == (0, 0, 0)
    assert len(marked(db)) == 3
    clock.advance("1 minute")
    assert reset_stuck() == (3, 1, 0)
    assert marked(db) == set()
    assert value(db, "select count(deletion_initiated_at) from pastes") == 0


def test_rows_marked_by_hand_without_any_batch_are_reset_after_two_hours(db, paste, clock, reset_stuck):
    paste.many("p", 3)
    db.execute(MARK)
    clock.advance("1 hour 59 minutes")
    assert reset_stuck() == (0, 0, 0)
    clock.advance("1 minute")
    assert reset_stuck() == (3, 0, 0)
    assert set(states(db).values()) == {"NOT_EXPIRED"}


def test_a_row_marked_by_hand_without_a_time_is_reset_two_hours_after_its_expiry(
    db, paste, clock, reset_stuck
):
    paste("a", expires="-1 hour")
    db.execute("update pastes set deletion_status = 'DELETION_IN_PROGRESS'")
    assert reset_stuck() == (0, 0, 0)
    clock.advance("1 hour")
    assert reset_stuck() == (1, 0, 0)


def test_the_next_run_picks_up_what_the_watchdog_reset(db, paste, clock, worker, reset_stuck, drain):
    paste.many("p", 3)
    dead = worker("dead")
    dead.claim()
    crash(dead)
    clock.advance("2 hours")
    reset_stuck()
    assert len(drain()) == 3
    assert codes(db) == set() == contents(db)


def test_a_worker_that_crashes_halfway_leaves_only_the_rest_of_its_rows(
    db, paste, clock, worker, reset_stuck, drain
):
    paste.many("p", 1000)
    dead = worker("dead")
    done, begun = dead.claim(400), dead.claim(600)
    dead.drop(done)
    dead.finish(done)
    crash(dead)
    assert batch_codes(db, begun) == codes(db) == marked(db)
    clock.advance("2 hours")
    assert reset_stuck() == (600, 1, 0)
    assert len(drain()) == 600


def test_a_healthy_worker_is_left_alone_by_the_watchdog(paste, worker, reset_stuck):
    paste.many("p", 3)
    alive = worker("alive")
    batch = alive.claim()
    assert reset_stuck() == (0, 0, 0)
    assert len(alive.drop(batch)) == 3


def claim_uncommitted(worker):
    worker.connection.autocommit = False
    worker.claim()


def claim_committed(worker):
    worker.claim()


def drop_uncommitted(worker):
    batch = worker.claim()
    worker.connection.autocommit = False
    worker.drop(batch)


def drop_committed(worker):
    worker.drop(worker.claim())


def finish_uncommitted(worker):
    batch = worker.claim()
    worker.drop(batch)
    worker.connection.autocommit = False
    worker.finish(batch)


def finish_committed(worker):
    batch = worker.claim()
    worker.drop(batch)
    worker.finish(batch)


ARROWS = [
    (claim_uncommitted, "NOT_EXPIRED", (0, 0, 0)),
    (claim_committed, "DELETION_IN_PROGRESS", (2, 1, 0)),
    (drop_uncommitted, "DELETION_IN_PROGRESS", (2, 1, 0)),
    (drop_committed, "DELETED", (0, 0, 1)),
    (finish_uncommitted, "DELETED", (0, 0, 1)),
    (finish_committed, "DELETED", (0, 0, 0)),
]


@pytest.mark.parametrize(("step", "state", "reset"), ARROWS, ids=[arrow[0].__name__ for arrow in ARROWS])
def test_a_crash_at_any_arrow_ends_in_deleted_after_the_watchdog_and_one_drain(
    db, paste, clock, worker, reset_stuck, drain, invariants, step, state, reset
):
    paste("dying", content="lonely")
    paste("dying too", content="shared")
    paste("alive", content="shared", expires="1 year")
    dead = worker("dead")
    step(dead)
    crash(dead)

    expected = {} if state == "DELETED" else {"dying": state, "dying too": state}
    assert states(db) == {"alive": "NOT_EXPIRED"} | expected
    assert invariants() == []

    clock.advance("2 hours")
    assert reset_stuck() == reset
    keys = drain()
    assert keys == (set() if step is finish_committed else {"key of lonely"})
    assert codes(db) == {"alive"}
    assert refs(db, "shared") == 1
    assert value(db, "select count(*) from reaper.batches") == 0
    assert value(db, "select sum(rows_deleted) from reaper.runs") == 2


def test_a_row_may_be_reset_and_claimed_any_number_of_times(db, paste, clock, worker, reset_stuck, drain):
    paste("a")
    for attempt in range(3):
        dead = worker(f"dead {attempt}")
        dead.claim()
        crash(dead)
        clock.advance("2 hours")
        assert reset_stuck() == (1, 1, 0)
    drain()
    assert codes(db) == set()


def test_the_watchdog_may_run_twice_without_harm(paste, clock, worker, reset_stuck):
    paste("a")
    worker("dead").claim()
    clock.advance("2 hours")
    assert reset_stuck() == (1, 1, 0)
    assert reset_stuck() == (0, 0, 0)

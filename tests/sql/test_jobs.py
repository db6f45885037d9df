"""Jobs of dead workers, the wedge among them, and the pruning of what is over."""

import pytest

from tests.support.paste_fixtures import column, record, value


@pytest.fixture
def db(db):
    # Procrastinate's triggers use unqualified names.
    db.execute("set search_path = public, procrastinate")
    return db


def defer(db, lock: str) -> int:
    assert value(db, "select reaper.enqueue_job('reaper.drain', %s, '{}')", lock)
    return value(db, "select max(job_id) from reaper.jobs")


def start(db, job: int, heartbeat: str | None = None) -> None:
    """A worker takes the job; its last heartbeat is that long ago, None = it is forgotten."""
    worker = None
    if heartbeat:
        worker = value(
            db,
            "insert into procrastinate_workers (last_heartbeat) values (now() - %s::interval) returning id",
            heartbeat,
        )
    db.execute("update procrastinate_jobs set status = 'doing', worker_id = %s where id = %s", [worker, job])


def rescue(db) -> dict[int, str]:
    return dict(db.execute("select job_id, outcome from reaper.rescue_jobs()").fetchall())


def status(db, job: int) -> str:
    return value(db, "select status from reaper.jobs where job_id = %s", job)


def test_the_job_of_a_dead_worker_is_queued_again_and_that_of_a_living_one_is_left(db):
    dead, alive, forgotten = (defer(db, f"drain:{n}") for n in range(3))
    start(db, dead, "3 minutes")
    start(db, alive, "10 seconds")
    start(db, forgotten)
    assert column(db, "select job_id from reaper.jobs where wedged order by job_id") == [dead, forgotten]
    assert rescue(db) == {dead: "queued again", forgotten: "queued again"}
    assert [status(db, job) for job in (dead, alive, forgotten)] == ["todo", "doing", "todo"]


def test_the_wedge_is_opened_a_job_whose_name_waits_again_is_failed(db):
    wedged = defer(db, "drain:0")
    start(db, wedged, "3 minutes")
    waiting = defer(db, "drain:0")
    other = defer(db, "drain:1")
    start(db, other, "3 minutes")
    assert rescue(db) == {
        wedged: "failed: another job with the same queueing lock waits",
        other: "queued again",
    }
    assert [status(db, job) for job in (wedged, waiting, other)] == ["failed", "todo", "todo"]


def test_a_job_that_lost_three_workers_is_not_tried_for_ever(db):
    job = defer(db, "drain:0")
    for _ in range(3):
        start(db, job, "3 minutes")
        assert rescue(db) == {job: "queued again"}
    start(db, job, "3 minutes")
    assert rescue(db) == {job: "failed: three workers died while running it"}
    assert status(db, job) == "failed"
    assert value(db, "select count(*) from reaper.job_errors where job_id = %s", job) == 4
    assert "three workers" in value(db, "select last_error from reaper.jobs where job_id = %s", job)


def test_a_rescue_is_bounded(db):
    jobs = [defer(db, f"drain:{n}") for n in range(5)]
    for job in jobs:
        start(db, job)
    assert len(db.execute("select * from reaper.rescue_jobs('120 seconds', 2)").fetchall()) == 2


def test_jobs_that_ended_long_ago_are_pruned_a_bounded_number_at_a_time(db):
    ended = [defer(db, f"drain:{n}") for n in range(4)]
    for job in ended:
        start(db, job)
        db.execute("select procrastinate_finish_job_v1(%s, 'failed', false)", [job])
    waiting = defer(db, "drain:9")
    db.execute(
        "update procrastinate_events set at = now() - interval '8 days' where job_id = any(%s)", [ended[:3]]
    )
    assert value(db, "select reaper.prune_jobs('7 days', 2)") == 2
    assert value(db, "select reaper.prune_jobs('7 days', 2)") == 1
    assert value(db, "select reaper.prune_jobs('7 days', 2)") == 0
    assert column(db, "select job_id from reaper.jobs order by job_id") == [ended[3], waiting]


def test_old_history_is_pruned_and_the_audit_is_kept(db, paste, drain, clock):
    paste("a")
    drain()
    db.execute("select reaper.record_job_error(1, 'reaper.drain', 0, 'x')")
    db.execute("select reaper.register_service('drain', '@hourly', 'x'); select reaper.run_now('drain')")
    assert value(db, "select reaper.prune_history()") == 0
    clock.advance("91 days")
    assert value(db, "select reaper.prune_history()") == 2
    assert record(db, "select * from reaper.audit").action == "run_now"

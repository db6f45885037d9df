"""Jobs of dead workers, the wedge among them, and the pruning of what is over."""

import pytest

from reaper.worker import work_kinds
from tests.support.paste_fixtures import column, record, value


@pytest.fixture
def db(db):
    # Procrastinate's triggers use unqualified names.
    db.execute("set search_path = public, procrastinate")
    return db


def defer(db, lock: str) -> int:
    assert value(db, "select reaper.enqueue_job('reaper:drain', %s, '{}')", lock)
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


GONE = 2**30


def known(db, number: int, session_pid: int | None = None, beat: str = "20 seconds") -> None:
    """A process that takes jobs under that number, and the session of its heartbeat (none: this one)."""
    db.execute("select reaper.heartbeat(%s, %s)", [f"host:1:{number}", number])
    db.execute(
        "update reaper.workers set beat_at = beat_at - %s::interval, session_pid = coalesce(%s, session_pid)"
        " where queue_worker = %s",
        [beat, session_pid, number],
    )


def taker(db, job: int) -> int:
    return value(db, "select worker_id from procrastinate_jobs where id = %s", job)


def test_the_job_of_a_process_without_its_session_is_rescued_after_one_missed_heartbeat(db):
    killed, alive, just_cut_off = (defer(db, f"drain:{n}") for n in range(3))
    for job in (killed, alive, just_cut_off):
        start(db, job, "10 seconds")
    known(db, taker(db, killed), GONE)
    known(db, taker(db, alive))
    known(db, taker(db, just_cut_off), GONE, "5 seconds")
    assert rescue(db) == {killed: "queued again"}


def foreign(db, status: str) -> int:
    """A job of another application, in our queue."""
    return value(
        db,
        "insert into procrastinate_jobs (queue_name, task_name, status)"
        " values ('reaper', 'shop.mail', %s) returning id",
        status,
    )


def test_jobs_of_other_applications_are_neither_rescued_nor_pruned_nor_shown(db):
    doing, ended = foreign(db, "doing"), foreign(db, "failed")
    db.execute("update procrastinate_events set at = now() - interval '1 year'")
    assert rescue(db) == {}
    assert value(db, "select reaper.prune_jobs('7 days', 10)") == 0
    assert column(db, "select id from procrastinate_jobs order by id") == [doing, ended]
    assert column(db, "select job_id from reaper.jobs") == []


CLAIM = "select task_name from reaper.claim_job(array['reaper:drain', 'reaper:service'], %s, 1)"


def test_a_worker_takes_jobs_of_known_tasks_only_services_before_drains(db):
    db.execute("insert into procrastinate_workers overriding system value values (1)")
    waiting = foreign(db, "todo")
    defer(db, "drain:0")
    value(db, "select reaper.enqueue_job('reaper:service', 'service:x', '{}')")
    value(db, "select reaper.enqueue_job('reaper:drain', 'drain:9', '{}', p_pause => '1 hour')")
    assert [column(db, CLAIM, queues) for queues in (["other"], ["reaper"], None, None)] == [
        *([], ["reaper:service"]),
        *(["reaper:drain"], []),
    ]
    assert value(db, "select status from procrastinate_jobs where id = %s", waiting) == "todo"


def test_of_one_lock_one_job_runs_at_a_time(db):
    db.execute("insert into procrastinate_workers overriding system value values (1)")
    for n in range(2):
        defer(db, f"drain:{n}")
    db.execute("update procrastinate_jobs set lock = 'mine'")
    assert [column(db, CLAIM, None) for _ in range(2)] == [["reaper:drain"], []]


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
    db.execute("select reaper.record_job_error(1, 'reaper:drain', 0, 'x')")
    db.execute("select reaper.register_service('drain', '@hourly', 'x'); select reaper.run_now('drain')")
    assert value(db, "select reaper.prune_history()") == 0
    clock.advance("91 days")
    assert value(db, "select reaper.prune_history()") == 2
    assert record(db, "select * from reaper.audit").action == "run_now"


@pytest.mark.parametrize("task", work_kinds.PRIORITIES)
def test_sql_and_tasks_agree_about_priorities(db, task):
    value(db, "select reaper.enqueue_job(%s, 'x', '{}')", task)
    assert value(db, "select priority from procrastinate_jobs") == work_kinds.PRIORITIES[task]

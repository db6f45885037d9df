"""What goes wrong around workers: jobs of the dead, a database that is away, a queue that must not wedge."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from reaper.dev.embedded import Postgres
from reaper.worker import tasks
from tests.support.forked_processes import terminated
from tests.support.sample_services import MARKS, ONCE
from tests.support.waiting import wait_until
from tests.support.worker_world import WorkerWorld

DEFER = "select reaper.enqueue_job('reaper:service', 'service:once', '{\"name\": \"once\"}')"
DEAD = "insert into procrastinate_workers (last_heartbeat) values (now() - interval '1 hour')"
TAKEN = (
    "update procrastinate_jobs set status = 'doing', worker_id = (select max(id) from procrastinate_workers)"
)
# By its own clock: a worker that loses its connections while it starts gives up.
TICKED = "exists (select from procrastinate.procrastinate_periodic_defers)"
ALLOW = "alter database {} with allow_connections {}"


@pytest.fixture
def once(world: WorkerWorld) -> WorkerWorld:
    """A world that knows a service which leaves marks."""
    world.sql(MARKS)
    with world.in_process_worker([ONCE]):
        return world


@pytest.fixture
def admin(server: Postgres) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        yield connection


def marks(world: WorkerWorld) -> int:
    return int(world.value("select count(*) from marks"))


def test_the_wedge_is_freed_and_the_job_behind_it_runs(once: WorkerWorld) -> None:
    # A dead worker has a job, and another of its name waits: to queue the first again would violate the name.
    assert once.value(DEFER)
    once.queue_sql(DEAD)
    once.queue_sql(TAKEN)
    assert once.value(DEFER)
    assert once.value("select wedged from reaper.jobs where status = 'doing'")
    rescued = once.sql("select outcome from reaper.rescue_jobs()")
    assert rescued == [("failed: another job with the same queueing lock waits",)]
    once.serving([ONCE])
    once.until("exists (select from marks)")
    once.until("not exists (select from reaper.jobs where status = 'doing')")


def test_no_task_can_wedge_because_none_retries_or_locks(world: WorkerWorld) -> None:
    app = tasks.make_app(tasks.connector(world.dsn), tasks.Runtime)
    ours = [task for name, task in app.tasks.items() if name.startswith("reaper:")]
    assert len(ours) == 4
    assert [(task.retry_strategy, task.lock) for task in ours] == [(None, None)] * 4


def test_jobs_of_a_killed_worker_run_on_another_after_the_rescue(once: WorkerWorld) -> None:
    assert once.value(DEFER)
    once.queue_sql(DEAD)
    once.queue_sql(TAKEN)
    worker = once.worker()
    once.started("job_rescue")
    once.run("job_rescue")
    # This worker does not know the service `once`, but its rescue makes the job free for one that does.
    once.until("exists (select from reaper.job_errors where error like 'worker died; queued again')")
    assert terminated(worker) == 0
    assert once.jobs("doing") == []


def test_a_worker_whose_connections_are_cut_goes_on_by_itself(once: WorkerWorld) -> None:
    worker = once.serving([ONCE])
    once.until(TICKED)
    once.until("not exists (select from reaper.jobs where status in ('todo', 'doing'))")
    once.cut_off("reaper:%")
    once.run("once")
    once.until("exists (select from marks)")
    assert worker.is_alive()
    assert terminated(worker) == 0


@pytest.mark.slow
def test_a_worker_without_database_ends_with_a_code_that_restarts_it_and_nothing_is_lost(
    once: WorkerWorld, admin: psycopg.Connection[tuple[object, ...]]
) -> None:
    name = sql.Identifier(psycopg.conninfo.conninfo_to_dict(once.dsn)["dbname"])
    worker = once.serving([ONCE])
    once.until(TICKED)
    once.until("not exists (select from reaper.jobs where status in ('todo', 'doing'))")
    once.due("once")
    admin.execute(sql.SQL(ALLOW).format(name, sql.SQL("false")))
    admin.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'reaper:%'"
    )
    wait_until(lambda: not worker.is_alive(), "the worker noticed")
    admin.execute(sql.SQL(ALLOW).format(name, sql.SQL("true")))
    assert worker.exitcode == 3
    assert "connection to the job queue lost" in once.said()
    before = marks(once)
    once.serving([ONCE])
    if before == 0:
        once.until("exists (select from marks)")
    assert marks(once) == 1


def test_a_worker_that_finds_no_database_at_its_start_says_so(world: WorkerWorld) -> None:
    world.dsn = "postgresql://nobody@127.0.0.1:1/nothing"
    worker = world.worker()
    worker.join(60)
    assert worker.exitcode == 5
    assert "cannot connect to the database" in world.said()

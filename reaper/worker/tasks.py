"""The procrastinate tasks: four thin ones around the runner, for our own app and for anybody's.

Procrastinate wakes and dispatches, it holds no truth. Every job has a `queueing_lock` (of each name one waits
at most), none has a `lock` (a chain of requeues would take 5 s a hop) or a retry strategy (a retry that meets
a waiting job of its name is stuck for ever).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import procrastinate
from procrastinate import Blueprint, JobContext
from psycopg.conninfo import make_conninfo

from reaper.db.connection import CONNECT_TIMEOUT, parse_dsn
from reaper.db.session_settings import startup_options
from reaper.errors import ConfigError
from reaper.telemetry import spans
from reaper.worker import work_kinds
from reaper.worker.dispatcher import Dispatcher
from reaper.worker.heartbeat import Heartbeat
from reaper.worker.options import QUEUE, QUEUE_SCHEMA
from reaper.worker.own_jobs import OwnJobs
from reaper.worker.queue_connector import Ignored, QueueConnector
from reaper.worker.work_kinds import NAMESPACE
from reaper.worker.work_runner import Runner
from reaper.worker.work_task import WorkTask

POOL_SIZE = 4
# Without a connection for so long the worker ends, and its supervisor starts another.
POOL_TIMEOUT = 5.0
EVERY_5_SECONDS = "* * * * * */5"

# Keeps the error of a job for which there is no runtime: its number, task and attempt.
Keep = Callable[[int, str, int, Exception], None]


@dataclass(frozen=True)
class Runtime:
    """What the tasks of a process work with."""

    dispatcher: Dispatcher
    runner: Runner
    heartbeat: Heartbeat


def connector(
    dsn: str, schema: str = QUEUE_SCHEMA, ignored: Ignored = lambda _channel: None
) -> QueueConnector:
    """Procrastinate's own connections; its objects are unqualified, so they need its schema."""
    # A job that a crash of the server loses is found again in reaper.services: no need to wait for the disk.
    options = f"-c search_path={schema} -c synchronous_commit=off {startup_options()}"
    given = parse_dsn(dsn)
    parts = {"connect_timeout": CONNECT_TIMEOUT, **given, "application_name": "reaper:queue:0"}
    parts["client_encoding"] = "UTF8"
    parts["options"] = f"{given.get('options', '')} {options}".strip()
    return QueueConnector(
        ignored, conninfo=make_conninfo(**parts), min_size=1, max_size=POOL_SIZE, timeout=POOL_TIMEOUT
    )


def unkept(_job: int, _task: str, _attempt: int, _error: Exception) -> None:
    """The runtime was opened before the first job."""


def make_app(
    connector: QueueConnector, runtime: Callable[[], Runtime], not_opened: Keep = unkept, **options: Any
) -> procrastinate.App:
    """An app with our tasks, whose workers take jobs of these tasks only."""
    app = procrastinate.App(connector=connector, **options)
    tasks = blueprint(runtime, not_opened)
    app.add_tasks_from(tasks, namespace=NAMESPACE)
    app.job_manager = OwnJobs(connector, tasks.tasks)
    return app


def blueprint(runtime: Callable[[], Runtime], not_opened: Keep = unkept) -> Blueprint:
    """The tasks; all of them synchronous, so that nothing they do can stop the heartbeat.

    `runtime` is asked by the first job: to import the tasks, or to defer one, needs no connection. Where it
    fails, `not_opened` keeps why.
    """
    tasks = Blueprint()

    def add(name: str, run: Callable[..., None], lock: Callable[..., str]) -> WorkTask:
        priority = work_kinds.PRIORITIES[f"{NAMESPACE}:{name}"]
        task = WorkTask(
            run, lock, blueprint=tasks, name=name, queue=QUEUE, priority=priority, pass_context=True,
            task_middleware=[_recorded(runtime, not_opened)],
        )  # fmt: skip
        tasks.tasks[name] = task
        return task

    def tick(context: JobContext, timestamp: int) -> None:  # noqa: ARG001
        _require_namespace(context)
        runtime().dispatcher.tick()

    def service(_: JobContext, name: str) -> None:
        runtime().runner.run_service(name)

    def drain(_: JobContext, slot: int) -> None:
        runtime().runner.drain_slot(slot)

    def purge(_: JobContext, policy: str) -> None:
        runtime().runner.purge(policy)

    tasks.periodic(cron=EVERY_5_SECONDS)(add("tick", tick, lambda **_: "tick"))
    add("service", service, lambda name="", **_: work_kinds.service_lock(name))
    add("drain", drain, lambda slot=0, **_: work_kinds.drain_lock(slot))
    add("purge", purge, lambda policy="", **_: work_kinds.policy_lock(policy))
    return tasks


def _require_namespace(context: JobContext) -> None:
    name = context.job.task_name
    if not name.startswith(f"{NAMESPACE}:"):
        raise ConfigError(
            f"the tasks of reaper were added as {name}, but PostgreSQL queues them as {NAMESPACE}:…",
            f'Use app.add_tasks_from(reaper.procrastinate.blueprint(), namespace="{NAMESPACE}").',
        )


def _recorded(runtime: Callable[[], Runtime], not_opened: Keep) -> Callable[..., Any]:
    """Times jobs, keeps the text of their errors, which procrastinate does not, and says who runs them."""

    def record(call_next: Callable[[], Any], context: JobContext, _worker: object) -> Any:
        job, began = context.job, time.perf_counter()
        try:
            running = runtime()
        except Exception as error:
            not_opened(job.id or 0, job.task_name, job.attempts, error)
            raise
        running.heartbeat.take_jobs_as(job.worker_id)
        try:
            with spans.span(
                f"job {job.task_name}", job_id=job.id or 0, queueing_lock=job.queueing_lock or ""
            ):
                return call_next()
        except Exception as error:
            running.runner.record_error(job.id or 0, job.task_name, job.attempts, error)
            raise
        finally:
            running.runner.telemetry.job_ended(job.task_name, time.perf_counter() - began)

    return record

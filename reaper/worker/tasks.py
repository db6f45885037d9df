"""The procrastinate app: four thin tasks around the runner.

Procrastinate wakes and dispatches, it holds no truth. Every job has a `queueing_lock` (of each name one waits
at most), none has a `lock` (a chain of requeues would take 5 s a hop) or a retry strategy (a retry that meets
a waiting job of its name is stuck for ever).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import procrastinate
from procrastinate import JobContext
from procrastinate.worker import Worker
from psycopg.conninfo import make_conninfo

from reaper.db.connection import CONNECT_TIMEOUT, parse_dsn
from reaper.worker.dispatcher import Dispatcher
from reaper.worker.options import QUEUE
from reaper.worker.work_runner import Runner

POOL_SIZE = 4
# Without a connection for so long the worker ends, and its supervisor starts another.
POOL_TIMEOUT = 5.0
EVERY_5_SECONDS = "* * * * * */5"
FIRST = 100

Middleware = Callable[[Callable[[], Awaitable[Any]], JobContext, Worker], Awaitable[Any]]


def connector(dsn: str) -> procrastinate.PsycopgConnector:
    """Procrastinate's own connections; its objects are unqualified, so they need its schema."""
    # A job that a crash of the server loses is found again in reaper.services: no need to wait for the disk.
    options = "-c search_path=procrastinate -c synchronous_commit=off"
    given = parse_dsn(dsn)
    parts = {"connect_timeout": CONNECT_TIMEOUT, **given, "application_name": "reaper:queue:0"}
    parts["options"] = f"{given.get('options', '')} {options}".strip()
    return procrastinate.PsycopgConnector(
        conninfo=make_conninfo(**parts), min_size=1, max_size=POOL_SIZE, timeout=POOL_TIMEOUT
    )


def make_app(
    connector: procrastinate.PsycopgConnector, dispatcher: Dispatcher, runner: Runner
) -> procrastinate.App:
    """The tasks; all of them synchronous, so that nothing they do can stop the heartbeat."""
    app = procrastinate.App(connector=connector)

    @app.periodic(cron=EVERY_5_SECONDS)
    @app.task(name="reaper.tick", queue=QUEUE, queueing_lock="tick", priority=FIRST)
    def tick(timestamp: int) -> None:  # noqa: ARG001
        dispatcher.tick()

    @app.task(name="reaper.service", queue=QUEUE)
    def service(name: str) -> None:
        runner.run_service(name)

    @app.task(name="reaper.drain", queue=QUEUE)
    def drain(slot: int) -> None:
        runner.drain_slot(slot)

    @app.task(name="reaper.purge", queue=QUEUE)
    def purge(policy: str) -> None:
        runner.purge(policy)

    return app


def recording(runner: Runner) -> Middleware:
    """Times jobs and keeps the text of their errors, which procrastinate does not."""

    async def record(call_next: Callable[[], Awaitable[Any]], context: JobContext, _: Worker) -> Any:
        job, began = context.job, time.perf_counter()
        try:
            return await call_next()
        except Exception as error:
            await asyncio.to_thread(runner.record_error, job.id or 0, job.task_name, job.attempts, error)
            raise
        finally:
            runner.telemetry.job_ended(job.task_name, time.perf_counter() - began)

    return record

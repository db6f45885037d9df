"""reaper's tasks for procrastinate: an app of our own, and a blueprint for somebody else's.

    procrastinate --app=reaper.procrastinate.app worker

    app.add_tasks_from(reaper.procrastinate.blueprint(), namespace="reaper")

Settings come from REAPER_* variables and reaper.toml. Nothing here connects before a job runs; the first one
opens what all later jobs of the process share. See docs/procrastinate.md.
"""

from __future__ import annotations

import atexit
import threading
from contextlib import ExitStack, suppress
from functools import cache
from typing import TYPE_CHECKING

from reaper import config
from reaper.app import App, Parts
from reaper.db.pooler import require_session
from reaper.errors import ReaperError, describe
from reaper.ops.connection import asking
from reaper.telemetry.events import Telemetry
from reaper.worker import tasks
from reaper.worker.options import POLL, QUEUE, QUEUE_SCHEMA, WorkerOptions

if TYPE_CHECKING:
    import procrastinate

    app: procrastinate.App

__all__ = ["app", "blueprint"]

_opening = threading.Lock()


def blueprint() -> procrastinate.Blueprint:
    """The tasks; add them under the namespace `reaper`, since PostgreSQL queues them by these names."""
    return tasks.blueprint(_runtime, _not_opened)


def __getattr__(name: str) -> procrastinate.App:
    # Made when it is asked for: who wants the blueprint alone needs no address of a database at import.
    if name == "app":
        return _make_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _make_app() -> procrastinate.App:
    settings = config.load("database_url")
    return tasks.make_app(
        tasks.connector(
            settings.dsn, settings.queue_schema or QUEUE_SCHEMA, _telemetry().notification_ignored
        ),
        _runtime,
        _not_opened,
        worker_defaults={
            "queues": [QUEUE],
            "concurrency": WorkerOptions().concurrency,
            "delete_jobs": "successful",
            "fetch_job_polling_interval": POLL,
        },
    )


@cache
def _telemetry() -> Telemetry:
    return Telemetry()


def _runtime() -> tasks.Runtime:
    # Jobs are threads: the first one opens it, the others wait for it.
    with _opening:
        return _open_runtime()


def _not_opened(job_id: int, task: str, attempt: int, error: Exception) -> None:
    """Keep why a job failed before there was a runner to do so; where that fails too, the log has it."""
    _telemetry().job_failed(task, job_id, describe(error))
    with suppress(ReaperError), asking(config.load("database_url").dsn, "check") as q:
        q.record_job_error(job_id, task, attempt, describe(error))


@cache
def _open_runtime() -> tasks.Runtime:
    with ExitStack() as opened:
        settings = config.load_all("database_url", config.BACKENDS, "stuck_after")
        require_session(settings.dsn)
        app = opened.enter_context(App(settings, Parts(telemetry=_telemetry())))
        app.check()
        runtime = app.runtime(WorkerOptions().slots)
        opened.enter_context(runtime.heartbeat)
        atexit.register(opened.pop_all().close)
    return runtime

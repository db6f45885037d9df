"""The worker process: runs procrastinate until it is asked to stop, and never ends silently by itself."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import procrastinate
from procrastinate.worker import Worker

from reaper.errors import Exit, WorkerLost, describe
from reaper.telemetry.events import Telemetry
from reaper.worker.health import ProcessHealth
from reaper.worker.options import POLL, WorkerOptions

GRACE = 20.0
# What a job that cannot be interrupted gets on top of its grace, before the process is ended.
EXIT_MARGIN = 3.0
# A worker that shuts down sends no heartbeat: longer than its grace by far, or its jobs would be run twice.
STALLED = 120.0
# Threads beside those that run jobs, in reserve.
SPARE_THREADS = 2


class _Worker(Worker):
    """Procrastinate's worker; it also calls `on_stop` when it stops by itself because a side task failed."""

    def __init__(self, on_stop: Callable[[], None], **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._on_stop = on_stop

    def stop(self) -> None:
        """Take no more jobs."""
        self._on_stop()
        super().stop()  # type: ignore[no-untyped-call]


class _LogForwarder(logging.Handler):
    """Forwards procrastinate's warnings to our log, except those about jobs, which are logged already."""

    def __init__(self, telemetry: Telemetry) -> None:
        super().__init__(logging.WARNING)
        self._telemetry = telemetry

    def emit(self, record: logging.LogRecord) -> None:
        """One line, with the cause and without the trace."""
        if getattr(record, "action", None) not in ("job_error", "job_aborted"):
            error = record.exc_info[1] if record.exc_info else None
            cause = f" ({error.__cause__})" if error and error.__cause__ else ""
            self._telemetry.library_warning(record.name, " ".join(f"{record.getMessage()}{cause}".split()))


class WorkerProcess:
    """One run; `stop` is set for the runner as soon as it is to end, so that no job begins another batch."""

    def __init__(
        self,
        app: procrastinate.App,
        options: WorkerOptions,
        stop: threading.Event,
        health: ProcessHealth,
        telemetry: Telemetry,
    ) -> None:
        self._app = app
        self._options = options
        self._stop = stop
        self._health = health
        self._telemetry = telemetry
        self._stop_requested = False
        self._exit_timer: threading.Timer | None = None

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; WorkerLost when it ends before."""
        library, forwarder = logging.getLogger("procrastinate"), _LogForwarder(self._telemetry)
        library.addHandler(forwarder)
        library.propagate = False
        try:
            asyncio.run(self._main())
        except Exception as error:
            raise WorkerLost(f"worker ended: {describe(error)}", _HINT) from error
        finally:
            library.removeHandler(forwarder)
            self._health.taking_jobs = False
            # Lost, the rest of the way down may still wait for a database that does not come back.
            if self._exit_timer and self._stop_requested:
                self._exit_timer.cancel()
        if not self._stop_requested:
            raise WorkerLost("worker ended: connection to the job queue lost", _HINT)

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(self._options.concurrency + SPARE_THREADS, "job"))
        async with self._app.open_async():
            worker = self._worker()
            loop_recorder = asyncio.create_task(self._record_loops())
            with self._signals(loop, worker):
                self._telemetry.worker_started(
                    self._options.queues, self._options.slots, self._options.concurrency
                )
                await worker.run()  # type: ignore[no-untyped-call]
            loop_recorder.cancel()

    def _worker(self) -> _Worker:
        return _Worker(
            self._stopping,
            app=self._app,
            queues=list(self._options.queues),
            concurrency=self._options.concurrency,
            fetch_job_polling_interval=POLL,
            shutdown_graceful_timeout=GRACE,
            stalled_worker_timeout=STALLED,
            delete_jobs="successful",
            install_signal_handlers=False,
        )

    async def _record_loops(self) -> None:
        self._health.taking_jobs = True
        while True:
            self._health.record_loop()
            await asyncio.sleep(1)

    @contextmanager
    def _signals(self, loop: asyncio.AbstractEventLoop, worker: _Worker) -> Iterator[None]:
        """The first signal asks for a clean stop; a second one ends the process at once."""

        def ask(number: int) -> None:
            self._stop_requested = True
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)
            worker.stop()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ask, number)
        yield

    def _stopping(self) -> None:
        if self._exit_timer:
            return
        self._telemetry.worker_stopping(self._stop_requested)
        self._health.taking_jobs = False
        self._stop.set()
        self._exit_timer = threading.Timer(GRACE + EXIT_MARGIN, self._give_up)
        self._exit_timer.daemon = True
        self._exit_timer.start()

    def _give_up(self) -> None:
        # A thread cannot be ended; what it holds is written in PostgreSQL, and others take it over.
        self._telemetry.grace_exceeded(GRACE)
        os._exit(Exit.STALLED)


_HINT = "Check that PostgreSQL runs, then start the worker again; no work is lost."

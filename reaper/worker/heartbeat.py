"""The heartbeat of a process: while it beats, its batches are its own."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from reaper.errors import ReaperError
from reaper.queries import Ask
from reaper.telemetry.events import Telemetry

EVERY = 10.0


def worker_name() -> str:
    """A name that no other process has, also after a restart on the same host with the same pid."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


class Heartbeat:
    """Beats on a thread and a connection of its own, so that slow work does not silence it.

    With each beat goes what does not answer this process.
    """

    def __init__(
        self,
        ask: Ask,
        worker: str,
        telemetry: Telemetry,
        every: float = EVERY,
        after_beat: Callable[[], None] = lambda: None,
        *,
        takes_jobs: bool = False,
    ) -> None:
        self._ask = ask
        self._worker = worker
        self._telemetry = telemetry
        self._every = every
        # What the process catches up on once PostgreSQL answers; services that idle work would not ask.
        self._after_beat = after_beat
        # A process that takes none starts no service: to the verdict it is no worker.
        self._takes_jobs = takes_jobs
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._beat_at = time.monotonic()
        self._queue_worker: int | None = None

    def take_jobs_as(self, queue_worker: int | None) -> None:
        """Record procrastinate's number of this worker: when the process is gone, its jobs are rescued."""
        if queue_worker is not None and queue_worker != self._queue_worker:
            self._queue_worker = queue_worker
            try:
                self._beat()
            except ReaperError as error:
                # The next beat tells it; the job that brought the number need not fail.
                self._telemetry.heartbeat_failed(error)

    @property
    def age(self) -> float:
        """Seconds since the last heartbeat that got through."""
        return time.monotonic() - self._beat_at

    def __enter__(self) -> Self:
        self._beat()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        try:
            self._ask(lambda q: q.retire_worker(self._worker))
        except ReaperError as lost:
            # The batches of a silent worker are taken over all the same, a minute later.
            self._telemetry.heartbeat_failed(lost)

    def _beat(self) -> None:
        degraded = self._telemetry.degraded_services
        self._ask(
            lambda q: q.heartbeat(self._worker, self._queue_worker, degraded, takes_jobs=self._takes_jobs)
        )
        self._beat_at = time.monotonic()

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self._beat()
                # After the beat, which must not be late; what it finds goes with the next one.
                self._after_beat()
            except ReaperError as error:
                self._telemetry.heartbeat_failed(error)

"""Trying a step again while its locks are not free, and naming the sessions that hold them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import psycopg
from psycopg.errors import DeadlockDetected, LockNotAvailable

from reaper.db.connection import Connection
from reaper.errors import ReaperError, TableBusy
from reaper.migrate.connection import migrator_connection

T = TypeVar("T")

_BLOCKERS = """
    select a.pid, a.usename, a.backend_type, a.application_name, a.state,
           round(extract(epoch from clock_timestamp() - a.query_start))
      from pg_catalog.pg_stat_activity a
     where a.pid = any (pg_catalog.pg_blocking_pids(%s))
"""
_WATCH_EVERY = 0.02


@dataclass
class LockRetry:
    """Runs an attempt again while its locks are not free, for up to `seconds`."""

    dsn: str = field(repr=False)
    seconds: float = 60.0
    _blockers: dict[int, str] = field(default_factory=dict)

    def run(self, what: str, connection: Connection, attempt: Callable[[], T]) -> T:
        """The attempt's result; TableBusy, naming the sessions that hold the locks, when the time is over."""
        deadline = time.monotonic() + self.seconds
        pause = 0.05
        try:
            return attempt()
        except (LockNotAvailable, DeadlockDetected):
            self._blockers.clear()
        while True:
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 1.5, 1.0)
            try:
                with self._watching(connection.info.backend_pid):
                    return attempt()
            except (LockNotAvailable, DeadlockDetected):
                if time.monotonic() > deadline:
                    raise self._busy(what) from None

    def _busy(self, what: str) -> TableBusy:
        who = "; ".join(self._blockers.values()) or "sessions that ended before they could be named"
        return TableBusy(
            f"{what}: could not get its locks within {self.seconds:g} s; blocked by {who}",
            "What was applied stays applied. Wait for these sessions or end them with"
            " pg_terminate_backend(pid), then migrate again.",
        )

    @contextmanager
    def _watching(self, pid: int) -> Iterator[None]:
        """Note, on a second connection, which sessions block the one with this pid."""
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(pid, done), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    def _watch(self, pid: int, done: threading.Event) -> None:
        try:
            with migrator_connection(self.dsn) as connection:
                while not done.is_set():
                    rows = connection.execute(_BLOCKERS, (pid,)).fetchall()
                    if rows:
                        self._blockers = {row[0]: _describe(*row) for row in rows}
                    done.wait(_WATCH_EVERY)
        except (psycopg.Error, ReaperError):
            # The names are a courtesy; without them the attempt continues.
            return


def _describe(
    pid: int, user: str | None, kind: str | None, name: str | None, state: str | None, age: int | None
) -> str:
    parts = [f"pid {pid}", f"user {user}" if user else (kind or "unknown user")]
    if name:
        parts.append(f"application {name!r}")
    if age is not None:
        parts.append(f"{state or 'query'} since {age} s")
    return "(" + ", ".join(parts) + ")"

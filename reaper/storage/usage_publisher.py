"""Tells what this process has used: Redis each second, where there is one, and PostgreSQL each half minute.

What is told are totals, so anything may be told twice, late or not at all. Without Redis a process that dies
loses what it counted since its last flush; with it, what it counted within a second.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from reaper.errors import ReaperError
from reaper.model import UsageRow
from reaper.ports import UsageBoard
from reaper.queries import Ask
from reaper.queries.usage import Flushed
from reaper.storage.usage_meter import UsageMeter
from reaper.telemetry.events import Telemetry

EVERY = 1.0
# How soon a flush is tried again that failed.
AGAIN = 5.0
# Rows of one flush.
AT_ONCE = 1000
# How long a process may be silent in Redis until it is taken from there; its totals are in PostgreSQL then.
SILENT = timedelta(hours=1)
# Made when it is first needed, for which PostgreSQL is asked.
MakeBoard = Callable[[], UsageBoard]


class UsagePublisher:
    """Publishes from a thread of its own, which begins with the first request of the process."""

    def __init__(
        self, meter: UsageMeter, board: MakeBoard, ask: Ask, telemetry: Telemetry, every: float = EVERY
    ) -> None:
        self._meter = meter
        self._board = board
        self._ask = ask
        self._telemetry = telemetry
        self._every = every
        self._stop = threading.Event()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._published: list[UsageRow] = []
        self._flush_in = 0.0

    def start(self) -> None:
        """Publish from now on."""
        with self._guard:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._run, name="usage", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Publish what is left, and end."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._meter.has_counted and not self._try_flush() and self._published:
            self.publish()

    def tell(self) -> None:
        """Publish now."""
        self._try_flush()
        self.publish()

    def asking(self, ask: Ask) -> UsageCollector:
        """The usage of all processes, for a service with a connection of its own."""
        return UsageCollector(self._meter, self._board, ask)

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            self._flush_in -= self._every
            if self._flush_in <= 0:
                self._try_flush()
            try:
                self.publish()
            except ReaperError as error:
                self._telemetry.usage_not_flushed(error)

    def publish(self) -> None:
        """To Redis, if anything has changed; a Redis that forgets gets it with the next change."""
        rows, now = self._meter.rows(), self._meter.clock.now()
        if rows and now is not None and rows != self._published and self._board().publish(rows, now):
            self._published = rows

    def _try_flush(self) -> bool:
        try:
            self._learn()
            flushed = self._flush(self._meter.rows())
            self._flush_in = flushed.flush_again_in.total_seconds()
            # Also Redis is told again, which may have lost it.
            self._published = []
            self._telemetry.recovered("usage")
        except ReaperError as error:
            self._flush_in = AGAIN
            self._telemetry.usage_not_flushed(error)
            return False
        return True

    def _learn(self) -> None:
        if self._meter.clock.now() is None:
            self._meter.learn(self._ask(lambda q: q.now()))

    def _flush(self, rows: Sequence[UsageRow]) -> Flushed:
        flushed = flush(self._ask, rows)
        self._meter.learn(flushed.now)
        return flushed


@dataclass(frozen=True)
class UsageCollector:
    """What is known of the usage of all processes."""

    meter: UsageMeter
    board: MakeBoard
    ask: Ask

    def flush_all(self) -> int:
        """Bring it to PostgreSQL; returns how many rows that changed."""
        if self.meter.clock.now() is None:
            self.meter.learn(self.ask(lambda q: q.now()))
        rows = [*self.meter.rows(), *self.board().read()]
        return sum(flush(self.ask, chunk).rows_changed for chunk in _chunks(rows))

    def forget_silent(self) -> int:
        """Take from Redis what has been in PostgreSQL for long."""
        now = self.meter.clock.now()
        return 0 if now is None else self.board().forget(now - SILENT)


def flush(ask: Ask, rows: Sequence[UsageRow]) -> Flushed:
    """Flush under one id, however often it takes."""
    flush_id = uuid.uuid4()
    return ask(lambda q: q.flush_usage(flush_id, rows))


def _chunks(rows: Sequence[UsageRow]) -> Iterator[Sequence[UsageRow]]:
    for start in range(0, len(rows), AT_ONCE):
        yield rows[start : start + AT_ONCE]

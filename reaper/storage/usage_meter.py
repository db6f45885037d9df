"""Counts the requests of this process to the backends, and the bytes in their bodies, by month.

In memory, about a microsecond a request. A request counts when it has ended, once for each time that the S3
client sent it; one that reached no server does not. Totals only ever grow: the greatest is the truth.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from enum import IntEnum

from reaper.model import UsageRow

# As many months as a report is worth anything for: see reaper_internal.oldest_open_month.
MONTHS_KEPT = 2
INGRESS, EGRESS = 4, 5


class Kind(IntEnum):
    """What a request does, as stores charge for it."""

    READ = 0
    WRITE = 1
    LIST = 2
    DELETE = 3


class DatabaseClock:
    """The database's time, as far as this process has learnt it; it goes on between two answers."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._learnt: tuple[datetime, float] | None = None
        # When the month ends, on our own clock: asked for at each request.
        self._month: date | None = None
        self._month_ends = 0.0

    def learn(self, now: datetime) -> None:
        """The database has told its time."""
        self._learnt = now.astimezone(UTC), self._monotonic()
        self._turn()

    def now(self) -> datetime | None:
        """The time; None before the database has told it."""
        if self._learnt is None:
            return None
        told, at = self._learnt
        return told + timedelta(seconds=self._monotonic() - at)

    @property
    def month(self) -> date | None:
        """The first day of this month, in UTC."""
        if self._month is not None and self._monotonic() >= self._month_ends:
            self._turn()
        return self._month

    def _turn(self) -> None:
        now = self.now()
        if now is None:
            return
        following = datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC)
        self._month = date(now.year, now.month, 1)
        self._month_ends = self._monotonic() + (following - now).total_seconds()


class UsageMeter:
    """What this process has used; any number of threads may count."""

    def __init__(self, clock: DatabaseClock | None = None, process: uuid.UUID | None = None) -> None:
        self.clock = clock or DatabaseClock()
        self.process = process or uuid.uuid4()
        # Called at the first request, outside of all locks.
        self.on_first: Callable[[], None] = lambda: None
        self._guard = threading.Lock()
        # Reads, writes, lists, deletes, ingress, egress. No month until the database's clock is known.
        self._totals: dict[tuple[date | None, str], list[int]] = {}
        self._counted = False

    def backend(self, name: str) -> BackendMeter:
        """What the store of a backend counts with."""
        return BackendMeter(name, self)

    def count(self, backend: str, kind: Kind, ingress: int, egress: int) -> None:
        """A request has ended."""
        with self._guard:
            key = self.clock.month, backend
            totals = self._totals.get(key)
            if totals is None:
                totals = self._totals[key] = [0] * 6
            totals[kind] += 1
            totals[INGRESS] += ingress
            totals[EGRESS] += egress
            is_first, self._counted = not self._counted, True
        if is_first:
            self.on_first()

    @property
    def has_counted(self) -> bool:
        """Whether there was any request."""
        return self._counted

    def learn(self, now: datetime) -> None:
        """The database's time; what ended before it was known belongs to its month."""
        with self._guard:
            self.clock.learn(now)
            month = self.clock.month
            for key in [key for key in self._totals if key[0] is None]:
                early = self._totals.pop(key)
                totals = self._totals.setdefault((month, key[1]), [0] * 6)
                totals[:] = [before + more for before, more in zip(totals, early, strict=True)]
            months = sorted({key[0] for key in self._totals if key[0] is not None})
            for key in [key for key in self._totals if key[0] in months[:-MONTHS_KEPT]]:
                del self._totals[key]

    def rows(self) -> list[UsageRow]:
        """The totals; none before the database's clock is known."""
        with self._guard:
            return [
                UsageRow(self.process, month, backend, *totals)
                for (month, backend), totals in self._totals.items()
                if month is not None
            ]


class BackendMeter:
    """Counts for one backend."""

    def __init__(self, name: str, meter: UsageMeter) -> None:
        self._name = name
        self._meter = meter

    def count(self, kind: Kind, ingress: int, egress: int) -> None:
        """A request has ended."""
        self._meter.count(self._name, kind, ingress, egress)

"""The gate before each batch: stops for a pause, waits while PostgreSQL cannot follow, sets the pace."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from reaper.concurrency import Stop
from reaper.expiry.rate import Rate
from reaper.queries import Ask
from reaper.telemetry.events import Telemetry

STEP = 0.5


@dataclass(frozen=True)
class Despite:
    """What an operator runs a service in spite of: that it is switched off, that it is paused."""

    off: bool = False
    pause: bool = False


NOTHING = Despite()


@dataclass
class Throttle:
    """Asks PostgreSQL whether the next batch may begin, and records why it waits; all lanes share it."""

    ask: Ask
    worker: str
    telemetry: Telemetry
    rate: Rate = field(default_factory=Rate)
    # The pause that ended a service, as the sentence that names who and why.
    pause: str | None = field(default=None, init=False)
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False)
    _noted: str | None = field(default=None, init=False)

    def passes(self, service: str, stop: Stop, despite: Despite = NOTHING) -> bool:
        """Wait as long as must be; False when the service was paused or switched off, or the time is over."""
        while not stop.is_set():
            told = self.ask(lambda q: q.before_batch(service))
            self.rate.follow(told.batch_size, told.rows_per_second)
            self.pause = None if despite.pause else told.pause
            if self.pause or not (told.enabled or despite.off):
                self._note(service, None)
                return False
            self._note(service, told.wait)
            if told.wait is None:
                return True
            with self.telemetry.waiting(told.wait):
                time.sleep(STEP)
        return False

    def may_retry(self, service: str, despite: Despite = NOTHING) -> bool:
        """Whether the service may run; a drain asks it before it retries that service's deletions."""
        told = self.ask(lambda q: q.before_batch(service))
        return (told.enabled or despite.off) and (told.pause is None or despite.pause)

    def _note(self, service: str, reason: str | None) -> None:
        with self._guard:
            if reason == self._noted:
                return
            changed = (reason is None) != (self._noted is None)
            self._noted = reason
        self.ask(lambda q: q.record_throttle(self.worker, reason))
        if changed:
            self.telemetry.throttled(service, reason)

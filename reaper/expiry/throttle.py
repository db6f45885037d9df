"""The gate before each batch: it waits while PostgreSQL's replicas or vacuum cannot follow."""

from __future__ import annotations

import threading
import time

from reaper.concurrency import Stop
from reaper.queries import Ask
from reaper.telemetry.events import Telemetry

STEP = 0.5


class Throttle:
    """Asks PostgreSQL whether the next batch may begin, and records why it waits; all lanes share it."""

    def __init__(self, ask: Ask, worker: str, telemetry: Telemetry) -> None:
        self._ask = ask
        self._worker = worker
        self._telemetry = telemetry
        self._guard = threading.Lock()
        self._noted: str | None = None

    def passes(self, service: str, stop: Stop, by_hand: bool = False) -> bool:
        """Wait as long as must be; False when the service was paused or switched off, or the time is over.

        `by_hand` an operator runs it although it is off or paused.
        """
        while not stop.is_set():
            if not by_hand and not self._ask(lambda q: q.is_runnable(service)):
                return False
            reason = self._ask(lambda q: q.throttle())
            self._note(service, reason)
            if reason is None:
                return True
            time.sleep(STEP)
        return False

    def _note(self, service: str, reason: str | None) -> None:
        with self._guard:
            if reason == self._noted:
                return
            changed = (reason is None) != (self._noted is None)
            self._noted = reason
        self._ask(lambda q: q.record_throttle(self._worker, reason))
        if changed:
            self._telemetry.throttled(service, reason)

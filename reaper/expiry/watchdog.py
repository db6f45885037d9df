"""The watchdog: takes back what dead workers hold, and finishes what they left half done."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import timedelta

from reaper.expiry.lane import Lane
from reaper.model import Reset
from reaper.telemetry.events import Telemetry

EVERY = 15.0


@dataclass(frozen=True)
class Watchdog:
    """Looks again and again; any number of them may run."""

    lane: Lane
    telemetry: Telemetry
    stuck_after: timedelta

    def tick(self) -> tuple[Reset, int]:
        """Take back, then adopt: what was reset, and how many batches' side effects were finished."""
        reset = self.lane.session.call(lambda q: q.reset_stuck(self.stuck_after))
        self.telemetry.reset(reset)
        return reset, self.lane.adopt()

    def run(self, stop: threading.Event, every: float = EVERY) -> None:
        """Tick until told to stop."""
        while True:
            self.tick()
            if stop.wait(every):
                return

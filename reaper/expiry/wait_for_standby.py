"""Deletions wait for a standby, where a DBA wants that: a failover then brings no content back without bytes.

PostgreSQL says whether there is anything to wait for, and who has what. Here it is asked again for a while.
A standby that does not answer is waited for once; then objects go to the queue at once until it is back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from reaper.concurrency import Stop
from reaper.model import Failed
from reaper.queries import Ask, Queries
from reaper.telemetry.events import Telemetry

PATIENCE = 10.0
SHORTEST, LONGEST = 0.002, 0.1
SERVICE = "standby"
NOT_THERE = Failed("no standby has the release yet (settings.wait_for_standby)", outage=True)


@dataclass
class Standby:
    """What this process knows of the standbys; its lanes share it."""

    telemetry: Telemetry
    patience: float = PATIENCE
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _is_away: bool = field(default=False, init=False)

    def has(self, token: UUID, ask: Ask, stop: Stop) -> bool:
        """Whether the objects that the token released may be deleted; ClaimLost when nothing is released."""
        until = self.clock() + (0.0 if self._is_away else self.patience)
        pause = SHORTEST
        lsn: str | None = None
        while (lsn := ask(partial(_lacking, token, lsn))) is not None:
            if stop.is_set():
                return False
            if self.clock() >= until:
                self._is_away = True
                self.telemetry.degraded(SERVICE, f"WAL up to {lsn} not received")
                return False
            with self.telemetry.waiting(f"standby, which has not written {lsn} yet"):
                self.sleep(pause)
            pause = min(pause * 1.5, LONGEST)
        if self._is_away:
            self._is_away = False
            self.telemetry.recovered(SERVICE)
        return True


def _lacking(token: UUID, lsn: str | None, q: Queries) -> str | None:
    return q.await_standby(token, lsn)

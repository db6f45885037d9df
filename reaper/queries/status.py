"""How things stand: the views that operators look at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from reaper.queries.base import Area, reads

# The verdict of a system that stands still.
STALLED = "stalled"


@dataclass(frozen=True, slots=True)
class Health:
    """How things stand; the verdict is PostgreSQL's."""

    verdict: str
    due_rows: int
    oldest_due: datetime | None
    batches_claimed: int
    batches_released: int
    batches_stuck: int
    workers_alive: int
    rows_blocked: int
    objects_queued: int
    objects_dead: int
    invalidations_queued: int
    drift_last_day: int
    refusals: int
    last_finished: datetime | None
    reasons: list[str]
    stuck_since: datetime | None
    judged_at: datetime


@dataclass(frozen=True, slots=True)
class InFlight:
    """The batches of one state."""

    state: str
    batches: int
    oldest: timedelta
    codes: int
    objects: int


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker process."""

    worker: str
    alive: bool
    started_at: datetime
    beat_at: datetime
    batches: int
    throttled: str | None
    degraded: dict[str, str] | None


class Status(Area):
    """How things stand."""

    @reads
    def health(self) -> Health:
        """The verdict, and the figures behind it."""
        return self._db.only(Health, "select * from reaper.health")

    @reads
    def in_flight(self) -> list[InFlight]:
        """The batches that are being worked on, by state."""
        return self._db.all(
            InFlight,
            "select state, count(*) as batches, max(held_for) as oldest,"
            " sum(codes) as codes, sum(objects) as objects"
            " from reaper.in_flight group by state order by state",
        )

    @reads
    def fleet(self) -> list[WorkerState]:
        """The worker processes."""
        return self._db.all(WorkerState, "select * from reaper.fleet")

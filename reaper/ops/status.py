"""Does the system keep its promise? All that `reaper status` shows, asked from the database alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from reaper.queries import Queries
from reaper.queries.backends import BackendState
from reaper.queries.checks import Speed
from reaper.queries.jobs import DrainSlots
from reaper.queries.services import ServiceState
from reaper.queries.status import Health, InFlight, WorkerState


@dataclass(frozen=True)
class Status:
    """All that is shown."""

    health: Health
    in_flight: list[InFlight]
    workers: list[WorkerState]
    speed: Speed
    backends: list[BackendState]
    schedule: list[ServiceState]
    slots: DrainSlots

    @property
    def verdict(self) -> str:
        """PostgreSQL's."""
        return self.health.verdict

    def as_dict(self) -> dict[str, Any]:
        """For machines: the fields of the view reaper.health, then the rest."""
        return {
            **asdict(self.health),
            "in_flight": self.in_flight,
            "workers": self.workers,
            "speed": self.speed,
            "backends": self.backends,
            "schedule": self.schedule,
            "slots": self.slots,
        }


def look(q: Queries) -> Status:
    """How things stand now."""
    return Status(
        health=q.health(),
        in_flight=q.in_flight(),
        workers=q.fleet(),
        speed=q.recent_speed(),
        backends=q.backends(),
        schedule=q.schedule(),
        slots=q.drain_slots(),
    )

"""The schedule, the runs of services, and what operators do with both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from reaper.model import (
    DueService,
)
from reaper.queries.base import Area, commits, reads


@dataclass(frozen=True, slots=True)
class ServiceState:
    """A service, when it runs, and how its last run ended."""

    name: str
    description: str
    schedule: str
    enabled: bool
    paused_until: datetime | None
    paused_by: str | None
    pause_reason: str | None
    next_run_at: datetime | None
    last_started_at: datetime | None
    last_finished_at: datetime | None
    last_worker: str | None
    last_result: dict[str, Any] | None
    last_error: str | None
    consecutive_failures: int
    runs: int
    skipped: int
    now: datetime

    @property
    def is_paused(self) -> bool:
        """Whether a pause is on now."""
        return self.paused_until is not None and self.paused_until > self.now


@dataclass(frozen=True, slots=True)
class BeforeBatch:
    """May the next batch of a service begin, must it wait, and how large and fast may it be."""

    enabled: bool
    pause: str | None
    wait: str | None
    batch_size: int
    rows_per_second: int | None


class Services(Area):
    """The schedule, the runs of services, and what operators do with both."""

    @commits
    def register_service(self, name: str, schedule: str, description: str, enabled: bool) -> None:
        """Make a service known; what a DBA changed stays."""
        self._db.value("select reaper.register_service(%s, %s, %s, %s)", name, schedule, description, enabled)

    @commits
    def sync_services(self) -> list[DueService]:
        """Bring the services of policies up to date; returns what is due."""
        return self._db.all(DueService, "select * from reaper.sync_services()")

    @commits
    def enqueue_run(self, name: str, seen: datetime | None, upcoming: datetime) -> int:
        """Plan the next run and queue this one, unless another tick was first; returns how many jobs.

        A time without zone is one on the clock of settings.time_zone.
        """
        moment = "%s" if upcoming.tzinfo else "reaper.from_local_time(%s)"
        return int(self._db.value(f"select reaper.enqueue_run(%s, %s, {moment})", name, seen, upcoming))

    @commits
    def lease_service(self, name: str, worker: str) -> UUID | None:
        """Try to be the only one that runs the service; the token, or None while another worker does."""
        token: UUID | None = self._db.value("select reaper.lease_service(%s, %s)", name, worker)
        return token

    @commits
    def extend_service_lease(self, name: str, token: UUID | None) -> bool:
        """Keep the lease; False when it was lost."""
        return bool(self._db.value("select reaper.extend_service_lease(%s, %s)", name, token))

    @commits
    def return_service_lease(self, name: str, token: UUID) -> bool:
        """Let others run the service, from this moment on; False when the lease was lost."""
        return bool(self._db.value("select reaper.return_service_lease(%s, %s)", name, token))

    @reads
    def is_runnable(self, name: str) -> bool:
        """Whether the service is switched on and not paused."""
        return bool(
            self._db.value(
                "select enabled and coalesce(paused_until <= reaper.clock(), true)"
                "  from reaper.schedule where name = %s",
                name,
            )
        )

    @reads
    def failures_in_a_row(self, name: str) -> int:
        """How many runs of the service have failed since the last that did not."""
        return int(
            self._db.value("select consecutive_failures from reaper.schedule where name = %s", name) or 0
        )

    @commits
    def begin_run(self, name: str, worker: str, token: UUID | None = None) -> None:
        """Record that a run begins; ClaimLost with the token of a lost lease."""
        self._db.value("select reaper.begin_run(%s, %s, %s)", name, worker, token)

    @commits
    def finish_run(
        self,
        name: str,
        result: Mapping[str, Any] | None,
        error: str | None = None,
        token: UUID | None = None,
    ) -> None:
        """Record how a run ended; ClaimLost with the token of a lost lease."""
        document = None if result is None else Jsonb(dict(result))
        self._db.value("select reaper.finish_run(%s, %s, %s, %s)", name, document, error, token)

    @commits
    def record_skipped_run(self, name: str) -> None:
        """Count a run that was skipped because another worker held the service lock."""
        self._db.value("select reaper.record_skipped_run(%s)", name)

    @reads
    def before_batch(self, name: str) -> BeforeBatch:
        """What is to be known before the next batch of a service."""
        return self._db.only(BeforeBatch, "select * from reaper.before_batch(%s)", name)

    @reads
    def pause_of(self, name: str) -> str | None:
        """Who paused the service, until when and why; None when it is not paused."""
        pause: str | None = self._db.value("select reaper.pause_of(%s)", name)
        return pause

    @commits
    def enqueue_next_run(self, name: str, task: str, lock: str, arguments: Mapping[str, Any]) -> int:
        """Queue the next run of what is not done yet; when it is paused, for the end of the pause."""
        document = Jsonb(dict(arguments))
        return int(
            self._db.value("select reaper.enqueue_next_run(%s, %s, %s, %s)", name, task, lock, document)
        )

    @commits
    def record_throttle(self, worker: str, reason: str | None) -> None:
        """Show operators why this worker waits."""
        self._db.value("select reaper.record_throttle(%s, %s)", worker, reason)

    @reads
    def schedule(self) -> list[ServiceState]:
        """Every service."""
        return self._db.all(
            ServiceState, "select s.*, reaper.clock() as now from reaper.schedule s order by s.name"
        )

    @commits
    def run_now(self, name: str, reason: str | None) -> None:
        """Make the service due."""
        self._db.value("select reaper.run_now(%s, %s)", name, reason)

    @commits
    def enable_service(self, name: str, reason: str | None) -> None:
        """Switch the service on."""
        self._db.value("select reaper.enable_service(%s, %s)", name, reason)

    @commits
    def disable_service(self, name: str, reason: str | None) -> None:
        """Switch the service off."""
        self._db.value("select reaper.disable_service(%s, %s)", name, reason)

    @commits
    def pause(self, name: str, span: timedelta, reason: str) -> datetime:
        """Keep the service from running for a while; returns when that ends."""
        until: datetime = self._db.value("select reaper.pause(%s, %s, %s)", name, span, reason)
        return until

    @commits
    def resume(self, name: str, reason: str | None) -> None:
        """End a pause before its time."""
        self._db.value("select reaper.resume(%s, %s)", name, reason)

    @commits
    def reschedule(self, name: str, schedule: str, reason: str | None) -> None:
        """Change when the service runs."""
        self._db.value("select reaper.reschedule(%s, %s, %s)", name, schedule, reason)

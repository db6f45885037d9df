"""What operators do with the schedule and the jobs: one typed method per view or function."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from psycopg.rows import class_row

from reaper.db.connection import Connection, translated
from reaper.model import Rescued

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Planned:
    """A service, when it runs, and how its last run ended."""

    name: str
    description: str
    schedule: str
    enabled: bool
    paused_until: datetime | None
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
class Job:
    """A job in the queue; a wedged one runs on no living worker."""

    job_id: int
    task: str
    lock: str | None
    status: str
    attempts: int
    worker_alive: bool
    since: datetime | None
    last_error: str | None
    wedged: bool


@dataclass(frozen=True, slots=True)
class Slots:
    """Drain jobs, by what they do."""

    running: int
    waiting: int


class Desk:
    """An operator's questions and orders on one connection; what changes anything is audited."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def schedule(self) -> list[Planned]:
        """Every service."""
        return self._rows(Planned, "select s.*, reaper.clock() as now from reaper.schedule s order by s.name")

    def slots(self) -> Slots:
        """What the drain's jobs do at the moment."""
        query = (
            "select count(*) filter (where status = 'doing' and worker_alive) as running,"
            " count(*) filter (where status = 'todo') as waiting from reaper.jobs where task = 'reaper.drain'"
        )
        return self._rows(Slots, query)[0]

    def jobs(self, limit: int) -> list[Job]:
        """The newest jobs; those that succeed are forgotten at once."""
        return self._rows(
            Job,
            "select * from (select * from reaper.jobs order by job_id desc limit %s) as j order by job_id",
            limit,
        )

    def rescue(self, silence: timedelta, limit: int = 1000) -> list[Rescued]:
        """Free the jobs of workers that are silent for so long."""
        return self._rows(Rescued, "select * from reaper.rescue_jobs(%s, %s)", silence, limit)

    def run_now(self, name: str, reason: str | None) -> None:
        """Make the service due."""
        self._do("select reaper.run_now(%s, %s)", name, reason)

    def enable(self, name: str, reason: str | None) -> None:
        """Switch the service on."""
        self._do("select reaper.enable_service(%s, %s)", name, reason)

    def disable(self, name: str, reason: str | None) -> None:
        """Switch the service off."""
        self._do("select reaper.disable_service(%s, %s)", name, reason)

    def pause(self, name: str, span: timedelta, reason: str) -> datetime:
        """Keep the service from running for a while; returns when that ends."""
        until = self._do("select reaper.pause(%s, %s, %s)", name, span, reason)
        assert isinstance(until, datetime)
        return until

    def resume(self, name: str, reason: str | None) -> None:
        """End a pause before its time."""
        self._do("select reaper.resume(%s, %s)", name, reason)

    def reschedule(self, name: str, schedule: str, reason: str | None) -> None:
        """Change when the service runs."""
        self._do("select reaper.reschedule(%s, %s, %s)", name, schedule, reason)

    def _do(self, statement: str, *values: Any) -> Any:
        with translated():
            row = self._connection.execute(statement, values).fetchone()
        return row[0] if row else None

    def _rows(self, shape: type[T], statement: str, *values: Any) -> list[T]:
        with translated(), self._connection.cursor(row_factory=class_row(shape)) as cursor:
            return cursor.execute(statement, values).fetchall()

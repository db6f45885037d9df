"""What the backends are used for: S3 requests and bytes by month, and their limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID

from psycopg.types.json import Jsonb

from reaper.model import UsageRow
from reaper.queries.base import Area, commits, reads


@dataclass(frozen=True, slots=True)
class Flushed:
    """How many rows a flush changed, when to flush again, and the time by which months are told apart."""

    rows_changed: int
    flush_again_in: timedelta
    now: datetime


@dataclass(frozen=True, slots=True)
class Folded:
    """How many rows were added to the sums of their months, and how many old ones are deleted."""

    folded: int
    deleted: int


@dataclass(frozen=True, slots=True)
class MonthlyUsage:
    """What a backend was used for in a month, and the limits that hold now."""

    month: date
    backend: str
    requests: int
    requests_read: int
    requests_write: int
    requests_list: int
    requests_delete: int
    ingress: int
    egress: int
    monthly_requests: int | None
    monthly_ingress: int | None
    monthly_egress: int | None


class Usage(Area):
    """What the backends are used for: S3 requests and bytes by month, and their limits."""

    @commits
    def flush_usage(self, flush_id: UUID, rows: Sequence[UsageRow]) -> Flushed:
        """Take over the totals of processes; those that are known already change nothing."""
        document = Jsonb([row.as_dict() for row in rows])
        return self._db.only(Flushed, "select * from reaper.flush_usage(%s, %s)", flush_id, document)

    @commits
    def fold_usage(self, limit: int) -> Folded:
        """Add the totals of quiet processes to the sums of their months, each once."""
        return self._db.only(Folded, "select * from reaper.fold_usage(%s)", limit)

    @commits
    def record_nearly_full(self) -> int:
        """Record which quotas and limits are nearly used up; returns how many are so since now."""
        return int(self._db.value("select reaper.record_nearly_full()"))

    @commits
    def register_limits(
        self, backend: str, requests: int | None, ingress: int | None, egress: int | None
    ) -> None:
        """Make the configured limits of a backend known; what a DBA changed stays."""
        self._db.value("select reaper.register_limits(%s, %s, %s, %s)", backend, requests, ingress, egress)

    @reads
    def usage(self, month: date | None) -> list[MonthlyUsage]:
        """What every backend was used for, in one month or in all."""
        return self._db.all(
            MonthlyUsage,
            "select * from reaper.usage where month = coalesce(%s::date, month) order by month desc, backend",
            month,
        )

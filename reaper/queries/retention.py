"""Policies: what goes from any table when it is too old."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from reaper.queries.base import Area, commits, reads


@dataclass(frozen=True, slots=True)
class Policy:
    """What goes when; `problems` is why the next purge would be refused."""

    name: str
    table_name: str
    column_name: str
    max_age: str
    batch_limit: int
    schedule: str
    allow_cascade: bool
    enabled: bool
    created_by: str
    created_at: datetime
    last_purge_at: datetime | None
    last_deleted: int | None
    rows_per_second: Decimal | None
    problems: list[str]


@dataclass(frozen=True, slots=True)
class PolicyForecast:
    """What a policy would delete now, and by which plan."""

    cutoff: datetime
    rows_aged: int
    rows_total: int
    share: Decimal
    batches: int
    rows_per_second: Decimal
    speed_is_measured: bool
    seconds: Decimal
    statement: str
    plan: str


@dataclass(frozen=True, slots=True)
class PolicyBatch:
    """Whether a policy deletes, and how many rows at a time."""

    enabled: bool
    batch_limit: int


class Retention(Area):
    """Policies: what goes from any table when it is too old."""

    @reads
    def policy_limit(self, policy: str) -> int | None:
        """How many rows one purge deletes at most; None for a policy that is gone."""
        limit = self._db.value("select reaper.policy_limit(%s)", policy)
        return None if limit is None else int(limit)

    @commits
    def purge_aged(self, policy: str, limit: int, despite_pause: bool = False) -> int:
        """Delete one batch of rows that are too old; returns how many. ServicePaused while it is paused."""
        return int(self._db.value("select reaper.purge_aged(%s, %s, %s)", policy, limit, despite_pause))

    @reads
    def policies(self) -> list[Policy]:
        """All of them by name, each with what would stop it."""
        return self._db.all(
            Policy,
            "select name, table_name, column_name, max_age::text, batch_limit, schedule, allow_cascade,"
            " enabled, created_by, created_at, last_purge_at, last_deleted, rows_per_second, problems"
            " from reaper.policies",
        )

    @commits
    def add_retention_policy(
        self,
        name: str,
        table: str,
        column: str,
        max_age: str,
        batch_limit: int,
        schedule: str,
        allow_cascade: bool,
    ) -> None:
        """Register a policy; BadArgument says everything that speaks against it, and the fixes."""
        self._db.value(
            "select reaper.add_retention_policy(%s, %s::regclass, %s, %s::interval, %s, %s, %s)",
            *(name, table, column, max_age, batch_limit, schedule, allow_cascade),
        )

    @commits
    def enable_policy(self, name: str, reason: str | None = None) -> None:
        """Let purges delete."""
        self._db.value("select reaper.enable_policy(%s, %s)", name, reason)

    @commits
    def disable_policy(self, name: str, reason: str | None = None) -> None:
        """Let purges delete nothing."""
        self._db.value("select reaper.disable_policy(%s, %s)", name, reason)

    @commits
    def remove_policy(self, name: str, reason: str | None = None) -> None:
        """Forget the policy; the rows stay."""
        self._db.value("select reaper.remove_policy(%s, %s)", name, reason)

    @reads
    def plan_policy(self, name: str) -> PolicyForecast:
        """What the policy would do now, enabled or not."""
        return self._db.only(PolicyForecast, "select * from reaper.plan_policy(%s)", name)

    @reads
    def policy_batch(self, name: str) -> PolicyBatch | None:
        """Whether a policy deletes, and how many rows at a time; None for one that is not there."""
        return self._db.one(
            PolicyBatch,
            "select enabled, batch_limit from reaper.retention_schedule() where name = %s",
            name,
        )

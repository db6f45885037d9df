"""Lifecycle rules: which pastes become due by their age."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from reaper.queries.base import Area, commits, reads


@dataclass(frozen=True, slots=True)
class LifecycleRule:
    """What becomes due when; `problems` is why the next pass would be refused."""

    name: str
    prefix: str | None
    min_size: int | None
    max_size: int | None
    expiration_days: int
    enabled: bool
    created_by: str
    created_at: datetime
    last_pass_at: datetime | None
    last_expired: int | None
    is_in_pass: bool
    problems: list[str]


@dataclass(frozen=True, slots=True)
class LifecycleForecast:
    """What a rule would make due now, and what the next drain would then delete."""

    cutoff: datetime
    rows_matching: int
    rows_without_time: int
    objects_freed: int
    bytes_freed: int
    objects_kept: int
    objects_unsized: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class LifecyclePage:
    """What became of one page of old pastes."""

    looked_at: int
    expired: int
    skipped: int
    refused: int
    complete: bool


class Lifecycle(Area):
    """Lifecycle rules: which pastes become due by their age."""

    @reads
    def enabled_lifecycle_rules(self) -> list[str]:
        """The names of the rules that are applied."""
        return [row[0] for row in self._db.tuples("select name from reaper.enabled_lifecycle_rules()")]

    @commits
    def apply_lifecycle_rule(self, name: str, limit: int) -> LifecyclePage:
        """Make those of the next page of old pastes due that match the rule."""
        return self._db.only(LifecyclePage, "select * from reaper.apply_lifecycle_rule(%s, %s)", name, limit)

    @reads
    def lifecycle_rules(self) -> list[LifecycleRule]:
        """All of them by name, each with what would stop it."""
        return self._db.all(LifecycleRule, "select * from reaper.lifecycle")

    @reads
    def plan_lifecycle_rule(self, name: str) -> LifecycleForecast:
        """What the rule would do now, enabled or not."""
        return self._db.only(LifecycleForecast, "select * from reaper.plan_lifecycle_rule(%s)", name)

    @commits
    def add_lifecycle_rule(
        self, name: str, prefix: str | None, min_size: int | None, max_size: int | None, days: int
    ) -> None:
        """Register a rule; BadArgument says everything that speaks against it, and the fixes."""
        self._db.value(
            "select reaper.add_lifecycle_rule(%s, %s, %s, %s, %s)", name, prefix, min_size, max_size, days
        )

    @commits
    def enable_lifecycle_rule(self, name: str, reason: str | None = None) -> None:
        """Let pastes become due by it."""
        self._db.value("select reaper.enable_lifecycle_rule(%s, %s)", name, reason)

    @commits
    def disable_lifecycle_rule(self, name: str, reason: str | None = None) -> None:
        """Let nothing become due by it."""
        self._db.value("select reaper.disable_lifecycle_rule(%s, %s)", name, reason)

    @commits
    def remove_lifecycle_rule(self, name: str) -> None:
        """Forget the rule; what is due by it stays due."""
        self._db.value("select reaper.remove_lifecycle_rule(%s)", name)

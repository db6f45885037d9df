"""The state gauges, which PostgreSQL keeps for all workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from reaper.queries.base import Area, commits


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The gauges, when they were taken, and how old that is by the database's clock."""

    taken_at: datetime
    age: timedelta
    gauges: Sequence[dict[str, Any]]


class State(Area):
    """The state gauges, which PostgreSQL keeps for all workers."""

    @commits
    def refresh_state(self) -> Snapshot:
        """The snapshot, made anew if it is old and nobody else is making it."""
        return self._db.only(Snapshot, "select * from reaper.refresh_state()")

"""Content that no paste names."""

from __future__ import annotations

from reaper.model import (
    Collected,
)
from reaper.queries.base import Area, commits


class Unreferenced(Area):
    """Content that no paste names."""

    @commits
    def collect_unreferenced(self, limit: int) -> Collected:
        """Let the next page's contents go that no paste names; their objects are in a batch to adopt."""
        return self._db.only(Collected, "select * from reaper.collect_unreferenced(%s)", limit)

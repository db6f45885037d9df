"""The time that everything is decided by."""

from __future__ import annotations

from datetime import datetime

from reaper.queries.base import Area, reads


class Clock(Area):
    """The time that everything is decided by."""

    @reads
    def now(self) -> datetime:
        """The time that everything is decided by."""
        now: datetime = self._db.value("select reaper.clock()")
        return now

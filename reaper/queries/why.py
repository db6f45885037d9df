"""The history of one paste or content."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from reaper.queries.base import Area, reads


@dataclass(frozen=True, slots=True)
class Event:
    """One event in the history of a paste or content; the last one, `now`, has no time."""

    at: datetime | None
    subject: str
    event: str
    detail: str


class Why(Area):
    """The history of one paste or content."""

    @reads
    def why(self, subject: str) -> list[Event]:
        """What happened to it, and why it is still there; empty when nothing is known of it."""
        return self._db.all(Event, "select * from reaper.why(%s)", subject)

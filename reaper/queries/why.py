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


@dataclass(frozen=True, slots=True)
class NamedObject:
    """An object that rows, queues or intents name: a copy, a deletion that is owed, a put."""

    backend: str
    object_key: str
    size_bytes: int | None
    state: str


class Why(Area):
    """The history of one paste or content."""

    @reads
    def why(self, subject: str) -> list[Event]:
        """What happened to it, and why it is still there; empty when nothing is known of it."""
        return self._db.all(Event, "select * from reaper.why(%s)", subject)

    @reads
    def objects_of_subject(self, subject: str) -> list[NamedObject]:
        """Every object that is known of a content, or of the content of a paste."""
        return self._db.all(NamedObject, "select * from reaper.objects_of_subject(%s)", subject)

"""The history of one paste or content, and whether its object and cache entry exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reaper.errors import BadArgument
from reaper.model import Copy
from reaper.ports import Cache, ObjectStore
from reaper.queries import Queries
from reaper.queries.why import Event


def story(q: Queries, subject: str) -> list[Event]:
    """What happened to it, oldest first; BadArgument when nothing is known of it."""
    events = q.why(subject)
    if not events:
        raise BadArgument(
            f"nothing is known of {subject!r}",
            "It never existed, or it was deleted longer ago than reaper.settings.keep_codes.",
        )
    return events


def look(subject: str, copies: Sequence[Copy], stores: Mapping[str, ObjectStore], cache: Cache) -> list[str]:
    """What is there now: the objects of the content, the cache entry of the code."""
    cached = "present" if cache.present([subject]) else "absent"
    seen = [_object(copy, stores.get(copy.backend)) for copy in copies]
    return [*seen, f"cache entry of {subject}: {cached}"]


def _object(copy: Copy, store: ObjectStore | None) -> str:
    if store is None:
        return f"backend {copy.backend} is not configured here"
    found = store.find([copy.object_key]).get(copy.object_key)
    there = f"present, {found.size:,} bytes" if found else "absent"
    return f"object {copy.object_key} on {copy.backend}: {there}"

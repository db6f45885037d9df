"""The history of one paste or content, and whether its object and cache entry exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reaper.errors import BadArgument, ReaperError
from reaper.ports import Cache, ObjectStore
from reaper.queries import Queries
from reaper.queries.why import Event, NamedObject

# The state of what is stored and is to stay.
COPY = "copy"


def story(q: Queries, subject: str) -> list[Event]:
    """What happened to it, oldest first; BadArgument when nothing is known of it."""
    events = q.why(subject)
    if not events:
        raise BadArgument(
            f"nothing is known of {subject!r}",
            "It never existed, or it was deleted longer ago than reaper.settings.keep_codes.",
        )
    return events


def look(
    codes: Sequence[str],
    objects: Sequence[NamedObject],
    stores: Mapping[str, ObjectStore],
    cache: Cache,
) -> list[str]:
    """What is there now: the objects that the database names, the cache entries of the codes."""
    return [*(_object(o, stores.get(o.backend)) for o in objects), *(_entry(code, cache) for code in codes)]


def _object(named: NamedObject, store: ObjectStore | None) -> str:
    what = f"object {named.object_key} on {named.backend}"
    state = "" if named.state == COPY else f" ({named.state})"
    if store is None:
        return f"{what}{state}: not looked for, the backend is not configured here"
    try:
        found = store.find([named.object_key]).get(named.object_key)
    except ReaperError as error:
        return f"{what}{state}: not looked for, {error.message}"
    return f"{what}{state}: {f'present, {_bytes(found.size)}' if found else 'absent'}"


def _entry(code: str, cache: Cache) -> str:
    try:
        there = "present" if cache.present([code]) else "absent"
    except ReaperError as error:
        there = f"not looked for, {error.message}"
    return f"cache entry of {code}: {there}"


def _bytes(size: int) -> str:
    return f"{size:,} {'byte' if size == 1 else 'bytes'}"

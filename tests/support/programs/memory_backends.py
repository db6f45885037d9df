"""What lies outside PostgreSQL, in memory: backends and a cache that are away or refuse as they are told."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

SLOW_DOWN = {"error": "SlowDown: not now"}
DENIED = {"error": "AccessDenied: no", "permanent": True}
AWAY = {"error": "no connection", "outage": True}

Failures = list[dict[str, Any]]


def content(number: int) -> bytes:
    """The bytes of one of few contents."""
    return b"content %d, " % number * (number + 1)


def name(data: bytes) -> str:
    """The hash by which they are known."""
    return sha256(data).hexdigest()


def is_content(content_hash: str, data: bytes) -> bool:
    """Whether these are its bytes; an application calls its own by a number."""
    number = content_hash.removeprefix("bare")
    return data == content(int(number)) if number != content_hash else name(data) == content_hash


class Away(Exception):
    """The backend does not answer."""


@dataclass
class Backend:
    """Objects by key. It may be away, or refuse to delete single objects, named by the hash in their key."""

    objects: dict[str, bytes] = field(default_factory=dict)
    is_away: bool = False
    refuses: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def put(self, key: str, data: bytes) -> None:
        """Store an object, unless nobody answers."""
        if self.is_away:
            raise Away
        self.objects[key] = data

    def delete(self, key: str) -> Mapping[str, Any] | None:
        """Delete an object; what is told instead, if it may still be there."""
        if self.is_away:
            return AWAY
        for part, failure in self.refuses.items():
            if part in key:
                return failure
        self.objects.pop(key, None)
        return None


@dataclass
class Cache:
    """Entries with the content of a paste and the time at which they end by themselves."""

    entries: dict[str, tuple[str, datetime | None]] = field(default_factory=dict)
    is_away: bool = False

    def fill(self, code: str, content_hash: str, until: datetime | None) -> None:
        """Keep what was read."""
        if not self.is_away:
            self.entries[code] = content_hash, until

    def forget(self, codes: Iterable[str]) -> Failures:
        """Drop entries; the failures."""
        if self.is_away:
            return [{"short_code": code, "error": "away"} for code in codes]
        for code in codes:
            self.entries.pop(code, None)
        return []

    def visible(self, now: datetime) -> dict[str, str]:
        """Whose content the cache would serve now."""
        return {code: what for code, (what, until) in self.entries.items() if until is None or until > now}

"""The pastes of the demo: they share content, some expired, some alive, some for ever, some cached."""

from __future__ import annotations

import hashlib
import random
import secrets
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from reaper.db.connection import Connection

CONTENTS = 1_000
PASTES = 4_000
EXPIRED, FOR_EVER = 0.6, 0.1
CACHED = 0.25
UPLOADS_AT_ONCE = 8


@runtime_checkable
class FillableBucket(Protocol):
    """A bucket that can be made and filled."""

    def create_bucket(self) -> None:
        """Make the bucket itself."""

    def put(self, key: str, body: bytes, size: int) -> None:
        """Store an object."""


@runtime_checkable
class FillableCache(Protocol):
    """A cache that can be filled."""

    def remember(self, entries: Mapping[str, bytes]) -> None:
        """Write entries."""


@dataclass(frozen=True)
class Content:
    """Some bytes and the name under which they are stored."""

    data: bytes
    sha256: str
    key: str


@dataclass(frozen=True)
class Paste:
    """A row to be; `expires_in` in hours, None = never."""

    code: str
    content: Content
    expires_in: float | None


def make(seed: int = 7) -> tuple[list[Content], list[Paste]]:
    """The same pastes each time but for their object keys, which are never used twice."""
    chance = random.Random(seed)
    contents = [_content(number, chance) for number in range(CONTENTS)]
    # A few contents are very popular, most have one or two pastes: the usual shape of what people share.
    weights = [1 / (1 + number) ** 0.5 for number in range(CONTENTS)]
    chosen = contents + chance.choices(contents, weights, k=PASTES - CONTENTS)
    return contents, [Paste(f"p{number:05d}", c, _lifetime(chance)) for number, c in enumerate(chosen)]


def store(connection: Connection, bucket: FillableBucket, cache: FillableCache, seed: int = 7) -> list[Paste]:
    """Upload, insert and cache them, in the order that every writer keeps: the object before its row."""
    contents, pastes = make(seed)
    with ThreadPoolExecutor(UPLOADS_AT_ONCE) as pool:
        list(pool.map(lambda c: bucket.put(c.key, c.data, len(c.data)), contents))
    with connection.transaction(), connection.cursor() as cursor:
        refs = {c.sha256: 0 for c in contents}
        for paste in pastes:
            refs[paste.content.sha256] += 1
        with cursor.copy(
            "copy public.content (content_hash, object_key, ref_count, size_bytes) from stdin"
        ) as copy:
            for c in contents:
                copy.write_row((c.sha256, c.key, refs[c.sha256], len(c.data)))
        cursor.executemany(
            "insert into public.pastes (short_code, content_hash, expires_at)"
            " values (%s, %s, reaper.clock() + make_interval(secs => %s))",
            list(_rows(pastes)),
        )
    cached = random.Random(seed).sample(pastes, int(len(pastes) * CACHED))
    cache.remember({p.code: p.content.data for p in cached})
    return pastes


def _content(number: int, chance: random.Random) -> Content:
    data = f"paste {number}\n".encode() + chance.randbytes(chance.randint(200, 4_000))
    sha256 = hashlib.sha256(data).hexdigest()
    return Content(data, sha256, f"{sha256[:2]}/{sha256}/{secrets.token_hex(16)}")


def _lifetime(chance: random.Random) -> float | None:
    kind = chance.random()
    if kind < EXPIRED:
        return -chance.uniform(0.01, 20)
    return None if kind < EXPIRED + FOR_EVER else chance.uniform(1, 700)


def _rows(pastes: list[Paste]) -> Iterator[tuple[str, str, float | None]]:
    for paste in pastes:
        seconds = None if paste.expires_in is None else paste.expires_in * 3600
        yield paste.code, paste.content.sha256, seconds

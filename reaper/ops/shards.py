"""What two shards of one application share and must not: places, cache entries, a database.

Two names of one server are two servers here: only what is written the same is known to be the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from psycopg.conninfo import conninfo_to_dict

from reaper.config import Settings
from reaper.config.backends import Backend
from reaper.model import ObjectRef
from reaper.queries.checks import Diagnosis

_PLACE = "Give each a bucket, or a prefix of its own, none within the other."
_CODES = "Give each a cache key of its own, with text around the code: REAPER_CACHE_KEY=a:{short_code}"
SAMPLE = 100
_PORTS = {"redis": 6379, "rediss": 6379}


def compare_shards(mine: Settings, theirs: Settings, sample: Sequence[ObjectRef]) -> Iterator[Diagnosis]:
    """Each thing that is looked at, by how dangerous it is to share; `sample` has keys of this database."""
    yield _database(mine, theirs)
    yield from _places(mine, theirs, sample)
    yield _cache(mine, theirs)


def _database(mine: Settings, theirs: Settings) -> Diagnosis:
    name = "shards, database"
    if theirs.database_url is None:
        return Diagnosis(
            name, "warn", "the other file names none", "Give its .env, which has REAPER_DATABASE_URL."
        )
    if _server(mine.dsn) == _server(theirs.dsn):
        return Diagnosis(
            name,
            "fail",
            "both are one database: one installation, not two",
            "Give each a database of its own.",
        )
    return Diagnosis(name, "ok", "two databases")


def _places(mine: Settings, theirs: Settings, sample: Sequence[ObjectRef]) -> Iterator[Diagnosis]:
    name = "shards, buckets"
    if not theirs.backends:
        yield Diagnosis(name, "warn", "the other file names no backend", "Give its reaper.toml.")
        return
    shared = [
        (here, there, one)
        for here, one in mine.backends.items()
        for there, other in theirs.backends.items()
        if _overlap(one, other)
    ]
    for here, there, backend in shared:
        detail = f"backend {here} here and {there} there are one place: bucket {backend.bucket}"
        yield Diagnosis(name, "fail", f"{detail}, prefix {backend.prefix or '(none)'}", _PLACE)
        if bare := next((ref for ref in sample if _is_bare(ref)), None):
            yield Diagnosis(
                "shards, bare-hash keys",
                "fail",
                f"keys are made of the hash alone ({bare.object_key}): content that both store is one object,"
                " and the drain of one deletes the bytes that the other needs",
                "Stop both drains, then copy the objects of one below a prefix of its own.",
            )
    if not shared:
        yield Diagnosis(name, "ok", "no place in common")


def _cache(mine: Settings, theirs: Settings) -> Diagnosis:
    name = "shards, cache"
    if mine.redis_url is None or theirs.redis_url is None:
        return Diagnosis(name, "ok", "one of them names no cache")
    ours, other = (_redis(s.redis_url.get_secret_value()) for s in (mine, theirs) if s.redis_url)
    if ours != other:
        return Diagnosis(name, "ok", "two caches")
    if mine.cache_key == theirs.cache_key:
        return Diagnosis(
            name,
            "fail",
            f"one cache and one key template, {mine.cache_key}: a code of one is read as the other's paste",
            _CODES,
        )
    if _may_meet(mine.cache_key, theirs.cache_key):
        detail = f"one cache, keys {mine.cache_key} and {theirs.cache_key}: two codes can have one key"
        return Diagnosis(name, "warn", detail, _CODES)
    return Diagnosis(name, "ok", f"one cache, keys {mine.cache_key} and {theirs.cache_key}")


def _server(dsn: str) -> tuple[object, ...]:
    parts = conninfo_to_dict(dsn)
    return (parts.get("host", ""), str(parts.get("port", 5432)), parts.get("dbname", parts.get("user")))


def _overlap(one: Backend, other: Backend) -> bool:
    if (_endpoint(one), one.bucket) != (_endpoint(other), other.bucket):
        return False
    return one.prefix.startswith(other.prefix) or other.prefix.startswith(one.prefix)


def _endpoint(backend: Backend) -> str:
    return str(backend.endpoint_url or "").rstrip("/").lower()


def _is_bare(ref: ObjectRef) -> bool:
    """A key of reaper's own ends in random digits behind the hash."""
    return ref.object_key.endswith(ref.content_hash)


def _may_meet(mine: str, theirs: str) -> bool:
    """Whether the text around one code could be within the other: a:{} and a:b:{}, or {} and anything."""
    (before, _, behind), (start, _, end) = (key.partition("{short_code}") for key in (mine, theirs))
    heads = before.startswith(start) or start.startswith(before)
    return heads and (behind.endswith(end) or end.endswith(behind))


def _redis(url: str) -> tuple[object, ...]:
    """Who is asked and which of its databases; without login, and the port that is meant where none is."""
    parts = urlsplit(url)
    where = parts.netloc.rpartition("@")[2].lower()
    port = _PORTS.get(parts.scheme, 0)
    if port and ":" not in where:
        where = f"{where}:{port}"
    return (where, parts.path.strip("/") or "0", parts.query)

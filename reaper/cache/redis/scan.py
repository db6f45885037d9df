"""Every cache entry of a Redis, without stopping it: SCAN, page by page, on each primary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from redis import RedisCluster
from redis.exceptions import ResponseError

from reaper.cache.redis.address import Client
from reaper.cache.redis.connection import RedisConnection, RedisUnavailable, reason
from reaper.errors import Unreachable

PAGE = 1000
_GLOB = re.compile(r"([*?\[\]\\^-])")


def codes(redis: RedisConnection, key: str, place: str) -> Iterator[Sequence[str]]:
    """The codes of all keys that look as if they were made from `key`; Unreachable when Redis is away."""
    literals = key.split(place)
    pattern = "*".join(_GLOB.sub(r"\\\1", literal) for literal in literals)
    shape = _shape(literals)
    try:
        for number in range(redis.ask(lambda client: len(_nodes(client)))):
            cursor: int = 0
            while True:
                cursor, keys = redis.ask(partial(_page, number=number, cursor=cursor, pattern=pattern))
                yield [match[1] for found in keys if (match := shape.fullmatch(_text(found)))]
                if not cursor:
                    break
    except RedisUnavailable as away:
        raise Unreachable(
            f"Redis does not answer: {away.reason}",
            "Check that it runs and that REAPER_REDIS_URL is its address.",
        ) from None
    except ResponseError as error:
        raise Unreachable(f"Redis refuses the command: {reason(error)}") from None


def _shape(literals: Sequence[str]) -> re.Pattern[str]:
    first, *rest = map(re.escape, literals)
    # A code that stands in the key more than once is the same each time.
    return re.compile(first + "(.+)" + r"\1".join(rest), re.DOTALL)


def _nodes(client: Client) -> list[Any]:
    """The primaries of a cluster, always in the same order; a single server stands for itself."""
    if not isinstance(client, RedisCluster):
        return [client]
    cluster: Any = client
    return [cluster.get_redis_connection(n) for n in sorted(cluster.get_primaries(), key=lambda n: n.name)]


def _page(client: Client, number: int, cursor: int, pattern: str) -> tuple[int, list[bytes | str]]:
    found = _nodes(client)[number].scan(cursor, match=pattern, count=PAGE)
    return int(found[0]), list(found[1])


def _text(key: bytes | str) -> str:
    """The key, or nothing where it is no text that PostgreSQL could hold: then it is no code."""
    try:
        text = key.decode() if isinstance(key, bytes) else key
    except UnicodeDecodeError:
        return ""
    return "" if "\0" in text else text

"""Links to Redis whose time a test can move, and what they say about it."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from reaper.cache.redis.cache import RedisConnection, RedisConnectionOptions
from reaper.dev.embedded import Valkey
from reaper.telemetry.events import Telemetry
from tests.support.valkey_servers import Silence


class Words(Telemetry):
    """Remembers what was said to it."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[str, ...]] = []

    def degraded(self, service: str, reason: str) -> None:
        self.said.append(("degraded", service, reason))
        super().degraded(service, reason)

    def recovered(self, service: str) -> None:
        self.said.append(("recovered", service))
        super().recovered(service)


class Clock:
    """A clock that stands still until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def redis_client(valkey: Valkey) -> Iterator[Any]:
    """The other side's own way to Redis, which is empty at first."""
    with redis.Redis.from_url(valkey.url, decode_responses=True) as connected:
        connected.flushall()
        yield connected


@pytest.fixture
def words() -> Words:
    return Words()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_link(words: Words, clock: Clock) -> Iterator[Callable[..., RedisConnection]]:
    """Makes links and closes them after the test."""
    with contextlib.ExitStack() as opened:

        def make(url: str, **options: Any) -> RedisConnection:
            link = RedisConnection(url, words, RedisConnectionOptions(**options), clock)
            opened.callback(link.close)
            return link

        yield make


@pytest.fixture
def link(open_link: Callable[..., RedisConnection], valkey: Valkey) -> RedisConnection:
    return open_link(valkey.url)


@pytest.fixture
def silence() -> Iterator[Silence]:
    server = Silence()
    yield server
    server.close()

"""The connection to Redis, shared by cache and claim lock: its outages are noticed once for both."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from redis import Redis, RedisCluster
from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.sentinel import MasterNotFoundError

from reaper.cache.redis import address
from reaper.cache.redis.address import Client
from reaper.errors import ConfigError, Unreachable
from reaper.telemetry.events import Telemetry

T = TypeVar("T")
# Its name, the one key that it is about, and what else it takes.
Command = tuple[str, str, *tuple[str | int, ...]]

SERVICE = "redis"
LONGEST_REASON = 200
_UNAVAILABLE = (RedisError, RedisClusterException, OSError)
_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (RedisTimeoutError, "no answer in time"),
    (AuthenticationError, "login refused"),
    (BusyLoadingError, "loading its data"),
    (MasterNotFoundError, "Sentinel knows no primary"),
    (RedisClusterException, "no node of the cluster answers"),
)


@dataclass(frozen=True, slots=True)
class RedisConnectionOptions:
    """Timeouts, and how long Redis is not asked after a failure."""

    connect_timeout: float = 1.0
    timeout: float = 2.0
    cool_down: float = 15.0


class RedisUnavailable(Exception):
    """Redis does not answer, or did not within the cool-down."""

    def __init__(self, reason: str, refused: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.refused = refused


class RedisConnection:
    """A client that is not asked for a while after a failure; several threads may share it."""

    def __init__(
        self,
        url: str,
        telemetry: Telemetry,
        options: RedisConnectionOptions | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address = address.read(url)
        self.telemetry = telemetry
        self._options = options or RedisConnectionOptions()
        self._clock = clock
        self._guard = threading.Lock()
        self._connecting = threading.Lock()
        self._failures = 0
        self._client: Client | None = None
        self._away: RedisUnavailable | None = None
        self._retry_at = 0.0

    def ask(self, question: Callable[[Client], T]) -> T:
        """The answer; ResponseError where Redis refuses, RedisUnavailable where it does not answer."""
        self._may_try()
        return self._try(question)

    def ask_all(self, commands: Sequence[Command]) -> list[Any]:
        """The answers to commands of one key each, errors among them, in one round trip per server."""
        return self.ask(lambda client: _pipelined(client, commands))

    def ask_at_once(self, command: str, keys: Sequence[str]) -> bool:
        """One command about many keys; False, and nothing was asked, where they lie on several servers."""

        def question(client: Client) -> bool:
            if isinstance(client, RedisCluster):
                return False
            client.execute_command(command, *keys)  # type: ignore[no-untyped-call]
            return True

        return self.ask(question)

    def check(self) -> None:
        """Raise ConfigError or Unreachable, saying what to do, if Redis does not answer now."""
        try:
            self._try(lambda client: client.ping())
        except RedisUnavailable as away:
            if away.refused:
                raise ConfigError(
                    f"Redis at {self._address.where} refuses the login: {away.reason}",
                    "Check the user and the password in REAPER_REDIS_URL.",
                ) from None
            raise Unreachable(
                f"Redis at {self._address.where} does not answer: {away.reason}",
                "Check that it runs and that REAPER_REDIS_URL is its address.",
            ) from None
        except ResponseError as error:
            raise ConfigError(
                f"Redis at {self._address.where} refuses the command: {reason(error)}"
            ) from None

    def probe(self) -> None:
        """Find out whether Redis answers, unless that is known to be not so; telemetry tells the rest."""
        with contextlib.suppress(RedisUnavailable, ResponseError):
            self.ask(lambda client: client.ping())

    def close(self) -> None:
        """Give the connections up; the next question would open others."""
        with self._guard:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _may_try(self) -> None:
        """After the cool-down one caller tries; the others need not wait for what it finds."""
        with self._guard:
            if self._away is None:
                return
            if self._clock() < self._retry_at:
                raise RedisUnavailable(self._away.reason, self._away.refused)
            self._retry_at = self._next_try()

    def _try(self, question: Callable[[Client], T]) -> T:
        try:
            answer = question(self._connected())
        except ResponseError:
            self._answered()
            raise
        except _UNAVAILABLE as error:
            raise self._silent(error) from None
        self._answered()
        return answer

    def _connected(self) -> Client:
        """The client; a thread that waited here while another one failed to connect does not try again."""
        before = self._failures
        with self._connecting:
            client = self._client
            if client is None:
                if self._away is not None and self._failures != before:
                    raise RedisUnavailable(self._away.reason, self._away.refused)
                client = self._client = self._connect()
            return client

    def _connect(self) -> Client:
        try:
            return address.connect(self._address, self._options.connect_timeout, self._options.timeout)
        except _UNAVAILABLE as error:
            raise self._silent(error) from None

    def _answered(self) -> None:
        if self._away is not None:
            self._away = None
            self.telemetry.recovered(SERVICE)

    def _silent(self, error: Exception) -> RedisUnavailable:
        away = RedisUnavailable(reason(error), refused=isinstance(error, AuthenticationError))
        with self._guard:
            self._away, self._retry_at = away, self._next_try()
            self._failures += 1
            # A new client next time: it looks for the primary, or the cluster's nodes, afresh.
            client, self._client = self._client, None
        if isinstance(client, Redis):
            client.connection_pool.disconnect(inuse_connections=False)
        self.telemetry.degraded(SERVICE, f"{self._address.where}: {away.reason}")
        return away

    def _next_try(self) -> float:
        return self._clock() + self._options.cool_down * random.uniform(0.8, 1.2)

    def __repr__(self) -> str:
        return f"RedisConnection({self._address.where})"


def reason(error: Exception) -> str:
    """A short reason in our words, or in the server's where it has refused."""
    for kind, words in _WORDS:
        if isinstance(error, kind):
            return words
    if isinstance(error, ResponseError):
        return " ".join(str(error).split())[:LONGEST_REASON]
    return "no connection"


def _pipelined(client: Client, commands: Sequence[Command]) -> list[Any]:
    if isinstance(client, RedisCluster):
        return _by_node(client, commands)
    with client.pipeline(transaction=False) as pipeline:
        for command in commands:
            pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
        return pipeline.execute(raise_on_error=False)


def _by_node(client: RedisCluster, commands: Sequence[Command]) -> list[Any]:
    """A pipeline for each node.

    redis-py's own for clusters repeats the commands for a node that hangs one by one, with a timeout each.
    """
    answers: list[Any] = [None] * len(commands)
    for server, positions in _by_server(client, commands).values():
        found = _pipelined(server, [commands[at] for at in positions])
        for at, answer in zip(positions, found, strict=True):
            answers[at] = _followed(client, commands[at]) if isinstance(answer, AskError) else answer
    return answers


def _by_server(client: RedisCluster, commands: Sequence[Command]) -> dict[str, tuple[Redis, list[int]]]:
    """Which commands, by position, go to which server."""
    servers: dict[str, tuple[Redis, list[int]]] = {}
    for at, (_, key, *_) in enumerate(commands):
        node = client.get_node_from_key(key)  # type: ignore[no-untyped-call]
        servers.setdefault(node.name, (client.get_redis_connection(node), []))[1].append(at)
    return servers


def _followed(client: RedisCluster, command: Command) -> Any:
    """The answer from where the key has moved to."""
    try:
        return client.execute_command(*command)  # type: ignore[no-untyped-call]
    except ResponseError as error:
        return error

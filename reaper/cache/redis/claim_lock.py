"""The lock around the claim: it saves workers from claiming at the same moment, and nothing depends on it."""

from __future__ import annotations

import contextlib
import random
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from redis.exceptions import ResponseError

from reaper.cache.redis.connection import RedisConnection, RedisUnavailable, reason
from reaper.cache.redis.key_names import OURS

SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.020
SERVICE = "claim lock"
NAMES = OURS + "claim:"
# Only if it is still ours: a lock that ran out while we held it may be another worker's by now.
RELEASE = """
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
end
return 0
"""


class RedisClaimLock:
    """A ClaimLock in Redis; several threads may share it, each hold has its own token."""

    def __init__(
        self,
        redis: RedisConnection,
        identity: str,
        ttl: timedelta,
        patience: float = 2.0,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = NAMES + identity
        self._redis = redis
        self._ttl = round(ttl.total_seconds() * 1000)
        self._patience = patience
        self._pause = pause
        self._clock = clock
        self._worth_waiting = True

    @contextmanager
    def hold(self) -> Iterator[bool]:
        """Hold the lock for one claim; False when it was not to be had, which is no reason not to claim."""
        token = secrets.token_hex(16)
        held = self._acquire(token)
        try:
            yield held
        finally:
            if held:
                self._release(token)

    def _acquire(self, token: str) -> bool:
        try:
            held = self._wait_for(token)
        except RedisUnavailable:
            return False
        except ResponseError as error:
            self._redis.telemetry.degraded(SERVICE, reason(error))
            return False
        self._redis.telemetry.recovered(SERVICE)
        # A worker that holds the lock for this long is probably dead: until the lock expires, try only once.
        self._worth_waiting = held
        return held

    def _wait_for(self, token: str) -> bool:
        until = self._clock() + (self._patience if self._worth_waiting else 0)
        longest = SHORTEST_PAUSE
        while not self._taken(token):
            if self._clock() >= until:
                return False
            self._pause(random.uniform(SHORTEST_PAUSE, longest))
            longest = min(2 * longest, LONGEST_PAUSE)
        return True

    def _taken(self, token: str) -> bool:
        return bool(self._redis.ask(lambda client: client.set(self.name, token, nx=True, px=self._ttl)))

    def _release(self, token: str) -> None:
        """Whole and not by its hash, so that a server which forgot its scripts does not mind."""
        with contextlib.suppress(RedisUnavailable, ResponseError):
            self._redis.ask(lambda client: client.eval(RELEASE, 1, self.name, token))

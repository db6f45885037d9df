"""Pastes in Redis of which none is served after its end, however long a reader pauses between its steps.

A reader that misses gets a ticket, the server's own time, asks PostgreSQL and the store, and fills. The entry
ends at the ticket's time plus the life that PostgreSQL saw left. The ticket came before that question and
one clock counts from there on, so an entry may end a moment too early, never too late. A paste that goes
before its time leaves a tombstone, which outlives every ticket that was given out before.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from redis.exceptions import ResponseError

from reaper.cache.redis.connection import RedisConnection, RedisConnectionOptions, RedisUnavailable, reason
from reaper.cache.redis.key_names import PLACE, KeyNames
from reaper.errors import ConfigError
from reaper.model import CacheRead

SERVICE = "paste cache"
# A cache that is slower than the store behind it is of no use.
QUICK = RedisConnectionOptions(connect_timeout=0.5, timeout=0.5)
# An older ticket fills nothing: the tombstone that would stop it may be gone.
OLDEST_TICKET = timedelta(seconds=30)
# So long an entry lives at most: a server that comes back with an old dump has entries dropped since.
LONGEST_LIFE = timedelta(hours=1)

READ = """
local time = redis.call('time')
return {redis.call('get', KEYS[1]), time[1] * 1000 + math.floor(time[2] / 1000)}
"""
# A ticket from the future means that the clock was set back, and with it the end would come too late. One
# millisecond is taken off, since Redis still serves an entry in the very millisecond in which it ends.
FILL = """
if redis.call('exists', KEYS[2]) == 1 then
    return 0
end
local time = redis.call('time')
local age = time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[2]
local left = ARGV[3] - age - 1
if age < 0 or age > tonumber(ARGV[4]) or left <= 0 then
    return 0
end
redis.call('set', KEYS[1], ARGV[1], 'px', left)
return 1
"""


class RedisPasteCache:
    """A PasteCache in Redis; any number of threads and processes may share it.

    Scripts are sent whole and not by their hash, so that a server which forgot its scripts does not mind.
    """

    def __init__(self, redis: RedisConnection, key: str = PLACE) -> None:
        self._redis = redis
        self._names = KeyNames(key)
        if self._names.tombstone("code") is None:
            raise ConfigError(
                f"invalid REAPER_CACHE_KEY {key!r}",
                "Write paste:{short_code}, for example: no other braces, and no prefix reaper:",
            )

    def read(self, code: str) -> CacheRead:
        """The entry of a paste, or a ticket to fill it; neither where Redis is away."""
        if self._names.tombstone(code) is None:
            return CacheRead(None, None)
        found = self._run(READ, 1, self._names.entry(code))
        if found is None:
            return CacheRead(None, None)
        data, ticket = found
        return CacheRead(data if isinstance(data, bytes) else None, int(ticket))

    def fill(self, code: str, data: bytes, ticket: int, remaining_ms: int | None) -> bool:
        """Store what was read with this ticket; False where that comes too late."""
        tombstone = self._names.tombstone(code)
        if tombstone is None:
            return False
        longest = _ms(LONGEST_LIFE)
        life = longest if remaining_ms is None else min(remaining_ms, longest)
        filled = self._run(
            FILL, 2, self._names.entry(code), tombstone, data, ticket, life, _ms(OLDEST_TICKET)
        )
        if filled is not None:
            self._redis.telemetry.recovered(SERVICE)
        return bool(filled)

    def drop(self, code: str) -> bool:
        """Drop the entry for good; False where it may still be there."""
        try:
            answers = self._redis.ask_all(self._names.removal_commands(code, "DEL"))
        except RedisUnavailable:
            return False
        return not any(isinstance(answer, Exception) for answer in answers)

    def _run(self, script: str, keys: int, *arguments: Any) -> Any:
        """What the script returns; None where Redis does not answer: a cache must not make reads fail."""
        try:
            return self._redis.ask(lambda client: client.eval(script, keys, *arguments))
        except RedisUnavailable:
            return None
        except ResponseError as error:
            self._redis.telemetry.degraded(SERVICE, reason(error))
            return None


def _ms(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)

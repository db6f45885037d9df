"""The cache of pastes in Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from redis.exceptions import ResponseError

from reaper.cache.redis import scan
from reaper.cache.redis.address import Client
from reaper.cache.redis.claim_lock import RedisClaimLock
from reaper.cache.redis.connection import (
    Command,
    RedisConnection,
    RedisConnectionOptions,
    RedisUnavailable,
    reason,
)
from reaper.cache.redis.key_names import OURS, PLACE, KeyNames
from reaper.cache.redis.self_test import try_commands
from reaper.errors import Unreachable

__all__ = ["RedisCache", "RedisClaimLock", "RedisConnection", "RedisConnectionOptions"]

T = TypeVar("T")
# The commands that remove a code's entry, with what this server calls the removal.
Removal = Callable[[str, str], Sequence[Command]]

CHUNK = 1000


class RedisCache:
    """A Cache of one entry per paste, under a key that is made from its code."""

    def __init__(self, redis: RedisConnection, key: str = PLACE) -> None:
        self._redis = redis
        self._names = KeyNames(key)
        self._remove = "UNLINK"

    def forget(self, codes: Sequence[str]) -> Mapping[str, str]:
        """Drop the entries of these codes and return those that may still be there, with the error.

        Enough for what has expired: an entry cannot be filled for longer than its paste has to live.
        """
        left = [code for chunk in _chunks(codes) if not self._forget_at_once(chunk) for code in chunk]
        return self._remove_all(left, lambda code, remove: [(remove, self._names.entry(code))])

    def drop(self, codes: Sequence[str]) -> Mapping[str, str]:
        """As forget, and for a while none can be filled again; costs twice as much."""
        return self._remove_all(codes, self._names.removal_commands)

    def remember(self, entries: Mapping[str, bytes]) -> None:
        """Write entries without an end, as an application might; Unreachable when Redis does not answer."""

        def write(client: Client) -> None:
            pipeline = client.pipeline(transaction=False)
            for code, data in entries.items():
                pipeline.set(self._names.entry(code), data)
            pipeline.execute()

        _reached(lambda: self._redis.ask(write))

    def present(self, codes: Sequence[str]) -> Sequence[str]:
        """Which of these codes have an entry."""
        return [code for chunk in _chunks(codes) for code in self._present(chunk)]

    def codes(self) -> Iterator[Sequence[str]]:
        """The codes of all entries, page by page, some perhaps twice; Unreachable when it does not answer."""
        for page in scan.codes(self._redis, self._names.template, PLACE):
            # The claim's lock and tombstones live beside the entries and are none of them.
            yield [code for code in page if not self._names.entry(code).startswith(OURS)]

    def check(self) -> None:
        """Raise ConfigError or Unreachable, saying what to do, if Redis is silent or refuses our work."""
        self._redis.check()
        try_commands(self._redis, self._names)

    def _remove_all(self, codes: Sequence[str], how: Removal) -> Mapping[str, str]:
        failed: dict[str, str] = {}
        for chunk in _chunks(codes):
            failed.update(self._remove_chunk(chunk, how))
        return failed

    def _forget_at_once(self, codes: Sequence[str]) -> bool:
        """Drop all in one command, a tenth of the work of one each; False where each must be asked for."""
        try:
            return self._redis.ask_at_once(self._remove, [self._names.entry(code) for code in codes])
        except (RedisUnavailable, ResponseError):
            # Which of them, and why, is what the answers to one command each tell.
            return False

    def _remove_chunk(self, codes: Sequence[str], how: Removal) -> Mapping[str, str]:
        remove = self._remove
        wanted = [(code, command) for code in codes for command in how(code, remove)]
        try:
            answers = self._redis.ask_all([command for _, command in wanted])
        except RedisUnavailable as away:
            return dict.fromkeys(codes, away.reason)
        except ResponseError as error:
            return dict.fromkeys(codes, reason(error))
        if remove == "UNLINK" and any(map(_is_unknown, answers)):
            self._remove = "DEL"
            return self._remove_chunk(codes, how)
        return {
            code: reason(a) for (code, _), a in zip(wanted, answers, strict=True) if isinstance(a, Exception)
        }

    def _present(self, codes: Sequence[str]) -> Iterator[str]:
        asked: list[Command] = [("EXISTS", self._names.entry(code)) for code in codes]
        answers = _reached(lambda: self._redis.ask_all(asked))
        for code, answer in zip(codes, answers, strict=True):
            if isinstance(answer, Exception):
                raise Unreachable(f"Redis refuses the command: {reason(answer)}")
            if answer:
                yield code


def _reached(question: Callable[[], T]) -> T:
    """The answer, for those who cannot do without it."""
    try:
        return question()
    except RedisUnavailable as away:
        raise Unreachable(
            f"Redis does not answer: {away.reason}",
            "Check that it runs and that REAPER_REDIS_URL is its address.",
        ) from None
    except ResponseError as error:
        raise Unreachable(f"Redis refuses the command: {reason(error)}") from None


def _chunks(codes: Sequence[str]) -> Iterator[Sequence[str]]:
    wanted = list(dict.fromkeys(codes))
    for start in range(0, len(wanted), CHUNK):
        yield wanted[start : start + CHUNK]


def _is_unknown(answer: Any) -> bool:
    return isinstance(answer, ResponseError) and str(answer).lower().startswith("unknown command")

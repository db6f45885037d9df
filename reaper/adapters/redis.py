"""The cache of pastes in Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from redis.exceptions import ResponseError

from reaper.adapters import redis_scan
from reaper.adapters.redis_address import Client
from reaper.adapters.redis_link import Away, LinkOptions, RedisLink, reason
from reaper.adapters.redis_lock import NAMES, RedisClaimLock
from reaper.errors import Unreachable

__all__ = ["LinkOptions", "RedisCache", "RedisClaimLock", "RedisLink"]

T = TypeVar("T")

CHUNK = 1000
PLACE = "{short_code}"


class RedisCache:
    """A Cache of one entry per paste, under a key that is made from its code."""

    def __init__(self, link: RedisLink, key: str = PLACE) -> None:
        self._link = link
        self._key = key
        self._remove = "UNLINK"

    def forget(self, codes: Sequence[str]) -> Mapping[str, str]:
        """Drop the entries of these codes and return those that may still be there, with the error."""
        failed: dict[str, str] = {}
        for chunk in _chunks(codes):
            failed.update(self._forget(chunk))
        return failed

    def remember(self, entries: Mapping[str, bytes]) -> None:
        """Write entries without an end, as an application might; Unreachable when Redis does not answer."""

        def write(client: Client) -> None:
            pipeline = client.pipeline(transaction=False)
            for code, data in entries.items():
                pipeline.set(self._key_of(code), data)
            pipeline.execute()

        _reached(lambda: self._link.ask(write))

    def present(self, codes: Sequence[str]) -> Sequence[str]:
        """Which of these codes have an entry."""
        return [code for chunk in _chunks(codes) for code in self._present(chunk)]

    def codes(self) -> Iterator[Sequence[str]]:
        """The codes of all entries, page by page, some perhaps twice; Unreachable when it does not answer."""
        for page in redis_scan.codes(self._link, self._key, PLACE):
            # The claim's lock lives beside the entries and is none of them.
            yield [code for code in page if not self._key_of(code).startswith(NAMES)]

    def check(self) -> None:
        """Raise ConfigError or Unreachable, saying what to do, if Redis does not answer."""
        self._link.check()

    def _forget(self, codes: Sequence[str]) -> Mapping[str, str]:
        command = self._remove
        try:
            answers = self._ask(command, codes)
        except Away as away:
            return dict.fromkeys(codes, away.reason)
        except ResponseError as error:
            return dict.fromkeys(codes, reason(error))
        if command == "UNLINK" and any(map(_is_unknown, answers)):
            self._remove = "DEL"
            return self._forget(codes)
        return {code: reason(a) for code, a in zip(codes, answers, strict=True) if isinstance(a, Exception)}

    def _present(self, codes: Sequence[str]) -> Iterator[str]:
        answers = _reached(lambda: self._ask("EXISTS", codes))
        for code, answer in zip(codes, answers, strict=True):
            if isinstance(answer, Exception):
                raise Unreachable(f"Redis refuses to tell what it has: {reason(answer)}")
            if answer:
                yield code

    def _ask(self, command: str, codes: Sequence[str]) -> list[Any]:
        return self._link.ask_all([(command, self._key_of(code)) for code in codes])

    def _key_of(self, code: str) -> str:
        # Replaced and not formatted: a code may contain braces.
        return self._key.replace(PLACE, code)


def _reached(question: Callable[[], T]) -> T:
    """The answer, for those who cannot do without it."""
    try:
        return question()
    except Away as away:
        raise Unreachable(
            f"Redis does not answer: {away.reason}",
            "Check that it runs and that REAPER_REDIS_URL is its address.",
        ) from None
    except ResponseError as error:
        raise Unreachable(f"Redis refuses to tell what it has: {reason(error)}") from None


def _chunks(codes: Sequence[str]) -> Iterator[Sequence[str]]:
    wanted = list(dict.fromkeys(codes))
    for start in range(0, len(wanted), CHUNK):
        yield wanted[start : start + CHUNK]


def _is_unknown(answer: Any) -> bool:
    return isinstance(answer, ResponseError) and str(answer).lower().startswith("unknown command")

"""One policy for what may pass by itself: a lock that is held, a deadlock, a server that restarts."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from reaper.errors import DatabaseError, Unreachable

T = TypeVar("T")

# Serialization failure, deadlock, lock timeout: nothing was changed, and a moment later it may work.
TRANSIENT = frozenset({"40001", "40P01", "55P03"})
LONGEST_PAUSE = 1.0


def is_transient(error: DatabaseError) -> bool:
    """Whether the same statement may succeed a moment later."""
    return error.sqlstate in TRANSIENT


class NoFreeConnection(Unreachable):
    """There was none to be had, and that was waited for already: no reason to wait again."""


@dataclass(frozen=True)
class RetryPolicy:
    """Locks are waited for `tries` times; a lost server for `patience` seconds, None = `tries` times too."""

    tries: int = 3
    patience: float | None = 30.0
    pause: float = 0.1

    def run(self, attempt: Callable[[], T], has_answered: Callable[[], bool] = lambda: True) -> T:
        """The answer of the first attempt that has one; `attempt` must bear being repeated.

        A server that never answered is a wrong address, not an interruption: it is not waited for.
        """
        deadline = self._deadline()
        for number in count(1):
            try:
                return attempt()
            except (Unreachable, DatabaseError) as error:
                if not self._may_help(error, number, deadline) or (
                    isinstance(error, Unreachable) and not has_answered()
                ):
                    raise
            time.sleep(self._pause(number))
        raise AssertionError("unreachable")

    async def run_async(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """As `run`, for an attempt that an event loop waits for."""
        deadline = self._deadline()
        for number in count(1):
            try:
                return await attempt()
            except (Unreachable, DatabaseError) as error:
                if not self._may_help(error, number, deadline):
                    raise
            await asyncio.sleep(self._pause(number))
        raise AssertionError("unreachable")

    def _deadline(self) -> float | None:
        return None if self.patience is None else time.monotonic() + self.patience

    def _may_help(self, error: Unreachable | DatabaseError, number: int, deadline: float | None) -> bool:
        """Whether another attempt after this one, the number-th, may end otherwise."""
        if isinstance(error, NoFreeConnection):
            return False
        if isinstance(error, Unreachable):
            return number < self.tries if deadline is None else time.monotonic() < deadline
        return number < self.tries and is_transient(error)

    def _pause(self, number: int) -> float:
        return min(self.pause * number, LONGEST_PAUSE) * random.uniform(0.5, 1.5)

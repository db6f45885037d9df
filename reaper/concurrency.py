"""Several things at once, and when work is to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
K = TypeVar("K")
R = TypeVar("R")


class Stop(Protocol):
    """Asked between two steps of work; a threading.Event is one."""

    def is_set(self) -> bool:
        """Whether to end at the next good moment."""


class StopAfter:
    """Stops with another stop, when its time is over, or when a condition no longer holds."""

    def __init__(self, stop: Stop, seconds: float, holds: Callable[[], bool] = lambda: True) -> None:
        self._stop = stop
        self._deadline = time.monotonic() + seconds
        self._holds = holds

    def is_set(self) -> bool:
        """Whether any of the three is so."""
        return self._stop.is_set() or time.monotonic() >= self._deadline or not self._holds()


def carried(call: Callable[P, R]) -> Callable[P, R]:
    """The call as another thread makes it: with the context variables of this one."""
    return partial(copy_context().run, call)


def map_in(pool: Executor, call: Callable[[K], R], things: Iterable[K]) -> list[R]:
    """What becomes of each in the threads of a pool, in their order."""
    return [future.result() for future in [pool.submit(carried(call), thing) for thing in things]]


def for_each(things: Collection[K], do: Callable[[K], R]) -> dict[K, R]:
    """What became of each, a thread for each; an error is raised when all have ended."""
    if len(things) <= 1:
        return {thing: do(thing) for thing in things}
    with ThreadPoolExecutor(len(things), "side") as pool:
        running = {thing: pool.submit(carried(do), thing) for thing in things}
    return {thing: future.result() for thing, future in running.items()}

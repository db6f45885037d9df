"""Several things at once: what one of them waits for, the others do not."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

K = TypeVar("K")
R = TypeVar("R")


def for_each(things: Collection[K], do: Callable[[K], R]) -> dict[K, R]:
    """What became of each, a thread for each; an error is raised when all have ended."""
    if len(things) <= 1:
        return {thing: do(thing) for thing in things}
    with ThreadPoolExecutor(len(things), "side") as pool:
        running = {thing: pool.submit(do, thing) for thing in things}
    return {thing: future.result() for thing, future in running.items()}

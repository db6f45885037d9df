"""How a store waits: the way of a put or a get is written once, as a coroutine, and does not know.

A `Store` runs it to its end in the caller's thread: whatever it awaits is there when it is asked for. An
`AsyncStore` leaves the waiting to the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

from reaper.db.pool import Pool
from reaper.queries import Queries

P = ParamSpec("P")
T = TypeVar("T")


class Calls(Protocol):
    """The two kinds of calls: questions to PostgreSQL, and what blocks elsewhere."""

    async def ask(self, question: Callable[[Queries], T], /) -> T:
        """The answer of PostgreSQL; the question must bear being asked twice."""

    async def outside(self, call: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """What a call to a backend or to the cache returns, or a long calculation."""

    def from_outside(self) -> Callable[[Callable[[Queries], Any]], Any]:
        """How such a call, which blocks its thread, asks PostgreSQL on its way."""


@dataclass(frozen=True)
class BlockingCalls:
    """Waits by blocking the thread."""

    pool: Pool[Queries]

    async def ask(self, question: Callable[[Queries], T], /) -> T:
        """The answer."""
        return self.pool.call(question)

    async def outside(self, call: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """What the call returns."""
        return call(*arguments, **named)

    def from_outside(self) -> Callable[[Callable[[Queries], Any]], Any]:
        """In the same thread."""
        return self.pool.call


def run_blocking(steps: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine all of whose calls are blocking ones, so that it never suspends."""
    try:
        steps.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    steps.close()
    raise AssertionError("suspended without an event loop")

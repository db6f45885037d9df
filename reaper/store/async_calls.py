"""How an `AsyncStore` waits: for PostgreSQL on the event loop, for backends and cache in threads.

boto3 and the cache's scripts are synchronous; a thread of a bounded number makes the call while the loop goes
on. A task that is cancelled no longer waits for its thread, which ends its call alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

from reaper.concurrency import carried
from reaper.db.async_pool import AsyncPool
from reaper.queries import Queries

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class AsyncCalls:
    """Waits on the event loop that runs when it is asked."""

    pool: AsyncPool[Queries]
    threads: ThreadPoolExecutor

    async def ask(self, question: Callable[[Queries], T], /) -> T:
        """The answer."""
        return await self.pool.call(question)

    async def outside(self, call: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """What the call returns, from a thread with the task's context."""
        made = carried(partial(call, *arguments, **named))
        return await asyncio.get_running_loop().run_in_executor(self.threads, made)

    def from_outside(self) -> Callable[[Callable[[Queries], Any]], Any]:
        """On the loop, for which the thread waits."""
        loop = asyncio.get_running_loop()

        def ask(question: Callable[[Queries], Any]) -> Any:
            return asyncio.run_coroutine_threadsafe(self.pool.call(question), loop).result()

        return ask

    def later(self, call: Callable[[], object]) -> None:
        """Make a call that nobody waits for."""
        self.threads.submit(call)

"""Connections for the many tasks of an event loop, as `pool` keeps them for threads."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from reaper.db import session_settings
from reaper.db.async_rows import AsyncConnection
from reaper.db.connection import register_time_loader, translate
from reaper.db.pool import PATIENCE, RETRY, no_free_connection, options

Q = TypeVar("Q")
T = TypeVar("T")


class AsyncPool(Generic[Q]):
    """Up to `size` connections, opened when they are needed and replaced when they break.

    `bind` makes what is asked from a connection; what it answers is awaited.
    """

    def __init__(
        self, dsn: str, size: int, bind: Callable[[AsyncConnection], Q], patience: float = PATIENCE
    ) -> None:
        self._bind = bind
        self._patience = patience
        self._turns = asyncio.Semaphore(size)
        # When a connection was last to be had.
        self._served = -math.inf
        self._pool: AsyncConnectionPool[AsyncConnection] = AsyncConnectionPool(
            **options(dsn, size, patience),
            configure=_configured,
            check=AsyncConnectionPool.check_connection,
        )

    async def __aenter__(self) -> Self:
        await self._pool.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.close()

    async def call(self, ask: Callable[[Q], T]) -> T:
        """The answer; what is asked must bear being asked twice, since an answer can be lost on its way."""
        return await RETRY.run_async(lambda: self._ask(ask))

    async def _ask(self, ask: Callable[[Q], T]) -> T:
        try:
            async with self._turn(), self._pool.connection() as connection:
                self._served = time.monotonic()
                return await cast(Awaitable[T], ask(self._bind(connection)))
        except PoolTimeout:
            raise no_free_connection(self._patience) from None
        except psycopg.Error as error:
            raise translate(error) from error

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait for as long as others get connections: a thousand tasks in a queue are no outage."""
        acquiring = asyncio.ensure_future(self._turns.acquire())
        try:
            while not (await asyncio.wait({acquiring}, timeout=self._patience))[0]:
                if time.monotonic() - self._served > self._patience:
                    raise no_free_connection(self._patience)
        except BaseException:
            if not acquiring.cancel():
                self._turns.release()
            raise
        try:
            yield
        finally:
            self._turns.release()


async def _configured(connection: psycopg.AsyncConnection[Any]) -> None:
    register_time_loader(connection)
    await session_settings.apply_to_async_application(connection)

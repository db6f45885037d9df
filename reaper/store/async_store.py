"""Pastes for an application on an event loop: the four calls of `Store`, awaited.

    from datetime import timedelta
    import reaper

    async with reaper.open_async_store() as store:
        stored = await store.put(b"hello", expires_in=timedelta(days=7))
        paste = await store.get(stored.short_code)

PostgreSQL is asked on the loop; threads send and fetch the bytes, and no more of them than
`max_concurrent_requests`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import dataclass
from datetime import timedelta
from typing import BinaryIO

from reaper.model import Paste, Stored
from reaper.store.async_calls import AsyncCalls
from reaper.store.pastes import Pastes, require_put
from reaper.store.spool import spooled_async


@dataclass(frozen=True)
class AsyncStore:
    """Any number of tasks of one event loop may share it; times are the database's.

    What each call promises and raises is said at `Store`. A call that is cancelled stops waiting at once: of
    a put it leaves an intent that the pending reaper ends, or, if its commit was under way, the paste.
    """

    pastes: Pastes
    calls: AsyncCalls

    async def put(
        self,
        data: bytes | BinaryIO | AsyncIterable[bytes],
        expires_in: timedelta | None,
        short_code: str | None = None,
    ) -> Stored:
        """Store bytes, what a file has left, or what an asynchronous stream brings; None = for ever."""
        require_put(expires_in, short_code)
        async with spooled_async(data, self.calls) as body:
            return await self.pastes.put(body, expires_in, short_code)

    async def get(self, short_code: str) -> Paste | None:
        """The paste; None when there is none or it has expired."""
        return await self.pastes.get(short_code)

    async def delete(self, short_code: str) -> bool:
        """Make a paste unreadable now; False when it was already. Its bytes go with the next drain."""
        return await self.pastes.delete(short_code)

    async def extend(self, short_code: str, expires_in: timedelta | None) -> bool:
        """Let a paste live so long from now, None = for ever; False when its row is gone."""
        return await self.pastes.extend(short_code, expires_in)

"""What put, get, delete and extend do, once for `Store` and `AsyncStore`.

PostgreSQL says what is there and for how long, the backends hold the bytes, a cache what is read often.
Without the cache all of it works, only slower. Content that is there already is not uploaded again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from reaper.errors import BadArgument
from reaper.model import Paste, Stored
from reaper.ports import PasteCache
from reaper.store import cache_entry
from reaper.store.calls import Calls
from reaper.store.get import Found, Reader
from reaper.store.put import Writer
from reaper.store.spool import Body

LONGEST_LIFE = timedelta(days=365_250)


@dataclass(frozen=True)
class Pastes:
    """The ways of the four calls; `cache_calls` waits for the cache, and for nothing that takes long."""

    calls: Calls
    cache_calls: Calls
    writer: Writer
    reader: Reader
    cache: PasteCache
    largest_cached: int = 1 << 20

    async def put(self, body: Body, expires_in: timedelta | None, short_code: str | None) -> Stored:
        """Store what `require_put` has looked at."""
        return await self.writer.put(body, expires_in, short_code)

    async def get(self, short_code: str) -> Paste | None:
        """From the cache, else from a backend."""
        if not _is_text(short_code):
            return None
        cached = await self.cache_calls.outside(self.cache.read, short_code)
        if cached.data is not None and (paste := cache_entry.decode(short_code, cached.data)):
            return paste
        found = await self.reader.find(short_code)
        if found is None:
            return None
        paste = Paste(short_code, found.data, found.row.content_hash, found.row.expires_at)
        if cached.ticket is not None:
            await self._fill(paste, found, cached.ticket)
        return paste

    async def delete(self, short_code: str) -> bool:
        """Unreadable from now on."""
        if not _is_text(short_code):
            return False
        deleted = await self.calls.ask(lambda q: q.delete_paste(short_code))
        await self._drop(short_code)
        return deleted

    async def extend(self, short_code: str, expires_in: timedelta | None) -> bool:
        """Another end."""
        require_life(expires_in)
        if not _is_text(short_code):
            return False
        extended = await self.calls.ask(lambda q: q.extend_paste(short_code, expires_in))
        await self._drop(short_code)
        return extended

    async def _fill(self, paste: Paste, found: Found, ticket: int) -> None:
        if len(paste.data) <= self.largest_cached:
            remaining = found.row.remaining
            left = None if remaining is None else remaining // timedelta(milliseconds=1)
            entry = cache_entry.encode(paste)
            await self.cache_calls.outside(self.cache.fill, paste.short_code, entry, ticket, left)

    async def _drop(self, short_code: str) -> None:
        """Drop the entry, also where PostgreSQL changed nothing: an earlier answer may have been lost.

        Where the cache is away, the commit has left word for a worker to do it.
        """
        await self.cache_calls.outside(self.cache.drop, short_code)


def require_put(expires_in: object, short_code: str | None) -> None:
    """Refuse what cannot be, before any bytes are read."""
    require_life(expires_in)
    if short_code is not None and not _is_text(short_code):
        raise BadArgument("short_code must be valid text without NUL characters")


def require_life(expires_in: object) -> None:
    """Refuse a life that cannot be."""
    if expires_in is not None and not isinstance(expires_in, timedelta):
        raise BadArgument(
            f"expires_in must be a datetime.timedelta or None, not {type(expires_in).__name__}",
            "Write for example expires_in=timedelta(days=7).",
        )
    if expires_in is not None and not timedelta(0) < expires_in <= LONGEST_LIFE:
        raise BadArgument(
            f"invalid expires_in: {expires_in}",
            "Give a positive duration of up to a thousand years, or None for a paste that never expires.",
        )


def _is_text(code: str) -> bool:
    """Whether PostgreSQL could hold it."""
    try:
        code.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in code

"""Pastes for an application: put, get, delete, extend.

    from datetime import timedelta
    import reaper

    with reaper.open_store() as store:
        stored = store.put(b"hello", expires_in=timedelta(days=7))
        paste = store.get(stored.short_code)

PostgreSQL says what is there and for how long, the backends hold the bytes, a cache what is read often.
Without the cache all of it works, only slower. Content that is there already is not uploaded again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import BinaryIO

from reaper.db.pool import Pool
from reaper.errors import BadArgument
from reaper.model import Paste, Stored
from reaper.ports import PasteCache
from reaper.queries import Queries
from reaper.store import cache_entry
from reaper.store.get import Found, Reader
from reaper.store.put import Writer
from reaper.store.spool import spooled

LONGEST_LIFE = timedelta(days=365_250)


@dataclass(frozen=True)
class Store:
    """Any number of threads may share it; times are the database's."""

    pool: Pool[Queries]
    writer: Writer
    reader: Reader
    cache: PasteCache
    largest_cached: int = 1 << 20

    def put(
        self, data: bytes | BinaryIO, expires_in: timedelta | None, short_code: str | None = None
    ) -> Stored:
        """Store bytes, or what a stream has left, for so long; None = for ever.

        CodeTaken when the code that was asked for is another paste's; without one it gets a random
        one. NoRoom when no backend has room. Unreachable when PostgreSQL or the backend does not answer:
        then nothing was stored, or at the worst a paste under a code that was not returned.
        """
        _require_life(expires_in)
        if short_code is not None and not _is_text(short_code):
            raise BadArgument("short_code must be valid text without NUL characters")
        with spooled(data) as body:
            return self.writer.put(body, expires_in, short_code)

    def get(self, short_code: str) -> Paste | None:
        """The paste; None when there is none or it has expired.

        Unreachable when it is not cached and no backend that has it answers, ContentLost when its bytes are
        gone or damaged.
        """
        if not _is_text(short_code):
            return None
        cached = self.cache.read(short_code)
        if cached.data is not None and (paste := cache_entry.decode(short_code, cached.data)):
            return paste
        found = self.reader.find(short_code)
        if found is None:
            return None
        paste = Paste(short_code, found.data, found.row.content_hash, found.row.expires_at)
        if cached.ticket is not None:
            self._fill(paste, found, cached.ticket)
        return paste

    def delete(self, short_code: str) -> bool:
        """Make a paste unreadable now; False when it was already. Its bytes go with the next drain."""
        if not _is_text(short_code):
            return False
        deleted = self.pool.call(lambda q: q.delete_paste(short_code))
        self._drop(short_code)
        return deleted

    def extend(self, short_code: str, expires_in: timedelta | None) -> bool:
        """Let a paste live so long from now, shorter or longer than before, None = for ever.

        One that has expired comes back to life until a drain has deleted its row; False when it is gone.
        """
        _require_life(expires_in)
        if not _is_text(short_code):
            return False
        extended = self.pool.call(lambda q: q.extend_paste(short_code, expires_in))
        self._drop(short_code)
        return extended

    def _fill(self, paste: Paste, found: Found, ticket: int) -> None:
        if len(paste.data) <= self.largest_cached:
            remaining = found.row.remaining
            left = None if remaining is None else remaining // timedelta(milliseconds=1)
            self.cache.fill(paste.short_code, cache_entry.encode(paste), ticket, left)

    def _drop(self, short_code: str) -> None:
        """Drop the entry, also where PostgreSQL changed nothing: an earlier answer may have been lost.

        Where the cache is away, the commit has left word for a worker to do it.
        """
        self.cache.drop(short_code)


def _require_life(expires_in: object) -> None:
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

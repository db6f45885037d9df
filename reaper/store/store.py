"""Pastes for an application: put, get, delete, extend.

    from datetime import timedelta
    import reaper

    with reaper.open_store() as store:
        stored = store.put(b"hello", expires_in=timedelta(days=7))
        paste = store.get(stored.short_code)

What the calls do is in `pastes`; this face blocks the thread that calls. `AsyncStore` is the other one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import BinaryIO

from reaper.model import Paste, Stored
from reaper.store.calls import run_blocking
from reaper.store.pastes import Pastes, require_put
from reaper.store.spool import spooled


@dataclass(frozen=True)
class Store:
    """Any number of threads may share it; times are the database's."""

    pastes: Pastes

    def put(
        self, data: bytes | BinaryIO, expires_in: timedelta | None, short_code: str | None = None
    ) -> Stored:
        """Store bytes, or what a stream has left, for so long; None = for ever.

        CodeTaken when the code that was asked for is another paste's; without one it gets a random
        one. NoRoom when no backend has room. Unreachable when PostgreSQL or the backend does not answer:
        then nothing was stored, or at the worst a paste under a code that was not returned.
        """
        require_put(expires_in, short_code)
        with spooled(data) as body:
            return run_blocking(self.pastes.put(body, expires_in, short_code))

    def get(self, short_code: str) -> Paste | None:
        """The paste; None when there is none or it has expired.

        Unreachable when it is not cached and no backend that has it answers, ContentLost when its bytes are
        gone or damaged.
        """
        return run_blocking(self.pastes.get(short_code))

    def delete(self, short_code: str) -> bool:
        """Make a paste unreadable now; False when it was already. Its bytes go with the next drain."""
        return run_blocking(self.pastes.delete(short_code))

    def extend(self, short_code: str, expires_in: timedelta | None) -> bool:
        """Let a paste live so long from now, shorter or longer than before, None = for ever.

        One that has expired comes back to life until a drain has deleted its row; False when it is gone.
        """
        return run_blocking(self.pastes.extend(short_code, expires_in))

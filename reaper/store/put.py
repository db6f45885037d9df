"""One put: begin, upload where that is needed, commit. Whatever happens on the way, nothing is left behind.

The intent comes before the upload and the upload before the commit, so a writer can die at any moment: what
it left is found by its intent. An answer that was lost is asked for again, never guessed.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from reaper.errors import (
    BytesNeeded,
    CircuitOpen,
    CodeTaken,
    ConfigError,
    ForeignBucket,
    IntentGone,
    ReaperError,
    Unreachable,
    UploadFailed,
)
from reaper.model import Intent, Stored
from reaper.ports import Begun, ObjectStore
from reaper.store.calls import Calls
from reaper.store.spool import Body

ATTEMPTS = 8
# As long as a backend refuses quickly, another attempt may find it given up and the bytes placed elsewhere.
PATIENCE = 5.0
# No letters and digits that people mistake for each other.
ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
CODE_LENGTH = 12


@dataclass(frozen=True)
class Writer:
    """Puts pastes; any number of threads or tasks may share it."""

    calls: Calls
    stores: Mapping[str, ObjectStore]
    clock: Callable[[], float] = time.monotonic

    async def put(self, body: Body, expires_in: timedelta | None, short_code: str | None) -> Stored:
        """Make the paste, under a fresh code unless one is given; again where that can help."""
        until = self.clock() + PATIENCE
        attempt = 1
        turned_away = False
        while True:
            code = fresh_code() if short_code is None else short_code
            try:
                return await self._attempt(body, expires_in, code)
            except (IntentGone, CodeTaken, UploadFailed, CircuitOpen, ForeignBucket) as error:
                # Given up since the put began, it is not chosen again; given up before, there is no other.
                not_sent = isinstance(error, CircuitOpen | ForeignBucket)
                hopeless = turned_away if not_sent else _is_asked_for(error, short_code)
                turned_away = not_sent
                impatient = isinstance(error, UploadFailed) and self.clock() >= until
                if hopeless or impatient or attempt == ATTEMPTS:
                    raise
            attempt += 1

    async def _attempt(self, body: Body, expires_in: timedelta | None, code: str) -> Stored:
        intent = await self.calls.ask(lambda q: q.begin_put(code, body.sha256, body.size, expires_in))
        attempt = Attempt(self.calls, self.stores, intent, body)
        stored = Stored(code, body.sha256, body.size, intent.expires_at)
        try:
            await attempt.run()
        except ReaperError:
            if await attempt.give_up() or not await self._is_there(stored):
                raise
        except (Exception, KeyboardInterrupt, SystemExit):
            await attempt.give_up()
            raise
        # A task that is cancelled waits for nothing more: the pending reaper ends its intent, late enough for
        # bytes that a thread is still sending.
        return stored

    async def _is_there(self, stored: Stored) -> bool:
        """Whether the commit whose answer was lost, or a pending reaper, has made this very paste.

        Who cannot find out is told so, and no more: an attempt under the same code would be refused as if
        the paste were another's.
        """
        row = await self.calls.ask(lambda q: q.get_paste(stored.short_code))
        return row is not None and (row.content_hash, row.expires_at) == (
            stored.content_hash,
            stored.expires_at,
        )


class Attempt:
    """One intent on its way to a paste."""

    def __init__(self, calls: Calls, stores: Mapping[str, ObjectStore], intent: Intent, body: Body) -> None:
        self._calls = calls
        self._stores = stores
        self._intent = intent
        self._body = body
        self._uploading = False

    async def run(self) -> None:
        """Upload and commit; content that another writer has stored meanwhile is not uploaded."""
        if self._intent.upload_required:
            await self._upload()
        try:
            await self._commit()
        except BytesNeeded:
            await self._upload()
            await self._commit()

    async def give_up(self) -> bool:
        """End the intent; False when it has ended already, so that it may have been committed."""
        with contextlib.suppress(ReaperError):
            if await self._calls.ask(lambda q: q.abort_put(self._intent.intent_id, self._uploading)):
                return True
            if self._uploading:
                # The intent may have been ended, and its key deleted, before our bytes arrived.
                await self._calls.ask(
                    lambda q: q.enqueue_late_upload(self._intent, self._body.sha256, self._body.size)
                )
            return False
        # PostgreSQL is away: the pending reaper does it.
        return True

    async def _upload(self) -> None:
        store = self._stores.get(self._intent.backend)
        if store is None:
            raise ConfigError(
                f"backend {self._intent.backend} is not configured here", "Add it to reaper.toml."
            )
        self._uploading = True
        try:
            await self._calls.outside(self._body.send, store, self._intent.object_key, self._noting())
        except (CircuitOpen, ForeignBucket):
            self._uploading = False
            raise
        except Unreachable as error:
            raise UploadFailed(error.message, error.hint) from error

    def _noting(self) -> Begun:
        """Writes down whose upload in parts it is, in the thread that sends, before the first part."""
        ask = self._calls.from_outside()

        def begun(upload: str) -> None:
            if not ask(lambda q: q.record_put_upload(self._intent.intent_id, upload)):
                raise IntentGone(
                    f"put intent {self._intent.intent_id} is gone",
                    "The pending reaper has ended it: begin again.",
                )

        return begun

    async def _commit(self) -> None:
        await self._calls.ask(lambda q: q.commit_put(self._intent.intent_id, self._uploading))


def _is_asked_for(error: ReaperError, short_code: str | None) -> bool:
    """Whether the very code that the caller wants is taken."""
    return isinstance(error, CodeTaken) and short_code is not None


def fresh_code() -> str:
    """A random code, which cannot be guessed."""
    return "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))

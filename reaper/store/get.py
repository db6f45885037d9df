"""Finding the bytes of a paste, wherever a whole copy of them can be had.

A copy that turns out missing or damaged is reported, so that it is read last and a good one is made.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from reaper.errors import ConfigError, ContentLost, ReaperError
from reaper.model import Copy, PasteRow
from reaper.ports import ObjectStore
from reaper.store.calls import Calls
from reaper.telemetry.events import Telemetry

LOOKS = 3
# What is found of a copy; the last where its size is right, so that it depends on what the hash is.
MISSING, CORRUPT, DIFFERS = "missing", "corrupt", "differs"
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Found:
    """A paste that can be read, with its bytes."""

    row: PasteRow
    data: bytes


class Damaged(ContentLost):
    """A copy does not have the bytes that it should."""

    def __init__(self, trouble: str, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.trouble = trouble


@dataclass(frozen=True)
class Reader:
    """Asks PostgreSQL where the bytes lie, and the backends for them, one after the other."""

    calls: Calls
    stores: Mapping[str, ObjectStore]
    check_hashes: bool = True
    clock: Callable[[], float] = time.monotonic
    telemetry: Telemetry | None = None

    async def find(self, short_code: str) -> Found | None:
        """The paste; None when there is none, or none any more when its bytes have come.

        Bytes that are gone belong to a paste that went after PostgreSQL was asked: it is asked again.
        """
        for _ in range(LOOKS):
            row = await self.calls.ask(lambda q: q.get_paste(short_code))
            if row is None:
                return None
            answered = self.clock()
            data = await self._fetch(row)
            if data is not None:
                return Found(row, data) if self._lives(row, answered) else None
        raise ContentLost(
            f"paste {short_code} is live, but none of its backends has its bytes",
            "Run `reaper verify`: it lists missing objects and the pastes that need them.",
        )

    def _lives(self, row: PasteRow, answered: float) -> bool:
        """Whether the time that was left when PostgreSQL answered has not passed meanwhile."""
        return row.remaining is None or timedelta(seconds=self.clock() - answered) < row.remaining

    async def _fetch(self, row: PasteRow) -> bytes | None:
        """The first whole copy; None when every backend says that it has none."""
        troubles: list[ReaperError] = []
        # The best one; only if that is not to be had, the others follow.
        copies = [Copy(row.backend, row.object_key, row.size_bytes)]
        for copy in copies:
            try:
                data = await self.calls.outside(self._read, copy, row.content_hash)
            except ReaperError as error:
                troubles.append(error)
                if isinstance(error, Damaged):
                    await self._report(row, copy, error.trouble, error.message)
            else:
                if data is not None:
                    return data
                await self._report(row, copy, MISSING, "a reader did not find it")
            if copy is copies[0]:
                others = await self.calls.ask(lambda q: q.copies_of(row.content_hash))
                copies += (other for other in others if other != copies[0])
        if troubles:
            raise troubles[0]
        return None

    async def _report(self, row: PasteRow, copy: Copy, trouble: str, detail: str) -> None:
        """Tell PostgreSQL, which knows whether it is still a copy; a reader does not fail because of that."""
        if self.telemetry:
            self.telemetry.copy_trouble(copy.backend, copy.object_key, trouble, detail)
        try:
            await self.calls.ask(
                lambda q: q.report_copy(row.content_hash, copy.backend, copy.object_key, trouble, detail)
            )
        except ReaperError as error:
            if self.telemetry:
                self.telemetry.copy_not_reported(error)

    def _read(self, copy: Copy, content_hash: str) -> bytes | None:
        store = self.stores.get(copy.backend)
        if store is None:
            raise ConfigError(f"backend {copy.backend} is not configured here", "Add it to reaper.toml.")
        data = store.get(copy.object_key)
        if data is not None:
            self._require_whole(data, copy, content_hash)
        return data

    def _require_whole(self, data: bytes, copy: Copy, content_hash: str) -> None:
        # 0 means that an application's own content has no recorded size.
        if copy.size_bytes and len(data) != copy.size_bytes:
            raise Damaged(
                CORRUPT,
                f"{copy.object_key} on {copy.backend} has {len(data)} bytes instead of {copy.size_bytes}",
            )
        if self.check_hashes and _SHA256.fullmatch(content_hash) and _hash(data) != content_hash:
            raise Damaged(
                DIFFERS,
                f"{copy.object_key} on {copy.backend} is damaged: its SHA-256 is not {content_hash}",
                "If your hashes are not SHA-256, set REAPER_CHECK_HASHES=false.",
            )


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

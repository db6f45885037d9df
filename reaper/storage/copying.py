"""One object on its way from one backend to another: read, compared, written, and looked at again.

What is wrong with the source is told apart from what is wrong with the destination: the first means another
source, the second another time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from reaper.errors import CircuitOpen, ContentLost, ForeignBucket, ReaperError, Unreachable, describe
from reaper.ports import Begun, ObjectStore, Reading

MISSING, CORRUPT = "missing", "corrupt"


@dataclass(frozen=True, slots=True)
class Expected:
    """What an object must be: its size where that is known, its SHA-256 where the hash is one.

    Another size than an application's own is no proof that bytes are wrong, and is copied nowhere.
    """

    size: int | None
    sha256: str | None
    size_is_ours: bool = True


@dataclass(frozen=True, slots=True)
class Copied:
    """What lies at the destination, and whether it was compared there; no SHA-256 where it passed us by."""

    size: int
    sha256: str | None
    verified: bool


class SourceFailed(Exception):
    """A source has no good bytes; `trouble` is missing, corrupt, or nothing where it does not answer."""

    def __init__(self, trouble: str | None, detail: str) -> None:
        super().__init__(detail)
        self.trouble = trouble
        self.detail = detail


class ArrivedWrong(ReaperError):
    """The destination does not have the bytes that were sent."""


class Copying:
    """One object; `begun` hears of an upload in parts, `verify` asks for a look at what was written.

    `sent` says whether bytes may lie at the destination, however it ended.
    """

    def __init__(
        self,
        source: ObjectStore,
        source_key: str,
        destination: ObjectStore,
        key: str,
        expected: Expected,
        verify: bool,
        begun: Begun,
    ) -> None:
        self.source = source
        self.source_key = source_key
        self.destination = destination
        self.key = key
        self.expected = expected
        self.verify = verify
        self.sent = False
        self._tell = begun

    def run(self) -> Copied:
        """Copy; SourceFailed or ReaperError where that does not work."""
        return self._on_server() or self._through_here()

    def _on_server(self) -> Copied | None:
        """Where both are one server's it copies by itself; None where it cannot."""
        address = self.source.address
        if address.server is None or address.server != self.destination.address.server:
            return None
        size = self._size_of_source()
        try:
            self.destination.copy(address, self.source_key, self.key, size, self._begun)
        except (CircuitOpen, ForeignBucket):
            raise
        except Unreachable:
            self.sent = True
            raise
        except ReaperError:
            # It does not copy between these buckets; read and written they are all the same.
            return None
        self.sent = True
        if not self.verify:
            return Copied(size, None, verified=False)
        try:
            sha256 = self._look(size, self.expected.sha256)
        except ArrivedWrong:
            # Whose fault that is, is seen when the source is read.
            return None
        return Copied(size, sha256, verified=True)

    def _begun(self, upload: str) -> None:
        self.sent = True
        self._tell(upload)

    def _complete(self) -> None:
        self.sent = True

    def _size_of_source(self) -> int:
        try:
            found = self.source.head(self.source_key)
        except ReaperError as error:
            raise SourceFailed(None, describe(error)) from error
        if found is None:
            raise SourceFailed(MISSING, f"{self.source_key} is not there")
        self._require_size(found.size)
        return found.size

    def _through_here(self) -> Copied:
        try:
            return self._stream()
        except SourceFailed as failed:
            if failed.trouble != CORRUPT:
                raise
        # It may have been the line: only what is wrong twice is corrupt.
        return self._stream()

    def _stream(self) -> Copied:
        found = self._read()
        sums = Sums(found.pieces, found.size, self.expected.sha256, self._complete)
        compared = self.destination.write(self.key, replace(found, pieces=iter(sums)), self._begun)
        if self.verify and not compared:
            self._look(found.size, sums.sha256)
        return Copied(found.size, sums.sha256, verified=self.verify or compared)

    def _read(self) -> Reading:
        try:
            found = self.source.read(self.source_key)
        except ReaperError as error:
            raise SourceFailed(None, describe(error)) from error
        if found is None:
            raise SourceFailed(MISSING, f"{self.source_key} is not there")
        self._require_size(found.size)
        return found

    def _require_size(self, size: int) -> None:
        expected = self.expected
        if expected.size is None or size == expected.size:
            return
        found = f"{self.source_key} has {size} bytes instead of {expected.size}"
        if expected.size_is_ours:
            raise SourceFailed(CORRUPT, found)
        raise SourceFailed(None, f"{found}, which the application's row says: is that of the stored bytes?")

    def _look(self, size: int, sha256: str | None) -> str | None:
        """What lies at the destination now: by the checksum that its store keeps, or read again."""
        head = self.destination.head(self.key)
        kept = head.sha256 if head is not None and sha256 is not None else None
        found_size, found = (head.size, kept) if head is not None and kept else self._digest()
        if found_size != size or (sha256 is not None and found != sha256):
            raise ArrivedWrong(
                f"{self.key} arrived with {found_size} bytes and SHA-256 {found},"
                f" not with {size} bytes and {sha256 or 'any'}",
                "The way to this backend, or the backend itself, changes bytes.",
            )
        return found

    def _digest(self) -> tuple[int, str | None]:
        found = self.destination.read(self.key)
        if found is None:
            return 0, None
        size, sha256 = 0, hashlib.sha256()
        for piece in found.pieces:
            size += len(piece)
            sha256.update(piece)
        return size, sha256.hexdigest()


class Sums:
    """Pieces that are counted and hashed as they pass; they end in SourceFailed where they are wrong.

    `complete` is called when all of them have passed and are right.
    """

    def __init__(
        self, pieces: Iterator[bytes], size: int, expected: str | None, complete: Callable[[], None]
    ) -> None:
        self._complete = complete
        self._pieces = pieces
        self._size = size
        self._expected = expected
        self._sha256 = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Of all that has passed."""
        return self._sha256.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        while (piece := self._next()) is not None:
            size += len(piece)
            self._sha256.update(piece)
            yield piece
        if size != self._size:
            raise SourceFailed(CORRUPT, f"{size} bytes came instead of {self._size}")
        if self._expected is not None and self.sha256 != self._expected:
            raise SourceFailed(CORRUPT, f"its SHA-256 is {self.sha256}")
        self._complete()

    def _next(self) -> bytes | None:
        try:
            return next(self._pieces, None)
        except ContentLost as error:
            raise SourceFailed(CORRUPT, describe(error)) from error
        except ReaperError as error:
            raise SourceFailed(None, describe(error)) from error

"""The bytes of a paste on their way in: hashed while they come, kept where they can be read again."""

from __future__ import annotations

import hashlib
import io
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO, cast

from reaper.errors import BadArgument
from reaper.ports import Begun, ObjectStore

if TYPE_CHECKING:
    from reaper.store.async_calls import AsyncCalls

PIECE = 1 << 20
IN_MEMORY = 4 << 20


@dataclass(frozen=True)
class Body:
    """Bytes that can be read from their beginning as often as it takes."""

    file: BinaryIO
    size: int
    sha256: str
    # Held by the thread that sends; the task that began it may be gone.
    in_use: Lock = field(default_factory=Lock)

    def send(self, store: ObjectStore, key: str, begun: Begun | None = None) -> None:
        """Store the bytes, from the first one on."""
        with self.in_use:
            self.file.seek(0)
            store.put(key, self.file, self.size, begun)

    def close(self) -> None:
        """Give the file up once nobody sends it; broken off, an upload would count against its backend."""
        with self.in_use:
            self.file.close()


@contextmanager
def spooled(data: bytes | BinaryIO) -> Iterator[Body]:
    """Take bytes or a stream; what is larger than a few megabytes waits in a temporary file."""
    body = _read(data)
    try:
        yield body
    finally:
        body.close()


@asynccontextmanager
async def spooled_async(
    data: bytes | BinaryIO | AsyncIterable[bytes], calls: AsyncCalls
) -> AsyncIterator[Body]:
    """The same beside an event loop, which is not kept from going on by reading and hashing."""
    body = await (_collected(data, calls) if isinstance(data, AsyncIterable) else calls.outside(_read, data))
    try:
        yield body
    finally:
        if body.in_use.locked():
            calls.later(body.close)
        else:
            body.close()


async def _collected(data: AsyncIterable[bytes], calls: AsyncCalls) -> Body:
    spool = _Spool()
    try:
        async for piece in data:
            await calls.outside(spool.add, piece)
    except BaseException:
        spool.body().close()
        raise
    return spool.body()


def _read(data: bytes | BinaryIO) -> Body:
    if isinstance(data, bytes | bytearray | memoryview):
        whole = bytes(data)
        return Body(io.BytesIO(whole), len(whole), hashlib.sha256(whole).hexdigest())
    spool = _Spool()
    try:
        while piece := _piece(data):
            spool.add(piece)
    except BaseException:
        spool.body().close()
        raise
    return spool.body()


class _Spool:
    """Pieces on their way to a body."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  the body is closed
        self._size = 0
        self._sha256 = hashlib.sha256()

    def add(self, piece: bytes) -> None:
        """The next piece."""
        _require_bytes(piece, piece)
        self._size += len(piece)
        self._sha256.update(piece)
        self._file.write(piece)

    def body(self) -> Body:
        """What has come so far."""
        return Body(self._file, self._size, self._sha256.hexdigest())  # type: ignore[arg-type]


def _piece(stream: BinaryIO) -> bytes:
    read = getattr(stream, "read", None)
    piece = read(PIECE) if read else None
    _require_bytes(piece, piece if read else stream)
    return cast(bytes, piece)


def _require_bytes(piece: object, given: object) -> None:
    if not isinstance(piece, bytes):
        raise BadArgument(
            f"data must be bytes or a binary file, not {type(given).__name__}",
            "Encode text first, or open the file in binary mode.",
        )

"""What is sent to a store: bytes, or a slice of a file that can be read again for a retry."""

from __future__ import annotations

import base64
import hashlib
import io
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from typing_extensions import Buffer

READ_SIZE = 1 << 20


class FileSlice(io.RawIOBase):
    """A part of a file as a file of its own; each read first calls `in_time`, which raises when late."""

    def __init__(self, file: BinaryIO, start: int, size: int, in_time: Callable[[], None]) -> None:
        super().__init__()
        self._file = file
        self._start = start
        self._size = size
        self._in_time = in_time
        self._at = 0

    def readinto(self, buffer: Buffer) -> int:
        """Read what fits, not beyond the end of the slice."""
        self._in_time()
        view = memoryview(buffer)
        self._file.seek(self._start + self._at)
        data = self._file.read(min(len(view), self._size - self._at))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place in the slice."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = min(max(base + offset, 0), self._size)
        return self._at

    def tell(self) -> int:
        """The place in the slice."""
        return self._at

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always: a request that is tried again reads its body again."""
        return True


Body = bytes | BinaryIO


def crc32(body: Body) -> str:
    """The CRC32 as S3 writes it."""
    value = 0
    for piece in _pieces(body):
        value = zlib.crc32(piece, value)
    return base64.b64encode(value.to_bytes(4, "big")).decode()


def md5(body: Body) -> str:
    """The MD5 as S3 writes it."""
    value = hashlib.md5(usedforsecurity=False)
    for piece in _pieces(body):
        value.update(piece)
    return base64.b64encode(value.digest()).decode()


def _pieces(body: Body) -> Iterator[bytes]:
    if isinstance(body, bytes):
        yield body
        return
    body.seek(0)
    while piece := body.read(READ_SIZE):
        yield piece
    body.seek(0)

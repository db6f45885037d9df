"""The bytes of a paste on their way in: hashed while they come, kept where they can be read again."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import BinaryIO

from reaper.errors import BadArgument

PIECE = 1 << 20
IN_MEMORY = 4 << 20


@dataclass(frozen=True)
class Body:
    """Bytes that can be read from their beginning as often as it takes."""

    file: BinaryIO
    size: int
    sha256: str

    def rewound(self) -> BinaryIO:
        """The bytes, from the first one on."""
        self.file.seek(0)
        return self.file


@contextmanager
def spooled(data: bytes | BinaryIO) -> Iterator[Body]:
    """Take bytes or a stream; what is larger than a few megabytes waits in a temporary file."""
    if isinstance(data, bytes | bytearray | memoryview):
        whole = bytes(data)
        yield Body(io.BytesIO(whole), len(whole), hashlib.sha256(whole).hexdigest())
        return
    with SpooledTemporaryFile(max_size=IN_MEMORY) as spool:
        yield _read_into(data, spool)  # type: ignore[arg-type]


def _read_into(stream: BinaryIO, spool: BinaryIO) -> Body:
    size, sha256 = 0, hashlib.sha256()
    while piece := _piece(stream):
        size += len(piece)
        sha256.update(piece)
        spool.write(piece)
    return Body(spool, size, sha256.hexdigest())


def _piece(stream: BinaryIO) -> bytes:
    read = getattr(stream, "read", None)
    piece = read(PIECE) if read else None
    if not isinstance(piece, bytes):
        raise BadArgument(
            f"data must be bytes or a binary file, not {type(piece if read else stream).__name__}",
            "Encode text first, or open the file in binary mode.",
        )
    return piece

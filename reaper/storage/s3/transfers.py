"""Objects on their way between two stores: a piece of each in memory at most, never two slots at once.

A large object is read by ranges and written in parts of the same size, so no request lasts longer than a
piece, and each has its own timeouts.
"""

from __future__ import annotations

import base64
import hashlib
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, cast

from reaper.errors import ContentLost
from reaper.ports import Begun, Reading
from reaper.storage.owner_marker import OWN_PREFIX
from reaper.storage.s3 import errors
from reaper.storage.s3.copy_requests import CopyRequests, Piece, pieces_of, ranges, sums
from reaper.storage.s3.errors import Kind
from reaper.storage.s3.requests import Bucket
from reaper.storage.s3.upload import MOST_PARTS

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

    from reaper.storage.s3.payload import Body

MIB = 1 << 20
# What is read and written at once; S3 takes no smaller parts but the last.
PIECE = 8 * MIB
# What the server copies at once: without the bytes passing here, but still within the timeout of a request.
SERVER_PIECE = 256 * MIB
TRIAL_KEY = f"{OWN_PREFIX}trial"


class Transfers:
    """Streams objects from and to one bucket; several threads may share it."""

    def __init__(self, bucket: Bucket, prefix: str, delete: Callable[[Sequence[str]], object]) -> None:
        self._bucket = bucket
        self._requests = CopyRequests(bucket)
        self._prefix = prefix
        self._delete = delete
        self._trying = threading.Lock()
        self._compares: bool | None = None

    def read(self, key: str) -> Reading | None:
        """The object, of which only the first piece has been asked for."""
        first = self._requests.begin_reading(key, PIECE)
        if first is None:
            return None
        pieces = _compared(key, first, pieces_of(self._requests, key, first, PIECE))
        return Reading(first.size, pieces, first.headers)

    def write(self, key: str, reading: Reading, begun: Begun) -> bool:
        """Store what is read; whether the store has compared the bytes."""
        if reading.size > PIECE:
            self._write_parts(key, reading, begun)
            return False
        return self._put(key, b"".join(reading.pieces), reading.headers)

    def head(self, key: str) -> tuple[int, str | None] | None:
        """The size and the SHA-256 that the store keeps, if it is one that compares what it is told."""
        found = self._requests.head(key)
        return found and (found[0], found[1] if found[1] and self._is_believed() else None)

    def copy(self, bucket: str, source_key: str, key: str, size: int, begun: Begun) -> None:
        """Let the server copy."""
        source: dict[str, str] = {"Bucket": bucket, "Key": source_key}
        if size <= SERVER_PIECE:
            self._requests.copy(source, key)  # type: ignore[arg-type]
            return

        def parts(upload: str) -> Iterator[CompletedPartTypeDef]:
            for number, start, end in ranges(size, max(SERVER_PIECE, -(-size // MOST_PARTS))):
                yield self._requests.copy_part(source, key, upload, number, start, end)  # type: ignore[arg-type]

        # The server copies what was said with a whole object, not with parts of it.
        self._in_parts(key, begun, parts, self._requests.headers_of(source))  # type: ignore[arg-type]

    def _put(self, key: str, body: bytes, headers: Mapping[str, str]) -> bool:
        believed = self._is_believed()
        told = self._requests.put(key, body, hashlib.sha256(body).hexdigest(), headers)
        return believed and told

    def _is_believed(self) -> bool:
        """Whether the store refuses bytes with a wrong checksum: then one that it accepts was compared."""
        if self._compares is None:
            with self._trying:
                if self._compares is None:
                    self._compares = self._try()
        return self._compares

    def _try(self) -> bool:
        """Send a wrong checksum of each kind; one that the store refuses is enough: it gets them all."""
        key = self._prefix + TRIAL_KEY
        wrong = sums(b"another", hashlib.sha256(b"another").hexdigest())
        for name in wrong.keys() - {"content-type"}:
            status = self._requests.put_wrong(key, b"reaper", {name: wrong[name]})
            if status == HTTPStatus.BAD_REQUEST:
                return True
        # It may have been stored.
        self._delete([key])
        return False

    def _write_parts(self, key: str, reading: Reading, begun: Begun) -> None:
        part_size = max(PIECE, -(-reading.size // MOST_PARTS))

        def parts(upload: str) -> Iterator[CompletedPartTypeDef]:
            for number, body in enumerate(_parts_of(reading.pieces, part_size), start=1):
                yield self._put_part(key, upload, number, body)

        self._in_parts(key, begun, parts, reading.headers)

    def _put_part(self, key: str, upload: str, number: int, body: Body) -> CompletedPartTypeDef:
        try:
            return self._bucket.put_part(key, upload, number, body)
        except errors.REQUEST_ERRORS as error:
            if self._bucket.content_md5 or errors.of_request(error).kind is not Kind.NEEDS_MD5:
                raise
            self._bucket.content_md5 = True
            return self._bucket.put_part(key, upload, number, body)

    def _in_parts(
        self,
        key: str,
        begun: Begun,
        parts: Callable[[str], Iterable[CompletedPartTypeDef]],
        headers: Mapping[str, str],
    ) -> None:
        """Join the parts, or give all of them up."""
        upload = self._bucket.begin_parts(key, headers)
        try:
            begun(upload)
            self._bucket.join_parts(key, upload, list(parts(upload)))
        except BaseException:
            # Parts cost money and no listing shows them. If that fails too, the first error says more.
            with suppress(*errors.REQUEST_ERRORS):
                self._bucket.drop_parts(key, upload)
            raise


def _parts_of(pieces: Iterable[bytes], size: int) -> Iterator[Body]:
    """The same bytes in parts of this size, which is no smaller than the pieces; large ones lie in a file."""
    if size <= PIECE:
        yield from pieces
        return
    part, at = _spool(), 0
    for piece in pieces:
        rest = memoryview(piece)
        while rest:
            fits = rest[: size - at]
            part.write(fits)
            rest, at = rest[len(fits) :], at + len(fits)
            if at == size:
                part.seek(0)
                yield part
                part.close()
                part, at = _spool(), 0
    if at:
        part.seek(0)
        yield part
    part.close()


def _spool() -> BinaryIO:
    return cast(BinaryIO, SpooledTemporaryFile(max_size=PIECE))


def _compared(key: str, first: Piece, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, which end in ContentLost where they do not match what the store keeps as checksum."""
    sha256, crc32 = hashlib.sha256() if first.sha256 else None, 0
    kept = first.crc32 if first.crc32 and "-" not in first.crc32 else None
    for piece in pieces:
        if sha256:
            sha256.update(piece)
        elif kept:
            crc32 = zlib.crc32(piece, crc32)
        yield piece
    if sha256 and sha256.hexdigest() != first.sha256:
        raise ContentLost(f"{key} is damaged: it does not match the SHA-256 that its store keeps")
    if not sha256 and kept and base64.b64encode(crc32.to_bytes(4, "big")).decode() != kept:
        raise ContentLost(f"{key} is damaged: it does not match the CRC32 that its store keeps")

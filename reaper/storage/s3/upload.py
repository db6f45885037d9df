"""One put: a single request, or, beyond a size, parts that are joined or dropped together."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, cast

from botocore.exceptions import ClientError

from reaper.ports import Begun
from reaper.storage.s3 import errors
from reaper.storage.s3.client import S3Options
from reaper.storage.s3.errors import Kind
from reaper.storage.s3.payload import Body, FileSlice
from reaper.storage.s3.requests import Bucket

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

MOST_PARTS = 10_000
# A file is only sent after the store agreed (Expect: 100-continue), or did not answer that for a second.
SMALL = 1 << 20


class Upload:
    """A seekable file on its way to a key; `in_time` raises once it takes too long."""

    def __init__(
        self,
        bucket: Bucket,
        key: str,
        file: BinaryIO,
        size: int,
        options: S3Options,
        in_time: Callable[[], None],
        begun: Begun | None = None,
    ) -> None:
        self._bucket = bucket
        self._key = key
        self._file = file
        self._start = file.tell()
        self._size = size
        self._in_pieces = size > options.multipart_threshold
        self._part_size = max(options.part_size, -(-size // MOST_PARTS))
        self._in_time = in_time
        self._begun = begun
        self._require_size()

    def run(self) -> None:
        """Send it, with Content-MD5 if the store turns out to insist on that."""
        with_md5 = self._bucket.content_md5
        try:
            self._send()
        except ClientError as error:
            if with_md5 or errors.of_request(error).kind is not Kind.NEEDS_MD5:
                raise
            self._bucket.content_md5 = True
            self._send()

    def _require_size(self) -> None:
        """A shorter body would leave the store waiting for the rest."""
        there = self._file.seek(0, io.SEEK_END) - self._start
        if there != self._size:
            raise ValueError(f"the body of {self._key} has {there} bytes, expected {self._size}")

    def _send(self) -> None:
        if self._in_pieces:
            self._send_parts()
        else:
            self._bucket.put(self._key, self._slice(0, self._size))

    def _send_parts(self) -> None:
        upload = self._bucket.begin_parts(self._key)
        try:
            if self._begun:
                self._begun(upload)
            parts = [
                self._bucket.put_part(self._key, upload, number, body)
                for number, body in enumerate(self._slices(), start=1)
            ]
            self._join(upload, parts)
        except BaseException:
            # Parts cost money and no listing shows them. If that fails too, the first error says more.
            with suppress(*errors.REQUEST_ERRORS):
                self._bucket.drop_parts(self._key, upload)
            raise

    def _join(self, upload: str, parts: list[CompletedPartTypeDef]) -> None:
        try:
            self._bucket.join_parts(self._key, upload, parts)
        except ClientError as error:
            # A repeated request whose first answer was lost: no other writer uses this key.
            joined = errors.says_no_upload(error) and self._bucket.find(self._key) == self._size
            if not joined:
                raise

    def _slices(self) -> Iterator[Body]:
        for offset in range(0, self._size, self._part_size):
            yield self._slice(offset, min(self._part_size, self._size - offset))

    def _slice(self, offset: int, size: int) -> Body:
        piece = cast(BinaryIO, FileSlice(self._file, self._start + offset, size, self._in_time))
        return piece.read() if size <= SMALL else piece

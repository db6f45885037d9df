"""What copying an object needs of S3, request by request; each holds one slot of the gate."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, IncompleteReadError

from reaper.storage.s3 import errors, object_headers
from reaper.storage.s3.payload import md5
from reaper.storage.s3.quick_requests import QuickRequests, read_up_to
from reaper.storage.s3.requests import BINARY, Bucket

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef, CopySourceTypeDef

_WITH_CHECKSUM = {"x-amz-checksum-mode": "ENABLED"}
_SHA256, _CRC32 = "x-amz-checksum-sha256", "x-amz-checksum-crc32"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of an object, how long it is, its version, checksum and what its writer said about it."""

    data: bytes
    size: int
    etag: str | None
    sha256: str | None = None
    crc32: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class CopyRequests:
    """The requests; several threads may share it."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._quick = QuickRequests(bucket.client, bucket.name, bucket.meter, bucket.backend)

    def begin_reading(self, key: str, most: int) -> Piece | None:
        """The first bytes; None if the store says that there is no such object."""
        with self._bucket.asking() as client:
            answer = self._quick.send("GET", key, _WITH_CHECKSUM)
            if answer is not None:
                with closing(answer):
                    if answer.status == 200 and "content-length" in answer.headers:
                        return _piece(answer.headers, read_up_to(answer, most), most)
            try:
                reply: Any = client.get_object(Bucket=self._bucket.name, Key=key, ChecksumMode="ENABLED")
            except ClientError as error:
                if not errors.says_absent(error):
                    raise
                return None
            with self._bucket.streaming(reply["Body"]) as body:
                return _piece(reply["ResponseMetadata"]["HTTPHeaders"], _read(body, most), most)

    def read_on(self, key: str, start: int, most: int, first: Piece) -> bytes:
        """The next bytes of the same object."""
        end = min(start + most, first.size)
        asked = {"range": f"bytes={start}-{end - 1}"}
        if first.etag:
            asked["if-match"] = first.etag
        with self._bucket.asking() as client:
            answer = self._quick.send("GET", key, asked)
            if answer is not None:
                with closing(answer):
                    # Some stores answer with another status, but all of them say which bytes they send.
                    if answer.headers.get("content-range", "").startswith(f"bytes {start}-"):
                        return _whole(read_up_to(answer, end - start), end - start)
            matching: dict[str, Any] = {"IfMatch": first.etag} if first.etag else {}
            reply = client.get_object(Bucket=self._bucket.name, Key=key, Range=asked["range"], **matching)
            with self._bucket.streaming(reply["Body"]) as body:
                if not reply.get("ContentRange", "").startswith(f"bytes {start}-"):
                    raise IncompleteReadError(actual_bytes=0, expected_bytes=end - start)
                return _whole(_read(body, end - start), end - start)

    def put(self, key: str, body: bytes, sha256: str, headers: Mapping[str, str]) -> bool:
        """Write an object in one request; whether the store was told in a way that it could have compared."""
        with self._bucket.asking():
            answer = self._quick.send("PUT", key, {**sums(body, sha256), **headers}, body, sha256)
            if answer is not None:
                with closing(answer):
                    read_up_to(answer, 1 << 16)
                    if answer.status == 200:
                        return True
        self._bucket.put(key, body, headers)
        return False

    def put_wrong(self, key: str, body: bytes, wrong: Mapping[str, str]) -> int | None:
        """Write an object with checksums of other bytes; the status of the answer, if there is one."""
        digest = hashlib.sha256(body).hexdigest()
        with self._bucket.asking():
            answer = self._quick.send("PUT", key, {**sums(body, digest), **wrong}, body, digest)
            if answer is None:
                return None
            with closing(answer):
                read_up_to(answer, 1 << 16)
                return int(answer.status)

    def head(self, key: str) -> tuple[int, str | None] | None:
        """The size, and the SHA-256 that the store keeps; None if it says that there is no such object."""
        with self._bucket.asking():
            answer = self._quick.send("HEAD", key, _WITH_CHECKSUM)
            if answer is not None:
                with closing(answer):
                    read_up_to(answer, 1)
                    if answer.status == 200 and "content-length" in answer.headers:
                        return int(answer.headers["content-length"]), _hex(answer.headers.get(_SHA256))
        # A 404 without a body may come from a proxy; a listing tells.
        size = self._bucket.find(key)
        return None if size is None else (size, None)

    def headers_of(self, source: CopySourceTypeDef) -> Mapping[str, str]:
        """What was said about an object of another bucket of this server."""
        with self._bucket.asking() as client:
            reply: Any = client.head_object(Bucket=source["Bucket"], Key=source["Key"])
        return object_headers.kept(reply["ResponseMetadata"]["HTTPHeaders"])

    def copy(self, source: CopySourceTypeDef, key: str) -> None:
        """Let the server copy an object as a whole."""
        with self._bucket.asking() as client:
            client.copy_object(Bucket=self._bucket.name, Key=key, CopySource=source)

    def copy_part(
        self, source: CopySourceTypeDef, key: str, upload: str, number: int, start: int, end: int
    ) -> CompletedPartTypeDef:
        """Let the server copy a part of an object."""
        with self._bucket.asking() as client:
            reply = client.upload_part_copy(
                Bucket=self._bucket.name,
                Key=key,
                CopySource=source,
                CopySourceRange=f"bytes={start}-{end - 1}",
                UploadId=upload,
                PartNumber=number,
            )
        part: CompletedPartTypeDef = {"PartNumber": number, "ETag": reply["CopyPartResult"]["ETag"]}
        if checksum := reply["CopyPartResult"].get("ChecksumCRC32"):
            part["ChecksumCRC32"] = checksum
        return part


def sums(body: bytes, sha256: str) -> dict[str, str]:
    """What the store is to compare the bytes with before it says yes; old stores know MD5 alone."""
    checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
    return {"content-type": BINARY, "content-md5": md5(body), _SHA256: checksum}


def pieces_of(requests: CopyRequests, key: str, first: Piece, most: int) -> Iterator[bytes]:
    """All bytes of an object of which the first are there."""
    if first.data:
        yield first.data
    for start in range(len(first.data), first.size, most):
        yield requests.read_on(key, start, most, first)


def ranges(size: int, part_size: int) -> Sequence[tuple[int, int, int]]:
    """The parts of an object: their numbers, where they begin and where they end."""
    starts = range(0, size, part_size)
    return [(number, start, min(start + part_size, size)) for number, start in enumerate(starts, start=1)]


def _piece(headers: Mapping[str, str], data: bytes, most: int) -> Piece:
    size = int(headers["content-length"])
    _whole(data, min(size, most))
    said = object_headers.kept(headers)
    return Piece(data, size, headers.get("etag"), _hex(headers.get(_SHA256)), headers.get(_CRC32), said)


def _read(body: Any, most: int) -> bytes:
    """At most so many bytes; the library compares checksums only at the end of what it is asked for."""
    pieces: list[bytes] = []
    while most and (piece := body.read(most)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _whole(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise IncompleteReadError(actual_bytes=len(data), expected_bytes=size)
    return data


def _hex(checksum: str | None) -> str | None:
    """A SHA-256 as it is written elsewhere; that of an upload in parts is none of the whole object."""
    if not checksum or "-" in checksum:
        return None
    try:
        digest = base64.b64decode(checksum, validate=True).hex()
    except binascii.Error:
        return None
    return digest if len(digest) == 64 else None

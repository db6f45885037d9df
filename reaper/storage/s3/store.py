"""A bucket as reaper sees it: put, get, delete, list, check."""

from __future__ import annotations

import hashlib
import io
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from botocore.exceptions import ClientError

from reaper.concurrency import map_in
from reaper.errors import NotSupported, ReaperError, Unreachable, UploadAborted
from reaper.model import Failed, OpenUpload, StoredDigest, StoredHead, StoredObject, UploadedParts
from reaper.ports import Address, Begun, Reading
from reaper.storage.request_gate import AdmissionGate
from reaper.storage.s3 import errors
from reaper.storage.s3.batch_delete import BatchDelete
from reaper.storage.s3.client import S3Options
from reaper.storage.s3.payload import READ_SIZE
from reaper.storage.s3.requests import Bucket
from reaper.storage.s3.transfers import Transfers
from reaper.storage.s3.upload import Upload
from reaper.storage.usage_meter import BackendMeter

if TYPE_CHECKING:
    from botocore.response import StreamingBody

__all__ = ["S3Options", "S3Store"]

DEFAULTS = S3Options()
PROBE = b"reaper doctor --probe"
_NEEDED = "Give the credentials s3:ListBucket and s3:DeleteObject, with versions also s3:DeleteObjectVersion."
_CONSISTENT = (
    "S3 shows a write in the next listing; with this store reaper verify may report objects wrongly."
)


class S3Store:
    """An ObjectStore in one bucket of AWS or of any server that speaks S3.

    With a prefix all objects lie below it; callers neither see nor name it.
    """

    def __init__(
        self,
        bucket: str,
        endpoint_url: str | None = None,
        options: S3Options = DEFAULTS,
        clock: Callable[[], float] = time.monotonic,
        gate: AdmissionGate | None = None,
        prefix: str = "",
        meter: BackendMeter | None = None,
    ) -> None:
        self.bucket = bucket
        self._prefix = prefix
        self._endpoint_url = endpoint_url
        self._options = options
        self._clock = clock
        self._requests = Bucket(bucket, endpoint_url, options, gate or AdmissionGate(), meter)
        self._transfers = Transfers(self._requests, prefix, self._delete_all)

    def delete(self, keys: Sequence[str]) -> Mapping[str, Failed]:
        """Delete any number of keys with all their versions; return those that are not known to be gone."""
        # An empty key stays empty, and is refused there: below a prefix it would be another object's name.
        failed = self._delete_all([key and self._prefix + key for key in keys])
        return {key.removeprefix(self._prefix): why for key, why in failed.items()}

    def _delete_all(self, keys: Sequence[str]) -> Mapping[str, Failed]:
        deletion = BatchDelete(self._requests, self._options.threads, self._options.deadline, self._clock)
        deletion.delete(keys)
        return deletion.failed

    def list(self, after: str = "") -> Iterator[StoredObject]:
        """Every object in byte order of its key, page by page."""
        last = after.encode()
        with self._explained():
            for page in self._requests.pages(after and self._prefix + after, self._prefix):
                for found in page:
                    key = found["Key"].removeprefix(self._prefix)
                    # Some stores show the folder itself.
                    if key:
                        last = self._in_order(last, key)
                        yield StoredObject(key, found["Size"])

    def find(self, keys: Sequence[str]) -> Mapping[str, StoredObject]:
        """Those of these keys that are there now."""
        with self._explained(), ThreadPoolExecutor(self._options.threads, "s3") as pool:
            sizes = map_in(pool, self._requests.find, [self._prefix + key for key in keys])
        return {
            key: StoredObject(key, size) for key, size in zip(keys, sizes, strict=True) if size is not None
        }

    def put(self, key: str, body: BinaryIO | bytes, size: int, begun: Begun | None = None) -> None:
        """Store these bytes, read from where the seekable body stands; when it returns they are there."""
        file = io.BytesIO(body) if isinstance(body, bytes) else body
        with self._in_time() as in_time:
            upload = Upload(self._requests, self._prefix + key, file, size, self._options, in_time, begun)
            try:
                upload.run()
            except ClientError as error:
                if not errors.says_no_upload(error):
                    raise
                raise UploadAborted(
                    f"the upload of {key} to {self!r} was aborted before it was complete",
                    "The service multipart_cleanup or a rule of the bucket deleted its parts: put it again.",
                ) from None

    def create(self, key: str, body: bytes) -> bool:
        """Store these few bytes unless the key exists, which is False."""
        with self._explained():
            if self._requests.find(self._prefix + key) is not None:
                return False
            try:
                self._requests.put_new(self._prefix + key, body)
            except ClientError as error:
                if errors.says_exists(error):
                    return False
                if not errors.knows_no_condition(error):
                    raise
            else:
                return True
        # Between the look and this another caller may have been here: who reads back knows.
        self.put(key, body, len(body))
        return True

    def get(self, key: str) -> bytes | None:
        """The object's bytes; None only where the store says that there is no such object."""
        with self._arriving(key) as pieces:
            return None if pieces is None else b"".join(pieces)

    def digest(self, key: str) -> StoredDigest | None:
        """Read the object and say what it is; None only where the store says that there is none."""
        with self._arriving(key) as pieces:
            return None if pieces is None else _digest(pieces)

    def uploads(self) -> Iterator[OpenUpload]:
        """Every upload in parts that is open, page by page; NotSupported where the store cannot list them."""
        with self._known():
            for page in self._requests.open_uploads(self._prefix):
                for found in page:
                    # Some stores do not heed the prefix.
                    if found["Key"].startswith(self._prefix):
                        key = found["Key"].removeprefix(self._prefix)
                        yield OpenUpload(key, found["UploadId"], found["Initiated"])

    def parts(self, upload: OpenUpload) -> UploadedParts | None:
        """What is stored of an open upload; None where there is no such upload."""
        with self._known():
            try:
                found = [
                    part
                    for page in self._requests.parts(self._prefix + upload.key, upload.upload_id)
                    for part in page
                ]
            except ClientError as error:
                if not errors.says_no_upload(error):
                    raise
                return None
        times = [part["LastModified"] for part in found]
        return UploadedParts(len(found), sum(part["Size"] for part in found), max(times, default=None))

    def abort(self, upload: OpenUpload) -> None:
        """Give an open upload up with its parts; one that is gone is a success."""
        with self._known():
            try:
                self._requests.drop_parts(self._prefix + upload.key, upload.upload_id)
            except ClientError as error:
                if not errors.says_no_upload(error):
                    raise

    def read(self, key: str) -> Reading | None:
        """The object's bytes, piece by piece; None only where the store says that there is none."""
        with self._explained():
            found = self._transfers.read(self._prefix + key)
        return found and replace(found, pieces=self._explained_pieces(found.pieces))

    def write(self, key: str, reading: Reading, begun: Begun) -> bool:
        """Store what is read, in parts where it is large; whether the store has compared the bytes."""
        with self._explained():
            return self._transfers.write(self._prefix + key, reading, begun)

    def copy(self, source: Address, source_key: str, key: str, size: int, begun: Begun) -> None:
        """Let the server copy an object of this size from another of its buckets."""
        with self._explained():
            self._transfers.copy(source.bucket, source.prefix + source_key, self._prefix + key, size, begun)

    def head(self, key: str) -> StoredHead | None:
        """What the store says of an object; None only where it says that there is none."""
        with self._explained():
            found = self._transfers.head(self._prefix + key)
        return None if found is None else StoredHead(*found)

    @property
    def address(self) -> Address:
        """Where the store is."""
        login = self._options.login[0] if self._options.login else self._options.profile or "the usual one"
        return Address(f"{login} at {self._endpoint_url or 'AWS'}", self.bucket, self._prefix)

    def create_bucket(self) -> None:
        """Make the bucket itself, on a store of one's own."""
        with self._explained():
            self._requests.create()

    def probe(self) -> None:
        """Write an object, find it, delete it; raise ReaperError where that does not work."""
        key = f"reaper-probe/{secrets.token_hex(16)}"
        self.put(key, PROBE, len(PROBE))
        found = self.find([key])
        if failed := self.delete([key]):
            raise ReaperError(f"{key} was written and cannot be deleted: {failed[key].error}", _NEEDED)
        if key not in found or self.find([key]):
            raise ReaperError(f"{key} was written and deleted, but the listing does not show it", _CONSISTENT)

    def check(self) -> None:
        """Raise ConfigError or Unreachable, saying what to do, if the bucket cannot be used."""
        with self._explained():
            self._requests.look(self._prefix)
            self._requests.is_versioned()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing about the store and is no reason not to use it."""
        found = [self._requests.note] if self._requests.note else []
        if self._requests.knows_versions:
            found.append("the bucket is versioned: each object is deleted with all its versions")
        return tuple(found)

    def close(self) -> None:
        """Give the connections up."""
        self._requests.close()

    def _in_order(self, last: bytes, key: str) -> bytes:
        """Refuse another order: a comparison with sorted rows would report objects as missing."""
        here = key.encode()
        if last and here <= last:
            raise ReaperError(
                f"bucket {self.bucket} lists {key!r} out of byte order",
                "S3 lists in the byte order of keys; this store does not, so its objects cannot be compared.",
            )
        return here

    @contextmanager
    def _arriving(self, key: str) -> Iterator[Iterator[bytes] | None]:
        """The object's bytes, piece by piece, within the time that a transfer has."""
        with self._in_time() as in_time, self._requests.reading(self._prefix + key) as body:
            yield None if body is None else _pieces(body, in_time)

    @contextmanager
    def _in_time(self) -> Iterator[Callable[[], None]]:
        """Something to call now and then, which raises when the transfer takes too long."""
        ends_at = self._clock() + self._options.transfer_deadline

        def in_time() -> None:
            if self._clock() >= ends_at:
                raise TimeoutError

        try:
            yield in_time
        except (*errors.REQUEST_ERRORS, TimeoutError) as error:
            raise self._too_late() if self._clock() >= ends_at else self._explain(error) from None

    def _explained_pieces(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        with self._explained():
            yield from pieces

    @contextmanager
    def _known(self) -> Iterator[None]:
        """Requests that not every store knows."""
        with self._explained():
            try:
                yield
            except ClientError as error:
                if not errors.says_unknown(error):
                    raise
                raise NotSupported(
                    f"{self!r} does not list uploads in parts",
                    "Abandoned uploads have to be deleted by a rule of the store itself.",
                ) from None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except errors.REQUEST_ERRORS as error:
            raise self._explain(error) from None

    def _explain(self, error: Exception) -> ReaperError:
        return errors.explain(error, self.bucket, self._endpoint_url)

    def _too_late(self) -> Unreachable:
        return Unreachable(
            f"transfer with {self!r} took longer than {self._options.transfer_deadline:g} s",
            "The connection to the store is too slow for objects of this size.",
        )

    def __repr__(self) -> str:
        where = errors.without_login(self._endpoint_url) if self._endpoint_url else "AWS"
        below = f", below {self._prefix!r}" if self._prefix else ""
        return f"S3Store({self.bucket!r} at {where}{below})"


def _pieces(body: StreamingBody, in_time: Callable[[], None]) -> Iterator[bytes]:
    while piece := body.read(READ_SIZE):
        yield piece
        in_time()


def _digest(pieces: Iterable[bytes]) -> StoredDigest:
    size, sha256 = 0, hashlib.sha256()
    for piece in pieces:
        size += len(piece)
        sha256.update(piece)
    return StoredDigest(size, sha256.hexdigest())

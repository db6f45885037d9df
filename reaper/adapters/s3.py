"""A bucket as reaper sees it: put, get, delete, list, check."""

from __future__ import annotations

import hashlib
import io
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from reaper.adapters import s3_errors
from reaper.adapters.admission import AdmissionGate
from reaper.adapters.s3_bucket import Bucket, S3Options
from reaper.adapters.s3_sweep import Sweep
from reaper.errors import ReaperError
from reaper.model import Failed, StoredDigest, StoredObject

__all__ = ["S3Options", "S3Store"]

DEFAULTS = S3Options()
READ_SIZE = 1 << 20
PROBE = b"reaper doctor --probe"
_NEEDED = "Give the credentials s3:ListBucket and s3:DeleteObject, with versions also s3:DeleteObjectVersion."
_CONSISTENT = "S3 lists what it stores at once; with this store verify may see ghosts."


class S3Store:
    """An ObjectStore in one bucket of AWS or of any server that speaks S3."""

    def __init__(
        self,
        bucket: str,
        endpoint_url: str | None = None,
        options: S3Options = DEFAULTS,
        clock: Callable[[], float] = time.monotonic,
        gate: AdmissionGate | None = None,
    ) -> None:
        self.bucket = bucket
        self._endpoint_url = endpoint_url
        self._options = options
        self._clock = clock
        self._requests = Bucket(bucket, endpoint_url, options, gate or AdmissionGate())

    def delete(self, keys: Sequence[str]) -> Mapping[str, Failed]:
        """Delete any number of keys with all their versions; return those that are not known to be gone."""
        sweep = Sweep(self._requests, self._options.threads, self._options.deadline, self._clock)
        sweep.delete(keys)
        return sweep.failed

    def list(self, after: str = "") -> Iterator[StoredObject]:
        """Every object in byte order of its key, page by page."""
        last = after.encode()
        try:
            for page in self._requests.pages(after):
                for found in page:
                    last = self._in_order(last, found["Key"])
                    yield StoredObject(found["Key"], found["Size"])
        except s3_errors.REQUEST_ERRORS as error:
            raise self._explain(error) from None

    def find(self, keys: Sequence[str]) -> Mapping[str, StoredObject]:
        """Those of these keys that are there now."""
        try:
            with ThreadPoolExecutor(self._options.threads, "s3") as pool:
                sizes = list(pool.map(self._requests.find, keys))
        except s3_errors.REQUEST_ERRORS as error:
            raise self._explain(error) from None
        return {
            key: StoredObject(key, size) for key, size in zip(keys, sizes, strict=True) if size is not None
        }

    def put(self, key: str, body: BinaryIO | bytes, size: int) -> None:
        """Store these bytes, read from where the body stands; when it returns they are there."""
        try:
            self._requests.put(key, io.BytesIO(body) if isinstance(body, bytes) else body, size)
        except s3_errors.REQUEST_ERRORS as error:
            raise self._explain(error) from None

    def get(self, key: str) -> bytes | None:
        """The object's bytes; None only where the store says that there is no such object."""
        try:
            with self._requests.reading(key) as body:
                return None if body is None else body.read()
        except s3_errors.REQUEST_ERRORS as error:
            raise self._explain(error) from None

    def digest(self, key: str) -> StoredDigest | None:
        """Read the object and say what it is; None only where the store says that there is none."""
        try:
            with self._requests.reading(key) as body:
                return None if body is None else _digest(iter(lambda: body.read(READ_SIZE), b""))
        except s3_errors.REQUEST_ERRORS as error:
            raise self._explain(error) from None

    def create_bucket(self) -> None:
        """Make the bucket itself, on a store of one's own."""
        try:
            self._requests.create()
        except s3_errors.REQUEST_ERRORS as error:
            raise self._explain(error) from None

    def probe(self) -> None:
        """Write an object, find it, delete it; raise ReaperError where that does not work."""
        key = f"reaper-probe/{secrets.token_hex(16)}"
        self.put(key, PROBE, len(PROBE))
        found = self.find([key])
        if failed := self.delete([key]):
            raise ReaperError(f"{key} was written and cannot be deleted: {failed[key].error}", _NEEDED)
        if key not in found or self.find([key]):
            raise ReaperError(f"{key} was written and deleted, but the listing does not follow", _CONSISTENT)

    def check(self) -> None:
        """Raise ConfigError or Unreachable, saying what to do, if the bucket cannot be used."""
        try:
            self._requests.look()
            self._requests.is_versioned()
        except s3_errors.REQUEST_ERRORS as error:
            raise self._explain(error) from None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing about the store and is no reason not to use it."""
        found = [self._requests.note] if self._requests.note else []
        if self._requests.knows_versions:
            found.append("the bucket keeps versions: each object is looked up and deleted with all of them")
        return tuple(found)

    def close(self) -> None:
        """Give the connections up."""
        self._requests.close()

    def _in_order(self, last: bytes, key: str) -> bytes:
        """Whoever compares a listing with sorted rows would call objects missing that only come later."""
        here = key.encode()
        if last and here <= last:
            raise ReaperError(
                f"bucket {self.bucket} lists {key!r} out of byte order",
                "S3 lists in the byte order of keys; this store does not, so its objects cannot be compared.",
            )
        return here

    def _explain(self, error: Exception) -> ReaperError:
        return s3_errors.explain(error, self.bucket, self._endpoint_url)

    def __repr__(self) -> str:
        where = s3_errors.without_login(self._endpoint_url) if self._endpoint_url else "AWS"
        return f"S3Store({self.bucket!r} at {where})"


def _digest(chunks: Iterable[bytes]) -> StoredDigest:
    size, sha256 = 0, hashlib.sha256()
    for chunk in chunks:
        size += len(chunk)
        sha256.update(chunk)
    return StoredDigest(size, sha256.hexdigest())

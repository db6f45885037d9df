"""A backend that changes nothing in a bucket of another installation; what only reads is let through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from reaper.errors import ReaperError, describe
from reaper.model import Failed, OpenUpload, StoredDigest, StoredHead, StoredObject, UploadedParts
from reaper.ports import Address, Begun, ObjectStore, Reading
from reaper.storage.owner_marker import is_own
from reaper.storage.ownership import Ownership


class OwnedStore:
    """An ObjectStore that deletes and stores only where the marker names this installation."""

    def __init__(self, name: str, store: ObjectStore, ownership: Ownership) -> None:
        self._name = name
        self._store = store
        self._ownership = ownership

    def delete(self, keys: Sequence[str]) -> Mapping[str, Failed]:
        """Delete, or say of every key that it was not tried, which costs it no attempt."""
        try:
            self._ownership.require(self._name)
        except ReaperError as error:
            return dict.fromkeys(keys, Failed(describe(error), outage=True))
        return self._store.delete(keys)

    def list(self, after: str = "") -> Iterator[StoredObject]:
        """Every object but reaper's own, in byte order of its key, page by page."""
        return (found for found in self._store.list(after) if not is_own(found.key))

    def find(self, keys: Sequence[str]) -> Mapping[str, StoredObject]:
        """Those of these keys that are there now."""
        return self._store.find(keys)

    def put(self, key: str, body: BinaryIO | bytes, size: int, begun: Begun | None = None) -> None:
        """Store these bytes."""
        self._ownership.require(self._name)
        self._store.put(key, body, size, begun)

    def create(self, key: str, body: bytes) -> bool:
        """Store these bytes where there is no such object."""
        self._ownership.require(self._name)
        return self._store.create(key, body)

    def get(self, key: str) -> bytes | None:
        """The object's bytes; None where there is none."""
        return self._store.get(key)

    def digest(self, key: str) -> StoredDigest | None:
        """What the object is; None where there is none."""
        return self._store.digest(key)

    def read(self, key: str) -> Reading | None:
        """The object's bytes, piece by piece; None where there is none."""
        return self._store.read(key)

    def write(self, key: str, reading: Reading, begun: Begun) -> bool:
        """Store what is read."""
        self._ownership.require(self._name)
        return self._store.write(key, reading, begun)

    def copy(self, source: Address, source_key: str, key: str, size: int, begun: Begun) -> None:
        """Let the server copy an object."""
        self._ownership.require(self._name)
        self._store.copy(source, source_key, key, size, begun)

    def head(self, key: str) -> StoredHead | None:
        """What the store says of an object; None where there is none."""
        return self._store.head(key)

    @property
    def address(self) -> Address:
        """Where the store is."""
        return self._store.address

    def probe(self) -> None:
        """Write, find and delete an object; that alone makes no bucket ours."""
        self._ownership.refuse_foreign(self._name)
        self._store.probe()

    def check(self) -> None:
        """Look at the bucket: whether it answers, not whose it is, since its objects can be read."""
        self._store.check()

    def uploads(self) -> Iterator[OpenUpload]:
        """Every upload in parts that is open, page by page."""
        return self._store.uploads()

    def parts(self, upload: OpenUpload) -> UploadedParts | None:
        """What is stored of an open upload; None where there is none."""
        return self._store.parts(upload)

    def abort(self, upload: OpenUpload) -> None:
        """Give an open upload up with its parts."""
        self._ownership.require(self._name)
        self._store.abort(upload)

    @property
    def notes(self) -> Sequence[str]:
        """What is worth knowing about the store."""
        return self._store.notes

    def __repr__(self) -> str:
        return repr(self._store)

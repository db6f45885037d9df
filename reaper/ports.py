"""What reaper needs of the world outside PostgreSQL: few methods, shaped for batches, failure in the type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol

from reaper.model import CacheRead, Failed, OpenUpload, StoredDigest, StoredObject, UploadedParts


class ObjectStore(Protocol):
    """One bucket; raises Unreachable where the store is away, another ReaperError where it refuses."""

    def delete(self, keys: Sequence[str]) -> Mapping[str, Failed]:
        """Delete any number of keys; return those not known to be gone. An absent key is a success.

        Raises nothing: each key has its own failure.
        """

    def list(self, after: str = "") -> Iterator[StoredObject]:
        """Every object in byte order of its key, page by page."""

    def find(self, keys: Sequence[str]) -> Mapping[str, StoredObject]:
        """Those of these keys that are there now."""

    def put(self, key: str, body: BinaryIO | bytes, size: int) -> None:
        """Store these bytes, read from where the body stands; when it returns they are there."""

    def create(self, key: str, body: bytes) -> bool:
        """Store these few bytes unless the key exists, which is False; between two callers one is first."""

    def get(self, key: str) -> bytes | None:
        """The object's bytes; None only where the store says that there is no such object."""

    def digest(self, key: str) -> StoredDigest | None:
        """Read the object and say what it is; None only where the store says that there is none."""

    def probe(self) -> None:
        """Write an object, find it, delete it; raise ReaperError where that does not work."""

    def uploads(self) -> Iterator[OpenUpload]:
        """Every upload in parts that is open, page by page; NotSupported where the store cannot list them."""

    def parts(self, upload: OpenUpload) -> UploadedParts | None:
        """What is stored of an open upload; None where there is no such upload."""

    def abort(self, upload: OpenUpload) -> None:
        """Give an open upload up with its parts; one that is gone is a success."""

    @property
    def notes(self) -> Sequence[str]:
        """What is worth knowing about the store and is no reason not to use it; complete after check()."""

    def check(self) -> None:
        """Raise ConfigError or Unreachable, saying what to do, if the bucket cannot be used."""


class Cache(Protocol):
    """The cache of pastes."""

    def forget(self, codes: Sequence[str]) -> Mapping[str, str]:
        """Drop the entries of these codes and return those that may still be there, with the error."""

    def drop(self, codes: Sequence[str]) -> Mapping[str, str]:
        """As forget, and no late reader can fill them again: for pastes deleted before they expired."""

    def present(self, codes: Sequence[str]) -> Sequence[str]:
        """Which of these codes have an entry."""

    def codes(self) -> Iterator[Sequence[str]]:
        """The codes of all entries, page by page, some perhaps twice; Unreachable when it does not answer."""

    def check(self) -> None:
        """Raise ConfigError or Unreachable, saying what to do, if the cache does not answer."""


class PasteCache(Protocol):
    """The cache of pastes as readers use it; one that is away finds nothing and keeps nothing."""

    def read(self, code: str) -> CacheRead:
        """The entry of a paste, or a ticket to fill it; neither where it is away."""

    def fill(self, code: str, data: bytes, ticket: int, remaining_ms: int | None) -> bool:
        """Store what was read after this ticket was given; False where that comes too late.

        `remaining_ms` is the life that PostgreSQL saw left when it was asked, which was after the ticket.
        """

    def drop(self, code: str) -> bool:
        """Drop the entry for good, once PostgreSQL has decided so; False where that may not have worked."""


class ClaimLock(Protocol):
    """Keeps workers from claiming at the same moment. It saves work; the claim is safe without it."""

    def hold(self) -> AbstractContextManager[bool]:
        """Hold the lock for one claim; False when it was not to be had, which is no reason not to claim."""

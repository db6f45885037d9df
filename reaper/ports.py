"""What reaper needs of the world outside PostgreSQL: few methods, shaped for batches, failure in the type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO, Protocol

from reaper.model import (
    Answer,
    CacheRead,
    Endpoint,
    Event,
    Failed,
    OpenUpload,
    Request,
    StoredDigest,
    StoredHead,
    StoredObject,
    UploadedParts,
    UsageRow,
)

# Called with the name of an upload in parts, before its first part is sent.
Begun = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Reading:
    """An object as it arrives: its size, and its bytes in pieces of a few megabytes.

    Each piece is a request of its own, made when the piece is asked for; between two of them none is under
    way. The pieces end in ContentLost where the bytes are not those of the checksum that the store keeps.
    """

    size: int
    pieces: Iterator[bytes]
    # What its writer said about it (type, encoding, notes), by the names of HTTP; a copy says the same.
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a store is: two with the same server can copy without the bytes passing through here.

    The server stands for an endpoint and a login; none means that it cannot copy.
    """

    server: str | None
    bucket: str
    prefix: str = ""


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

    def put(self, key: str, body: BinaryIO | bytes, size: int, begun: Begun | None = None) -> None:
        """Store these bytes, read from where the body stands; when it returns they are there."""

    def create(self, key: str, body: bytes) -> bool:
        """Store these few bytes unless the key exists, which is False; between two callers one is first."""

    def get(self, key: str) -> bytes | None:
        """The object's bytes; None only where the store says that there is no such object."""

    def digest(self, key: str) -> StoredDigest | None:
        """Read the object and say what it is; None only where the store says that there is none."""

    def read(self, key: str) -> Reading | None:
        """The object's bytes, piece by piece; None only where the store says that there is none."""

    def write(self, key: str, reading: Reading, begun: Begun) -> bool:
        """Store what is read, in parts where it is large; nothing is left where the pieces end in an error.

        Whether the store has compared the bytes with their checksum; one that compares nothing is not
        believed.
        """

    def copy(self, source: Address, source_key: str, key: str, size: int, begun: Begun) -> None:
        """Let the server copy an object of this size from another of its buckets, in parts if large."""

    def head(self, key: str) -> StoredHead | None:
        """What the store says of an object; None only where it says that there is none."""

    @property
    def address(self) -> Address:
        """Where the store is."""

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


class UsageBoard(Protocol):
    """Where processes tell each other what they have used; one that is away keeps and knows nothing."""

    def publish(self, rows: Sequence[UsageRow], now: datetime) -> bool:
        """Tell the totals of one process; False where that did not work."""

    def read(self) -> Sequence[UsageRow]:
        """The totals of all processes."""

    def forget(self, before: datetime) -> int:
        """Take away who has told nothing since then; returns how many."""


class Webhooks(Protocol):
    """Endpoints that are told of events."""

    def send(self, endpoint: Endpoint, event: Event) -> Answer:
        """Send an event once and say how that ended; DeliveryHeld where nothing may be sent from here."""

    def request(self, endpoint: Endpoint, event: Event) -> Request:
        """What `send` would send now; DeliveryHeld where a secret is missing."""

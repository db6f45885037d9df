"""What reaper needs of the world outside PostgreSQL: few methods, shaped for batches, failure in the type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from reaper.model import Failed, StoredObject


class ObjectStore(Protocol):
    """One bucket. Every method has a deadline; none raises for a single key."""

    def delete(self, keys: Sequence[str]) -> Mapping[str, Failed]:
        """Delete any number of keys; return those not known to be gone. An absent key is a success."""

    def list(self, after: str = "") -> Iterator[StoredObject]:
        """Every object in byte order of its key, page by page."""

    def find(self, keys: Sequence[str]) -> Mapping[str, StoredObject]:
        """Those of these keys that are there now."""

    def probe(self) -> None:
        """Write an object, find it, delete it; raise ReaperError where that does not work."""

    @property
    def notes(self) -> Sequence[str]:
        """What is worth knowing about the store and is no reason not to use it; complete after check()."""

    def check(self) -> None:
        """Raise ConfigError or Unreachable, saying what to do, if the bucket cannot be used."""


class Cache(Protocol):
    """The cache of pastes."""

    def forget(self, codes: Sequence[str]) -> Mapping[str, str]:
        """Drop the entries of these codes and return those that may still be there, with the error."""

    def present(self, codes: Sequence[str]) -> Sequence[str]:
        """Which of these codes have an entry."""

    def codes(self) -> Iterator[Sequence[str]]:
        """The codes of all entries, page by page, some perhaps twice; Unreachable when it does not answer."""

    def check(self) -> None:
        """Raise ConfigError or Unreachable, saying what to do, if the cache does not answer."""


class ClaimLock(Protocol):
    """Keeps workers from claiming at the same moment. It saves work; the claim is safe without it."""

    def hold(self) -> AbstractContextManager[bool]:
        """Hold the lock for one claim; False when it was not to be had, which is no reason not to claim."""

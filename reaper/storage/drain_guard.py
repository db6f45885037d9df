"""Whether a drain may release rows: not while the objects of these rows could not be deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reaper.errors import ForeignBucket, ReaperError
from reaper.storage.ownership import Ownership


@dataclass(frozen=True)
class OwnedBuckets:
    """The guard of a process; objects without a location of their own lie on the backend `default`."""

    ownership: Ownership
    backends: tuple[str, ...]
    default: str

    def compare(self) -> None:
        """Raise ForeignBucket where the default backend, or every backend, is another installation's."""
        self._require(self._compared(backend) for backend in self._order())

    def recall(self) -> None:
        """The same by what was found before; asks no bucket."""
        self._require(self.ownership.is_known_foreign(backend) for backend in self._order())

    def _order(self) -> list[str]:
        return sorted(self.backends, key=lambda name: name != self.default)

    def _require(self, verdicts: Iterable[ForeignBucket | None]) -> None:
        refused: ForeignBucket | None = None
        for backend, error in zip(self._order(), verdicts, strict=True):
            if error is None:
                return
            if backend == self.default:
                raise error
            refused = refused or error
        if refused:
            raise refused

    def _compared(self, backend: str) -> ForeignBucket | None:
        """Why a bucket is not ours; a backend that does not answer is no reason not to drain the others."""
        try:
            self.ownership.require(backend)
        except ForeignBucket as error:
            return error
        except ReaperError:
            return None
        return None

"""What a process holds, and how much more it may take."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from uuid import UUID


class BatchLimit:
    """How many batches may still be claimed, over all lanes; without a limit, any number."""

    def __init__(self, batches: int | None) -> None:
        self._left = batches
        self._guard = threading.Lock()

    def take(self) -> bool:
        """Whether one more may be claimed; it counts as claimed then."""
        with self._guard:
            if self._left is None:
                return True
            self._left -= 1
            return self._left >= 0

    def put_back(self) -> None:
        """The claim found nothing."""
        with self._guard:
            if self._left is not None:
                self._left += 1


@dataclass(frozen=True)
class LeftBehind:
    """Due rows that no worker holds after a drain, and what kept them: the last error, or a signal."""

    rows: int
    error: str


@dataclass
class HeldBatches:
    """The batches that this process knows to hold; on a reconnect it lets go of all others."""

    batches: set[UUID] = field(default_factory=set)
    # Their drop or finish failed; PostgreSQL does not know yet that we hold them no more.
    unreturned: set[UUID] = field(default_factory=set)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def add(self, batch_id: UUID) -> None:
        """We hold it now."""
        with self.guard:
            self.batches.add(batch_id)

    def remove(self, batch_id: UUID) -> None:
        """We are done with it, or it was taken from us."""
        with self.guard:
            self.batches.discard(batch_id)

    def give_up(self, batch_id: UUID) -> None:
        """We do not work on it any more, and have to say so."""
        with self.guard:
            self.batches.discard(batch_id)
            self.unreturned.add(batch_id)

    def returned(self, batch_id: UUID) -> None:
        """PostgreSQL knows."""
        with self.guard:
            self.unreturned.discard(batch_id)

    def given_up(self) -> list[UUID]:
        """What PostgreSQL has to be told of."""
        with self.guard:
            return list(self.unreturned)

    def known(self) -> list[UUID]:
        """All of them."""
        with self.guard:
            return list(self.batches)

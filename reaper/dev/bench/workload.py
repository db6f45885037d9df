"""What a method is given: how many pastes, how they share content, and in which order they expire."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self


class Order(StrEnum):
    """How the order of expiry relates to the order in which rows lie in the table."""

    RANDOM = "random"
    COHORT = "cohort"


@dataclass(frozen=True)
class Workload:
    """One table of pastes before a drain."""

    name: str
    rows: int
    order: Order = Order.RANDOM
    due_share: float = 0.5
    # Contents per paste: 1.0 = nothing is shared.
    unique_share: float = 0.7
    # The share of all references that goes to one single content.
    hot_share: float = 0.0
    # How wide the application's own columns make a row; 0 = it has none.
    payload_bytes: int = 0
    # Objects are named by their bare hashes, as those of an application that was adopted.
    bare_keys: bool = False

    @property
    def due(self) -> int:
        """How many rows a drain has to delete."""
        return round(self.rows * self.due_share)

    @property
    def contents(self) -> int:
        """How many contents the pastes share."""
        return max(1, round(self.rows * self.unique_share))

    def resized(self, rows: int, name: str | None = None) -> Self:
        """The same shape with another number of rows."""
        return replace(self, rows=rows, name=name or self.name)

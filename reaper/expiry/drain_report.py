"""What a drain by hand did, each thing counted as what it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from reaper.expiry.deletion_retries import Retried
from reaper.expiry.lane import Drained
from reaper.expiry.settler import Adopted
from reaper.model import Figures


@dataclass(frozen=True)
class DrainReport:
    """Batches of its own, batches that other workers had released, and deletions that had failed before."""

    figures: Figures = field(default_factory=Figures)
    batches: int = 0
    adopted: Adopted = field(default_factory=Adopted)
    retried: Retried = field(default_factory=Retried)
    # The pause that ended it, as a sentence.
    pause: str | None = None

    @classmethod
    def of(cls, lanes: Iterable[Drained], settled: int, pause: str | None) -> DrainReport:
        """What the lanes did together; `settled` counts the batches, adopted ones included."""
        lanes = list(lanes)
        adopted = sum((lane.adopted for lane in lanes), Adopted())
        return cls(
            sum((lane.figures for lane in lanes), Figures()),
            max(settled - adopted.batches, 0),
            adopted,
            sum((lane.retried for lane in lanes), Retried()),
            pause,
        )

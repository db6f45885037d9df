"""One method on one workload, several times: what is typical of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reaper.dev.bench.runner import Run
from reaper.dev.bench.statistics import median, paired_ratio, percentile, spread
from reaper.dev.bench.workload import Workload


@dataclass(frozen=True)
class Rounds:
    """Runs that differ in nothing but their number."""

    runs: tuple[Run, ...]

    @property
    def workload(self) -> Workload:
        """What all of them ran on."""
        return self.runs[0].workload

    @property
    def seconds_per_row(self) -> float:
        """The median of the rounds."""
        return median(self._costs)

    @property
    def spread(self) -> float:
        """How far the rounds lie apart, as a share of their median."""
        return spread(self._costs)

    @property
    def cpu_per_row(self) -> float:
        """Microseconds, the median of the rounds."""
        return median([run.cpu_per_row for run in self.runs])

    @property
    def dead_tuples_per_row(self) -> float:
        """The median of the rounds."""
        return median([run.cost.dead_tuples / max(1, run.rows) for run in self.runs])

    @property
    def typical(self) -> Run:
        """The round in the middle."""
        return sorted(self.runs, key=lambda run: run.rate)[len(self.runs) // 2]

    def claim(self, share: float) -> float:
        """A percentile of the seconds that a claim took, the median of the rounds; nan without claims."""
        return median(self._claims(share))

    def times_slower(self, other: Rounds) -> float:
        """What a row costs here, measured by what it costs there: the median of each round's own ratio."""
        return paired_ratio(self._costs, other._costs)

    def each_times_slower(self, other: Rounds) -> list[float]:
        """The same, round by round."""
        return [ours / theirs for ours, theirs in zip(self._costs, other._costs, strict=True)]

    def times_more_cpu(self, other: Rounds) -> float:
        """The same of CPU times."""
        return median(self.each_times_more_cpu(other))

    def each_times_more_cpu(self, other: Rounds) -> list[float]:
        """The same, round by round."""
        return [
            ours.cpu_per_row / theirs.cpu_per_row for ours, theirs in zip(self.runs, other.runs, strict=True)
        ]

    def times_longer(self, other: Rounds, share: float) -> float:
        """The same of a percentile of the claims."""
        return paired_ratio(self._claims(share), other._claims(share))

    @property
    def _costs(self) -> list[float]:
        """Seconds for a row, round by round; nan where none was deleted."""
        return [1 / run.rate if run.rows else math.nan for run in self.runs]

    def _claims(self, share: float) -> list[float]:
        return [percentile([step.seconds for step in run.claims], share) for run in self.runs]

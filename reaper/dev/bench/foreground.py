"""What do readers and writers notice of a drain beside them?"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from reaper.dev.bench.arena import Arena
from reaper.dev.bench.contestants.lanes import Lanes
from reaper.dev.bench.place import Place
from reaper.dev.bench.statistics import median, paired_ratio, percentile
from reaper.dev.bench.team import assembled
from reaper.dev.bench.visitors import Visitors, visiting
from reaper.dev.bench.workload import Workload

WORKERS = 2


class Kind(StrEnum):
    """What goes on beside the visitors."""

    IDLE = "idle"
    FAST = "draining"
    STEADY = "draining at 2,000 rows/s"
    GENTLE = "draining at 1,000 rows/s"


# Ten million rows in an hour and a half, or in three; one worker is enough for that.
PACES = {Kind.STEADY: 2000, Kind.GENTLE: 1000}


@dataclass(frozen=True)
class Visit:
    """The waiting times of visitors in one round, in seconds, and what was drained meanwhile."""

    latencies: tuple[float, ...]
    rows_per_second: float = 0.0


@dataclass(frozen=True)
class Phase:
    """All rounds of visitors while something goes on, or nothing."""

    name: str
    rounds: tuple[Visit, ...]

    @property
    def requests(self) -> int:
        """How many came, in all rounds."""
        return sum(len(visit.latencies) for visit in self.rounds)

    @property
    def rows_per_second(self) -> float:
        """What the drain did meanwhile, the median of the rounds."""
        return median([visit.rows_per_second for visit in self.rounds])

    def waiting(self, share: float) -> float:
        """A percentile of the waiting times, the median of the rounds."""
        return median(self._percentiles(share))

    def times_longer(self, other: Phase, share: float) -> float:
        """The median of each round's own ratio between the percentiles."""
        return paired_ratio(self._percentiles(share), other._percentiles(share))

    def _percentiles(self, share: float) -> list[float]:
        return [percentile(visit.latencies, share) for visit in self.rounds]


def measure(
    arena: Arena, workload: Workload, seconds: float, rounds: int, seed: int, announce: Callable[[str], None]
) -> tuple[Phase, ...]:
    """Idle, beside a drain at full speed, beside some that keep a pace; each on a fresh copy."""
    visits: dict[Kind, list[Visit]] = {kind: [] for kind in Kind}
    chance = random.Random(seed)
    for number in range(1, rounds + 1):
        for kind in chance.sample(list(Kind), len(Kind)):
            announce(f"foreground, round {number} of {rounds}: {kind.value}")
            with arena.copy(workload) as place, visiting(place) as visitors:
                visits[kind].append(_visit(kind, visitors, place, seconds))
    return tuple(Phase(kind.value, tuple(found)) for kind, found in visits.items())


def _visit(kind: Kind, visitors: Visitors, place: Place, seconds: float) -> Visit:
    if kind is Kind.IDLE:
        return _idle(visitors, seconds)
    if pace := PACES.get(kind):
        return _beside(visitors, place, Lanes(seconds=seconds, pace=pace), workers=1)
    return _beside(visitors, place, Lanes(seconds=seconds), WORKERS)


def _idle(visitors: Visitors, seconds: float) -> Visit:
    with visitors.watched() as latencies:
        time.sleep(seconds)
    return Visit(tuple(latencies))


def _beside(visitors: Visitors, place: Place, lanes: Lanes, workers: int) -> Visit:
    with assembled(lanes, workers, place) as team, visitors.watched() as latencies:
        began = time.perf_counter()
        rows = sum(work.rows for work in team.go())
        rate = rows / (time.perf_counter() - began)
    return Visit(tuple(latencies), rate)

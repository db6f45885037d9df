"""What do readers and writers notice of a drain beside them?"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from reaper.dev.bench.foreground_load import ForegroundLoad, foreground_load
from reaper.dev.bench.methods.reaper_drain import ReaperDrain
from reaper.dev.bench.server_addresses import Addresses
from reaper.dev.bench.servers import Servers
from reaper.dev.bench.statistics import median, paired_ratio, percentile
from reaper.dev.bench.worker_processes import started_processes
from reaper.dev.bench.workload import Workload

WORKERS = 2


class Kind(StrEnum):
    """What runs beside the readers and writers."""

    IDLE = "idle"
    FAST = "draining"
    STEADY = "draining at 2,000 rows/s"
    STEADY_DIRECT = "draining at 2,000 rows/s, direct"


# Ten million rows in an hour and a half; one worker is enough for that.
PACES = {Kind.STEADY: 2000, Kind.STEADY_DIRECT: 2000}


@dataclass(frozen=True)
class LatencyRound:
    """The waiting times of readers and writers in one round, in seconds, and what was drained meanwhile."""

    latencies: tuple[float, ...]
    rows_per_second: float = 0.0
    # What the drain itself found wrong with the way it went.
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Phase:
    """All rounds beside one kind of drain, or beside none."""

    name: str
    rounds: tuple[LatencyRound, ...]

    @property
    def requests(self) -> int:
        """How many came, in all rounds."""
        return sum(len(each.latencies) for each in self.rounds)

    @property
    def rows_per_second(self) -> float:
        """What the drain did meanwhile, the median of the rounds."""
        return median([each.rows_per_second for each in self.rounds])

    def waiting(self, share: float) -> float:
        """A percentile of the waiting times, the median of the rounds."""
        return median(self._percentiles(share))

    def times_longer(self, other: Phase, share: float) -> float:
        """The median of each round's own ratio between the percentiles."""
        return paired_ratio(self._percentiles(share), other._percentiles(share))

    def _percentiles(self, share: float) -> list[float]:
        return [percentile(each.latencies, share) for each in self.rounds]


def measure(
    servers: Servers,
    workload: Workload,
    seconds: float,
    rounds: int,
    seed: int,
    announce: Callable[[str], None],
) -> tuple[Phase, ...]:
    """Idle, beside a drain at full speed, beside some that keep a pace; each on a fresh copy."""
    measured: dict[Kind, list[LatencyRound]] = {kind: [] for kind in Kind}
    chance = random.Random(seed)
    for number in range(1, rounds + 1):
        for kind in chance.sample(list(Kind), len(Kind)):
            announce(f"foreground, round {number} of {rounds}: {kind.value}")
            with servers.copy(workload) as addresses, foreground_load(addresses) as load:
                measured[kind].append(_measure(kind, load, addresses, seconds))
    return tuple(Phase(kind.value, tuple(found)) for kind, found in measured.items())


def _measure(kind: Kind, load: ForegroundLoad, addresses: Addresses, seconds: float) -> LatencyRound:
    if kind is Kind.IDLE:
        return _idle(load, seconds)
    if pace := PACES.get(kind):
        drain = ReaperDrain(seconds=seconds, pace=pace, direct=kind is Kind.STEADY_DIRECT)
        return _beside(load, addresses, drain, workers=1)
    return _beside(load, addresses, ReaperDrain(seconds=seconds), WORKERS)


def _idle(load: ForegroundLoad, seconds: float) -> LatencyRound:
    with load.watched() as latencies:
        time.sleep(seconds)
    return LatencyRound(tuple(latencies))


def _beside(load: ForegroundLoad, addresses: Addresses, drain: ReaperDrain, workers: int) -> LatencyRound:
    with started_processes(drain, workers, addresses) as processes, load.watched() as latencies:
        began = time.perf_counter()
        works = processes.go()
        rate = sum(work.rows for work in works) / (time.perf_counter() - began)
    return LatencyRound(tuple(latencies), rate, tuple(p for work in works for p in work.problems))

"""What do readers and writers notice of a drain beside them?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from reaper.bench.arena import Arena
from reaper.bench.contestants.lanes import Lanes
from reaper.bench.place import Place
from reaper.bench.statistics import percentile
from reaper.bench.team import assembled
from reaper.bench.visitors import Visitors, visiting
from reaper.bench.workload import Workload

WORKERS = 2
# Ten million rows in an hour and a half.
PACED_ROWS_PER_SECOND = 2000


@dataclass(frozen=True)
class Phase:
    """The waiting times of visitors while something goes on, or nothing."""

    name: str
    requests: int
    p50: float
    p90: float
    p99: float
    # What the drain did meanwhile.
    rows_per_second: float = 0.0


def measure(
    arena: Arena, workload: Workload, seconds: float, announce: Callable[[str], None]
) -> tuple[Phase, ...]:
    """Idle, then beside a drain at full speed, then beside one that keeps a pace; each on a fresh copy."""
    announce("foreground: idle")
    with arena.copy(workload) as place, visiting(place) as visitors:
        idle = _idle(visitors, seconds)
    announce("foreground: beside a drain")
    with arena.copy(workload) as place, visiting(place) as visitors:
        fast = _beside(visitors, place, "draining", Lanes(seconds=seconds))
    announce("foreground: beside a drain that keeps a pace")
    with arena.copy(workload) as place, visiting(place) as visitors:
        paced = Lanes(seconds=seconds, pace=PACED_ROWS_PER_SECOND // WORKERS)
        slow = _beside(visitors, place, f"draining at {PACED_ROWS_PER_SECOND:,} rows/s", paced)
    return idle, fast, slow


def _idle(visitors: Visitors, seconds: float) -> Phase:
    with visitors.watched() as latencies:
        time.sleep(seconds)
    return _phase("idle", latencies, 0.0)


def _beside(visitors: Visitors, place: Place, name: str, lanes: Lanes) -> Phase:
    with assembled(lanes, WORKERS, place) as team, visitors.watched() as latencies:
        began = time.perf_counter()
        rows = sum(work.rows for work in team.go())
        rate = rows / (time.perf_counter() - began)
    return _phase(name, latencies, rate)


def _phase(name: str, latencies: list[float], rate: float) -> Phase:
    p50, p90, p99 = (percentile(latencies, share) for share in (0.5, 0.9, 0.99))
    return Phase(name, len(latencies), p50, p90, p99, rate)

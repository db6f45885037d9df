"""Does a row cost the same in a large table?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reaper.dev.bench.repeated_runs import Rounds
from reaper.dev.bench.runner import Runner
from reaper.dev.bench.side_by_side import Entry, run_rounds
from reaper.dev.bench.statistics import paired_ratio
from reaper.dev.bench.variants import DIRECT, FLOOR
from reaper.dev.bench.workload import Order, Workload

DUE_SHARE = 0.9
# One worker with direct release, so that no claim waits for another; and what has to be done at least.
CONTESTANTS = (DIRECT[1], FLOOR)


@dataclass(frozen=True)
class GrowthInOrder:
    """One order of expiry: a drain per size, the smallest first, and the floor's on the same tables."""

    drains: tuple[Rounds, ...]
    floors: tuple[Rounds, ...]

    def beside_floor(self, size: int) -> float:
        """How much more a row costs than in the smallest table, ÷ how much more it costs the floor."""
        return paired_ratio(
            self.drains[size].each_times_slower(self.drains[0]),
            self.floors[size].each_times_slower(self.floors[0]),
        )

    def beside_floor_by_cpu(self, size: int) -> float:
        """The same of CPU times."""
        return paired_ratio(
            self.drains[size].each_times_more_cpu(self.drains[0]),
            self.floors[size].each_times_more_cpu(self.floors[0]),
        )


@dataclass(frozen=True)
class Growth:
    """Both orders."""

    random: GrowthInOrder
    cohort: GrowthInOrder

    @property
    def parts(self) -> tuple[Rounds, ...]:
        """Everything that was measured."""
        return (*self.random.drains, *self.cohort.drains, *self.random.floors, *self.cohort.floors)


def measure(runner: Runner, sizes: Sequence[int], rounds: int) -> Growth:
    """Drain tables of each size, in each order, with reaper and as the floor does."""
    return Growth(
        random=_measure(runner, sizes, Order.RANDOM, rounds),
        cohort=_measure(runner, sizes, Order.COHORT, rounds),
    )


def steps(sizes: Sequence[int], rounds: int) -> int:
    """How many runs that are."""
    return len(Order) * len(CONTESTANTS) * len(sizes) * rounds


def _measure(runner: Runner, sizes: Sequence[int], order: Order, rounds: int) -> GrowthInOrder:
    tables = [
        Workload(f"{due:,} due rows, {order.value}", round(due / DUE_SHARE), order, DUE_SHARE)
        for due in sizes
    ]
    entries = [
        Entry(f"growth: {variant.name}, {table.name}", table, variant)
        for variant in CONTESTANTS
        for table in tables
    ]
    measured = run_rounds(runner, entries, rounds)
    return GrowthInOrder(drains=measured[: len(sizes)], floors=measured[len(sizes) :])

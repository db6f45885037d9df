"""What reaper has to reach, as ratios within one run, and what it reached."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from reaper.dev.bench.cost_growth import GrowthInOrder
from reaper.dev.bench.foreground_latency import Kind
from reaper.dev.bench.results import Results
from reaper.dev.bench.runner import Variant
from reaper.dev.bench.variants import CALL, DIRECT, EVERYTHING_DIRECT, FLOOR, MARK
from reaper.dev.bench.workload import Workload

# Of marking, with two workers: on 18, and on servers before it.
MARK_GOAL, MARK_GOAL_BEFORE_18 = 0.9, 0.7


@dataclass(frozen=True)
class Target:
    """One figure; `measured` is nan where the run did not measure it."""

    figure: str
    goal: float
    measured: float
    # Whether less is better.
    at_most: bool = False
    # The same ratio between CPU times: on a busy machine the better witness, but blind for waiting. A target
    # of its own where it has a goal.
    by_cpu: float = math.nan

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None where nothing was measured."""
        if math.isnan(self.measured):
            return None
        return self.measured <= self.goal if self.at_most else self.measured >= self.goal

    def as_json(self) -> dict[str, Any]:
        """The form in which results.json holds it."""
        measured = None if math.isnan(self.measured) else round(self.measured, 3)
        by_cpu = None if math.isnan(self.by_cpu) else round(self.by_cpu, 3)
        return {**asdict(self), "measured": measured, "met": self.met, "by_cpu": by_cpu}


def judge(results: Results) -> list[Target]:
    """All of them."""
    return [
        *_against_the_floor(results),
        *_against_hand_written(results),
        _keys(results),
        *_growth(results.growth.random),
        *_growth(results.growth.cohort),
        _pinned(results),
        *_foreground(results),
    ]


def _against_the_floor(results: Results) -> list[Target]:
    main, outside = results.workloads()[:2], results.workloads()[-1]
    marking = MARK_GOAL if results.server_major >= 18 else MARK_GOAL_BEFORE_18
    return [
        *(_compared(results, w, DIRECT[2], FLOOR, 1.2) for w in main),
        *(_compared(results, w, DIRECT[1], FLOOR, 0.7) for w in main),
        *(_compared_by_cpu(results, w, DIRECT[1], FLOOR, 0.65) for w in main),
        *(_compared(results, w, CALL, FLOOR, 0.75) for w in main),
        *(_compared(results, w, MARK[2], FLOOR, marking) for w in main),
        *(_compared_by_cpu(results, w, MARK[1], FLOOR, 0.6) for w in main),
        _compared(results, outside, EVERYTHING_DIRECT, FLOOR, 0.65),
    ]


def _compared(results: Results, workload: Workload, ours: Variant, theirs: Variant, goal: float) -> Target:
    return Target(
        f"{ours.name} ÷ {theirs.name}, {workload.name}",
        goal,
        results.ratio(workload, ours, theirs),
        by_cpu=results.cpu_ratio(workload, ours, theirs),
    )


def _compared_by_cpu(
    results: Results, workload: Workload, ours: Variant, theirs: Variant, goal: float
) -> Target:
    figure = f"{ours.name} ÷ {theirs.name}, {workload.name}, by CPU"
    return Target(figure, goal, results.cpu_ratio(workload, ours, theirs))


def _against_hand_written(results: Results) -> list[Target]:
    return [
        _compared(results, main, ours, theirs, goal)
        for main in results.workloads()[:2]
        for found in ({variant.name: variant for variant in results.variants(main)},)
        for name, ours, goal in (
            ("row by row", MARK[2], 30),
            ("seeds in plain Python, 2 workers", DIRECT[2], 6),
            ("seeds in plain Python, 2 workers", MARK[2], 4),
        )
        if (theirs := found.get(name))
    ]


def _keys(results: Results) -> Target:
    keys = results.keys
    return Target(
        "cost per row, direct, bare-hash keys ÷ random keys",
        1.1,
        keys.direct_bare.times_slower(keys.direct),
        at_most=True,
        by_cpu=keys.direct_bare.times_more_cpu(keys.direct),
    )


def _growth(grown: GrowthInOrder) -> list[Target]:
    smallest = grown.drains[0].workload.due
    return [
        Target(
            f"growth of the cost per row, direct, {drains.workload.name} ÷ {smallest:,}, ÷ that of the floor",
            1.0,
            grown.beside_floor(size),
            at_most=True,
            by_cpu=grown.beside_floor_by_cpu(size),
        )
        for size, drains in enumerate(grown.drains)
        if size
    ]


def _pinned(results: Results) -> Target:
    snapshots = results.snapshots
    return Target(
        "claim p99, direct, snapshot pinned ÷ not",
        1.2,
        snapshots.direct_pinned.times_longer(snapshots.direct, 0.99),
        at_most=True,
    )


def _foreground(results: Results) -> list[Target]:
    idle, *draining = results.foreground
    return [
        Target(f"foreground p99, {phase.name} ÷ idle", 1.3, phase.times_longer(idle, 0.99), at_most=True)
        for phase in draining
        if phase.name == Kind.STEADY_DIRECT
    ]

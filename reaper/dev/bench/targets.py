"""What reaper has to reach, as ratios within one run, and what it reached."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from reaper.dev.bench.results import Results
from reaper.dev.bench.runner import Variant
from reaper.dev.bench.variants import CALL, DATABASE, EVERYTHING, FLOOR
from reaper.dev.bench.workload import Workload


@dataclass(frozen=True)
class Target:
    """One figure; `measured` is nan where the run did not measure it."""

    figure: str
    goal: float
    measured: float
    # Whether less is better.
    at_most: bool = False
    # The same ratio between CPU times: on a busy machine the better witness, but blind for waiting.
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
    return [*_against_the_floor(results), *_against_hand_written(results), *_steady(results)]


def _against_the_floor(results: Results) -> list[Target]:
    main, outside = results.workloads()[:2], results.workloads()[-1]
    return [
        *(_floor(results, w, DATABASE[2], 0.6) for w in main),
        *(_floor(results, w, DATABASE[1], 0.45) for w in main),
        *(_floor(results, w, CALL, 0.45) for w in main),
        _floor(results, outside, EVERYTHING[2], 0.35),
    ]


def _floor(results: Results, workload: Workload, variant: Variant, goal: float) -> Target:
    return _compared(results, workload, variant, FLOOR, goal, f"{variant.name} ÷ floor, {workload.name}")


def _compared(
    results: Results, workload: Workload, ours: Variant, theirs: Variant, goal: float, figure: str
) -> Target:
    by_cpu = results.cpu(workload, theirs) / results.cpu(workload, ours)
    return Target(figure, goal, results.ratio(workload, ours, theirs), by_cpu=by_cpu)


def _against_hand_written(results: Results) -> list[Target]:
    return [
        _compared(results, main, ours, found[name], goal, f"{ours.name} ÷ {name}, {main.name}")
        for main in results.workloads()[:2]
        for found in ({variant.name: variant for variant in results.variants(main)},)
        for name, ours, goal in (
            ("row by row", DATABASE[2], 30),
            ("seeds in plain Python", DATABASE[1], 4),
            ("seeds in plain Python, 2 workers", DATABASE[2], 4),
        )
        if name in found
    ]


def _steady(results: Results) -> list[Target]:
    growth, (idle, _, *throttled) = results.growth, results.foreground
    return [
        *(
            Target(
                f"cost per row, {larger.workload.name} ÷ {rounds[0].workload.due:,}",
                1.15,
                larger.times_slower(rounds[0]),
                at_most=True,
                by_cpu=larger.cpu_per_row / rounds[0].cpu_per_row,
            )
            for rounds in (growth.sizes, growth.in_cohorts)
            for larger in rounds[1:]
        ),
        Target(
            "claim p99, snapshot pinned ÷ not",
            2.0,
            growth.pinned.times_longer(growth.free, 0.99),
            at_most=True,
        ),
        *(
            Target(
                f"foreground p99, {paced.name} ÷ idle",
                1.5,
                paced.times_longer(idle, 0.99),
                at_most=True,
            )
            for paced in throttled
        ),
    ]

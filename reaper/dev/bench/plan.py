"""How large a run is: what is loaded, who takes part, how often."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reaper.dev.bench import cost_growth, foreground_latency, variants
from reaper.dev.bench.runner import Variant
from reaper.dev.bench.workload import Order, Workload

# Beyond this the seeds would take most of the time of a run.
LARGEST_SAMPLE = 20_000
QUICK_ROWS, DEFAULT_ROWS, BIG_ROWS = 40_000, 200_000, 600_000


@dataclass(frozen=True)
class Comparison:
    """One workload and the methods that are compared on it."""

    workload: Workload
    variants: tuple[Variant, ...]
    rounds: int


@dataclass(frozen=True)
class Plan:
    """One run of the benchmark."""

    name: str
    comparisons: tuple[Comparison, ...]
    # Due rows of the tables whose cost per row is compared.
    growth: tuple[int, ...]
    # Of growth, of claims beside a snapshot, and of the foreground.
    rounds: int
    pinned: Workload
    foreground: Workload
    foreground_seconds: float
    seed: int

    @property
    def steps(self) -> int:
        """How many runs there are to wait for, for the sake of a progress bar."""
        compared = sum(len(each.variants) * each.rounds for each in self.comparisons)
        return (
            compared
            + cost_growth.steps(self.growth, self.rounds)
            + len(foreground_latency.Kind) * self.rounds
        )


def make(name: str, rows: int, rounds: int, sizes: tuple[int, ...], seconds: float, seed: int) -> Plan:
    """Everything derives from the number of rows in the two main tables."""
    main = Workload("random order", rows)
    return Plan(
        name=name,
        comparisons=(
            Comparison(main, _all(main), rounds),
            Comparison(cohort := Workload("cohort order", rows, Order.COHORT), _all(cohort), rounds),
            *(Comparison(shape, _few(), rounds) for shape in _shapes(rows)),
            Comparison(outside := Workload("with Valkey and S3", rows // 2), _outside(outside), rounds),
        ),
        growth=sizes,
        rounds=rounds,
        pinned=main.resized(rows, "pinned snapshot"),
        foreground=Workload("foreground", rows * 2, due_share=0.8),
        foreground_seconds=seconds,
        seed=seed,
    )


def quick(seed: int, rows: int) -> Plan:
    """About a minute: enough to see whether a change helps."""
    full = make("quick", rows, 3, (rows // 4, rows), 3.0, seed)
    main, cohort, *_, outside = full.comparisons
    few = (variants.FLOOR, variants.CALL, variants.DATABASE[1], variants.DATABASE[2])
    some = tuple(e for e in outside.variants if e in (variants.FLOOR, variants.EVERYTHING[2]))
    chosen = (main, Comparison(cohort.workload, few, 3), Comparison(outside.workload, some, 3))
    return replace(full, comparisons=chosen)


def default(seed: int, rows: int) -> Plan:
    """About a quarter of an hour on two cores."""
    return make("default", rows, 3, (100_000, 1_000_000), 10.0, seed)


def big(seed: int, rows: int) -> Plan:
    """An hour or more, and some 20 GB of disk."""
    return make("big", rows, 3, (100_000, 1_000_000, 10_000_000), 30.0, seed)


def _all(workload: Workload) -> tuple[Variant, ...]:
    sample = min(LARGEST_SAMPLE, workload.due // 2)
    return (variants.FLOOR, variants.CALL, *variants.DATABASE.values(), *variants.by_hand(sample))


def _few() -> tuple[Variant, ...]:
    return (variants.FLOOR, variants.DATABASE[2])


def _outside(workload: Workload) -> tuple[Variant, ...]:
    sample = min(LARGEST_SAMPLE, workload.due // 2)
    return (variants.FLOOR, *variants.EVERYTHING.values(), variants.seeds(2, sample, outside=True))


def _shapes(rows: int) -> list[Workload]:
    half = rows // 2
    return [
        Workload("30 % unique content", half, unique_share=0.3),
        Workload("100 % unique content", half, unique_share=1.0),
        Workload("one hot hash", half, hot_share=0.1),
        Workload("10 % due of a large table", rows * 2, due_share=0.1),
        Workload("rows of 1 kB", half, payload_bytes=900),
    ]


def choose(quickly: bool, biggest: bool, rows: int | None, seed: int) -> Plan:
    """The plan that the options of the command line mean."""
    if quickly:
        return quick(seed, rows or QUICK_ROWS)
    return big(seed, rows or BIG_ROWS) if biggest else default(seed, rows or DEFAULT_ROWS)

"""How large a run is: what is loaded, who takes part, how often."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reaper.dev.bench import cost_growth, foreground_latency, key_costs, pinned_snapshot, variants
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
    # The table whose objects have random names, or their bare hashes.
    keys: Workload
    # Due rows of the tables whose cost per row is compared.
    growth: tuple[int, ...]
    # Of keys, of growth, of claims beside a snapshot, and of the foreground.
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
            + key_costs.steps(self.rounds)
            + cost_growth.steps(self.growth, self.rounds)
            + pinned_snapshot.steps(self.rounds)
            + len(foreground_latency.Kind) * self.rounds
        )


def make(name: str, rows: int, rounds: int, sizes: tuple[int, ...], seconds: float, seed: int) -> Plan:
    """Everything derives from the number of rows in the two main tables."""
    main = Workload("random order", rows)
    return Plan(
        name=name,
        comparisons=(
            Comparison(main, (*_main(main), *_others(main)), rounds),
            Comparison(cohort := Workload("cohort order", rows, Order.COHORT), _main(cohort), rounds),
            *(Comparison(shape, _few(), rounds) for shape in _shapes(rows)),
            Comparison(outside := Workload("with Valkey and S3", rows // 2), _outside(outside), rounds),
        ),
        keys=Workload("keys", rows),
        growth=sizes,
        rounds=rounds,
        pinned=main.resized(rows, "pinned snapshot"),
        foreground=Workload("foreground", rows * 2, due_share=0.8),
        foreground_seconds=seconds,
        seed=seed,
    )


def quick(seed: int, rows: int) -> Plan:
    """About a minute and a half: enough to see whether a change helps."""
    full = make("quick", rows, 3, (rows // 4, rows), 3.0, seed)
    main, cohort, *_, outside = full.comparisons
    some = (variants.FLOOR, variants.EVERYTHING_DIRECT)
    chosen = (
        Comparison(main.workload, _main(main.workload), 3),
        Comparison(cohort.workload, _ours(), 3),
        Comparison(outside.workload, some, 3),
    )
    # What is measured apart from the comparisons has one round: three would take most of the time.
    return replace(full, comparisons=chosen, rounds=1)


def default(seed: int, rows: int) -> Plan:
    """About twenty minutes on two cores."""
    return make("default", rows, 3, (100_000, 1_000_000), 10.0, seed)


def big(seed: int, rows: int) -> Plan:
    """Two hours or more, and some 20 GB of disk."""
    return make("big", rows, 3, (100_000, 1_000_000, 10_000_000), 30.0, seed)


def _ours() -> tuple[Variant, ...]:
    return (variants.FLOOR, variants.CALL, *variants.MARK.values(), *variants.DIRECT.values())


def _main(workload: Workload) -> tuple[Variant, ...]:
    """Ours, and those by hand that a target names."""
    sample = _sample(workload)
    return (*_ours(), variants.CALL_LARGE, variants.seeds(sample), variants.row_by_row(sample))


def _others(workload: Workload) -> tuple[Variant, ...]:
    """Those whose place among the others one order shows well enough."""
    sample = _sample(workload)
    return (
        *variants.CLIENTS.values(),
        *variants.DIRECT_CLIENTS.values(),
        variants.REQUEUE,
        variants.PARTITION,
        variants.review_queue(sample),
        variants.job_per_paste(sample),
    )


def _few() -> tuple[Variant, ...]:
    return (variants.FLOOR, variants.MARK[2], variants.DIRECT[2])


def _outside(workload: Workload) -> tuple[Variant, ...]:
    ours = (variants.EVERYTHING, variants.EVERYTHING_DIRECT)
    return (variants.FLOOR, *ours, variants.seeds(_sample(workload), outside=True))


def _sample(workload: Workload) -> int:
    return min(LARGEST_SAMPLE, workload.due // 2)


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

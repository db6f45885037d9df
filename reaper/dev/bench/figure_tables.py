"""The figures as tables, for a terminal or a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reaper.dev.bench.cost_growth import Growth
from reaper.dev.bench.repeated_runs import Rounds
from reaper.dev.bench.results import Results
from reaper.dev.bench.runner import Run, Variant
from reaper.dev.bench.statistics import median, spread
from reaper.dev.bench.targets import Target
from reaper.dev.bench.variants import FLOOR
from reaper.dev.bench.workload import Workload

MS = 1000.0
NOTHING = "-"
# What is told of claims.
CLAIMS = (("p50", 0.5), ("p99", 0.99), ("longest", 1.0))


@dataclass(frozen=True)
class FigureTable:
    """One table; the first column names what the others count."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def comparison(results: Results, workload: Workload) -> FigureTable:
    """Every method on one workload; ≈ marks what was measured on a sample."""
    return FigureTable(
        f"{workload.name[:1].upper()}{workload.name[1:]}: {workload.due:,} due of {workload.rows:,} rows",
        ("", "rows/s", "spread", "÷ floor", "CPU µs/row", "WAL B/row", "HOT", "index inserts/row"),
        tuple(_method_row(results, workload, variant) for variant in results.variants(workload)),
    )


def growth(results: Results) -> FigureTable:
    """One worker on ever larger tables beside the floor, and beside a pinned snapshot."""
    named = [*_by_size(results.growth), *results.snapshots.parts]
    return _growth_table("Growth and pinned snapshots, one worker", named)


def growth_alone(measured: Growth) -> FigureTable:
    """One worker on ever larger tables beside the floor."""
    return _growth_table("Growth, one worker", _by_size(measured))


def _by_size(measured: Growth) -> list[tuple[str, Rounds]]:
    both = (measured.random, measured.cohort)
    return [
        *((f"direct, {rounds.workload.name}", rounds) for order in both for rounds in order.drains),
        *((f"floor, {rounds.workload.name}", rounds) for order in both for rounds in order.floors),
    ]


def _growth_table(title: str, named: Sequence[tuple[str, Rounds]]) -> FigureTable:
    claims = (f"claim {name} ms" for name, _ in CLAIMS)
    return FigureTable(
        title,
        ("", "µs/row", "spread", "CPU µs/row", *claims, "dead tuples/row"),
        tuple((name, *_growth(rounds)) for name, rounds in named),
    )


def keys(results: Results) -> FigureTable:
    """One worker where objects have random names, and where they have their bare hashes."""
    named = [
        row
        for way, random, bare in results.keys.pairs
        for row in (
            (f"{way}, random keys", random, random),
            (f"{way}, bare-hash keys", bare, random),
        )
    ]
    return FigureTable(
        "Object keys, one worker",
        ("", "µs/row", "spread", "÷ random keys", "CPU µs/row", "÷ random keys"),
        tuple((name, *_key_costs(rounds, random)) for name, rounds, random in named),
    )


def foreground(results: Results) -> FigureTable:
    """Readers and writers beside a drain."""
    return FigureTable(
        "Foreground: readers and writers beside a drain",
        ("", "p50 ms", "p90 ms", "p99 ms", "requests", "drained rows/s"),
        tuple(
            (
                phase.name,
                *(f"{phase.waiting(share) * MS:.2f}" for share in (0.5, 0.9, 0.99)),
                f"{phase.requests:,}",
                f"{phase.rows_per_second:,.0f}",
            )
            for phase in results.foreground
        ),
    )


def goals(targets: Sequence[Target]) -> FigureTable:
    """What is to be reached, and what was."""
    return FigureTable(
        "Targets", ("", "goal", "measured", "", "by CPU"), tuple(_target(target) for target in targets)
    )


def _method_row(results: Results, workload: Workload, variant: Variant) -> tuple[str, ...]:
    runs = results.of(workload, variant)
    rates = [run.rate for run in runs]
    ratio = results.ratio(workload, variant, FLOOR)
    sampled = "≈ " if variant.method.sample is not None else ""
    return (
        variant.name,
        f"{sampled}{median(rates):,.0f}",
        f"±{spread(rates) / 2:.0%}",
        NOTHING if math.isnan(ratio) else f"{ratio:.2f}" if ratio >= 0.01 else f"{ratio:.3f}",
        f"{results.cpu(workload, variant):.0f}",
        f"{median([run.cost.wal_bytes / max(1, run.rows) for run in runs]):,.0f}",
        _hot(runs[-1]),
        _index_inserts(runs[-1]),
    )


def _growth(rounds: Rounds) -> tuple[str, ...]:
    claims = [rounds.claim(share) * MS for _, share in CLAIMS]
    return (
        f"{rounds.seconds_per_row * 1e6:.1f}",
        f"±{rounds.spread / 2:.0%}" if len(rounds.runs) > 1 else NOTHING,
        f"{rounds.cpu_per_row:.1f}",
        *(NOTHING if math.isnan(claim) else f"{claim:.1f}" for claim in claims),
        f"{rounds.dead_tuples_per_row:.2f}",
    )


def _key_costs(rounds: Rounds, random: Rounds) -> tuple[str, ...]:
    return (
        f"{rounds.seconds_per_row * 1e6:.1f}",
        f"±{rounds.spread / 2:.0%}",
        f"{rounds.times_slower(random):.2f}",
        f"{rounds.cpu_per_row:.1f}",
        f"{rounds.times_more_cpu(random):.2f}",
    )


def _target(target: Target) -> tuple[str, ...]:
    sign = "≤" if target.at_most else "≥"
    verdict = {True: "reached", False: "missed", None: "not measured"}[target.met]
    measured = NOTHING if target.met is None else f"{target.measured:.2f}"
    by_cpu = NOTHING if math.isnan(target.by_cpu) else f"{target.by_cpu:.2f}"
    return (target.figure, f"{sign} {target.goal:g}", measured, verdict, by_cpu)


def _hot(run: Run) -> str:
    return f"{run.cost.hot_updates / run.cost.updates:.0%}" if run.cost.updates else NOTHING


def _index_inserts(run: Run) -> str:
    return NOTHING if run.cost.index_inserts is None else f"{run.cost.index_inserts / max(1, run.rows):.2f}"

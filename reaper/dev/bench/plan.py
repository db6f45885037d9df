"""How large a run is: what is loaded, who takes part, how often."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reaper.dev.bench import entries, foreground, growth
from reaper.dev.bench.tournament import Entry
from reaper.dev.bench.workload import Order, Workload

# Beyond this the seeds would take most of the time of a run.
LARGEST_SAMPLE = 20_000
QUICK_ROWS, DEFAULT_ROWS, BIG_ROWS = 40_000, 200_000, 600_000


@dataclass(frozen=True)
class Match:
    """One workload and those who meet on it."""

    workload: Workload
    entries: tuple[Entry, ...]
    rounds: int


@dataclass(frozen=True)
class Plan:
    """One run of the benchmark."""

    name: str
    matches: tuple[Match, ...]
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
        contests = sum(len(match.entries) * match.rounds for match in self.matches)
        return contests + growth.steps(self.growth, self.rounds) + len(foreground.Kind) * self.rounds


def make(name: str, rows: int, rounds: int, sizes: tuple[int, ...], seconds: float, seed: int) -> Plan:
    """Everything derives from the number of rows in the two main tables."""
    main = Workload("random order", rows)
    return Plan(
        name=name,
        matches=(
            Match(main, _all(main), rounds),
            Match(cohort := Workload("cohort order", rows, Order.COHORT), _all(cohort), rounds),
            *(Match(shape, _few(), rounds) for shape in _shapes(rows)),
            Match(outside := Workload("with Valkey and S3", rows // 2), _outside(outside), rounds),
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
    main, cohort, *_, outside = full.matches
    few = (entries.FLOOR, entries.CALL, entries.DATABASE[1], entries.DATABASE[2])
    some = tuple(e for e in outside.entries if e in (entries.FLOOR, entries.EVERYTHING[2]))
    chosen = (main, Match(cohort.workload, few, 3), Match(outside.workload, some, 3))
    return replace(full, matches=chosen)


def default(seed: int, rows: int) -> Plan:
    """About a quarter of an hour on two cores."""
    return make("default", rows, 3, (100_000, 1_000_000), 10.0, seed)


def big(seed: int, rows: int) -> Plan:
    """An hour or more, and some 20 GB of disk."""
    return make("big", rows, 3, (100_000, 1_000_000, 10_000_000), 30.0, seed)


def _all(workload: Workload) -> tuple[Entry, ...]:
    sample = min(LARGEST_SAMPLE, workload.due // 2)
    return (entries.FLOOR, entries.CALL, *entries.DATABASE.values(), *entries.by_hand(sample))


def _few() -> tuple[Entry, ...]:
    return (entries.FLOOR, entries.DATABASE[2])


def _outside(workload: Workload) -> tuple[Entry, ...]:
    sample = min(LARGEST_SAMPLE, workload.due // 2)
    return (entries.FLOOR, *entries.EVERYTHING.values(), entries.seeds(2, sample, outside=True))


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

"""Everybody against everybody on the same data: rounds in shuffled order, each on a fresh copy, judged."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from reaper.dev.bench.arena import Arena
from reaper.dev.bench.contestant import Contestant, Step
from reaper.dev.bench.judge import Judge
from reaper.dev.bench.meter import Cost, Meter
from reaper.dev.bench.place import Place
from reaper.dev.bench.team import assembled
from reaper.dev.bench.workload import Workload

Beside = Callable[[Place], AbstractContextManager[object]]


def nothing(_: Place) -> AbstractContextManager[object]:
    """Nothing goes on beside the run."""
    return nullcontext()


@dataclass(frozen=True)
class Entry:
    """A contestant and the number of processes in which it runs."""

    contestant: Contestant
    workers: int = 1

    @property
    def name(self) -> str:
        """Unique within a run."""
        plural = f", {self.workers} workers" if self.workers > 1 else ""
        return f"{self.contestant.name}{plural}"


@dataclass(frozen=True)
class Run:
    """One round of one contestant on one workload."""

    workload: Workload
    entry: Entry
    round: int
    rows: int
    cost: Cost
    client_cpu: float
    claims: tuple[Step, ...]
    steps: dict[str, float]
    problems: tuple[str, ...]

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / self.cost.seconds

    @property
    def cpu_per_row(self) -> float:
        """Microseconds of PostgreSQL and its clients together."""
        return (self.cost.server_cpu + self.client_cpu) / max(1, self.rows) * 1e6


@dataclass(frozen=True)
class Tournament:
    """Runs entries on workloads; `announce` hears what comes next."""

    arena: Arena
    seed: int
    announce: Callable[[str], None]

    def play(self, workload: Workload, entries: Sequence[Entry], rounds: int) -> list[Run]:
        """All rounds on one workload; in each, everybody once."""
        chance = random.Random(f"{self.seed} {workload.name}")
        runs = []
        for number in range(1, rounds + 1):
            for entry in chance.sample(entries, len(entries)):
                self.announce(f"{workload.name}, round {number} of {rounds}: {entry.name}")
                runs.append(self.run(workload, entry, number))
        return runs

    def run(self, workload: Workload, entry: Entry, number: int = 1, beside: Beside = nothing) -> Run:
        """One entry on a fresh copy, with something going on beside it."""
        with self.arena.copy(workload, entry.contestant.needs) as place, beside(place):
            meter = Meter(self.arena, place)
            with assembled(entry.contestant, entry.workers, place) as team, meter.running():
                works = team.go()
            rows = sum(work.rows for work in works)
            cost, problems = meter.cost(), Judge(self.arena.s3).problems(entry.contestant, place, rows)
        return Run(
            workload=workload,
            entry=entry,
            round=number,
            rows=rows,
            cost=cost,
            client_cpu=sum(work.cpu_seconds for work in works),
            claims=tuple(sorted((step for work in works for step in work.claims), key=lambda s: s.at)),
            steps=_added_up(dict(work.steps) for work in works),
            problems=tuple(problems),
        )


def _added_up(parts: Iterable[dict[str, float]]) -> dict[str, float]:
    total: defaultdict[str, float] = defaultdict(float)
    for part in parts:
        for name, seconds in part.items():
            total[name] += seconds
    return dict(total)

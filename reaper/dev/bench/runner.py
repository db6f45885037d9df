"""Runs methods on the same data: rounds in shuffled order, each run on a fresh copy, measured and checked."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from reaper.dev.bench.correctness_check import CorrectnessCheck
from reaper.dev.bench.cost_meter import Cost, CostMeter
from reaper.dev.bench.method import Method, Step
from reaper.dev.bench.server_addresses import Addresses
from reaper.dev.bench.servers import Servers
from reaper.dev.bench.worker_processes import started_processes
from reaper.dev.bench.workload import Workload

Beside = Callable[[Addresses], AbstractContextManager[object]]


def nothing(_: Addresses) -> AbstractContextManager[object]:
    """Nothing happens beside the run."""
    return nullcontext()


@dataclass(frozen=True)
class Variant:
    """A method and the number of processes in which it runs."""

    method: Method
    workers: int = 1

    @property
    def name(self) -> str:
        """Unique within a run."""
        plural = f", {self.workers} workers" if self.workers > 1 else ""
        return f"{self.method.name}{plural}"


@dataclass(frozen=True)
class Run:
    """One round of one method on one workload."""

    workload: Workload
    variant: Variant
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
class Runner:
    """Runs variants on workloads; `announce` hears what comes next."""

    servers: Servers
    seed: int
    announce: Callable[[str], None]

    def compare(self, workload: Workload, variants: Sequence[Variant], rounds: int) -> list[Run]:
        """All rounds on one workload; in each, every variant once."""
        chance = random.Random(f"{self.seed} {workload.name}")
        runs = []
        for number in range(1, rounds + 1):
            for variant in chance.sample(variants, len(variants)):
                self.announce(f"{workload.name}, round {number} of {rounds}: {variant.name}")
                runs.append(self.run(workload, variant, number))
        return runs

    def run(self, workload: Workload, variant: Variant, number: int = 1, beside: Beside = nothing) -> Run:
        """One variant on a fresh copy, with another load beside it."""
        with self.servers.copy(workload, variant.method.needs) as addresses, beside(addresses):
            meter = CostMeter(self.servers, addresses)
            with started_processes(variant.method, variant.workers, addresses) as processes, meter.running():
                works = processes.go()
            rows = sum(work.rows for work in works)
            cost = meter.cost()
            problems = CorrectnessCheck(self.servers.s3).problems(variant.method, addresses, rows)
            problems += [problem for work in works for problem in work.problems]
        return Run(
            workload=workload,
            variant=variant,
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

"""Runs of the benchmark: the smallest workload, and results that were made up."""

from reaper.dev.bench.cost_meter import Cost
from reaper.dev.bench.method import Step
from reaper.dev.bench.runner import Run, Variant
from reaper.dev.bench.workload import Workload

TINY = Workload("tiny", 600)


def made_up(
    workload: Workload, variant: Variant, number: int, rate: float, problems: tuple[str, ...] = ()
) -> Run:
    cost = Cost(
        seconds=1000 / rate,
        server_cpu=0.03,
        others=0.02,
        wal_bytes=1_500_000,
        updates=1400,
        hot_updates=1330,
        dead_tuples=900,
        records={"Btree/INSERT_LEAF": 200, "Heap/DELETE": 1000},
    )
    claims = tuple(Step(n * 0.01, 0.010 + n * 0.0001) for n in range(100))
    return Run(workload, variant, number, 1000, cost, 0.005, claims, {"claim": 1.0}, problems)

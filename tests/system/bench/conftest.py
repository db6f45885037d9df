"""One set of servers for all tests of the benchmark, and results that were made up."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from reaper.dev.bench import variants
from reaper.dev.bench.cost_growth import Growth, GrowthInOrder
from reaper.dev.bench.foreground_latency import Kind, LatencyRound, Phase
from reaper.dev.bench.key_costs import KeyCosts
from reaper.dev.bench.machine import Machine
from reaper.dev.bench.pinned_snapshot import Snapshots
from reaper.dev.bench.repeated_runs import Rounds
from reaper.dev.bench.results import Results
from reaper.dev.bench.runner import Runner, Variant
from reaper.dev.bench.servers import Servers
from reaper.dev.bench.workload import Order, Workload
from tests.support.bench_runs import made_up


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with Servers() as running:
        yield running


@pytest.fixture(scope="session")
def runner(servers: Servers) -> Runner:
    return Runner(servers, seed=1, announce=lambda _: None)


def twice(workload: Workload, variant: Variant, rate: float) -> Rounds:
    """Two rounds; the second was twice as fast for all of them."""
    return Rounds(tuple(made_up(workload, variant, n, rate * n) for n in (1, 2)))


@pytest.fixture
def results() -> Results:
    """Two rounds; one worker that marks is half as fast as the floor, and ten times as fast as row by row."""
    rows, everything = variants.row_by_row(1000), variants.EVERYTHING_DIRECT
    workloads = [Workload("random order", 2000), Workload("cohort order", 2000, Order.COHORT)]
    rates = {
        variants.FLOOR: 40_000,
        variants.MARK[1]: 20_000,
        variants.MARK[2]: 30_000,
        variants.DIRECT[1]: 28_000,
        variants.DIRECT[2]: 50_000,
        variants.PARTITION: 9_000_000,
        variants.seeds(1000): 8_000,
        rows: 2_000,
    }
    outside = Workload("with Valkey and S3", 1000)
    runs = [made_up(w, e, n, r * n) for w in workloads for e, r in rates.items() for n in (1, 2)]
    runs += [made_up(outside, e, 1, r) for e, r in ((variants.FLOOR, 40_000), (everything, 10_000))]
    small, large = Workload("100 due rows", 111), Workload("1,000 due rows", 1111)
    ours, floor = variants.DIRECT[1], variants.FLOOR
    order = GrowthInOrder(
        drains=(twice(small, ours, 20_000), twice(large, ours, 16_000)),
        floors=(twice(small, floor, 40_000), twice(large, floor, 20_000)),
    )
    random, bare = twice(small, ours, 22_000), twice(replace(small, bare_keys=True), ours, 20_000)
    keys = KeyCosts(random, bare, random, bare)
    phases = tuple(
        Phase(name, tuple(LatencyRound((0.001, 0.002, p99 / n), 2000.0) for n in (1, 2)))
        for name, p99 in (("idle", 0.004), ("draining", 0.02), (Kind.STEADY_DIRECT, 0.005))
    )
    machine = Machine(2, "a processor", 8.0, "Linux 6", "3.12")
    began = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    settings = {"fsync": "on", "server_version": "18.6 (packaged)"}
    return Results(
        plan="quick",
        version="0.1.0",
        began=began,
        seconds=61.0,
        machine=machine,
        settings=settings,
        runs=tuple(runs),
        keys=keys,
        growth=Growth(order, order),
        snapshots=Snapshots(*(order.drains[0],) * 4),
        foreground=phases,
    )

"""One set of servers for all tests of the benchmark, and results that were made up."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from reaper.dev.bench import variants
from reaper.dev.bench.cost_growth import Growth
from reaper.dev.bench.foreground_latency import LatencyRound, Phase
from reaper.dev.bench.machine import Machine
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


@pytest.fixture
def results() -> Results:
    """Two rounds in which reaper is half as fast as the floor, and ten times as fast as row by row."""
    rows, everything = Variant(variants.RowByRow(100)), variants.EVERYTHING[2]
    workloads = [Workload("random order", 2000), Workload("cohort order", 2000, Order.COHORT)]
    rates = {variants.FLOOR: 40_000, variants.DATABASE[1]: 20_000, variants.DATABASE[2]: 30_000, rows: 2_000}
    outside = Workload("with Valkey and S3", 1000)
    runs = [made_up(w, e, n, r * n) for w in workloads for e, r in rates.items() for n in (1, 2)]
    runs += [made_up(outside, e, 1, r) for e, r in ((variants.FLOOR, 40_000), (everything, 10_000))]
    small, large = Workload("100 due rows", 111), Workload("1,000 due rows", 1111)
    one = variants.DATABASE[1]
    # Round 2 was twice as fast for all of them.
    grown = tuple(
        Rounds(tuple(made_up(w, one, n, rate * n) for n in (1, 2)))
        for w, rate in ((small, 20_000), (large, 16_000))
    )
    growth = Growth(grown, grown, grown, grown[0], grown[0])
    phases = tuple(
        Phase(name, tuple(LatencyRound((0.001, 0.002, p99 / n), 1000.0) for n in (1, 2)))
        for name, p99 in (("idle", 0.004), ("a", 0.02), ("b", 0.005))
    )
    machine = Machine(2, "a processor", 8.0, "Linux 6", "3.12")
    began = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    settings = {"fsync": "on", "server_version": "18.6 (packaged)"}
    return Results("quick", "0.1.0", began, 61.0, machine, settings, tuple(runs), growth, phases)

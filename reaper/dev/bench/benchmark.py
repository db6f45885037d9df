"""One run from the first server to the last figure."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from reaper.dev.bench import (
    cost_growth,
    foreground_latency,
    key_costs,
    machine,
    pinned_snapshot,
    webhook_cost,
)
from reaper.dev.bench.cost_growth import Growth
from reaper.dev.bench.plan import Comparison, Plan
from reaper.dev.bench.results import Results
from reaper.dev.bench.runner import Run, Runner
from reaper.dev.bench.servers import Servers
from reaper.dev.bench.webhook_cost import WebhookCost
from reaper.dev.bench.workload import Workload

Announce = Callable[[str], None]


def measure(plan: Plan, announce: Announce, pg_bin: Path | None = None) -> Results:
    """Run everything in the plan; `announce` is called once before each step of it.

    The PostgreSQL that it runs on is the one whose programs are in `pg_bin`, else the one that is found.
    """
    began, clock = datetime.now(UTC), time.monotonic()
    with Servers(pg_bin) as servers:
        runner = Runner(servers, plan.seed, announce)
        runs = [run for comparison in plan.comparisons for run in _compare(runner, comparison)]
        keys = key_costs.measure(runner, plan.keys, plan.rounds)
        grown = cost_growth.measure(runner, plan.growth, plan.rounds)
        snapshots = pinned_snapshot.measure(runner, plan.pinned, plan.rounds)
        phases = foreground_latency.measure(
            servers, plan.foreground, plan.foreground_seconds, plan.rounds, plan.seed, announce
        )
        return Results(
            plan=plan.name,
            version=version("pg-reaper"),
            began=began,
            seconds=time.monotonic() - clock,
            machine=machine.describe(),
            settings=servers.settings(),
            runs=tuple(runs),
            keys=keys,
            growth=grown,
            snapshots=snapshots,
            foreground=phases,
        )


def _compare(runner: Runner, comparison: Comparison) -> list[Run]:
    try:
        return runner.compare(comparison.workload, comparison.variants, comparison.rounds)
    finally:
        runner.servers.forget(comparison.workload)


def measure_growth(due: int, seed: int, announce: Announce, pg_bin: Path | None = None) -> Growth:
    """Growth alone, in one round: tables with so many due rows, as large as time allows."""
    with Servers(pg_bin) as servers:
        return cost_growth.measure(Runner(servers, seed, announce), (due,), 1)


def measure_webhooks(rows: int, seed: int, announce: Announce, pg_bin: Path | None = None) -> WebhookCost:
    """What events cost alone: a table of so many rows, half of them due."""
    with Servers(pg_bin) as servers:
        return webhook_cost.measure(Runner(servers, seed, announce), Workload("random order", rows))

"""Everything that a run found out, and its form as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from reaper.dev.bench.cost_growth import Growth
from reaper.dev.bench.foreground_latency import PACES, Phase
from reaper.dev.bench.key_costs import KeyCosts
from reaper.dev.bench.machine import Machine
from reaper.dev.bench.pinned_snapshot import Snapshots
from reaper.dev.bench.runner import Run, Variant
from reaper.dev.bench.statistics import median, paired_ratio, percentile
from reaper.dev.bench.workload import Workload

SCHEMA = 3
# More points than this make a file large and a plot no clearer.
CLAIMS_KEPT = 500
# With more than this used by others, ratios say as much about the neighbours as about us.
QUIET = 0.1
# A pace that is kept is missed by less than this.
KEPT = 0.9


@dataclass(frozen=True)
class Results:
    """One run of the benchmark, as it was measured."""

    plan: str
    version: str
    began: datetime
    seconds: float
    machine: Machine
    settings: Mapping[str, str]
    runs: tuple[Run, ...]
    keys: KeyCosts
    growth: Growth
    snapshots: Snapshots
    foreground: tuple[Phase, ...]

    @property
    def server_version(self) -> str:
        """The version of PostgreSQL without what its packager adds, such as 15.18; empty if unknown."""
        return self.settings.get("server_version", "").partition(" ")[0]

    @property
    def server_major(self) -> int:
        """The major version of PostgreSQL; 0 if unknown."""
        return int(self.server_version.partition(".")[0] or 0)

    def workloads(self) -> list[Workload]:
        """Every workload that methods were compared on, in the order of the run."""
        return list(dict.fromkeys(run.workload for run in self.runs))

    def of(self, workload: Workload, variant: Variant | None = None) -> list[Run]:
        """The runs on a workload, of one variant or of all, round after round."""
        found = [run for run in self.runs if run.workload == workload and variant in (None, run.variant)]
        return sorted(found, key=lambda run: run.round)

    def variants(self, workload: Workload) -> list[Variant]:
        """Who met on a workload, the fastest first."""
        met = dict.fromkeys(run.variant for run in self.of(workload))
        return sorted(met, key=lambda variant: -self.rate(workload, variant))

    def rate(self, workload: Workload, variant: Variant) -> float:
        """Rows a second, the median of the rounds."""
        return median([run.rate for run in self.of(workload, variant)])

    def cpu(self, workload: Workload, variant: Variant) -> float:
        """Microseconds of CPU for a row, the median of the rounds; what others do hardly moves it."""
        return median([run.cpu_per_row for run in self.of(workload, variant)] or [math.nan])

    def ratio(self, workload: Workload, ours: Variant, theirs: Variant) -> float:
        """How much faster one was than the other, round by round."""
        return paired_ratio(
            [run.rate for run in self.of(workload, ours)], [run.rate for run in self.of(workload, theirs)]
        )

    def cpu_ratio(self, workload: Workload, ours: Variant, theirs: Variant) -> float:
        """How much less CPU one took for a row than the other, round by round."""
        return paired_ratio(
            [run.cpu_per_row for run in self.of(workload, theirs)],
            [run.cpu_per_row for run in self.of(workload, ours)],
        )

    @property
    def _every_run(self) -> tuple[Run, ...]:
        snapshots = [rounds for _, rounds in self.snapshots.parts]
        apart = (*self.keys.parts, *self.growth.parts, *snapshots)
        return (*self.runs, *(run for rounds in apart for run in rounds.runs))

    @property
    def problems(self) -> list[str]:
        """What the check found; speed without correctness counts for nothing."""
        found = [
            f"{run.variant.name} on {run.workload.name}: {p}" for run in self._every_run for p in run.problems
        ]
        for phase in self.foreground[1:]:
            found += [f"{phase.name}: {p}" for each in phase.rounds for p in each.problems]
            found += [] if phase.rows_per_second else [f"{phase.name}: no row was drained"]
        return found

    @property
    def warnings(self) -> list[str]:
        """What a reader of the figures has to know before believing them."""
        found = []
        if self.others > QUIET:
            used = f"Others used {self.others:.0%} of this machine meanwhile"
            found.append(f"{used}: trust the CPU times, not the clock.")
        return found + [
            f"{phase.name}: only {phase.rows_per_second:,.0f} went, and disturbed less."
            for phase in self.foreground
            for kind, pace in PACES.items()
            if phase.name == kind and phase.rows_per_second < KEPT * pace
        ]

    @property
    def others(self) -> float:
        """The share of the machine that others used while we measured, on the average."""
        runs = self._every_run
        seconds = sum(run.cost.seconds for run in runs)
        return sum(run.cost.others * run.cost.seconds for run in runs) / seconds if seconds else 0.0


def as_json(results: Results, targets: list[dict[str, Any]]) -> str:
    """The document that other programs read."""
    return json.dumps(
        {
            "schema": SCHEMA,
            "plan": results.plan,
            "version": results.version,
            "began": results.began.isoformat(),
            "seconds": round(results.seconds, 1),
            "machine": asdict(results.machine),
            "others_share": round(results.others, 3),
            "server_version": results.server_version,
            "settings": dict(results.settings),
            "targets": targets,
            "runs": [_run(run) for run in results.runs],
            "keys": [_run(run) for rounds in results.keys.parts for run in rounds.runs],
            "growth": [_run(run, claims=True) for rounds in results.growth.parts for run in rounds.runs],
            "snapshots": {
                name: [_run(run, claims=True) for run in rounds.runs]
                for name, rounds in results.snapshots.parts
            },
            "foreground": [_phase(phase) for phase in results.foreground],
            "problems": results.problems,
        },
        indent=1,
        ensure_ascii=False,
    )


def _run(run: Run, claims: bool = False) -> dict[str, Any]:
    cost, rows = run.cost, max(1, run.rows)
    document = {
        "workload": asdict(run.workload),
        "method": run.variant.name,
        "workers": run.variant.workers,
        "promise": run.variant.method.promise.value,
        "sampled": run.variant.method.sample is not None,
        "round": run.round,
        "rows": run.rows,
        "seconds": round(cost.seconds, 4),
        "rows_per_second": round(run.rate, 1),
        "server_cpu_us_per_row": round(cost.server_cpu / rows * 1e6, 2),
        "client_cpu_us_per_row": round(run.client_cpu / rows * 1e6, 2),
        "others_share": round(cost.others, 3),
        "wal_bytes_per_row": round(cost.wal_bytes / rows, 1),
        "updates_per_row": round(cost.updates / rows, 3),
        "hot_share": round(cost.hot_updates / cost.updates, 3) if cost.updates else None,
        "dead_tuples_per_row": round(cost.dead_tuples / rows, 3),
        "index_inserts_per_row": None if cost.index_inserts is None else round(cost.index_inserts / rows, 3),
        "steps": {name: round(seconds, 4) for name, seconds in run.steps.items()},
        "claim_p50": _claim(run, 0.5),
        "claim_p99": _claim(run, 0.99),
        "problems": list(run.problems),
    }
    if claims:
        every = max(1, len(run.claims) // CLAIMS_KEPT)
        document["claims"] = [(round(s.at, 4), round(s.seconds, 5)) for s in run.claims[::every]]
    return document


def _phase(phase: Phase) -> dict[str, Any]:
    return {
        "name": phase.name,
        "rows_per_second": round(phase.rows_per_second, 1),
        "rounds": [
            {"requests": len(v.latencies)}
            | {
                name: round(percentile(v.latencies, share), 6)
                for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("longest", 1.0))
            }
            for v in phase.rounds
        ],
    }


def _claim(run: Run, share: float) -> float | None:
    return round(percentile([s.seconds for s in run.claims], share), 5) if run.claims else None

"""A whole run, as small as can be."""

import subprocess
import sys
from pathlib import Path

import pytest

from reaper.dev.bench import variants
from reaper.dev.bench.benchmark import measure
from reaper.dev.bench.plan import Comparison, Plan
from reaper.dev.bench.targets import judge
from reaper.dev.bench.workload import Workload


def small_plan() -> Plan:
    return Plan(
        name="tiny",
        comparisons=(
            Comparison(Workload("random order", 400), (variants.FLOOR, variants.DIRECT[1]), 1),
            Comparison(Workload("with Valkey and S3", 400), (variants.EVERYTHING_DIRECT,), 1),
        ),
        keys=Workload("keys", 400),
        growth=(100,),
        rounds=1,
        pinned=Workload("pinned", 400),
        foreground=Workload("foreground", 4000),
        foreground_seconds=0.5,
        seed=1,
    )


@pytest.mark.slow
def test_a_run_announces_each_step_and_finds_nothing_wrong():
    announced: list[str] = []
    plan = small_plan()
    results = measure(plan, announced.append)
    assert results.problems == []
    assert len(announced) == plan.steps
    assert [phase.requests > 0 for phase in results.foreground] == [True] * 4
    assert all(target.measured > 0 for target in judge(results) if target.met is not None)


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "reaper", "bench", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_two_sizes_at_once_are_refused_before_anything_starts():
    done = bench("--quick", "--big")
    assert done.returncode == 2
    assert "choose one" in done.stderr


def test_a_directory_without_postgresql_is_refused_before_anything_starts(tmp_path: Path):
    absent, empty = bench("--pg-bin", str(tmp_path / "absent")), bench("--pg-bin", str(tmp_path))
    assert (absent.returncode, empty.returncode) == (2, 4)
    assert "--pg-bin" in absent.stderr
    assert "does not contain initdb and postgres" in empty.stderr

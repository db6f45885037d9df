"""`.ci/run` installs what tests of the model, poolers, alerts and the page need, and goes on without."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / ".ci/run"
STEPS = ["run.py test", "run.py test --slow", "run.py check"]
SKIPPED = "the tests of the model, of poolers or of alerts are skipped"
SKIPPED_BROWSER = "the tests of the page in a browser are skipped"


class Machine:
    """A PATH with nothing on it but what the test puts there; programs note how they are called."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "bin"
        self.programs.mkdir()
        self.calls = folder / "calls"
        self.calls.touch()
        (folder / ".ci").mkdir()
        self.script = Path(shutil.copy(SCRIPT, folder / ".ci/run"))
        for name in ("bash", "dirname", "timeout"):
            (self.programs / name).symlink_to(shutil.which(name))
        self.add("python3")
        self.add("id", "echo 0")

    def add(self, name: str, body: str = "", code: int = 0) -> None:
        program = self.programs / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.calls}\n{body}\nexit {code}\n')
        program.chmod(0o755)

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.script], env={"PATH": str(self.programs)}, capture_output=True, text=True, check=True
        )

    def called(self, name: str) -> list[str]:
        calls = [line.partition(" ") for line in self.calls.read_text().splitlines()]
        return [arguments for program, _, arguments in calls if program == name]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def steps(machine: Machine) -> list[str]:
    """What was run, but for the second PostgreSQL, which not every machine has."""
    return [call for call in machine.called("python3") if "--ignore" not in call]


def test_what_is_there_is_not_installed(machine: Machine) -> None:
    for name in ("spin", "gcc", "pgbouncer", "promtool", "chromium", "apt-get"):
        machine.add(name)
    assert SKIPPED not in machine.run().stderr
    assert machine.called("apt-get") == []
    assert steps(machine) == STEPS


def test_what_is_missing_is_installed_in_silence(machine: Machine) -> None:
    machine.add("apt-get", "echo noise")
    done = machine.run()
    assert (done.stdout, done.stderr) == ("", "")
    calls = machine.called("apt-get")
    assert all(call.startswith("install ") for call in calls)
    assert [call.partition("--no-install-recommends ")[2] for call in calls] == [
        "spin gcc libc6-dev pgbouncer prometheus",
        "chromium",
    ]
    assert steps(machine) == STEPS


def test_stale_lists_of_packages_are_renewed(machine: Machine) -> None:
    machine.add(
        "apt-get", f'[ "$1" = update ] || [ "$(grep -c ^apt-get {machine.calls})" -ge 3 ] || exit 100'
    )
    (machine.programs / "grep").symlink_to(shutil.which("grep"))
    assert SKIPPED not in machine.run().stderr
    assert [call.split()[0] for call in machine.called("apt-get")] == [
        "install",
        "update",
        "install",
        "install",
    ]


@pytest.mark.parametrize("hindrance", ["no network", "no apt-get", "no root"])
def test_where_nothing_can_be_installed_that_is_said_and_the_rest_is_run(
    machine: Machine, hindrance: str
) -> None:
    if hindrance != "no apt-get":
        machine.add("apt-get", code=100 if hindrance == "no network" else 0)
    if hindrance == "no root":
        machine.add("id", "echo 1000")
    said = machine.run().stderr
    assert SKIPPED in said
    assert SKIPPED_BROWSER in said
    assert steps(machine) == STEPS
    if hindrance == "no root":
        assert machine.called("apt-get") == []

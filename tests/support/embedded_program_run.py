"""A program with embedded servers that is run: what belongs to it, and when all of that is gone."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import PATIENCE, wait_until

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests/support/embedded_program.py"


def started_at(pid: int) -> str | None:
    """When a process began, which tells it from a later one with its number; nothing once it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def descendants(pid: int) -> set[int]:
    """All processes below this one."""
    children = [int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if _parent(stat) == pid]
    return set(children).union(*(descendants(child) for child in children))


def _parent(stat: Path) -> int | None:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def shared_memory_segments() -> set[str]:
    """The System V segments of the machine, by their id."""
    return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


class Program:
    """The running program and its belongings."""

    def __init__(self, how: str, prefix: Sequence[str] = ()) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        self.process = subprocess.Popen(
            [*prefix, sys.executable, str(PROGRAM), how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=environment,
            cwd="/",
        )
        first_line = self.process.stdout.readline()
        if not first_line:
            pytest.fail(self.process.communicate()[1])
        self.facts: dict[str, Any] = json.loads(first_line)
        seen = {pid: started_at(pid) for pid in descendants(self.process.pid)}
        # A server's short-lived child may have ended between the two looks.
        self.services = {pid: begin for pid, begin in seen.items() if begin is not None}
        self.data = Path(self.facts["data"])
        self.directories = [self.data.parent, Path(self.facts["socket"])]
        lock_file = (self.data / "postmaster.pid").read_text().splitlines()
        self.postmaster = int(lock_file[0])
        self.segment = lock_file[6].split()[1]

    def let_go(self) -> int:
        """Let the program come to its end, and return how it ended."""
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode

    def signal_group(self, number: signal.Signals) -> None:
        """What a terminal does at Ctrl-C."""
        os.killpg(self.process.pid, number)

    def wait_until_nothing_is_left(self) -> None:
        wait_until(lambda: not self.leftovers(), "nothing is left")

    def leftovers(self) -> list[str]:
        """What still exists of it: processes, directories with the sockets in them, shared memory."""
        alive = [f"process {pid}" for pid, begin in self.services.items() if begin == started_at(pid)]
        directories = [str(path) for path in self.directories if path.exists()]
        segments = [f"segment {self.segment}"] if self.segment in shared_memory_segments() else []
        return alive + directories + segments

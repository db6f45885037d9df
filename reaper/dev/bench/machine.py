"""What the figures were measured on, and how much of it others used meanwhile."""

from __future__ import annotations

import os
import platform
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Machine:
    """The machine in the words of a report."""

    cpus: int
    model: str
    memory_gb: float
    system: str
    python: str

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        return (
            f"{self.cpus} CPUs ({self.model}), {self.memory_gb:.0f} GB, {self.system}, Python {self.python}"
        )


def describe() -> Machine:
    """This machine."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cpus=os.cpu_count() or 1,
        model=_model() or platform.machine(),
        memory_gb=round(pages / 2**30, 1),
        system=f"{platform.system()} {platform.release().partition('-')[0]}",
        python=platform.python_version(),
    )


def cpu_seconds(pid: int) -> float:
    """CPU time of a process, of the children it has waited for, and of all that live below it."""
    processes = {int(variant.name): _stat(int(variant.name)) for variant in PROC.glob("[0-9]*")}
    below: defaultdict[int, list[int]] = defaultdict(list)
    for child, fields in processes.items():
        if fields:
            below[int(fields[1])].append(child)
    return _family(pid, processes, below) / os.sysconf("SC_CLK_TCK")


def _family(pid: int, processes: Mapping[int, list[str]], below: Mapping[int, list[int]]) -> int:
    fields = processes.get(pid)
    own = sum(int(fields[number]) for number in (11, 12, 13, 14)) if fields else 0
    return own + sum(_family(child, processes, below) for child in below.get(pid, ()))


def busy_seconds() -> float:
    """CPU time that all processes of this machine used, with what its host took away; 0 if unknown."""
    try:
        first = (PROC / "stat").read_text().partition("\n")[0].split()
    except OSError:
        return 0.0
    user, nice, system, _idle, _waiting, irq, softirq, steal = (int(n) for n in first[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def parent_of(pid: int) -> int:
    """The process that started this one; 0 if unknown."""
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _stat(pid: int) -> list[str]:
    """The fields behind the name, which may itself contain spaces."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _model() -> str:
    try:
        lines = (PROC / "cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")

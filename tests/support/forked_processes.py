"""Processes forked from a clean one that has imported everything: a fresh interpreter takes seconds."""

import multiprocessing
import os
import signal
from contextlib import suppress
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.support.waiting import PATIENCE, wait_until

forks = multiprocessing.get_context("forkserver")
# Also pytest, since a forked process looks at the main program.
_preloaded = ["pytest"]


def preload(*modules: ModuleType) -> None:
    """Let that process import these; it starts with the first fork, when all tests have been collected."""
    _preloaded.extend(module.__name__ for module in modules)
    forks.set_forkserver_preload(_preloaded)


def fork(target: Any, *arguments: Any) -> ForkServerProcess:
    """A process that has begun."""
    process = forks.Process(target=target, args=arguments)
    process.start()
    return process


def ended(process: ForkServerProcess) -> int | None:
    """Wait for the end of a process; its exit code, negative for a signal."""
    process.join(PATIENCE)
    return process.exitcode


def terminated(process: ForkServerProcess) -> int | None:
    """Ask a process to stop; its exit code."""
    send(process, signal.SIGTERM)
    return ended(process)


def stopped(process: ForkServerProcess) -> None:
    """Wait until the process has stopped itself."""

    def is_stopped() -> bool:
        assert process.exitcode is None, f"ended with {process.exitcode} instead of stopping"
        return _state(process) == "T"

    wait_until(is_stopped, "the process stopped")


def continued(process: ForkServerProcess) -> None:
    """Let a stopped process go on."""
    send(process, signal.SIGCONT)


def send(process: ForkServerProcess, *numbers: signal.Signals) -> None:
    """Signals for a process, unless it has ended."""
    assert process.pid is not None
    if process.exitcode is None:
        for number in numbers:
            os.kill(process.pid, number)


def _state(process: ForkServerProcess) -> str | None:
    """One letter, as the kernel calls it; None when the process is gone."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return None

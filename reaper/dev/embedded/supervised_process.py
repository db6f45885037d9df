"""The parent's side of a supervised service: what to run, and the handle on it."""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO

from reaper.dev.embedded.errors import EmbeddedError

SUPERVISOR = Path(__file__).with_name("supervisor.py")
LOG_TAIL_BYTES = 20_000
POLL_SECONDS = 0.02


@dataclasses.dataclass(frozen=True)
class LaunchPlan:
    """What the supervisor does, in this order; `removals` are the trees that it takes away at the end."""

    serve: list[str]
    directories: list[str]
    removals: list[str]
    # One after the other, each with the seconds that it is given.
    stop_signals: list[tuple[int, float]] = dataclasses.field(
        default_factory=lambda: [(signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)]
    )
    prepare: list[list[str]] = dataclasses.field(default_factory=list)
    copies: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    uid: int | None = None
    gid: int | None = None
    environment: dict[str, str] = dataclasses.field(default_factory=dict)


class SupervisedProcess:
    """A running supervisor; the service ends when this process closes it, exits or is killed."""

    def __init__(self, name: str, plan: LaunchPlan) -> None:
        self.name = name
        # Nameless: there is nothing to remove, and it can be read after the supervisor has removed the rest.
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._last_words = ""
        self._owner_pid = os.getpid()
        self._supervisor = _start_supervisor(plan, self._log)
        self._release = weakref.finalize(
            self, _release, self._supervisor, self._log, plan.removals, self._owner_pid
        )

    def wait_until(self, ready: Callable[[], bool], timeout: float) -> None:
        """Return when `ready` says so; fail with the service's log when it dies first or takes too long."""
        deadline = time.monotonic() + timeout
        while not ready():
            if self._supervisor.poll() is not None:
                raise EmbeddedError(f"{self.name} did not start. Its log says:\n{self.log()}")
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"{self.name} was not ready after {timeout:g} s. Its log says:\n{self.log()}"
                )
            time.sleep(POLL_SECONDS)

    def log(self) -> str:
        """The last part of what the service wrote, also after its end."""
        if self._log.closed:
            return self._last_words
        # pread does not move the offset that the service's own descriptor shares with ours.
        size = os.fstat(self._log.fileno()).st_size
        start = max(0, size - LOG_TAIL_BYTES)
        return os.pread(self._log.fileno(), size - start, start).decode(errors="replace")

    def stop(self) -> None:
        """End the service and wait until its files are gone; a second call does nothing."""
        if self._release.alive and os.getpid() == self._owner_pid:
            _stop_supervisor(self._supervisor)
            self._last_words = self.log()
            self._release()


def _start_supervisor(plan: LaunchPlan, log: IO[bytes]) -> "subprocess.Popen[bytes]":
    document = json.dumps({**dataclasses.asdict(plan), "parent_pid": os.getpid()})
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(SUPERVISOR), document],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        cwd="/",
        start_new_session=True,
    )


def _stop_supervisor(supervisor: "subprocess.Popen[bytes]") -> None:
    if supervisor.stdin and not supervisor.stdin.closed:
        with contextlib.suppress(BrokenPipeError), supervisor.stdin:
            # A byte and not only the end: a fork of ours may hold the pipe open.
            supervisor.stdin.write(b"q")
    supervisor.wait()


def _release(
    supervisor: "subprocess.Popen[bytes]", log: IO[bytes], removals: list[str], owner_pid: int
) -> None:
    """Leave nothing behind; runs at the latest when the interpreter exits."""
    log.close()
    # A fork of the owner has this finalizer too, but the service is not its to stop.
    if os.getpid() != owner_pid:
        return
    _stop_supervisor(supervisor)
    # A supervisor that was killed could not clean up.
    if supervisor.returncode < 0:
        for path in removals:
            shutil.rmtree(path, ignore_errors=True)

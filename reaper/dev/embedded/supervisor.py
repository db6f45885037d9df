"""Runs one service as a child, ends it and removes its files when the process that asked for it is gone.

A program of its own (standard library only, its own session), so that neither a Ctrl-C in the terminal nor
a SIGKILL of the parent can reach it before its work is done. Standard input is a pipe from the parent: a byte
in it, or its end, means stop. The first argument is the plan, as JSON: `LaunchPlan` in supervised_process.py.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

ORPHAN_CHECK_SECONDS = 1.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
IPC_RMID = 0


class StopRequested(Exception):
    """The parent wants the service to end, or no longer exists."""


class Supervisor:
    """One service, from its directories to their removal."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.told_to_stop = False
        self.wakeup, wakeup_writer = os.pipe()
        os.set_blocking(wakeup_writer, False)
        signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _only_wake_up)
        signal.signal(signal.SIGTERM, self._on_sigterm)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def run(self) -> int:
        """Prepare, serve until told otherwise, clean up; the exit code is the service's own."""
        try:
            return self._prepare_and_serve()
        except StopRequested:
            return 0
        finally:
            remove_shared_memory(self.plan["removals"])
            for path in self.plan["removals"]:
                shutil.rmtree(path, ignore_errors=True)

    def _prepare_and_serve(self) -> int:
        for path in self.plan["directories"]:
            os.mkdir(path, 0o700)
            self._give_to_service(path)
        for source, target in self.plan["copies"]:
            self._copy(source, target)
        for command in self.plan["prepare"]:
            code = self._run_to_end(command)
            if code != 0:
                return code
        return self._run_to_end(self.plan["serve"])

    def _copy(self, source: str, target: str) -> None:
        shutil.copytree(source, target, symlinks=True)
        for folder, _, files in os.walk(target):
            self._give_to_service(folder)
            for name in files:
                self._give_to_service(os.path.join(folder, name))

    def _give_to_service(self, path: str) -> None:
        if self.plan["uid"] is not None:
            os.chown(path, self.plan["uid"], self.plan["gid"], follow_symlinks=False)

    def _run_to_end(self, command: Sequence[str]) -> int:
        """Wait for the command; a request to stop ends it and is then passed on."""
        child = self._start(command)
        try:
            while child.poll() is None:
                self._wait_for_news()
            return child.returncode
        finally:
            self._end(child)

    def _start(self, command: Sequence[str]) -> "subprocess.Popen[bytes]":
        drop = self.plan["uid"] is not None
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            cwd="/",
            env=self.plan["environment"],
            user=self.plan["uid"],
            group=self.plan["gid"],
            extra_groups=[] if drop else None,
            process_group=0,
            preexec_fn=self._in_child,
        )

    def _in_child(self) -> None:
        """Undo what exec would inherit from us, and ask for a signal when we die."""
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        if sys.platform == "linux":
            # Here and not earlier: a change of user, which has happened by now, clears the request.
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, self.plan["stop_signals"][0][0], 0, 0, 0)

    def _wait_for_news(self) -> None:
        """Return when a child may have changed, raise when the parent wants an end."""
        ready, _, _ = select.select([sys.stdin, self.wakeup], [], [], ORPHAN_CHECK_SECONDS)
        if self.wakeup in ready:
            os.read(self.wakeup, 4096)
        # A fork of the parent may hold the pipe open after the parent is gone: its pid tells as well.
        if sys.stdin in ready or self.told_to_stop or os.getppid() != self.plan["parent_pid"]:
            raise StopRequested

    def _end(self, child: "subprocess.Popen[bytes]") -> None:
        """Ask politely, then less so; nothing that it started survives."""
        for number, seconds in self.plan["stop_signals"]:
            if child.poll() is None:
                child.send_signal(number)
                _wait(child, seconds)
        child.wait()
        _kill_group(child.pid)
        kill_adopted_children()

    def _on_sigterm(self, _signal: int, _frame: FrameType | None) -> None:
        self.told_to_stop = True


def _only_wake_up(_signal: int, _frame: FrameType | None) -> None:
    """A handler must exist, or the signal would not reach the wake-up pipe."""


def _wait(child: "subprocess.Popen[bytes]", seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(seconds)


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of what a killed service leaves behind; backends have sessions of their own."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_adopted_children() -> None:
    """Kill and reap until no child is left; a child of a child comes to us when its parent is gone."""
    while True:
        for pid in _children():
            os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []


def remove_shared_memory(directories: Sequence[str]) -> None:
    """Free the System V segment of a PostgreSQL that did not shut down: its lock file names it."""
    for lock_file in (Path(directory, "data/postmaster.pid") for directory in directories):
        try:
            segment = int(lock_file.read_text().splitlines()[6].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        ctypes.CDLL(None).shmctl(segment, IPC_RMID, None)


if __name__ == "__main__":
    adopt_orphans()
    sys.exit(Supervisor(json.loads(sys.argv[1])).run())

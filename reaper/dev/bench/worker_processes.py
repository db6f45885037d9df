"""Runs a method in processes of its own, started and connected before the clock starts."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection as Pipe
from multiprocessing.process import BaseProcess

from reaper.dev.bench.method import Method, Work
from reaper.dev.bench.server_addresses import Addresses
from reaper.errors import ReaperError

READY_TIMEOUT = 60.0
RUN_TIMEOUT = 3600.0


class WorkerProcessError(ReaperError):
    """A process of a method failed; the message is what it said."""


class WorkerProcesses:
    """The processes of one method, waiting for the start."""

    def __init__(self, pipes: list[Pipe]) -> None:
        self._pipes = pipes

    def go(self) -> list[Work]:
        """Start them together and wait until the last has ended."""
        for pipe in self._pipes:
            pipe.send("go")
        return [_answer(pipe, RUN_TIMEOUT) for pipe in self._pipes]


@contextmanager
def started_processes(method: Method, processes: int, addresses: Addresses) -> Iterator[WorkerProcesses]:
    """So many processes that are ready; none of them is left afterwards."""
    context = multiprocessing.get_context("spawn")
    with ExitStack() as opened:
        pipes: list[Pipe] = []
        for _ in range(processes):
            ours, theirs = context.Pipe()
            opened.callback(ours.close)
            process = context.Process(target=_serve, args=(method, addresses, theirs), daemon=True)
            process.start()
            theirs.close()
            opened.callback(_end, process)
            pipes.append(ours)
        for pipe in pipes:
            _answer(pipe, READY_TIMEOUT)
        yield WorkerProcesses(pipes)


def _serve(method: Method, addresses: Addresses, pipe: Pipe) -> None:
    """The child: get ready, wait for the start, work, hand in."""
    # Ctrl-C reaches the whole terminal; the parent decides what becomes of us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The .env and reaper.toml of the user must not be found here.
    os.chdir("/")
    try:
        with method.ready(addresses) as go:
            pipe.send(Work(0))
            pipe.recv()
            began = time.process_time()
            work = go()
            pipe.send(replace(work, cpu_seconds=time.process_time() - began))
            # Its connections stay until the meters are read: a backend that is just ending is easily missed.
            pipe.recv()
    except EOFError:
        return
    except Exception as error:  # noqa: BLE001 - it is told to the parent, in whatever form
        pipe.send(f"{method.name}: {type(error).__name__}: {error}")


def _answer(pipe: Pipe, seconds: float) -> Work:
    if not pipe.poll(seconds):
        raise WorkerProcessError(f"no answer for {seconds:g} s")
    try:
        answer = pipe.recv()
    except EOFError:
        raise WorkerProcessError("a process ended without an answer") from None
    if not isinstance(answer, Work):
        raise WorkerProcessError(str(answer))
    return answer


def _end(process: BaseProcess) -> None:
    process.terminate()
    process.join()

"""Runs a contestant in processes of its own, started and connected before the clock starts."""

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

from reaper.dev.bench.contestant import Contestant, Work
from reaper.dev.bench.place import Place
from reaper.errors import ReaperError

READY_TIMEOUT = 60.0
RUN_TIMEOUT = 3600.0


class TeamError(ReaperError):
    """A process of a contestant failed; the message is what it said."""


class Team:
    """The processes of one contestant, waiting for the start."""

    def __init__(self, pipes: list[Pipe]) -> None:
        self._pipes = pipes

    def go(self) -> list[Work]:
        """Start them together and wait until the last has ended."""
        for pipe in self._pipes:
            pipe.send("go")
        return [_answer(pipe, RUN_TIMEOUT) for pipe in self._pipes]


@contextmanager
def assembled(contestant: Contestant, processes: int, place: Place) -> Iterator[Team]:
    """So many processes that are ready; none of them is left afterwards."""
    context = multiprocessing.get_context("spawn")
    with ExitStack() as opened:
        pipes: list[Pipe] = []
        for _ in range(processes):
            ours, theirs = context.Pipe()
            opened.callback(ours.close)
            process = context.Process(target=_serve, args=(contestant, place, theirs), daemon=True)
            process.start()
            theirs.close()
            opened.callback(_end, process)
            pipes.append(ours)
        for pipe in pipes:
            _answer(pipe, READY_TIMEOUT)
        yield Team(pipes)


def _serve(contestant: Contestant, place: Place, pipe: Pipe) -> None:
    """The child: get ready, wait for the start, work, hand in."""
    # Ctrl-C reaches the whole terminal; the parent decides what becomes of us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # No .env and no reaper.toml of whoever runs the benchmark is to be found here.
    os.chdir("/")
    try:
        with contestant.ready(place) as go:
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
        pipe.send(f"{contestant.name}: {type(error).__name__}: {error}")


def _answer(pipe: Pipe, seconds: float) -> Work:
    if not pipe.poll(seconds):
        raise TeamError(f"no answer for {seconds:g} s")
    try:
        answer = pipe.recv()
    except EOFError:
        raise TeamError("a process ended without a word") from None
    if not isinstance(answer, Work):
        raise TeamError(str(answer))
    return answer


def _end(process: BaseProcess) -> None:
    process.terminate()
    process.join()

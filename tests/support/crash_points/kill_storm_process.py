"""A process that forks drains and writers, and kills them at any moment, many times a second."""

import gc
import os
import select
import signal
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from random import Random
from typing import NoReturn

from reaper.app import App
from reaper.cache.none import NoCache, NoClaimLock
from tests.support.captured_logs import silence_logs
from tests.support.replaced_parts import make_app
from tests.support.wiring import Wiring

WORKERS = 4
# Seconds that a worker has, on average, from when it is at work; one in ten is killed before that.
LIFE = 0.02
EARLY, BIRTH = 0.1, 0.01
# So many of them write what the others delete.
WRITERS = 0.2
# A paste that lives longer than any storm, and one that is due as soon as somebody looks.
LONG, MOMENT = timedelta(hours=1), timedelta(milliseconds=20)


def main(wiring: Wiring, contents: list[bytes], seed: int, parent: Connection) -> None:
    """Fork and kill until told to stop; whoever was killed is told at once, so that others find out soon."""
    silence_logs()
    # What is shared with the children is not looked at again: it would be copied for each.
    gc.freeze()
    gc.disable()
    settings, buckets = wiring.settings(), wiring.buckets()
    # As little as is needed: no circuits, no Redis.
    parts = {"buckets": buckets, "stores": buckets, "cache": NoCache(), "claim_lock": NoClaimLock()}
    KillLoop(lambda: make_app(settings, **parts), contents, Random(seed)).run(parent)


class KillLoop:
    """Its workers, and when each is to die; None until it is at work."""

    def __init__(self, make_app: Callable[[], App], contents: list[bytes], chance: Random) -> None:
        self._make_app = make_app
        self._contents = contents
        self._chance = chance
        self._ends: dict[int, float | None] = {}
        self._dying: set[int] = set()
        self._hatched, self._call = os.pipe()

    def run(self, parent: Connection) -> None:
        """Until the parent says a word, or is gone; nobody outlives the loop."""
        try:
            while not parent.poll():
                while len(self._ends) < WORKERS:
                    self._hatch()
                self._listen()
                parent.send((self._kill_overdue(), False))
                self._bury(os.WNOHANG)
        finally:
            last = list(self._ends)
            self._kill(last)
        self._bury(0)
        parent.send((last, True))

    def _hatch(self) -> None:
        writes = self._chance.random() < WRITERS
        seed = self._chance.random()
        pid = os.fork()
        if pid == 0:
            self._live(lambda: self._write(Random(seed)) if writes else self._drain())
        early = self._chance.random() < EARLY
        self._ends[pid] = time.monotonic() + self._chance.uniform(0, BIRTH) if early else None

    def _listen(self) -> None:
        """Wait until a worker is at work, or the next is to die."""
        now = time.monotonic()
        ends = [end for end in self._ends.values() if end is not None]
        ready, _, _ = select.select([self._hatched], [], [], max(0.0, min(ends, default=now + 1) - now))
        if ready:
            pid = int.from_bytes(os.read(self._hatched, 4))
            if self._ends.get(pid, 0) is None:
                self._ends[pid] = now + self._chance.expovariate(1 / LIFE)

    def _kill_overdue(self) -> list[int]:
        now = time.monotonic()
        overdue = [pid for pid, end in self._ends.items() if end is not None and end <= now]
        self._kill(overdue)
        return overdue

    def _kill(self, pids: list[int]) -> None:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            del self._ends[pid]
            self._dying.add(pid)

    def _bury(self, options: int) -> None:
        """Take note of those who are gone by now; to die takes its time, and others are killed meanwhile."""
        for pid in list(self._dying):
            gone, status = os.waitpid(pid, options)
            if gone:
                assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, "a worker ended by itself"
                self._dying.remove(pid)

    def _live(self, act: Callable[[], None]) -> NoReturn:
        """Whoever is not killed has failed."""
        try:
            act()
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            os._exit(1)

    def _drain(self) -> None:
        """Drain without end; connected beforehand, so that there is more to be killed at."""
        app = self._make_app()
        session = app.session("drain:0")
        session.call(lambda q: q.heartbeat(app.worker))
        app.settler.open()
        self._at_work()
        lane = app.lane(session, app.stop)
        while True:
            app.settler.adopt(session.call, app.stop)
            lane.drain()

    def _write(self, chance: Random) -> None:
        """Put the same contents without end."""
        store = self._make_app().store()
        self._at_work()
        while True:
            store.put(chance.choice(self._contents), chance.choice([LONG, MOMENT]))

    def _at_work(self) -> None:
        os.write(self._call, os.getpid().to_bytes(4))

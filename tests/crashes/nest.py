"""A nest of workers: a process that forks drains and kills them at any moment, many times a second."""

import gc
import os
import select
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from reaper import config
from reaper.adapters.nothing import NoCache, NoLock
from reaper.app import App
from reaper.config import Settings
from tests.races.folder import Folder

WORKERS = 4
# Seconds that a worker has, on average, from when it is at work; one in ten is killed before that.
LIFE = 0.02
EARLY, BIRTH = 0.1, 0.01


def main(variables: dict[str, str], folder: str, seed: int, parent: Connection) -> None:
    """Fork and kill until told to stop; whoever was killed is told at once, so that others find out soon."""
    os.environ.update(variables)
    # What is shared with the children is not looked at again: it would be copied for each.
    gc.freeze()
    gc.disable()
    Nest(config.load_all("database_url", config.BACKENDS), folder, Random(seed)).run(parent)


class Nest:
    """Its workers, and when each is to die; None until it is at work."""

    def __init__(self, settings: Settings, folder: str, chance: Random) -> None:
        self._settings = settings
        self._folder = folder
        self._chance = chance
        self._ends: dict[int, float | None] = {}
        self._hatched, self._call = os.pipe()

    def run(self, parent: Connection) -> None:
        """Until the parent says a word."""
        while not parent.poll():
            while len(self._ends) < WORKERS:
                self._hatch()
            self._listen()
            if killed := self._kill_overdue():
                parent.send((killed, False))
        for pid in self._ends:
            _kill(pid)
        parent.send((list(self._ends), True))

    def _hatch(self) -> None:
        pid = os.fork()
        if pid == 0:
            self._work()
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
        for pid in overdue:
            _kill(pid)
            del self._ends[pid]
        return overdue

    def _work(self) -> None:
        """Drain without end, on a single connection: less to set up, and more to be killed at."""
        app = App(self._settings)
        buckets = {"default": Folder(Path(self._folder) / "default")}
        app.__dict__.update(buckets=buckets, stores=buckets, cache=NoCache(), claim_lock=NoLock())
        session = app.session("drain:0")
        session.call(lambda q: q.heartbeat(app.worker))
        os.write(self._call, os.getpid().to_bytes(4))
        lane = app.lane(session, app.stop)
        while True:
            lane.adopt()
            lane.drain()


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, "a worker ended before it was killed"

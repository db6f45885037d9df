"""Creators and workers in processes of their own, somebody who kills workers, and a judge."""

import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import cycle
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import psycopg

from reaper.services import watchdog
from tests.support.forked_processes import preload, send
from tests.support.races import processes
from tests.support.service_ticks import context
from tests.support.waiting import PATIENCE
from tests.support.wiring import Wiring
from tests.support.world import World

CREATORS, THREADS_EACH = 8, 2
WORKERS = 4
CONTENTS = 10

# One that has only just begun does not yet know what a signal means.
ENDS = (0, -signal.SIGKILL, -signal.SIGTERM)
OF_PROCESS = "split_part(worker, ':', 2) = %s"
IS_AT_WORK = f"select exists (select from reaper.workers where {OF_PROCESS})"
HOLDS_A_BATCH = f"select exists (select from reaper.batches where {OF_PROCESS})"
HOLDS_NOTHING = f"select not exists (select from reaper.batches where {OF_PROCESS})"
# Its heartbeat is as old as it will be soon.
SILENT = f"update reaper.workers set beat_at = beat_at - interval '1 hour' where {OF_PROCESS}"

Connection = psycopg.Connection[Any]

preload(processes)


@dataclass
class RaceWorld(World):
    """A world in which the same few contents are created and expire at the same time."""

    workers: list[ForkServerProcess] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    claim_modes: Iterator[str] = field(default_factory=lambda: cycle(["mark"]))

    @property
    def racing(self) -> Wiring:
        """Without Redis: no lock keeps claims apart, and every read asks for the object."""
        variables = {n: v for n, v in self.variables.items() if n != "REAPER_REDIS_URL"}
        return Wiring({**variables, "REAPER_BATCH_SIZE": "50"}, self.wiring.folders)

    def race(
        self, seconds: float, seed: int, killing: bool = False, claim_modes: Sequence[str] = ("mark",)
    ) -> None:
        """Let all run for so long; then nobody runs any more, and what they left is as they left it.

        Each worker that is killed is followed by one that finds another claim mode, if there are several.
        """
        self.claim_modes = cycle(claim_modes)
        self.set_claim_mode(next(self.claim_modes))
        with self._working(), self._watched(), self._killing(seed) if killing else nullcontext():
            self._create(seconds, seed)

    def _create(self, seconds: float, seed: int) -> None:
        reports = [str(self.folder / f"creators-{n}.json") for n in range(CREATORS // THREADS_EACH)]
        creators = [
            self.fork(processes.create, self.racing, CONTENTS, THREADS_EACH, seconds, seed + 100 * n, report)
            for n, report in enumerate(reports)
        ]
        for creator in creators:
            creator.join(seconds + PATIENCE)
            assert creator.exitcode == 0, f"a creator ended with {creator.exitcode}"
        for report in reports:
            told = json.loads(Path(report).read_text())
            self.seen.update(told["seen"])
            self.unreadable += told["unreadable"]

    @contextmanager
    def _working(self) -> Iterator[None]:
        self.workers = [self._worker() for _ in range(WORKERS)]
        try:
            with psycopg.connect(self.dsn, autocommit=True) as connection:
                for worker in self.workers:
                    _until(connection, IS_AT_WORK, worker, threading.Event())
            yield
        finally:
            for worker in self.workers:
                send(worker, signal.SIGCONT, signal.SIGTERM)
            for worker in self.workers:
                worker.join(PATIENCE)
                assert worker.exitcode in ENDS, f"a worker ended with {worker.exitcode}"

    def _worker(self) -> ForkServerProcess:
        return self.fork(processes.work, self.racing)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """A watchdog that looks all the time."""
        over = threading.Event()

        def watch() -> None:
            with self.app() as app, app.heartbeat():
                looking = context(app, "watchdog:0")
                while not over.wait(0.2):
                    watchdog.tick(looking)

        with beside(watch, over):
            yield

    @contextmanager
    def _killing(self, seed: int) -> Iterator[None]:
        """Somebody kills workers and replaces them, or stops them until others have taken what they held."""
        over = threading.Event()
        chance = random.Random(seed)

        def kill() -> None:
            with psycopg.connect(self.dsn, autocommit=True) as connection:
                while not over.wait(chance.uniform(0.0, 0.5)):
                    number = chance.randrange(len(self.workers))
                    _until(connection, HOLDS_A_BATCH, self.workers[number], over, patience=1.0)
                    if chance.random() < 0.3:
                        self._stop_for_a_while(connection, self.workers[number], over)
                    else:
                        self.workers[number] = self._replaced(connection, self.workers[number], over)

        with beside(kill, over):
            yield

    def _stop_for_a_while(
        self, connection: Connection, worker: ForkServerProcess, over: threading.Event
    ) -> None:
        send(worker, signal.SIGSTOP)
        connection.execute(SILENT, [str(worker.pid)])
        _until(connection, HOLDS_NOTHING, worker, over)
        send(worker, signal.SIGCONT)
        self.seen["workers stopped"] += 1

    def _replaced(
        self, connection: Connection, worker: ForkServerProcess, over: threading.Event
    ) -> ForkServerProcess:
        send(worker, signal.SIGKILL)
        worker.join(PATIENCE)
        connection.execute(SILENT, [str(worker.pid)])
        self.seen["workers killed"] += 1
        connection.execute("update reaper.settings set claim_mode = %s", [next(self.claim_modes)])
        another = self._worker()
        # The others get on meanwhile: one at a time is down.
        _until(connection, IS_AT_WORK, another, over)
        return another

    def figures(self) -> str:
        """What happened, in one line."""
        self.seen["contents that died"] = self.value(
            "select coalesce(sum(objects_deleted + objects_failed), 0) from reaper.runs"
        )
        self.seen["pastes collected"] = self.value("select coalesce(sum(rows_deleted), 0) from reaper.runs")
        self.seen["zombies refused"] = self.value("select refusals from reaper.health")
        return ", ".join(f"{count:,} {what}" for what, count in sorted(self.seen.items()))

    def judge_race(self) -> None:
        """Nobody met a live paste without its bytes, and once all has settled only what lives is left."""
        assert self.unreadable == []
        assert self.sql("select * from reaper.check_invariants()") == []
        # A worker may have been killed after the last look at who is dead.
        self.outlive()
        with self.opened() as (store, _):
            kept = {
                store.put(processes.content(n), None).short_code: processes.content(n)
                for n in range(CONTENTS // 2)
            }
            self.settle()
            for code, data in kept.items():
                paste = store.get(code)
                assert paste is not None
                assert paste.data == data
        assert self.value("select count(*) from reaper.drift") == 0
        assert self.value("select count(*) from reaper.cleanup_dlq") == 0
        assert (
            self.value("select count(*) from pastes")
            == len(kept)
            == self.value("select count(*) from content")
        )
        assert len(self.keys()) == len(kept)
        used, orphan, reserved = self.sql(
            "select bytes_used, orphan_bytes, reserved_bytes from reaper.backends"
        )[0]
        assert (used, orphan, reserved) == (sum(map(len, kept.values())), 0, 0)


@contextmanager
def beside(target: Callable[[], None], over: threading.Event) -> Iterator[None]:
    """Run something in a thread until the block ends; its error is raised then."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            target()
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failed:
        raise failed[0]


def _until(
    connection: Connection,
    condition: str,
    worker: ForkServerProcess,
    over: threading.Event,
    patience: float = PATIENCE,
) -> None:
    """Wait until something is true of a worker, all is over, or patience is at its end."""
    deadline = time.monotonic() + patience
    while not over.is_set() and time.monotonic() < deadline:
        row = connection.execute(condition, [str(worker.pid)]).fetchone()
        if row and row[0]:
            return
        over.wait(0.01)

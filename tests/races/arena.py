"""Creators and workers in processes of their own, somebody who kills workers, and a judge."""

import json
import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from reaper.app import App
from tests.drain import doomed
from tests.drain.world import DEADLINE, forks
from tests.races import hands
from tests.races.folder import Folder
from tests.store.shop import Shop

CREATORS, THREADS_EACH = 8, 2
WORKERS = 4
CONTENTS = 10

forks.set_forkserver_preload([doomed.__name__, hands.__name__])


@dataclass
class Arena(Shop):
    """A world in which the same few contents are created and expire at the same time."""

    folder: str | None = None
    reports: Path = Path()
    workers: list[ForkServerProcess] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)

    def app(self, **given: object) -> App:
        """An App in this process."""
        app = super().app(**given)
        if self.folder:
            app.__dict__["buckets"] = {"default": Folder(Path(self.folder))}
        return app

    def keys(self) -> set[str]:
        """What really lies in the bucket."""
        return Folder(Path(self.folder)).keys() if self.folder else super().keys()

    def race(self, seconds: float, seed: int, killing: bool = False) -> None:
        """Let all run for so long; then nobody runs any more, and what they left is as they left it."""
        with self._working(), self._watched(), self._killing(seed) if killing else _nobody():
            self._create(seconds, seed)

    def _create(self, seconds: float, seed: int) -> None:
        variables = {**self.variables, "RACE_CONTENTS": str(CONTENTS)}
        reports = [str(self.reports / f"creators-{n}.json") for n in range(CREATORS // THREADS_EACH)]
        creators = [
            forks.Process(
                target=hands.create,
                args=(variables, self.folder, THREADS_EACH, seconds, seed + 100 * n, report),
            )
            for n, report in enumerate(reports)
        ]
        for creator in creators:
            creator.start()
        for creator in creators:
            creator.join(seconds + DEADLINE)
            assert creator.exitcode == 0, f"a creator ended with {creator.exitcode}"
        for report in reports:
            told = json.loads(Path(report).read_text())
            self.seen.update(told["seen"])
            self.unreadable += told["unreadable"]

    @contextmanager
    def _working(self) -> Iterator[None]:
        self.workers = [self._worker() for _ in range(WORKERS)]
        try:
            yield
        finally:
            for worker in self.workers:
                _signal(worker, signal.SIGCONT, signal.SIGTERM)
            for worker in self.workers:
                worker.join(DEADLINE)
                assert worker.exitcode in (0, -signal.SIGKILL), f"a worker ended with {worker.exitcode}"

    def _worker(self) -> ForkServerProcess:
        variables = {**self.variables, "REAPER_BATCH_SIZE": "50"}
        worker = forks.Process(target=hands.work, args=(variables, self.folder))
        worker.start()
        return worker

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """A watchdog that looks all the time."""
        over = threading.Event()

        def watch() -> None:
            with self.app() as app, app.pulse():
                dog = app.watchdog()
                while not over.wait(0.2):
                    dog.tick()

        with _beside(watch, over):
            yield

    @contextmanager
    def _killing(self, seed: int) -> Iterator[None]:
        """Somebody kills workers and replaces them, or stops them until others have taken what they held."""
        over = threading.Event()
        chance = random.Random(seed)

        def kill() -> None:
            while not over.wait(chance.uniform(0.05, 0.6)):
                number = chance.randrange(len(self.workers))
                worker = self.workers[number]
                if chance.random() < 0.3:
                    _signal(worker, signal.SIGSTOP)
                    self._call_silent(worker)
                    over.wait(chance.uniform(0.3, 1.0))
                    _signal(worker, signal.SIGCONT)
                    self.seen["workers stopped"] += 1
                else:
                    _signal(worker, signal.SIGKILL)
                    worker.join(DEADLINE)
                    self._call_silent(worker)
                    self.workers[number] = self._worker()
                    self.seen["workers killed"] += 1

        with _beside(kill, over):
            yield

    def _call_silent(self, worker: ForkServerProcess) -> None:
        """Let its heartbeat be as old as it will be in a minute."""
        self.sql(
            "update reaper.workers set beat_at = beat_at - interval '1 hour'"
            " where split_part(worker, ':', 2) = %s",
            str(worker.pid),
        )

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
        with self.opened() as (store, _):
            kept = {
                store.put(hands.content(n), None).short_code: hands.content(n) for n in range(CONTENTS // 2)
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
def folder() -> Iterator[str]:
    """A folder in memory, where there is one."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="reaper-race-", dir=place) as path:
        yield path


@contextmanager
def _beside(target: object, over: threading.Event) -> Iterator[None]:
    """Run something in a thread until the block ends; its error is raised then."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            target()  # type: ignore[operator]
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


@contextmanager
def _nobody() -> Iterator[None]:
    yield


def _signal(process: ForkServerProcess, *numbers: signal.Signals) -> None:
    assert process.pid is not None
    if process.exitcode is None:
        for number in numbers:
            os.kill(process.pid, number)


def seconds(default: float) -> float:
    """How long a race lasts; REAPER_RACE_SECONDS=300 is the long form."""
    return float(os.environ.get("REAPER_RACE_SECONDS", default))


def seed() -> int:
    """What all chances come from."""
    return int(os.environ.get("REAPER_SEED", time.time_ns() % 1_000_000))

"""Creators, readers, workers and a watchdog in threads of this process, who write down what they were told.

    with Traffic(world, seed).flowing():
        ...                                # servers die and come back
    world.judge()

A worker outlives all faults: what it raises is raised at the end. A creator is told of them, and
then does not know whether what it asked for has happened.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from reaper.app import App
from reaper.errors import ContentLost, ReaperError
from reaper.queries import Ask
from reaper.services import watchdog
from reaper.store.store import Store
from tests.support.faults.world import FaultWorld
from tests.support.service_ticks import context
from tests.support.waiting import wait_until

CONTENTS = 12
# How many pastes a creator keeps alive, to read them and to lose.
KEPT = 20


def content(number: int) -> bytes:
    """The bytes of a content."""
    return b"content %d, " % number * (number + 1)


@dataclass
class Traffic:
    """One run; `seen` counts what its members did."""

    world: FaultWorld
    seed: int
    workers: int = 2
    creators: int = 2
    seen: Counter[str] = field(default_factory=Counter)
    over: threading.Event = field(default_factory=threading.Event)
    # What is begun while this is set may be forgotten by everybody, although it is acknowledged.
    in_vain: bool = False
    _creators: list["Creator"] = field(default_factory=list)
    _connected: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """Let them go on until the block ends; then all have come to an end."""
        members: list[Callable[[], None]] = [self._work] * self.workers + [self._watch]
        self._creators += [Creator(self, f"{self.seed}.{n}") for n in range(self.creators)]
        members += [creator.run for creator in self._creators]
        with ThreadPoolExecutor(len(members)) as pool:
            running = [pool.submit(member) for member in members]
            try:
                # Who was never connected takes a server that is down for a wrong address, and gives up.
                self._await_connections(running)
                yield
            finally:
                self.over.set()
            for member in running:
                member.result()

    def _await_connections(self, members: list[Future[None]]) -> None:
        for _ in range(self.workers + 1):
            wait_until(
                lambda: self._connected.acquire(blocking=False) or any(m.done() for m in members),
                "all are connected",
            )
        for member in members:
            if member.done():
                member.result()

    def work_goes_on(self, puts: int = 10) -> None:
        """Return when so much has been put since."""
        before = self.seen["puts"]
        wait_until(lambda: self.seen["puts"] >= before + puts, "puts", lambda: str(dict(self.seen)))

    @contextmanager
    def creators_pausing(self) -> Iterator[None]:
        """Nobody creates, reads or deletes meanwhile; workers go on."""
        with ExitStack() as held:
            for creator in self._creators:
                held.enter_context(creator.busy)
            yield

    @contextmanager
    def app(self) -> Iterator[App]:
        """An App that is told to stop when all is over."""
        with self.world.app(batch_size=10, parts={"stop": self.over}) as app:
            yield app

    def _work(self) -> None:
        with self.app() as app, app.heartbeat():
            lane = app.lane(app.session("drain:0"), app.stop)
            self._is_connected(lane.session.call)
            while not self.over.wait(0.002):
                lane.run()
            lost = app.telemetry.registry.get_sample_value("reaper_claims_lost_total")
            self.seen["claims undone"] += int(lost or 0)

    def _watch(self) -> None:
        with self.app() as app, app.heartbeat():
            looking = context(app, "watchdog:0")
            self._is_connected(looking.ask)
            while not self.over.wait(0.1):
                watchdog.tick(looking)

    def _is_connected(self, ask: Ask) -> None:
        ask(lambda q: q.now())
        self._connected.release()


class Creator:
    """Puts few contents under codes of its own, reads, extends and deletes what it put."""

    def __init__(self, traffic: Traffic, name: str) -> None:
        self._traffic = traffic
        self._log = traffic.world.log
        self._chance = random.Random(name)
        self._name = name
        self._number = 0
        self._mine: dict[str, bytes] = {}
        self._in_vain = False
        self.busy = threading.Lock()

    def run(self) -> None:
        """Go on until all is over."""
        with self._traffic.app() as app:
            store = app.store()
            while not self._traffic.over.is_set():
                try:
                    with self.busy:
                        self._in_vain = self._traffic.in_vain
                        self._act(store)
                except ContentLost as error:
                    self._log.wrong.append(str(error))
                except ReaperError:
                    self._traffic.seen["creators turned away"] += 1
                    time.sleep(0.02)

    def _act(self, store: Store) -> None:
        drawn = self._chance.random()
        if drawn < 0.5 or not self._mine:
            self._put(store, None if len(self._mine) < KEPT and drawn < 0.2 else self._moment())
            return
        code = self._chance.choice(sorted(self._mine))
        if drawn < 0.75:
            self._read(store, code)
        elif drawn < 0.9:
            self._delete(store, code)
        else:
            self._extend(store, code)

    def _moment(self) -> timedelta:
        return timedelta(milliseconds=self._chance.randint(5, 200))

    def _put(self, store: Store, life: timedelta | None) -> None:
        self._number += 1
        code, data = f"{self._name}.{self._number}", content(self._chance.randrange(CONTENTS))
        with self._told(code, data):
            stored = store.put(data, life, code)
            self._traffic.seen["puts"] += 1
            self._log.created(code, data, stored.expires_at)
            if life is None:
                self._mine[code] = data

    def _read(self, store: Store, code: str) -> None:
        paste = store.get(code)
        self._traffic.seen["reads"] += 1
        if paste is None or paste.data != self._mine[code]:
            self._log.wrong.append(f"paste {code} lived and was not read")

    def _delete(self, store: Store, code: str) -> None:
        del self._mine[code]
        with self._told(code):
            store.delete(code)
            self._log.ended(code)

    def _extend(self, store: Store, code: str) -> None:
        """An extension that nobody was told of leaves a paste that lives for ever, or only for long."""
        with self._told(code):
            if not store.extend(code, None):
                self._log.wrong.append(f"paste {code} lived and could not be extended")

    @contextmanager
    def _told(self, code: str, data: bytes | None = None) -> Iterator[None]:
        """Who was not told how it ended, or was told in vain, knows nothing of the paste any more."""
        known = False
        try:
            yield
            known = not self._in_vain
        finally:
            if not known:
                self._mine.pop(code, None)
                self._log.over.discard(code)
                self._log.doubt(code, data)

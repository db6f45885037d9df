"""Backends that die, come back, storm and fill up, while everything is to have two copies."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from reaper.app import App
from reaper.errors import ReaperError
from reaper.services import breaker_watchdog
from tests.support.copies_world import NAMES, CopiesWorld
from tests.support.ordeals import Ordeal
from tests.support.s3_double.served_bucket import buckets_behind_proxies
from tests.support.s3_double.server import FaultRates, RandomFaults, ScriptedS3
from tests.support.service_ticks import context
from tests.support.two_backends import TwoBackends

STORM = FaultRates(busy=0.2, lost=0.05, cut=0.05)


@dataclass
class Scattered(TwoBackends, CopiesWorld):
    """Three buckets of one server, of which each can be cut off alone."""

    def die(self, backend: str, app: App) -> None:
        """Nobody answers there, and the circuits know it."""
        self.cut(backend)
        for _ in range(5):
            with pytest.raises(ReaperError):
                app.stores[backend].find(["any"])
        assert self.circuit(backend) == "open"

    def revive(self, backend: str, app: App) -> None:
        """It answers again, and a probe finds that out."""
        self.mend(backend)
        self.advance_clock("1 hour")
        breaker_watchdog.tick(context(app, "breaker:0"))
        assert self.circuit(backend) == "closed"


@pytest.fixture
def scattered(dsn: str, s3_double: ScriptedS3, scratch: Path) -> Iterator[Scattered]:
    """Two copies of everything."""
    with (
        buckets_behind_proxies(s3_double, *NAMES) as buckets,
        Scattered(dsn, "", {**buckets}, scratch) as world,
    ):
        world.register()
        world.set(replication_factor=2)
        yield world


@contextmanager
def reading(world: Scattered, app: App) -> Iterator[None]:
    """Somebody reads everything all the time."""
    store, over = app.store(), threading.Event()

    def read() -> None:
        while not over.is_set():
            for code, known in world.log.pastes.items():
                paste = store.get(code)
                if paste is None or paste.data != known.data:
                    world.log.wrong.append(f"paste {code} was read as {paste}")

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.ordeal("copies", aim="10,000 contents over a dead backend and back", share=2)
def test_a_backend_that_dies_and_comes_back_costs_no_content_its_second_copy(
    scattered: Scattered, ordeal: Ordeal
) -> None:
    count = 10_000 if ordeal.long else 60
    with scattered.app() as app:
        scattered.create(app, [f"p{n}" for n in range(count)])
        scattered.serve(app, "replicator")
        assert scattered.copies() == {2: count}
        victim = ordeal.chance.choice(NAMES)
        scattered.die(victim, app)
        scattered.serve(app, "replicator")
        there = scattered.value("select count(*) from reaper.object_locations where backend = %s", victim)
        assert scattered.copies() == {2: count}, "before unhealthy_after nothing is copied"
        with reading(scattered, app):
            scattered.advance_clock("11 minutes")
            scattered.serve(app, "replicator")
        elsewhere = scattered.sql(
            "select count(*) from (select from reaper.object_locations where backend <> %s"
            " group by content_hash having count(*) = 2) as x",
            victim,
        )
        assert elsewhere == [(count,)]
        assert Counter(scattered.copies()) == Counter({2: count - there, 3: there}), "none may have two"
        scattered.revive(victim, app)
        with reading(scattered, app):
            scattered.see_to_copies(app)
        assert scattered.copies() == {2: count}
        assert scattered.complaints(settled=True) == []
        scattered.agree()
    ordeal.survived("contents", count)


@pytest.mark.slow
@pytest.mark.ordeal("copies", aim="10,000 contents over a dead backend and back", share=1)
def test_a_storm_costs_copies_time_and_nothing_else(
    scattered: Scattered, s3_double: ScriptedS3, ordeal: Ordeal
) -> None:
    count = 2_000 if ordeal.long else 40
    with scattered.app() as app:
        scattered.create(app, [f"p{n}" for n in range(count)])
        s3_double.random_faults = RandomFaults(STORM, seed=ordeal.chance.randrange(1_000_000))
        for _ in range(4):
            scattered.serve(app, "replicator")
            assert [c for c in scattered.complaints() if "has lost" not in c] == []
            scattered.advance_clock("2 hours")
            breaker_watchdog.tick(context(app, "breaker:0"))
        s3_double.random_faults = None
        for _ in range(3):
            scattered.advance_clock("2 hours")
            breaker_watchdog.tick(context(app, "breaker:0"))
            scattered.see_to_copies(app)
        assert scattered.copies() == {2: count}
        assert scattered.complaints(settled=True) == []
        scattered.agree()
    ordeal.survived("contents in a storm", count)


def test_while_most_backends_fail_nothing_is_copied(scattered: Scattered) -> None:
    with scattered.app() as app:
        scattered.create(app, ["one", "two"])
        scattered.serve(app, "replicator")
        for name in NAMES[1:]:
            scattered.die(name, app)
        scattered.advance_clock("1 hour")
        assert scattered.serve(app, "replicator").figures["copied"] == 0
        assert scattered.copies() == {2: 2}

"""A login that may only connect tries to stop a worker."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import psycopg
import pytest

from reaper.dev.embedded import Valkey
from tests.support.ordeals import Ordeal
from tests.support.s3_double.served_bucket import ServedBucket
from tests.support.s3_double.server import ScriptedS3
from tests.support.worker_world import WorkerWorld

Trick = Callable[[psycopg.Connection[object], Random], object]
CLASSES = (1919246704, 1919251553)
# So many connections stay idle; the limit of the tests' server is higher.
IDLE = 20
LOCKABLE = "select c.oid::regclass::text from pg_class c where c.relkind in ('r', 'p', 'v', 'm')"
WAITED_FOR = """
(select count(*) = 2 from reaper.services s where s.runs > 0 and s.name in ('watchdog', 'cleanup_queue'))
and (select count(*) = 5 from public.pastes)
"""


@pytest.fixture
def world(dsn: str, valkey: Valkey, s3_double: ScriptedS3, scratch: Path) -> Iterator[WorkerWorld]:
    with WorkerWorld(dsn, valkey.url, {"default": ServedBucket(s3_double, "pastes")}, scratch) as world:
        yield world


def squat(connection: psycopg.Connection[object], chance: Random) -> None:
    """Every advisory key that we use or used, and those around them."""
    keys = [*range(-2, 60), 2147483647]
    for key in chance.sample(keys, len(keys)):
        connection.execute("select pg_try_advisory_lock(%s, %s)", (chance.choice(CLASSES), key))


def squat_all(connection: psycopg.Connection[object], _: Random) -> None:
    for each in CLASSES:
        connection.execute("select pg_try_advisory_lock(%s, k) from generate_series(-2, 300) k", (each,))


def hold_a_snapshot(connection: psycopg.Connection[object], _: Random) -> None:
    connection.execute("begin isolation level repeatable read")
    connection.execute("select count(*) from pg_class")


def lock_what_can_be_locked(connection: psycopg.Connection[object], chance: Random) -> None:
    names = [str(row[0]) for row in connection.execute(LOCKABLE)]  # type: ignore[index]
    connection.execute("begin")
    for name in chance.sample(names, min(40, len(names))):
        for mode in ("access exclusive", "row exclusive", "access share"):
            with contextlib.suppress(psycopg.Error), connection.transaction():
                connection.execute(f"lock table {name} in {mode} mode nowait")


TRICKS: tuple[Trick, ...] = (squat, squat_all, hold_a_snapshot, lock_what_can_be_locked)


class Pest(threading.Thread):
    """Plays tricks on new connections until it is stopped; each is held open for a while."""

    def __init__(self, dsn: str, chance: Random, ordeal: Ordeal) -> None:
        super().__init__(daemon=True)
        self._dsn, self._chance, self._ordeal = dsn, chance, ordeal
        self.over = threading.Event()

    def run(self) -> None:
        with contextlib.ExitStack() as idle:
            while not self.over.is_set():
                with contextlib.suppress(psycopg.OperationalError):
                    connection = psycopg.connect(self._dsn, autocommit=True)
                    idle.callback(connection.close)
                    trick = self._chance.choice(TRICKS)
                    trick(connection, self._chance)
                    self._ordeal.survived(trick.__name__.replace("_", " "))
                if self._ordeal.counts.total() % IDLE == 0:
                    idle.pop_all().close()
                self.over.wait(0.05)


@pytest.mark.ordeal("a stranger", aim="no worker ends, nothing stands still", share=1)
def test_a_login_that_may_only_connect_stops_no_worker_and_no_service(
    world: WorkerWorld, stranger_dsn: str, ordeal: Ordeal
) -> None:
    with psycopg.connect(stranger_dsn, autocommit=True) as first:
        squat_all(first, ordeal.chance)
        worker = world.worker()
        world.started("watchdog")
        pest = Pest(stranger_dsn, ordeal.chance, ordeal)
        pest.start()
        try:
            for _ in ordeal.rounds(short=1):
                world.populate(due=20, live=5, contents=20)
                world.sql("update reaper.services set runs = 0")
                for name in ("watchdog", "cleanup_queue", "drain"):
                    world.due(name)
                world.tick()
                world.until(WAITED_FOR)
                assert worker.is_alive(), world.said()
                world.sql("delete from public.pastes")
                world.sql("delete from public.content")
        finally:
            pest.over.set()
            pest.join(30)
        [(verdict, reasons)] = world.sql("select verdict, reasons from reaper.health")
        assert verdict == "attention"
        assert any(f"session {first.info.backend_pid} (stranger)" in reason for reason in reasons)
        assert world.value("select count(*) from reaper.job_errors") == 0

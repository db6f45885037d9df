"""A login that may only connect tries to stop a worker."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from reaper.dev.embedded import Postgres, Valkey
from reaper.migrate import migrate
from tests.support.ordeals import Ordeal
from tests.support.s3_double.served_bucket import ServedBucket
from tests.support.s3_double.server import ScriptedS3
from tests.support.worker_world import WorkerWorld

Trick = Callable[[psycopg.Connection[object], Random], object]
CLASSES = (1919246704, 1919251553)
# So many connections stay idle; the limit of the tests' server is higher.
IDLE = 20
# Nothing may stand still for longer.
STANDSTILL = 60.0
CHANNELS = ("procrastinate_queue_v1#reaper", "procrastinate_any_queue_v1", "reaper")
PAYLOADS = (
    *("", "garbage", "null", "[]", "{}", "[" * 7000, '{"type": null}', "x" * 7999),
    *('{"type": "job_inserted", "job_id": 1}', '{"type": "abort_job_requested", "job_id": 1}'),
)
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


def notify(connection: psycopg.Connection[object], chance: Random) -> None:
    """Payloads of every shape, also such as procrastinate's own."""
    for channel in CHANNELS:
        connection.execute("select pg_notify(%s, %s)", (channel, chance.choice(PAYLOADS)))


TRICKS: tuple[Trick, ...] = (squat, squat_all, hold_a_snapshot, lock_what_can_be_locked, notify)


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
    withstand(world, stranger_dsn, ordeal, ordeal.rounds(short=1))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_nor_within_a_minute_and_with_200_idle_connections(
    crowded_world: WorkerWorld, crowd_dsn: str
) -> None:
    pestered = Ordeal("a stranger's minute", seed=1, seconds=60.0)
    with contextlib.ExitStack() as idle:
        for _ in range(200):
            idle.callback(psycopg.connect(crowd_dsn, autocommit=True).close)
        withstand(crowded_world, crowd_dsn, pestered, pestered.rounds())
    assert set(pestered.counts) == {trick.__name__.replace("_", " ") for trick in TRICKS}


@pytest.fixture
def crowded_server() -> Iterator[Postgres]:
    """One whose limit of connections is a little more than what the stranger and a worker take."""
    with Postgres.start(settings={"max_connections": "250"}) as running:
        migrate(running.dsn())
        yield running


@pytest.fixture
def crowd_dsn(crowded_server: Postgres) -> str:
    with psycopg.connect(crowded_server.dsn(), autocommit=True) as connection:
        connection.execute("create role stranger login")
    return make_conninfo(crowded_server.dsn(), user="stranger")


@pytest.fixture
def crowded_world(
    crowded_server: Postgres, valkey: Valkey, s3_double: ScriptedS3, scratch: Path
) -> Iterator[WorkerWorld]:
    bucket = ServedBucket(s3_double, "pastes")
    with WorkerWorld(crowded_server.dsn(), valkey.url, {"default": bucket}, scratch) as world:
        yield world


def withstand(world: WorkerWorld, stranger_dsn: str, ordeal: Ordeal, rounds: Iterable[int]) -> None:
    """In each round two services and a drain run, while the pest plays its tricks; the verdict names one."""
    with psycopg.connect(stranger_dsn, autocommit=True) as first:
        squat_all(first, ordeal.chance)
        worker = world.worker()
        world.started("watchdog")
        pest = Pest(stranger_dsn, ordeal.chance, ordeal)
        pest.start()
        try:
            for _ in rounds:
                began = time.monotonic()
                world.populate(due=20, live=5, contents=20)
                world.sql("update reaper.services set runs = 0")
                for name in ("watchdog", "cleanup_queue", "drain"):
                    world.due(name)
                world.tick()
                world.until(WAITED_FOR)
                assert worker.is_alive(), world.said()
                assert time.monotonic() - began < STANDSTILL
                world.sql("delete from public.pastes")
                world.sql("delete from public.content")
        finally:
            pest.over.set()
            pest.join(30)
        [(verdict, reasons)] = world.sql("select verdict, reasons from reaper.health")
        assert verdict == "attention"
        assert any(f"session {first.info.backend_pid} (stranger)" in reason for reason in reasons)
        assert world.value("select count(*) from reaper.job_errors") == 0

"""Every kind of cut at every message between reaper and its servers: nothing is lost, and all settles."""

import contextlib
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from reaper.dev.embedded import Valkey
from reaper.errors import ContentLost, ReaperError
from reaper.store.store import Store
from tests.support.faults.traffic import content
from tests.support.faults.world import FaultWorld
from tests.support.folder_store import FolderStore
from tests.support.ordeals import Ordeal
from tests.support.tcp_proxy import KINDS, REFUSALS, Fault, Proxy, before_postgres, tcp
from tests.support.waiting import PATIENCE

# So often it is awaited that nothing is left to be done, which takes longer than the fault.
SETTLED_AFTER = 8


class Road:
    """A world whose servers are reached through proxies; the judge goes past them."""

    def __init__(self, world: FaultWorld, database_url: str, postgres: Proxy, redis: Proxy) -> None:
        self.world = world
        self.proxies = {"postgres": postgres, "redis": redis}
        self.database_url = database_url
        self._through = {
            "database_url": self.database_url,
            "redis_url": f"redis://127.0.0.1:{redis.port}/0",
            "batch_size": 2,
        }
        self._numbers = count(1)

    def travel(self) -> ReaperError | None:
        """Put, read, delete and drain, as far as one gets; what one was told on the way."""
        try:
            # Who is stalled at this question would keep all other Apps of this process from asking it.
            parts = {"identity": "the same for all"}
            with self.world.app(parts=parts, **self._through) as app:
                store = app.store()
                codes = [f"paste {next(self._numbers)}" for _ in range(4)]
                for number, code in enumerate(codes):
                    self._put(store, content(number // 2), code)
                expired, kept, _, deleted = codes
                self._get(store, kept)
                self._get(store, deleted)
                self._delete(store, deleted)
                self._let_expire(expired)
                app.drain()
                self._get(store, kept)
        except ReaperError as error:
            # Told of the fault, a process ends; what it has begun is somebody else's.
            return error
        return None

    def _put(self, store: Store, data: bytes, code: str) -> None:
        self.world.log.doubt(code, data)
        store.put(data, None, code)
        self.world.log.created(code, data)

    def _get(self, store: Store, code: str) -> None:
        """It lives, so whoever gets an answer gets its bytes."""
        try:
            paste = store.get(code)
        except ContentLost:
            self.world.log.wrong.append(f"{code} has lost its bytes")
            raise
        if paste is None or paste.data != self.world.log.pastes[code].data:
            self.world.log.wrong.append(f"{code} lived and was not read")

    def _delete(self, store: Store, code: str) -> None:
        self.world.log.doubt(code)
        store.delete(code)
        self.world.log.ended(code)

    def _let_expire(self, code: str) -> None:
        """As time does, which asks no server."""
        self.world.sql("update pastes set expires_at = reaper.clock() where short_code = %s", code)
        self.world.log.ended(code)

    def meet(self, server: str, fault: Fault) -> bool:
        """Travel with a fault on the way, then heal; whether it was met. Nothing is wrong after that."""
        proxy = self.proxies[server]
        proxy.fault = fault
        journey = threading.Thread(target=self.travel)
        journey.start()
        if fault.kind == "stalled answer":
            self._overtake(proxy, journey)
        journey.join(PATIENCE)
        assert not journey.is_alive(), f"{fault} is never got over"
        met = proxy.met > 0
        proxy.heal()
        assert self.world.complaints() == []
        return met

    def _overtake(self, proxy: Proxy, journey: threading.Thread) -> None:
        """While an answer is held back, the others take its hearer for dead, and do what it had begun."""
        while journey.is_alive() and not proxy.met:
            journey.join(0.005)
        self.world.outlive()
        self.world.drain()
        proxy.heal()

    def questions(self) -> dict[str, int]:
        """How many questions a journey asks of each server."""
        for proxy in self.proxies.values():
            proxy.fault = None
        assert self.travel() is None
        asked = {server: proxy.asked for server, proxy in self.proxies.items()}
        self.world.judge()
        return asked


@pytest.fixture
def road(dsn: str, valkey: Valkey, scratch: Path) -> Iterator[Road]:
    with (
        FaultWorld(dsn, valkey.url, {"default": FolderStore(scratch / "objects")}, scratch) as world,
        before_postgres(dsn) as (postgres, database_url),
        Proxy(tcp(valkey.port)) as redis,
    ):
        yield Road(world, database_url, postgres, redis)


@pytest.mark.slow(but=1)
@pytest.mark.ordeal("network faults", aim="every kind of cut at every message", share=4)
@pytest.mark.parametrize("claim_mode", ["mark", "direct"])
def test_every_kind_of_cut_at_every_message_is_got_over(road: Road, ordeal: Ordeal, claim_mode: str) -> None:
    road.world.set_claim_mode(claim_mode)
    asked = road.questions()
    faults = [
        (server, Fault(kind, nth))
        for server, number in asked.items()
        for kind in KINDS
        for nth in range(1, number + 1)
    ]
    ordeal.chance.shuffle(faults)
    met = set()
    for done in ordeal.rounds(short=3):
        server, fault = faults[done % len(faults)]
        print(server, fault)
        if road.meet(server, fault):
            ordeal.survived(f"faults before {server}")
            met.add((server, fault))
        if done % SETTLED_AFTER == SETTLED_AFTER - 1:
            road.world.judge()
    road.world.judge()
    assert met, "no fault was met"
    ordeal.survived(f"of {len(faults)} kinds of cut x messages", len(met))


@pytest.mark.parametrize(
    ("kind", "told", "done"),
    [
        ("lost question", False, 0),
        ("half a question", False, 0),
        ("lost answer", False, 1),
        ("half an answer", False, 1),
        ("gone", False, 0),
        ("late answer", True, 1),
    ],
)
def test_each_fault_does_what_its_name_says(road: Road, kind: str, told: bool, done: int) -> None:
    proxy = road.proxies["postgres"]
    road.world.sql("create table marks (mark int)")
    with psycopg.connect(road.database_url, autocommit=True) as connection:
        proxy.fault = Fault(kind, nth=1)
        with contextlib.nullcontext() if told else pytest.raises(psycopg.OperationalError):
            connection.execute("insert into marks values (1)")
    assert proxy.met
    assert road.world.value("select count(*) from marks") == done
    for _ in range(REFUSALS if kind == "gone" else 0):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(road.database_url)
    psycopg.connect(road.database_url).close()

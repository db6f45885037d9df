"""Redis hangs, forgets all or comes back with an old dump: work goes on, nothing is served for long."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from reaper.cache.redis.connection import RedisConnectionOptions
from tests.support.faults.traffic import Traffic
from tests.support.faults.world import FaultWorld
from tests.support.folder_store import FolderStore
from tests.support.judge import complaints
from tests.support.ordeals import Ordeal
from tests.support.valkey_servers import TunedValkey, stopped
from tests.support.world import CACHE_KEY, CLAIM_MODES, DAY

HOUR_MS = 3_600_000
STALE = "the cache still has "
IMPATIENT = RedisConnectionOptions(connect_timeout=0.1, timeout=0.1, cool_down=0.1)
WORDS = {"hang": "hangs", "flush": "flushes", "old dump": "old dumps", "empty restart": "empty restarts"}


@pytest.fixture
def forgetful() -> Iterator[TunedValkey]:
    """A Valkey that loads an old dump when it is asked to."""
    with TunedValkey("--enable-debug-command", "yes") as running:
        yield running


@pytest.fixture
def client(forgetful: TunedValkey) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(forgetful.url, decode_responses=True) as client:
        yield client


@pytest.fixture
def world(
    dsn: str,
    forgetful: TunedValkey,
    client: redis.Redis,
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[FaultWorld]:
    monkeypatch.setattr("reaper.cache.redis.paste_cache.QUICK", IMPATIENT)
    monkeypatch.setattr("reaper.cache.redis.connection.RedisConnectionOptions", lambda: IMPATIENT)
    client.save()
    with FaultWorld(dsn, forgetful.url, {"default": FolderStore(scratch / "objects")}, scratch) as world:
        yield world


def come_back_with_the_last_dump(client: redis.Redis) -> None:
    """What was written since is lost, and what was deleted since is back."""
    client.execute_command("DEBUG", "RELOAD", "NOSAVE")


def left_ms(client: redis.Redis, code: str) -> int:
    return int(client.pttl(CACHE_KEY.format(short_code=code)))


def test_an_entry_of_a_deleted_paste_that_an_old_dump_brings_back_ends_within_the_hour(
    world: FaultWorld, client: redis.Redis
) -> None:
    with world.opened() as (store, _):
        for code in ("deleted", "alive"):
            store.put(code.encode(), None, code)
            assert store.get(code)
        client.save()
        store.delete("deleted")
        world.drain()
        assert store.get("deleted") is None
        come_back_with_the_last_dump(client)
        # This is what is promised, and no more.
        assert store.get("deleted") is not None
        assert 0 < left_ms(client, "deleted") <= HOUR_MS
        assert complaints(world) == [f"{STALE}deleted"]
        client.pexpire(CACHE_KEY.format(short_code="deleted"), 1)
        world.sql("select pg_sleep(0.01)")
        assert store.get("deleted") is None
        assert store.get("alive") is not None


def test_an_entry_that_an_old_dump_brings_back_does_not_outlive_its_paste(
    world: FaultWorld, client: redis.Redis
) -> None:
    with world.opened() as (store, _):
        stored = store.put(b"short", DAY / 86_400 * 30, "short")
        assert store.get("short")
        assert stored.expires_at is not None
        client.save()
        client.flushall()
        come_back_with_the_last_dump(client)
        assert left_ms(client, "short") > 0
        seconds, microseconds = client.time()
        end = seconds + microseconds / 1e6 + left_ms(client, "short") / 1000
        assert end <= stored.expires_at.timestamp() + 0.001


def make_mischief(forgetful: TunedValkey, client: redis.Redis, kind: str, work: Callable[[], None]) -> None:
    match kind:
        case "hang":
            with stopped(forgetful):
                work()
        case "flush":
            client.flushall()
        case "old dump":
            client.save()
            work()
            come_back_with_the_last_dump(client)
        case "empty restart":
            # As seen from outside: all connections are broken, and what answers has nothing.
            client.flushall()
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


@pytest.mark.ordeal("redis", aim="every fault, again and again, under traffic")
def test_whatever_redis_does_work_goes_on_and_nothing_is_served_for_long(
    world: FaultWorld, forgetful: TunedValkey, client: redis.Redis, ordeal: Ordeal
) -> None:
    for _ in ordeal.rounds(short=1):
        world.set_claim_mode(ordeal.chance.choice(CLAIM_MODES))
        kinds = sorted(WORDS)
        ordeal.chance.shuffle(kinds)
        traffic = Traffic(world, ordeal.chance.randrange(1_000_000))
        with traffic.flowing():
            for kind in kinds:
                traffic.work_goes_on()
                make_mischief(forgetful, client, kind, traffic.work_goes_on)
                ordeal.survived(WORDS[kind])
            traffic.work_goes_on()
        assert traffic.seen["creators turned away"] == 0
        keys = list(client.scan_iter(CACHE_KEY.format(short_code="*"), count=1000))
        assert all(0 < client.pttl(key) <= HOUR_MS or not client.exists(key) for key in keys)
        stale = [complaint.removeprefix(STALE) for complaint in world.complaints() if STALE in complaint]
        # An hour passes, as far as they are concerned.
        client.delete(*[CACHE_KEY.format(short_code=code) for code in stale] or ["nothing"])
        world.judge()
        ordeal.survived("entries that came back for an hour at most", len(stale))
        for what, times in traffic.seen.items():
            ordeal.survived(what, times)

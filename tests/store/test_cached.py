"""Reads come from the cache while it has them, do without it while it is away, and end with their paste."""

from datetime import timedelta

import pytest

from reaper.dev.embedded import Valkey
from reaper.model import Paste
from reaper.store.store import Store
from tests.support.valkey_servers import stopped
from tests.support.watched_store import WatchedStore
from tests.support.world import DAY, World

HOUR_MS = 3_600_000


@pytest.fixture
def nobody(closed_port: int) -> str:
    """The address of a Redis that is not there."""
    return f"redis://127.0.0.1:{closed_port}/0"


def test_a_paste_is_read_from_its_backend_once(world: World, store: Store, backend: WatchedStore) -> None:
    stored = store.put(b"x", DAY)
    first, *others = [store.get(stored.short_code) for _ in range(5)]
    assert first == Paste(stored.short_code, b"x", stored.content_hash, stored.expires_at)
    assert others == [first] * 4
    assert len(backend.gets) == 1
    assert world.entries() == {f"paste:{stored.short_code}"}


def test_an_entry_ends_with_its_paste(world: World, store: Store) -> None:
    short, long, endless = (store.put(b"x", life) for life in (timedelta(seconds=30), DAY, None))
    for stored in (short, long, endless):
        store.get(stored.short_code)
    cache = world.cache()
    assert 0 < cache.pttl(f"paste:{short.short_code}") <= 30_000
    assert 30_000 < cache.pttl(f"paste:{long.short_code}") <= HOUR_MS
    assert 30_000 < cache.pttl(f"paste:{endless.short_code}") <= HOUR_MS


def test_large_pastes_are_not_cached(world: World) -> None:
    with world.opened(cache_max_bytes="10 B") as (store, backends):
        small, large = store.put(b"x" * 10, DAY), store.put(b"x" * 11, DAY)
        for _ in range(3):
            assert store.get(small.short_code)
            assert store.get(large.short_code)
        assert len(backends["default"].gets) == 1 + 3


def test_an_entry_that_somebody_else_wrote_is_not_served_but_replaced(world: World, store: Store) -> None:
    code = store.put(b"ours", DAY).short_code
    for foreign in (b"theirs", b"reaper/1 {\nx", b"reaper/1 [1, 2]\nx", b"", b"reaper/1 "):
        world.cache().set(f"paste:{code}", foreign)
        for _ in range(2):
            paste = store.get(code)
            assert paste is not None
            assert paste.data == b"ours"
        assert world.cache().pttl(f"paste:{code}") > 0


def test_a_deleted_paste_is_gone_at_once_for_every_reader(world: World, store: Store) -> None:
    code = store.put(b"x", DAY).short_code
    with world.opened() as (other, _):
        assert other.get(code)
        assert store.delete(code)
        assert other.get(code) is None
        assert store.get(code) is None
    assert not store.delete(code)
    world.drain()
    world.judge()
    assert world.keys() == set()


def test_a_reader_that_is_late_does_not_bring_a_deleted_paste_back(
    world: World, store: Store, backend: WatchedStore
) -> None:
    code = store.put(b"x", DAY).short_code

    def deleted(_: str) -> None:
        assert store.delete(code)

    backend.before_get = deleted
    served = store.get(code)
    assert served is not None, "it was there when it was asked for"
    assert store.get(code) is None
    assert world.entries() == {f"reaper:gone:{{paste:{code}}}"}


def test_a_reader_that_is_late_does_not_bring_a_paste_back_that_was_deleted_by_sql(
    world: World, store: Store, backend: WatchedStore
) -> None:
    code = store.put(b"x", DAY).short_code

    def deleted(_: str) -> None:
        world.sql("select reaper.delete_paste(%s)", code)
        world.drain()

    backend.before_get = deleted
    store.get(code)
    assert store.get(code) is None
    assert f"paste:{code}" not in world.entries()
    world.judge()


def test_a_shorter_life_is_the_caches_too(world: World, store: Store) -> None:
    code = store.put(b"x", None).short_code
    store.get(code)
    assert store.extend(code, timedelta(seconds=20))
    assert world.entries() == {f"reaper:gone:{{paste:{code}}}"}
    world.cache().flushall()
    store.get(code)
    assert 0 < world.cache().pttl(f"paste:{code}") <= 20_000


def test_an_extended_paste_says_when_it_expires_now(store: Store) -> None:
    stored = store.put(b"x", DAY)
    store.get(stored.short_code)
    assert store.extend(stored.short_code, 9 * DAY)
    paste = store.get(stored.short_code)
    assert paste is not None
    assert stored.expires_at is not None
    assert paste.expires_at is not None
    assert paste.expires_at > stored.expires_at + 7 * DAY
    assert store.extend(stored.short_code, None)
    paste = store.get(stored.short_code)
    assert paste is not None
    assert paste.expires_at is None


def test_an_expired_paste_can_be_extended_until_a_drain_takes_it(world: World, store: Store) -> None:
    code = store.put(b"x", DAY).short_code
    world.advance_clock("25 hours")
    assert store.get(code) is None
    assert store.extend(code, DAY)
    assert store.get(code) is not None
    world.advance_clock("25 hours")
    world.drain()
    assert not store.extend(code, DAY)
    assert not store.delete(code)
    world.judge()


def test_without_redis_everything_works(world: World) -> None:
    with world.opened(redis_url=None) as (store, backends):
        code = store.put(b"x", DAY).short_code
        assert store.get(code) == store.get(code) is not None
        assert len(backends["default"].gets) == 2
        assert store.extend(code, DAY)
        assert store.delete(code)
        assert store.get(code) is None


def test_while_redis_is_away_everything_works_and_what_it_still_has_is_dropped_when_it_is_back(
    world: World, store: Store, nobody: str
) -> None:
    code, kept = store.put(b"x", DAY).short_code, store.put(b"y", DAY).short_code
    assert store.get(code)
    assert store.get(kept)
    with world.opened(redis_url=nobody) as (cut_off, _):
        assert cut_off.get(kept)
        assert cut_off.get(cut_off.put(b"z", DAY).short_code)
        assert cut_off.delete(code)
        assert cut_off.get(code) is None
    assert world.value("select short_code from reaper.invalidations") == code
    world.drain()
    assert store.get(code) is None
    assert f"paste:{kept}" in world.entries()
    world.judge()


def test_a_redis_that_hangs_costs_one_short_wait_and_is_used_again_later(world: World) -> None:
    with Valkey.start() as own:
        world.redis_url = own.url
        with world.opened() as (store, _):
            code = store.put(b"x", DAY).short_code
            assert store.get(code)
            with stopped(own):
                for _ in range(20):
                    assert store.get(code)


def test_a_flushed_redis_is_filled_again(world: World, store: Store, backend: WatchedStore) -> None:
    code = store.put(b"x", DAY).short_code
    store.get(code)
    world.cache().flushall()
    store.get(code)
    store.get(code)
    assert len(backend.gets) == 2

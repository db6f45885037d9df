"""A worker is late with its deletion, and the content has been created again: it hits nothing that lives."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from reaper.store.store import Store
from tests.support.races.world import Arena
from tests.support.world import continued, ended, stopped

DAY = timedelta(days=1)
DATA = b"created, collected, created again"

Step = Callable[[Arena], None]


@pytest.fixture(autouse=True)
def _a_real_bucket(arena: Arena) -> None:
    """Requests over a wire, as the worker that is late sends them."""
    arena.folder = None


def nothing(_: Arena) -> None:
    """Nobody notices that the worker is late."""


def taken_over(arena: Arena) -> None:
    """The watchdog takes its batch, and another worker does what it should have done."""
    arena.advance_clock("61 seconds")
    arena.watchdog()
    arena.drain()


def read(store: Store, code: str) -> bytes | None:
    paste = store.get(code)
    return paste and paste.data


@pytest.mark.parametrize("meanwhile", [nothing, taken_over])
@pytest.mark.parametrize("point", ["after claim_expired", "after drop_references", "after cache.forget"])
def test_a_worker_that_stops_before_its_deletion_deletes_nothing_that_was_created_since(
    arena: Arena, point: str, meanwhile: Step
) -> None:
    with arena.opened() as (store, _):
        first = store.put(DATA, timedelta(seconds=1))
        old_key = arena.keys()
        arena.advance_clock("2 seconds")
        worker = arena.doomed(point, "stop")
        stopped(worker)

        again = store.put(DATA, DAY)
        meanwhile(arena)
        assert read(store, again.short_code) == DATA

        continued(worker)
        assert ended(worker) == 0
        arena.cache().flushall()
        assert read(store, again.short_code) == DATA
        assert store.get(first.short_code) is None
        assert len(arena.keys()) == 1
        # One that was created before the release keeps the object; one that came after it has another.
        assert (arena.keys() == old_key) == (point == "after claim_expired")
        arena.settle()
        assert read(store, again.short_code) == DATA


def test_content_that_is_created_before_the_release_keeps_its_object(arena: Arena) -> None:
    with arena.opened() as (store, backends):
        store.put(DATA, timedelta(seconds=1))
        arena.advance_clock("2 seconds")
        worker = arena.doomed("after claim_expired", "stop")
        stopped(worker)
        again = store.put(DATA, DAY)
        continued(worker)
        assert ended(worker) == 0
        assert len(backends["default"].puts) == 1
        assert read(store, again.short_code) == DATA
        arena.settle()


def test_a_deletion_that_arrives_at_last_after_ten_lives_of_the_content_hits_none_of_them(
    arena: Arena,
) -> None:
    with arena.opened() as (store, _):
        store.put(DATA, timedelta(seconds=1))
        arena.advance_clock("2 seconds")
        worker = arena.doomed("after cache.forget", "stop")
        stopped(worker)
        keys = set()
        for _ in range(10):
            code = store.put(DATA, timedelta(seconds=60)).short_code
            keys |= arena.keys()
            arena.advance_clock("61 seconds")
            arena.watchdog()
            arena.drain()
            assert store.get(code) is None
        last = store.put(DATA, DAY).short_code
        assert len(keys) == 11
        continued(worker)
        assert ended(worker) == 0
        assert read(store, last) == DATA
        arena.settle()
        assert read(store, last) == DATA

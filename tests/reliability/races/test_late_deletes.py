"""A worker is late with its deletion, and the content has been created again: it hits nothing that lives."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from reaper.store.store import Store
from tests.support.forked_processes import continued, ended, stopped
from tests.support.world import DAY, World

DATA = b"created, collected, created again"

Step = Callable[[World], None]


def nothing(_: World) -> None:
    """Nobody notices that the worker is late."""


def taken_over(world: World) -> None:
    """The watchdog takes its batch, and another worker does what it should have done."""
    world.advance_clock("61 seconds")
    world.watchdog()
    world.drain()


def read(store: Store, code: str) -> bytes | None:
    paste = store.get(code)
    return paste and paste.data


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("meanwhile", [nothing, taken_over])
@pytest.mark.parametrize(
    ("claim_mode", "point"),
    [
        ("mark", "after claim_expired"),
        ("mark", "after drop_batch"),
        ("mark", "after cache.forget"),
        ("direct", "after reap_batch"),
    ],
)
def test_a_worker_that_stops_before_its_deletion_deletes_nothing_that_was_created_since(
    world: World, claim_mode: str, point: str, meanwhile: Step
) -> None:
    world.set_claim_mode(claim_mode)
    with world.opened() as (store, _):
        first = store.put(DATA, timedelta(seconds=1))
        old_key = world.keys()
        world.advance_clock("2 seconds")
        worker = world.stopped_drain(point)
        stopped(worker)

        again = store.put(DATA, DAY)
        meanwhile(world)
        assert read(store, again.short_code) == DATA

        continued(worker)
        assert ended(worker) == 0
        world.cache().flushall()
        assert read(store, again.short_code) == DATA
        assert store.get(first.short_code) is None
        assert len(world.keys()) == 1
        # One that was created before the release keeps the object; one that came after it has another.
        assert (world.keys() == old_key) == (point == "after claim_expired")
        world.settle()
        assert read(store, again.short_code) == DATA


def test_content_that_is_created_before_the_release_keeps_its_object(world: World) -> None:
    with world.opened() as (store, backends):
        store.put(DATA, timedelta(seconds=1))
        world.advance_clock("2 seconds")
        worker = world.stopped_drain("after claim_expired")
        stopped(worker)
        again = store.put(DATA, DAY)
        continued(worker)
        assert ended(worker) == 0
        assert len(backends["default"].puts) == 1
        assert read(store, again.short_code) == DATA
        world.settle()


@pytest.mark.slow
def test_a_deletion_that_arrives_at_last_after_ten_lives_of_the_content_hits_none_of_them(
    world: World,
) -> None:
    with world.opened() as (store, _):
        store.put(DATA, timedelta(seconds=1))
        world.advance_clock("2 seconds")
        worker = world.stopped_drain("after cache.forget")
        stopped(worker)
        keys = set()
        for _ in range(10):
            code = store.put(DATA, timedelta(seconds=60)).short_code
            keys |= world.keys()
            world.advance_clock("61 seconds")
            world.watchdog()
            world.drain()
            assert store.get(code) is None
        last = store.put(DATA, DAY).short_code
        assert len(keys) == 11
        continued(worker)
        assert ended(worker) == 0
        assert read(store, last) == DATA
        world.settle()
        assert read(store, last) == DATA

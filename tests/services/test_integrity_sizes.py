"""Sizes as promised: a bucket of a hundred thousand objects, and one object of a gigabyte."""

import hashlib
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from reaper.app import App
from reaper.ports import Reading
from reaper.queries.integrity import CopyToScrub
from reaper.services import cleanup_queue, reconciler
from reaper.storage.copy_check import check
from tests.support import service_ticks
from tests.support.waiting import wait_until
from tests.support.worker_world import WorkerWorld

GIB = 1 << 30
PIECE = bytes(8 << 20)


# As of puts that were given up, named by their hash, and of others.
SHAPES = ("00/00{0:062x}/{0:032x}", "{0:064x}", "zz/foreign {0}", "a file {0}")


class HugeObject:
    """A store with one object of zeros."""

    def read(self, _: str) -> Reading:
        def pieces() -> Iterator[bytes]:
            for _ in range(GIB // len(PIECE)):
                yield bytes(PIECE)

        return Reading(GIB, pieces())


@pytest.mark.long
def test_memory_is_flat_for_an_object_of_a_gigabyte() -> None:
    sha256 = hashlib.sha256()
    for _ in range(GIB // len(PIECE)):
        sha256.update(PIECE)
    copy = CopyToScrub(sha256.hexdigest(), "key", GIB, sha256=True, size_is_ours=True, is_due=True)
    tracemalloc.start()
    try:
        store: Any = HugeObject()
        assert check(store, copy).outcome == "good"
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def walk(world: WorkerWorld) -> None:
    with world.app() as app:
        while reconciler.tick(service_ticks.context(app, "walker:0")).more:
            pass


def is_swept(world: WorkerWorld, app: App) -> bool:
    cleanup_queue.tick(service_ticks.context(app, "sweeper:0"))
    return not world.sql("select 1 from reaper.sightings union all select 1 from reaper.cleanup_queue")


@pytest.mark.long
def test_a_hundred_thousand_objects_are_compared_exactly(world: WorkerWorld, populate: Any) -> None:
    populate(due=0, live=100_000, contents=1_000_000, cached=False)
    world.sql("select reaper.register_backend('default')")
    keys = sorted(world.keys())
    assert len(keys) == 100_000
    lost = keys[::2000]
    world.backends["default"].drop(*lost)
    unknown = [shape.format(n) for n in range(50) for shape in SHAPES]
    world.put(unknown)
    walk(world)
    found = world.sql("select listed, expected, missing, unknown from reaper.integrity")
    assert found == [(100_000 - 50 + 200, 100_000, 50, 200)]
    missing = world.sql("select object_key from reaper.object_locations where trouble = 'missing' order by 1")
    assert [key for (key,) in missing] == lost
    world.sql("select reaper.set_untracked('default', 'delete')")
    world.advance_clock("1 day 1 minute")
    walk(world)
    with world.app() as app:
        wait_until(lambda: is_swept(world, app), "what no row names is deleted")
    assert world.keys() == {*keys} - {*lost}
    assert world.sql("select * from reaper.check_invariants()") == []

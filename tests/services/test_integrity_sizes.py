"""Sizes as promised: a bucket of a hundred thousand objects, and one object of a gigabyte."""

import hashlib
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from reaper.ports import Reading
from reaper.queries.integrity import CopyToScrub
from reaper.storage.copy_check import check
from tests.support import service_ticks
from tests.support.worker_world import WorkerWorld

GIB = 1 << 30
PIECE = bytes(8 << 20)


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


@pytest.mark.long
def test_a_hundred_thousand_objects_are_compared_exactly(world: WorkerWorld, populate: Any) -> None:
    from reaper.services import reconciler

    populate(due=0, live=100_000, contents=1_000_000, cached=False)
    world.sql("select reaper.register_backend('default')")
    keys = sorted(world.keys())
    assert len(keys) == 100_000
    lost = keys[::2000]
    world.backends["default"].drop(*lost)
    unknown = [f"{n:064x}" for n in range(100)] + [f"zz/foreign {n}" for n in range(100)]
    world.put(unknown)
    with world.app() as app:
        while reconciler.tick(service_ticks.context(app, "walker:0")).more:
            pass
    found = world.sql("select listed, expected, missing, unknown from reaper.integrity")
    assert found == [(100_000 - 50 + 200, 100_000, 50, 200)]
    missing = world.sql("select object_key from reaper.object_locations where trouble = 'missing' order by 1")
    assert [key for (key,) in missing] == lost

"""What is true of a Store is true of an AsyncStore: both are put into each test that asks for one."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from reaper.store.store import Store
from tests.support.event_loop import beside_a_loop, store_on_loop
from tests.support.watched_store import WatchedStore
from tests.support.world import World

Opened = tuple[Store, dict[str, WatchedStore]]
Open = Callable[..., AbstractContextManager[Opened]]


@pytest.fixture(params=["Store", "AsyncStore"])
def open_world(request: pytest.FixtureRequest) -> Open:
    """Opens a store of a world, and its backends under observation."""

    @contextmanager
    def opened(world: World, **given: Any) -> Iterator[Opened]:
        if request.param == "Store":
            with world.opened(**given) as both:
                yield both
            return
        around = {"around": beside_a_loop(given.pop("around"))} if "around" in given else {}
        watched: dict[str, WatchedStore] = {}

        def watch(name: str, store: Any) -> WatchedStore:
            watched[name] = WatchedStore(store)
            return watched[name]

        with world.app(wrap_store=watch, **around, **given) as app, store_on_loop(app) as store:
            yield store, watched  # type: ignore[misc]

    return opened


@pytest.fixture
def opened(world: World, open_world: Open) -> Iterator[Opened]:
    with open_world(world) as opened:
        yield opened

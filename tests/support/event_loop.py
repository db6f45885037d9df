"""An event loop in a thread of its own, and an AsyncStore on it that is used like a Store."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, BinaryIO, TypeVar

from reaper.app import App
from reaper.model import Paste, Stored
from reaper.queries.base import Intercept
from reaper.store.async_store import AsyncStore
from reaper.store.pastes import Pastes

T = TypeVar("T")


class Loop:
    """Runs coroutines for threads that wait for them."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="loop")
        self._thread.start()

    def run(self, steps: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(steps, self.loop).result()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@dataclass(frozen=True)
class StoreOnLoop:
    """The calls of Store, made on an AsyncStore."""

    pastes: Pastes
    store: AsyncStore
    loop: Loop

    def put(
        self, data: bytes | BinaryIO, expires_in: timedelta | None, short_code: str | None = None
    ) -> Stored:
        return self.loop.run(self._of_pastes().put(data, expires_in, short_code))

    def get(self, short_code: str) -> Paste | None:
        return self.loop.run(self._of_pastes().get(short_code))

    def delete(self, short_code: str) -> bool:
        return self.loop.run(self._of_pastes().delete(short_code))

    def extend(self, short_code: str, expires_in: timedelta | None) -> bool:
        return self.loop.run(self._of_pastes().extend(short_code, expires_in))

    def _of_pastes(self) -> AsyncStore:
        return AsyncStore(self.pastes, self.store.calls)


@contextmanager
def store_on_loop(app: App) -> Iterator[StoreOnLoop]:
    """An AsyncStore of an app, on a loop that ends with the block."""
    loop = Loop()
    opened = app.async_store()
    try:
        store = loop.run(opened.__aenter__())
        try:
            yield StoreOnLoop(store.pastes, store, loop)
        finally:
            loop.run(opened.__aexit__(None, None, None))
    finally:
        loop.close()


class Blocking:
    """A query on an event loop, as a thread calls it; `args` are those that were bound to it."""

    def __init__(self, call: Callable[..., Any], loop: asyncio.AbstractEventLoop) -> None:
        self._call = call
        self._loop = loop
        self.args = getattr(call, "args", ())

    def __call__(self, *arguments: Any) -> Any:
        return self.wait_for(self._call(*arguments))

    def wait_for(self, answer: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(awaited(answer), self._loop).result()


async def awaited(answer: Any) -> Any:
    return await answer


def beside_a_loop(intercept: Intercept) -> Intercept:
    """An intercept that stands in a thread of its own where it is called on an event loop."""

    def surrounding(point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return intercept(point, call, *arguments)
        return asyncio.to_thread(intercept, point, Blocking(call, loop), *arguments)

    return surrounding

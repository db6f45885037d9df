"""Tasks are cancelled at every step of a put: nothing is lost, and nothing stays."""

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from reaper.app import open_async_store
from reaper.errors import BadArgument
from reaper.services import pending_reaper
from tests.support.event_loop import awaited
from tests.support.service_ticks import context
from tests.support.watched_store import WatchedStore
from tests.support.world import DAY, World

STEPS = ["before begin_put", "after begin_put", "in the upload", "before commit_put", "after commit_put"]


def finish_puts(world: World) -> None:
    """Let the pending reaper look, long after all puts began."""
    world.advance_clock("1 hour")
    with world.app() as app, app.heartbeat():
        pending_reaper.tick(context(app))


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("step", STEPS)
def test_a_put_that_is_cancelled_leaves_at_most_an_intent_that_the_pending_reaper_ends(
    world: World, step: str
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    async def strike(when: str) -> None:
        if when == step:
            reached.set()
            await asyncio.Event().wait()

    async def around(point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        await strike(f"before {point}")
        answer = await awaited(call(*arguments))
        await strike(f"after {point}")
        return answer

    def intercept(point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        return (around if point in ("begin_put", "commit_put") else lambda _, c, *a: c(*a))(
            point, call, *arguments
        )

    def upload(_: str) -> None:
        if step == "in the upload":
            reached.set()
            assert go_on.wait(60)

    def watch(_: str, store: Any) -> WatchedStore:
        return WatchedStore(store, before_put=upload)

    async def put_and_cancel() -> None:
        with world.app(around=intercept, wrap_store=watch) as app:
            async with app.async_store() as store:
                putting = asyncio.create_task(store.put(io.BytesIO(b"x"), DAY, "mine"))
                await asyncio.to_thread(reached.wait, 60)
                putting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await putting
                go_on.set()

    asyncio.run(put_and_cancel())
    assert world.sql("select * from reaper.check_invariants()") == []
    begun = step != "before begin_put"
    committed = step == "after commit_put"
    assert world.value("select count(*) from reaper.put_intents") == int(begun and not committed)
    assert world.value("select count(*) from reaper.backends where circuit <> 'closed'") == 0
    finish_puts(world)
    # What was uploaded is finished on the writer's behalf.
    uploaded = begun and step != "after begin_put"
    assert world.value("select count(*) from pastes") == int(uploaded)
    world.settle()


def test_a_stream_that_comes_in_pieces_is_put_as_it_comes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def pieces(*given: Any) -> AsyncIterator[Any]:
        for piece in given:
            await asyncio.sleep(0)
            yield piece

    async def use() -> None:
        async with open_async_store() as store:
            stored = await store.put(pieces(b"in ", b"", b"pieces"), DAY)
            paste = await store.get(stored.short_code)
            assert paste is not None
            assert paste.data == b"in pieces"
            with pytest.raises(BadArgument, match="data must be bytes"):
                await store.put(pieces(b"bytes", "text"), DAY)
            assert await store.delete(stored.short_code)
            assert await store.get(stored.short_code) is None

    for name, value in world.variables.items():
        monkeypatch.setenv(name, value)
    asyncio.run(use())
    assert world.sql("select * from reaper.put_intents") == []
    world.drain()
    world.judge()

"""The example application: its pastes come back, expire, and cost the service nothing when they do."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from examples.pastebin import app as pastebin
from tests.conftest import Sized
from tests.support.world import World

ROOT = Path(__file__).parents[3]


@pytest.fixture
def service(world: World, monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    for name, value in world.variables.items():
        monkeypatch.setenv(name, value)
    return pastebin.make_app()


@asynccontextmanager
async def visited(service: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(service)
    async with (
        service.router.lifespan_context(service),
        httpx.AsyncClient(transport=transport, base_url="http://pastes") as client,
    ):
        yield client


def test_a_paste_comes_back_as_text_expires_and_is_refused_where_it_must_be(
    world: World, service: FastAPI
) -> None:
    async def visit() -> None:
        async with visited(service) as client:
            created = await client.post("/?life=1h", content=b"<script>alert(1)</script>")
            assert created.status_code == 201
            paste = created.json()
            got = await client.get(paste["url"])
            assert got.content == b"<script>alert(1)</script>"
            assert got.headers["content-type"] == "text/plain; charset=utf-8"
            assert got.headers["x-content-type-options"] == "nosniff"
            assert got.headers["cache-control"] == "no-store"
            assert (await client.delete(paste["url"])).status_code == 204
            assert (await client.delete(paste["url"])).status_code == 404
            assert (await client.get(paste["url"])).status_code == 404
            assert (await client.get("/a%00b")).status_code == 404
            assert (await client.post("/?life=1y", content=b"x")).status_code == 422
            large = b"x" * (pastebin.LARGEST + 1)
            assert (await client.post("/", content=large)).status_code == 413
            strange = await client.get("/", headers={"Host": "<script>"})
            assert strange.text.startswith("<!doctype html>")
            assert "<script>" not in strange.text
            assert (await client.get("/healthz")).json() == {"status": "ok"}
            world.sql("select reaper.set_quota('default', 0, 'for a test')")
            full = await client.post("/", content=b"new")
            assert (full.status_code, full.json()) == (507, {"detail": "try again later"})

    asyncio.run(visit())
    assert world.sql("select * from reaper.put_intents") == []
    world.drain()
    world.judge()


def test_a_thousand_pastes_are_put_and_got_at_once_while_they_expire(
    world: World, service: FastAPI, sized: Sized
) -> None:
    number = sized(1_000, 120)
    chance = random.Random(1)
    over = asyncio.Event()
    drained = 0

    async def one(client: httpx.AsyncClient, seed: int) -> None:
        data = b"content %d" % (seed % (number // 4))
        life = chance.choice(["2s", "1h"])
        created = await client.post(f"/?life={life}", content=data)
        assert created.status_code == 201, created.text
        url = created.json()["url"]
        got = await client.get(url)
        assert got.status_code in ((200, 404) if life == "2s" else (200,))
        assert got.status_code == 404 or got.content == data

    async def expire() -> None:
        nonlocal drained
        while not over.is_set():
            drained += (await asyncio.to_thread(world.drain)).telemetry.totals.rows_deleted
            await asyncio.sleep(0.2)

    async def visit() -> None:
        async with visited(service) as client:
            expiring = asyncio.create_task(expire())
            await asyncio.gather(*(one(client, seed) for seed in range(number)))
            over.set()
            await expiring

    asyncio.run(visit())
    world.advance_clock("3 seconds")
    drained += world.drain().telemetry.totals.rows_deleted
    living = world.value("select count(*) from pastes")
    assert drained + living == number
    world.settle()


def test_the_readme_shows_it_in_three_lines() -> None:
    assert "python3 run.py example" in (ROOT / "README.md").read_text()
    assert len((ROOT / "examples/pastebin/app.py").read_text().splitlines()) <= 170

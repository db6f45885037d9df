"""One procrastinate job per paste: what comes to mind when a job queue is at hand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import procrastinate
from procrastinate.types import JSONDict
from psycopg_pool import ConnectionPool

from reaper.dev.bench.method import Go, Needs, Promise, Work
from reaper.dev.bench.methods.row_by_row import delete_one
from reaper.dev.bench.server_addresses import Addresses
from reaper.worker.tasks import connector

CONCURRENCY = 8
_DUE = "select short_code from public.pastes where expires_at <= now() order by expires_at limit %s"


@dataclass(frozen=True)
class JobPerPaste:
    """The jobs are queued before the clock starts; only their execution is measured."""

    sample: int | None = 500
    name: str = "one procrastinate job per paste"
    promise: Promise = Promise.DATABASE
    needs: Needs = Needs.DATABASE

    @contextmanager
    def ready(self, addresses: Addresses) -> Iterator[Go]:
        """A job for each paste of the sample."""
        count = self.sample or addresses.workload.due
        with ConnectionPool(addresses.dsn, min_size=CONCURRENCY, kwargs={"autocommit": True}) as pool:
            pool.wait()
            with pool.connection() as connection:
                codes = [code for (code,) in connection.execute(_DUE, (count,)).fetchall()]
            asyncio.run(_defer(_make_app(addresses.dsn, pool), codes))
            yield lambda: _work(_make_app(addresses.dsn, pool), len(codes))


def _make_app(dsn: str, pool: ConnectionPool) -> procrastinate.App:
    app = procrastinate.App(connector=connector(dsn))

    @app.task(name="expire")
    def expire(code: str) -> None:
        with pool.connection() as connection:
            delete_one(connection, code)

    return app


async def _defer(app: procrastinate.App, codes: list[str]) -> None:
    async with app.open_async():
        await app.tasks["expire"].batch_defer_async(*_arguments(codes))


def _arguments(codes: list[str]) -> Iterator[JSONDict]:
    for code in codes:
        yield {"code": code}


def _work(app: procrastinate.App, count: int) -> Work:
    async def run() -> None:
        async with app.open_async():
            await app.run_worker_async(
                wait=False,
                concurrency=CONCURRENCY,
                install_signal_handlers=False,
                listen_notify=False,
                delete_jobs="always",
            )

    asyncio.run(run())
    return Work(count)

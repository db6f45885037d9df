"""The demo, step by step: sample pastes, drains of which one is killed, the watchdog, the proof, a report."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from reaper import config, services
from reaper.app import App
from reaper.cli.formatting import count
from reaper.cli.progress import drain_progress
from reaper.config.backends import DEFAULT_BACKEND
from reaper.config.units import format_size
from reaper.dev.demo import sample_pastes
from reaper.dev.embedded import Stack
from reaper.errors import Exit
from reaper.migrate import migrate
from reaper.ops.verify_report import Report
from reaper.telemetry.logging import configure_logging

_COUNTS = """
    select (select count(*) from public.pastes), reaper.count_due(), (select count(*) from public.content)
"""
BUCKET = "demo-pastes"
CACHE_KEY = "paste:{short_code}"
BATCH_SIZE = 100
LANES = 3


@dataclass(frozen=True)
class Counts:
    """How much there is at one moment."""

    pastes: int
    due: int
    contents: int
    objects: int
    cached: int


class Walkthrough:
    """Runs the demo on one console; nothing of it is left afterwards."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def run(self) -> Exit:
        """Exit.OK when every promise was kept."""
        configure_logging(logging.ERROR, as_json=False)
        self._console.print("[bold]reaper demo[/]: nothing is installed, nothing is left behind\n")
        with ExitStack() as running:
            with self._step("start PostgreSQL, Valkey and an S3 server"):
                app = self._app(running.enter_context(Stack()))
            with self._step("migrate the schema"):
                migrate(app.settings.dsn, services=services.ALL)
            with self._step(f"store {sample_pastes.PASTES:,} pastes on {sample_pastes.CONTENTS:,} contents"):
                self._store_samples(app)
            before = self._count(app)
            self._console.print(
                f"    {before.due:,} have expired, {before.cached:,} are cached,"
                f" {before.pastes - before.contents:,} share content\n"
            )
            self._crash(app)
            self._drain(app)
            self._repair(app)
            with self._step("compare database, bucket and cache"):
                verdict = app.verify()
            self._report(app, before, self._count(app), verdict)
        return Exit.OK if verdict.clean else Exit.BEHIND

    def _app(self, stack: Stack) -> App:
        os.environ.update(environment(stack))
        return App(config.load_all("database_url", "redis_url", "s3_bucket"))

    def _store_samples(self, app: App) -> None:
        store, cache = app.buckets[DEFAULT_BACKEND], app.cache
        assert isinstance(store, sample_pastes.FillableBucket)
        assert isinstance(cache, sample_pastes.FillableCache)
        store.create_bucket()
        with app.connect("demo") as connection:
            # A dead worker is noticed after five seconds here, not after a minute: a demo must be short.
            connection.execute("update reaper.settings set worker_silence = '5 seconds'")
            sample_pastes.store(connection, store, cache)

    def _crash(self, app: App) -> None:
        """A drain in a process of its own, killed when its third batch is released but not finished."""
        with self._step("start a worker, and kill it in the middle of a batch"):
            subprocess.run(
                [sys.executable, "-m", "reaper.dev.demo.killed_drain"], check=False, capture_output=True
            )
        batches, pastes = self._in_flight(app)
        self._console.print(
            f"    [red]killed[/]: {pastes:,} pastes of {count(batches, 'batch', 'batches')}"
            " are gone from PostgreSQL, not from S3\n"
        )

    def _drain(self, app: App) -> None:
        began = time.monotonic()
        with drain_progress(app, console=self._console):
            app.drain(workers=LANES)
        seconds = time.monotonic() - began
        totals = app.telemetry.totals
        self._console.print(
            f"  [green]✓[/] drain what is left with {LANES} workers [dim]{seconds:.1f} s, "
            f"{totals.rows_deleted / seconds:,.0f} pastes a second[/]"
        )

    def _repair(self, app: App) -> None:
        adopted = 0
        with self._step("run the watchdog: find the dead worker, finish its batches"), app.heartbeat():
            runner = app.runner_by_hand(slots=0)
            while self._in_flight(app)[0]:
                tick = runner.run(runner.find("watchdog")).tick
                adopted += tick.figures["batches_adopted"] if tick else 0
                app.stop.wait(0.2)
        self._console.print(f"    {count(adopted, 'batch', 'batches')} adopted and finished\n")

    def _in_flight(self, app: App) -> tuple[int, int]:
        with app.connect("demo") as connection:
            row = connection.execute(
                "select count(*), coalesce(sum(codes), 0) from reaper.in_flight"
            ).fetchone()
        return (row[0], row[1]) if row else (0, 0)

    def _count(self, app: App) -> Counts:
        with app.connect("demo") as connection:
            pastes, due, contents = connection.execute(_COUNTS).fetchone() or (0, 0, 0)
        objects = sum(1 for _ in app.stores[DEFAULT_BACKEND].list())
        cached = sum(len(codes) for codes in app.cache.codes())
        return Counts(pastes, due, contents, objects, cached)

    def _report(self, app: App, before: Counts, after: Counts, verdict: Report) -> None:
        freed = format_size(self._bytes_freed(app))
        table = Table(box=None, show_header=False, padding=(0, 2))
        table.add_row(
            "[bold]deleted",
            f"{before.pastes - after.pastes:,} expired pastes, {before.objects - after.objects:,} objects"
            f" ({freed}), {before.cached - after.cached:,} cached",
        )
        table.add_row(
            "[bold]survived",
            f"{after.pastes:,} live pastes, and the {after.objects:,} objects that they share",
        )
        table.add_row("[bold]invariants", _verdict(verdict))
        self._console.print()
        self._console.print(table)

    def _bytes_freed(self, app: App) -> int:
        with app.connect("demo") as connection:
            row = connection.execute("select coalesce(sum(bytes_freed), 0) from reaper.runs").fetchone()
        return int(row[0]) if row else 0

    @contextmanager
    def _step(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        with self._console.status(what):
            yield
        self._console.print(f"  [green]✓[/] {what} [dim]{time.monotonic() - began:.1f} s[/]")


def _verdict(verdict: Report) -> str:
    if verdict.clean:
        return "[green]ok[/]: database, bucket and cache agree"
    return f"[red]broken[/]: {dict(verdict.counts)}"


def environment(stack: Stack) -> dict[str, str]:
    """The variables that lead a process to the embedded services."""
    return {
        "REAPER_DATABASE_URL": stack.postgres.dsn(),
        "REAPER_REDIS_URL": stack.valkey.url,
        "REAPER_S3_BUCKET": BUCKET,
        "REAPER_S3_ENDPOINT_URL": stack.s3.endpoint_url,
        "REAPER_CACHE_KEY": CACHE_KEY,
        "REAPER_BATCH_SIZE": str(BATCH_SIZE),
        "AWS_ACCESS_KEY_ID": "demo",
        "AWS_SECRET_ACCESS_KEY": "demo",
        "AWS_DEFAULT_REGION": "us-east-1",
    }

"""`reaper drain` and `reaper watchdog`: the work itself, in the foreground."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from reaper.cli import formatting, options
from reaper.cli.plan import plan
from reaper.cli.progress import drain_progress
from reaper.config.units import format_size

if TYPE_CHECKING:
    from reaper.model import Figures

_Workers = Annotated[
    int,
    typer.Option(
        "--workers", "-w", metavar="N", min=1, max=64, help="Lanes (threads) that drain at the same time."
    ),
]
_MaxBatches = Annotated[
    int | None,
    typer.Option("--max-batches", metavar="N", min=1, help="Stop after so many batches.", show_default=False),
]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be deleted, as `reaper plan` does; change nothing.")
]
WATCHDOG_EVERY = 15.0
SKIPPED = "skipped: another worker held the service lock"
_Once = Annotated[bool, typer.Option("--once", help="Run once and stop.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("drain")(drain)
    app.command("watchdog")(watchdog)


def drain(
    batch_size: options.BatchSize = None,
    workers: _Workers = 2,
    max_batches: _MaxBatches = None,
    rows_per_second: options.RowsPerSecond = None,
    dry_run: _DryRun = False,
    as_json: options.Json = False,
    verbose: options.Verbose = False,
    log_json: options.LogJson = False,
    metrics_file: options.MetricsFile = None,
    database_url: options.Dsn = None,
) -> None:
    """Delete what has expired: rows, objects and cache entries, until nothing is due.

    First finishes batches of dead workers, then deletes batch by batch. Ctrl-C stops cleanly between two
    batches; killing it at any moment loses nothing. Any number of drains may run at the same time.
    """
    if dry_run:
        options.set_up_logging(verbose, log_json)
        plan(batch_size, as_json, database_url)
        return
    from reaper import config
    from reaper.app import App
    from reaper.worker.heartbeat import worker_name

    name = worker_name()
    options.set_up_logging(verbose, log_json, name)

    settings = config.load_all(
        *("database_url", "backends", "batch_size"),
        database_url=database_url,
        batch_size=batch_size,
        rows_per_second=rows_per_second,
    )
    began = time.monotonic()
    with App(settings, worker=name) as app:
        app.check()
        options.stop_on_signals(app.stop)
        with drain_progress(app, hidden=as_json), app.telemetry.written_to(metrics_file):
            app.drain(workers, max_batches)
    _report(app.telemetry.totals, app.telemetry.batches, time.monotonic() - began, as_json)


def watchdog(
    once: _Once = False,
    verbose: options.Verbose = False,
    log_json: options.LogJson = False,
    metrics_file: options.MetricsFile = None,
    database_url: options.Dsn = None,
) -> None:
    """Take back the batches of dead workers, and finish their side effects.

    Runs every 15 seconds. A worker counts as dead after a minute without heartbeat, a claim after two hours.
    """
    from reaper import config
    from reaper.app import App
    from reaper.worker.heartbeat import worker_name

    name = worker_name()
    options.set_up_logging(verbose, log_json, name)
    settings = config.load_all("database_url", "backends", "stuck_after", database_url=database_url)
    with App(settings, worker=name) as app, app.telemetry.written_to(metrics_file):
        app.check()
        options.stop_on_signals(app.stop)
        with app.heartbeat():
            runner = app.runner_by_hand(slots=0)
            while True:
                outcome = runner.run(runner.find("watchdog"))
                more = outcome.tick is not None and outcome.tick.more and not app.stop.is_set()
                if not more and (once or app.stop.wait(WATCHDOG_EVERY)):
                    break
    if once:
        typer.echo(formatting.figures(outcome.tick.figures) if outcome.tick else SKIPPED)


def _report(totals: Figures, batches: int, seconds: float, as_json: bool) -> None:
    if as_json:
        typer.echo(
            json.dumps({**dataclasses.asdict(totals), "batches": batches, "seconds": round(seconds, 3)})
        )
        return
    rate = totals.rows_deleted / seconds if seconds else 0
    typer.echo(
        f"{formatting.count(totals.rows_deleted, 'paste')} deleted in"
        f" {formatting.count(batches, 'batch', 'batches')} ({rate:,.0f} a second);"
        f" {formatting.count(totals.objects_deleted, 'object')}, {format_size(totals.bytes_freed)} freed"
    )
    if totals.rows_blocked:
        typer.echo(f"{totals.rows_blocked:,} rows could not be deleted: select * from reaper.blocked_rows")
    if totals.objects_failed or totals.invalidations_failed:
        typer.echo(
            f"{totals.objects_failed:,} objects and {totals.invalidations_failed:,} cache entries"
            " could not be deleted now and are queued"
        )

"""`reaper drain` and `reaper watchdog`: the work itself, in the foreground."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from reaper.cli import formatting, options
from reaper.cli.plan import plan
from reaper.cli.progress import drain_progress
from reaper.config.units import format_size
from reaper.errors import Exit

if TYPE_CHECKING:
    from reaper.expiry.drain_report import DrainReport
    from reaper.expiry.held_batches import LeftBehind
    from reaper.model import Figures, Unfinished

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
_Exact = Annotated[
    bool, typer.Option("--exact", help="With --dry-run: count every due row, as `reaper plan --exact` does.")
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
    despite_pause: options.DespitePause = False,
    dry_run: _DryRun = False,
    exact: _Exact = False,
    as_json: options.Json = False,
    verbose: options.Verbose = False,
    log_json: options.LogJson = False,
    metrics_file: options.MetricsFile = None,
    database_url: options.Dsn = None,
) -> None:
    """Delete what has expired: rows, objects and cache entries, until nothing is due.

    First finishes batches of dead workers, then deletes batch by batch. Ctrl-C stops cleanly between two
    batches; killing it at any moment loses nothing. Any number of drains may run at the same time. Exit
    code 1 while the drain is paused (`reaper pause`); a pause that begins meanwhile ends it before the next
    batch; and where due pastes were left behind, by an error or because it was stopped. What other workers
    hold, blocked rows, queued objects and the DLQ are told in the last lines, with exit code 0: `reaper
    status` judges them.
    """
    if exact and not dry_run:
        raise typer.BadParameter("only with --dry-run", param_hint="--exact")
    if dry_run:
        options.set_up_logging(verbose, log_json)
        plan(batch_size, exact, as_json, database_url)
        return
    from reaper import config
    from reaper.app import App
    from reaper.ops.service_phase import paused
    from reaper.worker.heartbeat import worker_name

    name = worker_name()
    options.set_up_logging(verbose, log_json, name)

    settings = config.load_all(
        *("database_url", "backends"),
        database_url=database_url,
        batch_size=batch_size,
        rows_per_second=rows_per_second,
    )
    began = time.monotonic()
    with App(settings, worker=name) as app:
        app.check()
        options.stop_on_signals(app.stop)
        with drain_progress(app, hidden=as_json), app.metrics_written_to(metrics_file):
            done = app.drain(workers, max_batches, despite_pause)
        left, unfinished = app.left_behind(), app.unfinished()
    _report(done, time.monotonic() - began, as_json, left, unfinished)
    if done.pause:
        raise paused(f"drain stopped before its next batch: {done.pause}", "drain")
    if left:
        raise typer.Exit(Exit.BEHIND)


def watchdog(
    once: _Once = False,
    despite_pause: options.DespitePause = False,
    verbose: options.Verbose = False,
    log_json: options.LogJson = False,
    metrics_file: options.MetricsFile = None,
    database_url: options.Dsn = None,
) -> None:
    """Take back the batches of dead workers, and finish their side effects.

    Runs every 15 seconds. A worker counts as dead after a minute without heartbeat, a claim after two hours.
    Exit code 1 while the service watchdog is paused.
    """
    from reaper import config
    from reaper.app import App
    from reaper.ops.service_phase import require_no_pause
    from reaper.worker.heartbeat import worker_name

    name = worker_name()
    options.set_up_logging(verbose, log_json, name)
    settings = config.load_all("database_url", "backends", "stuck_after", database_url=database_url)
    with App(settings, worker=name) as app, app.metrics_written_to(metrics_file):
        app.check()
        options.stop_on_signals(app.stop)
        with app.heartbeat():
            runner = app.runner_by_hand(slots=0)
            while True:
                if not despite_pause:
                    require_no_pause(app.job_session.call, "watchdog")
                outcome = runner.run(runner.find("watchdog"))
                more = outcome.tick is not None and outcome.tick.more and not app.stop.is_set()
                if not more and (once or app.stop.wait(WATCHDOG_EVERY)):
                    break
    if once:
        typer.echo(formatting.figures(outcome.tick.figures) if outcome.tick else SKIPPED)


def _report(
    done: DrainReport, seconds: float, as_json: bool, left: LeftBehind | None, unfinished: Unfinished | None
) -> None:
    if as_json:
        behind = {"rows_left": left.rows if left else 0, "left_because": left.error if left else None}
        figures = {**_as_dict(done, seconds), **behind, "unfinished": unfinished}
        typer.echo(json.dumps(figures, default=formatting.plain))
        return
    for line in (*report_lines(done, seconds), *(unfinished_lines(unfinished, done) if unfinished else ())):
        typer.echo(line)
    if left:
        typer.echo(f"{formatting.count(left.rows, 'due paste')} left behind, held by no worker: {left.error}")


def _as_dict(done: DrainReport, seconds: float) -> dict[str, object]:
    """The figures of all batches, adopted ones included, and what else was done."""
    return {
        **dataclasses.asdict(done.adopted.figures + done.figures),
        "batches": done.batches + done.adopted.batches,
        "batches_adopted": done.adopted.batches,
        "retries_deleted": done.retried.gone,
        "retries_failed": done.retried.failed,
        "paused": done.pause,
        "seconds": round(seconds, 3),
    }


def report_lines(done: DrainReport, seconds: float) -> Iterator[str]:
    """Each thing as what it is: deleted, deleted for others, delivered at last, queued, given up."""
    count, own, adopted = formatting.count, done.figures, done.adopted
    rate = own.rows_deleted / seconds if seconds else 0
    yield (
        f"{count(own.rows_deleted, 'paste')} deleted in {count(done.batches, 'batch', 'batches')}"
        f" ({rate:,.0f} a second); {_objects(own)}"
    )
    if adopted.batches:
        yield (
            f"{count(adopted.batches, 'batch', 'batches')} of other workers finished, with"
            f" {count(adopted.figures.rows_deleted, 'paste')} deleted before; {_objects(adopted.figures)}"
        )
    if done.retried.gone:
        yield f"{count(done.retried.gone, 'deletion')} that had failed before: done"
    if done.retried.failed:
        yield f"{count(done.retried.failed, 'deletion')} that had failed before: failed again"
    yield from _left_behind(adopted.figures + own)


def unfinished_lines(now: Unfinished, done: DrainReport) -> Iterator[str]:
    """What is not done although nothing is left to claim; what this drain itself left is told already."""
    own = done.adopted.figures + done.figures
    yield from _held(now)
    if now.rows_blocked > own.rows_blocked:
        yield (
            f"{formatting.count(now.rows_blocked, 'row')} blocked: select * from reaper.blocked_rows;"
            " reaper.unblock() lets the next drain try again"
        )
    if now.objects_behind_circuits:
        yield (
            f"{formatting.count(now.objects_behind_circuits, 'object')} queued behind an open circuit"
            f" ({', '.join(now.circuits_open)}), tried when the backend answers: reaper backend list"
        )
    others = now.objects_queued - now.objects_behind_circuits
    if others > own.objects_failed - own.dead_letters:
        yield f"{formatting.count(others, 'object')} queued: workers try again"
    if now.dead_letters > own.dead_letters:
        yield (
            f"{formatting.count(now.dead_letters, 'object')} in the DLQ, not tried again: reaper dlq list;"
            " when the cause is gone: reaper dlq retry --all"
        )


def _held(now: Unfinished) -> Iterator[str]:
    count, things = formatting.count, []
    if now.rows_held:
        things.append(count(now.rows_held, "due paste"))
    if now.objects_held:
        things.append(count(now.objects_held, "object"))
    if things and now.held_for is not None:
        verb = "is" if now.rows_held + now.objects_held == 1 else "are"
        yield (
            f"{' and '.join(things)} in {count(now.batches_held, 'batch', 'batches')} {verb} held by other"
            f" workers, for {formatting.age(now.held_for)}: if these are dead, the watchdog (reaper watchdog"
            f" --once) returns them {formatting.age(now.worker_silence)} after the last heartbeat"
        )


def _objects(figures: Figures) -> str:
    """What was deleted; objects without a recorded size are no zero bytes."""
    objects = formatting.count(figures.objects_deleted, "object")
    if not figures.objects_unsized:
        return f"{objects}, {format_size(figures.bytes_freed)} freed"
    if figures.objects_unsized == figures.objects_deleted:
        return f"{objects} of unknown size"
    return (
        f"{objects}, {format_size(figures.bytes_freed)} freed and {figures.objects_unsized:,} of unknown size"
    )


def _left_behind(figures: Figures) -> Iterator[str]:
    count = formatting.count
    if figures.rows_blocked:
        yield f"{count(figures.rows_blocked, 'row')} could not be deleted: select * from reaper.blocked_rows"
    if queued := figures.objects_failed - figures.dead_letters:
        yield f"{count(queued, 'object')} not deleted now and queued: workers try again"
    if figures.dead_letters:
        yield (
            f"{count(figures.dead_letters, 'object')} not deleted and given up, now in the DLQ:"
            " reaper dlq list"
        )
    if figures.invalidations_failed:
        yield f"{_entries(figures.invalidations_failed)} not deleted now and queued: workers try again"


def _entries(number: int) -> str:
    return formatting.count(number, "cache entry", "cache entries")

"""What a person sees while a drain runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from reaper.app import App
from reaper.model import Figures


@contextmanager
def watch_drain(app: App, hidden: bool = False, console: Console | None = None) -> Iterator[None]:
    """A bar with rows, speed, objects, bytes and the time left, where somebody watches; nothing elsewhere."""
    console = console or Console(stderr=True)
    if hidden or not console.is_terminal:
        yield
        return
    with _bar(console) as bar:
        task = bar.add_task("draining", total=app.count_due(), rate="", freed="")

        def advance(figures: Figures) -> None:
            totals = app.telemetry.totals
            speed = bar.tasks[task].finished_speed or bar.tasks[task].speed or 0
            bar.update(
                task,
                advance=figures.rows_deleted + figures.rows_blocked + figures.rows_returned,
                rate=f"{speed:,.0f} rows/s",
                freed=f"{totals.objects_deleted:,} objects, {decimal(totals.bytes_freed)} freed",
            )

        app.telemetry.watch(advance)
        yield


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("[dim]{task.fields[freed]}"),
        TimeRemainingColumn(),
        console=console,
    )

"""What moves while a person waits: a drain's bar, a count of batches, the phases of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from reaper.config.units import format_size

if TYPE_CHECKING:
    from reaper.app import App
    from reaper.model import Figures


@contextmanager
def drain_progress(app: App, hidden: bool = False, console: Console | None = None) -> Iterator[None]:
    """A bar with rows, speed, objects, bytes and the time left, where a person watches; nothing elsewhere."""
    console = console or Console(stderr=True)
    if hidden or not console.is_terminal:
        yield
        return
    with _drain_bar(console) as bar:
        task = bar.add_task("draining", total=app.count_due(), rate="", freed="")

        def advance(figures: Figures) -> None:
            totals = app.telemetry.totals
            speed = bar.tasks[task].finished_speed or bar.tasks[task].speed or 0
            bar.update(
                task,
                advance=figures.rows_deleted + figures.rows_blocked + figures.rows_returned,
                rate=f"{speed:,.0f} rows/s",
                freed=f"{totals.objects_deleted:,} objects, {format_size(totals.bytes_freed)} freed",
            )

        app.telemetry.watch(advance)
        yield


def counted(batches: Iterator[int], done: str) -> Iterator[int]:
    """The same batches, with a moving count; `done` says what has happened to so many: `rows deleted`."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield from batches
        return
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(done, total=None)
        for number in batches:
            bar.advance(task, number)
            yield number


@contextmanager
def phase_counts(hidden: bool = False) -> Iterator[Callable[[str, int], None]]:
    """What to call with a phase and how many more it has seen; a line for each where a person watches."""
    console = Console(stderr=True)
    if hidden or not console.is_terminal:
        yield lambda phase, number: None  # noqa: ARG005  called by position
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed:,}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def advance(phase: str, number: int) -> None:
            if phase not in tasks:
                tasks[phase] = bar.add_task(phase, total=None)
            bar.advance(tasks[phase], number)

        yield advance


def _drain_bar(console: Console) -> Progress:
    return Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("[dim]{task.fields[freed]}"),
        TimeRemainingColumn(),
        console=console,
    )

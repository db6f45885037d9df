"""What moves while a person waits: a drain's bar, a count of batches, the phases of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from reaper.cli.formatting import count
from reaper.config.units import format_size
from reaper.errors import ReaperError

if TYPE_CHECKING:
    from reaper.app import App
    from reaper.model import Figures

# Waits that are shorter than this come and go with every batch.
SHOWN_AFTER = 0.3
# Below these widths of a terminal the bar leaves out what matters least.
WIDE, NARROW = 130, 80


@contextmanager
def drain_progress(app: App, hidden: bool = False, console: Console | None = None) -> Iterator[None]:
    """A bar with rows, speed, objects, bytes and the time left, where a person watches; nothing elsewhere."""
    console = console or Console(stderr=True)
    if hidden or not console.is_terminal:
        yield
        return
    with drain_bar(console, app) as bar:
        task = bar.add_task("draining", total=app.count_due(), rate="", freed="")

        def advance(figures: Figures) -> None:
            totals = app.telemetry.totals
            speed = bar.tasks[task].finished_speed or bar.tasks[task].speed or 0
            bar.update(
                task,
                # Rows that were returned come again.
                advance=figures.rows_deleted + figures.rows_blocked,
                rate=f"{speed:,.0f} rows/s",
                freed=_freed(totals),
            )
            _widen(bar, task)

        app.telemetry.watch(advance)
        yield
        if _nothing_is_left(app):
            # What other drains deleted meanwhile is done, too.
            bar.update(task, total=bar.tasks[task].completed)


def _widen(bar: Progress, task: TaskID) -> None:
    """More rows than were counted: some became due meanwhile, or were released by other workers."""
    shown = bar.tasks[task]
    if shown.total is not None and shown.completed > shown.total:
        bar.update(task, total=shown.completed)


def _nothing_is_left(app: App) -> bool:
    try:
        return app.count_due() == 0
    except ReaperError:
        return False


def _freed(totals: Figures) -> str:
    objects = count(totals.objects_deleted, "object")
    if totals.objects_unsized and totals.objects_unsized == totals.objects_deleted:
        return objects
    return f"{objects}, {format_size(totals.bytes_freed)} freed"


class WaitColumn(ProgressColumn):
    """Why nothing moves: what the drain waits for, or the pace that it keeps."""

    max_refresh = 0.1

    def __init__(self, app: App) -> None:
        super().__init__()
        self._app = app

    def render(self, _: Task) -> Text:
        """The reason, or nothing; where there is no room for all of it, its beginning."""
        reason, pace = self._app.telemetry.wait(SHOWN_AFTER), self._app.rate.rows_per_second
        if reason is None and pace is not None:
            return _one_line(f"pace of {pace:,.0f} rows/s", "dim")
        return _one_line(f"waiting: {reason}" if reason else "", "yellow")


class WaitOrTimeColumn(WaitColumn):
    """Why nothing moves, else the time left: there is no room for both."""

    def __init__(self, app: App) -> None:
        super().__init__(app)
        self._time = TimeRemainingColumn()

    def render(self, task: Task) -> Text:
        """One of them."""
        return super().render(task) or self._time.render(task)


def _one_line(text: str, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


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


class CountColumn(ProgressColumn):
    """`1,234 of 5,000`, numbers as everywhere else."""

    def render(self, task: Task) -> Text:
        """How many of how many."""
        of = "" if task.total is None else f" of {task.total:,.0f}"
        return Text(f"{task.completed:,.0f}{of}")


def drain_bar(console: Console, app: App) -> Progress:
    """The bar of a drain, on one line of this terminal; the reason of a wait is cut first."""
    return Progress(*_drain_columns(console.width, app), console=console)


def _drain_columns(width: int, app: App) -> Iterator[ProgressColumn]:
    yield TextColumn("[bold]{task.description}")
    yield BarColumn(bar_width=40 if width >= WIDE else 8)
    yield CountColumn(table_column=Column(no_wrap=True))
    if width >= NARROW:
        yield TaskProgressColumn()
        yield TextColumn("{task.fields[rate]}")
    if width >= WIDE:
        yield TextColumn("[dim]{task.fields[freed]}")
        yield TimeRemainingColumn()
        yield WaitColumn(app)
    else:
        yield WaitOrTimeColumn(app)

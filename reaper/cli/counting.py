"""A count that moves while batches go by, where somebody watches."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


def counted(batches: Iterator[int], done: str) -> Iterator[int]:
    """The same batches; `done` says what has happened to so many: `rows deleted`."""
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

"""The tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from reaper.dev.bench import sheets
from reaper.dev.bench.results import Results
from reaper.dev.bench.sheets import Sheet
from reaper.dev.bench.targets import Target

COLOURS = {"reached": "[green]reached[/]", "missed": "[red]missed[/]"}


def show(console: Console, results: Results, targets: Sequence[Target]) -> None:
    """Everything, the machine first and the targets last."""
    console.print(f"\n[bold]{results.machine.sentence}[/]")
    console.print("PostgreSQL: " + ", ".join(f"{name} {value}" for name, value in results.settings.items()))
    for sheet in (
        *(sheets.contest(results, workload) for workload in results.workloads()),
        sheets.growth(results),
        sheets.foreground(results),
        sheets.goals(targets),
    ):
        console.print()
        console.print(_table(sheet))
    for warning in results.warnings:
        console.print(f"[yellow]{warning}[/]")
    for problem in results.problems:
        console.print(f"[red]wrong:[/] {problem}")


def _table(sheet: Sheet) -> Table:
    table = Table(title=sheet.title, title_justify="left", title_style="bold", box=None, padding=(0, 2))
    for place, heading in enumerate(sheet.headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True)
    for row in sheet.rows:
        table.add_row(*(COLOURS.get(cell, cell) for cell in row))
    return table

"""The tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from reaper.dev.bench import figure_tables
from reaper.dev.bench.figure_tables import FigureTable
from reaper.dev.bench.results import Results
from reaper.dev.bench.targets import Target

COLOURS = {"reached": "[green]reached[/]", "missed": "[red]missed[/]"}


def show(console: Console, results: Results, targets: Sequence[Target]) -> None:
    """Everything, the machine first and the targets last."""
    console.print(f"\n[bold]PostgreSQL {results.server_version}, {results.machine.sentence}[/]")
    console.print("Settings: " + ", ".join(f"{name} {value}" for name, value in results.settings.items()))
    for table in (
        *(figure_tables.comparison(results, workload) for workload in results.workloads()),
        figure_tables.keys(results),
        figure_tables.growth(results),
        figure_tables.foreground(results),
        figure_tables.goals(targets),
    ):
        console.print()
        console.print(_table(table))
    for warning in results.warnings:
        console.print(f"[yellow]{warning}[/]")
    for problem in results.problems:
        console.print(f"[red]wrong:[/] {problem}")


def _table(figures: FigureTable) -> Table:
    table = Table(title=figures.title, title_justify="left", title_style="bold", box=None, padding=(0, 2))
    for number, heading in enumerate(figures.headings):
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    for row in figures.rows:
        table.add_row(*(COLOURS.get(cell, cell) for cell in row))
    return table

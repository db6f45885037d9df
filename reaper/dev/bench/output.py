"""What is left of a run: tables on the console, results.json, plots, and figures for a page."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from reaper.dev.bench import markdown_page, plots, targets, terminal_report
from reaper.dev.bench.results import Results, as_json


def publish(results: Results, console: Console, directory: Path, onto: Path | None) -> None:
    """Print the tables, write the files, and put the figures onto a page, with its plots beside it."""
    reached = targets.judge(results)
    # First what cannot be measured again in a moment.
    _write(directory, "results.json", as_json(results, [target.as_json() for target in reached]))
    terminal_report.show(console, results, reached)
    _draw(directory, results)
    console.print(f"\nresults.json and plots: {directory}/")
    if onto and results.problems:
        console.print(f"{onto} is not changed: the run left something behind, so its figures do not count")
    elif onto:
        # Plots of each major version of PostgreSQL in a directory of their own.
        major = results.server_major
        _draw(onto.with_suffix("") / str(major), results)
        markdown_page.insert(onto, markdown_page.markdown(results, reached, f"{onto.stem}/{major}"), major)
        console.print(f"figures: {onto}")


def _draw(directory: Path, results: Results) -> None:
    for draw in (plots.throughput, plots.growth, plots.foreground):
        _write(directory, f"{draw.__name__}.svg", draw(results))


def _write(directory: Path, name: str, text: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(text, encoding="utf-8")

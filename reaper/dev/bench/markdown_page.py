"""The figures as Markdown, in the page that shows the newest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reaper.dev.bench import figure_tables
from reaper.dev.bench.figure_tables import FigureTable
from reaper.dev.bench.results import Results
from reaper.dev.bench.targets import Target
from reaper.errors import ConfigError

# A section for each major version of PostgreSQL that the page has marks for.
BEGIN = "<!-- figures on PostgreSQL {major}: written by reaper bench -->"
END = "<!-- end of figures on PostgreSQL {major} -->"


def markdown(results: Results, targets: Sequence[Target], plots: str) -> str:
    """The machine, the targets, the plots and all tables; `plots` is the directory of the pictures."""
    first, *rest = results.workloads()
    when = f"Measured on {results.began:%d %B %Y} with `reaper bench`, plan {results.plan}"
    return "\n\n".join(
        [
            f"{when}, on PostgreSQL {results.server_version}: {results.machine.sentence}.",
            "Settings: " + ", ".join(f"{name} = {value}" for name, value in results.settings.items()) + ".",
            *(f"**{warning}**" for warning in results.warnings),
            as_markdown(figure_tables.goals(targets)),
            f"![Throughput of each method]({plots}/throughput.svg)",
            as_markdown(figure_tables.comparison(results, first)),
            *(as_markdown(figure_tables.comparison(results, workload)) for workload in rest),
            as_markdown(figure_tables.keys(results)),
            f"![Cost per row by size, and claims over the course of a drain]({plots}/growth.svg)",
            as_markdown(figure_tables.growth(results)),
            f"![Waiting time of readers and writers beside a drain]({plots}/foreground.svg)",
            as_markdown(figure_tables.foreground(results)),
        ]
    )


def insert(page: Path, figures: str, major: int) -> None:
    """Replace what stands between the two marks of the server's major version."""
    begins, ends = BEGIN.format(major=major), END.format(major=major)
    text = page.read_text()
    before, begin, rest = text.partition(begins)
    _, end, after = rest.partition(ends)
    if not begin or not end:
        raise ConfigError(
            f"{page} has no place for figures of PostgreSQL {major}",
            f"Put {begins} and {ends} where they belong.",
        )
    page.write_text(f"{before}{begins}\n\n{figures}\n\n{ends}{after}")


def as_markdown(table: FigureTable) -> str:
    """A table with its title above it."""
    lines = [
        f"**{table.title}**",
        "",
        "| " + " | ".join(table.headings) + " |",
        "|---|" + "---:|" * (len(table.headings) - 1),
        *("| " + " | ".join(row) + " |" for row in table.rows),
    ]
    return "\n".join(lines)

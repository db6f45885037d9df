"""`reaper doctor`: is everything set up as it must be?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.tables import Column, show_table
from reaper.errors import Exit

if TYPE_CHECKING:
    from reaper.app import App
    from reaper.queries.checks import Diagnosis

_COLOUR = {"ok": "green", "warn": "yellow", "fail": "red"}
_Probe = Annotated[bool, typer.Option("--probe", help="Write an object to the bucket and delete it again.")]

_With = Annotated[
    Path | None,
    typer.Option(
        "--with",
        metavar="FILE",
        help="Compare with another shard, given as its reaper.toml or .env: what do both share?",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("doctor")(doctor)


def doctor(
    probe: _Probe = False,
    beside: _With = None,
    as_json: options.Json = False,
    database_url: options.Dsn = None,
) -> None:
    """Check schema, code, rights, indexes and settings of the database, the bucket and the cache.

    Each check ends as ok, warn or fail, and says what to do. Exit code 0 without a fail, else 1. Changes
    nothing, unless --probe is given; on adopted tables it looks for a sample of the objects and records
    whether they were found. The worker's role is enough.
    """
    from reaper import config
    from reaper.app import App
    from reaper.app.examination import examine

    options.set_up_logging(verbose=False, log_json=False)
    with App(config.load_all("database_url", database_url=database_url)) as app:
        found = list(examine(app, probe=probe))
        found += _compare(app, beside) if beside else []
    if as_json:
        formatting.print_json(found)
    else:
        _show(found)
    raise typer.Exit(Exit.BEHIND if any(d.verdict == "fail" for d in found) else Exit.OK)


def _compare(app: App, beside: Path) -> Iterator[Diagnosis]:
    from reaper.config.other_settings import read_other
    from reaper.ops.shards import SAMPLE, compare_shards

    with app.asking("doctor") as q:
        yield from compare_shards(app.settings, read_other(beside), q.sample_keys(SAMPLE))


def _show(found: list[Diagnosis]) -> None:
    show_table((Column(), Column(), Column(wraps=True)), [_row(each) for each in found])


def _row(found: Diagnosis) -> tuple[str, ...]:
    fix = f"\n[dim]→ {escape(found.fix)}[/]" if found.verdict != "ok" and found.fix else ""
    verdict = f"[{_COLOUR[found.verdict]}]{found.verdict:<4}[/]"
    return verdict, f"[bold]{escape(found.name)}[/]", escape(found.detail) + fix

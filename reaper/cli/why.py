"""`reaper why CODE|HASH`: what happened to a paste or a content, and why it is still there."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.tables import Column, console, show_table

if TYPE_CHECKING:
    from reaper.queries.why import Event, NamedObject

_Subject = Annotated[
    str, typer.Argument(metavar="CODE|HASH", help="A paste's code, or a content's hash.", show_default=False)
]
_Look = Annotated[
    bool,
    typer.Option(
        "--look", help="Also ask the backends and the cache whether the objects and the entry exist now."
    ),
]


# The first is empty: what happened is indented below its subject.
_COLUMNS = (Column(), Column(), Column(), Column(wraps=True))


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("why")(why)


def why(
    subject: _Subject, look: _Look = False, as_json: options.Json = False, database_url: options.Dsn = None
) -> None:
    """Show the history of one paste or content, and why it still exists or is gone.

    Asks the database alone; with --look also the backends and the cache. What was deleted longer ago than
    reaper.settings.keep_codes is no longer known. Exit code 4 when nothing is known.
    """
    options.set_up_logging(verbose=False, log_json=False)
    from reaper.ops.why import story

    with asking("why", database_url) as q:
        events, objects = story(q, subject), q.objects_of_subject(subject)
    codes = [subject] if any(event.subject == "paste" for event in events) else []
    seen = _look(codes, objects, database_url) if look else []
    if as_json:
        formatting.print_json({"events": [asdict(e) for e in events], "seen": seen})
    else:
        _show(events, seen)


def _look(codes: list[str], objects: list[NamedObject], database_url: str | None) -> list[str]:
    from reaper import config
    from reaper.app import App
    from reaper.ops.why import look

    with App(config.load_all("database_url", database_url=database_url)) as app:
        return look(codes, objects, app.stores, app.cache)


def _show(events: list[Event], seen: list[str]) -> None:
    out = console()
    for subject, told in groupby(events, lambda event: event.subject):
        out.print(f"[bold]{subject}[/]")
        story = list(told)
        show_table(_COLUMNS, [_row(event) for event in story if event.event != "now"])
        for event in story:
            if event.event == "now":
                out.print(f"  [bold]→ {escape(event.detail)}[/]")
    for text in seen:
        out.print(f"[cyan]seen[/]    {escape(text)}")


def _row(event: Event) -> tuple[str, ...]:
    return "", formatting.second(event.at), event.event, f"[dim]{escape(event.detail)}[/]"

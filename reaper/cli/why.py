"""`reaper why CODE|HASH`: what happened to a paste or a content, and why it is still there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape

from reaper import config
from reaper.app import App
from reaper.cli import options, words
from reaper.model import Copy
from reaper.ops import why as stories
from reaper.ops.database import asking
from reaper.queries.why import Event

_Subject = Annotated[
    str, typer.Argument(metavar="CODE|HASH", help="A paste's code, or a content's hash.", show_default=False)
]
_Look = Annotated[
    bool, typer.Option("--look", help="Also look whether the objects and the cache entry are there now.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("why")(why)


def why(
    subject: _Subject, look: _Look = False, as_json: options.Json = False, database_url: options.Dsn = None
) -> None:
    """Tell the story of one paste or content, oldest first, and why it is still there, or gone.

    Asks the database alone; with --look also the backends and the cache. What went longer ago than
    reaper.settings.keep_codes is forgotten. Exit code 4 when nothing is known.
    """
    options.set_up_logging(verbose=False, log_json=False)
    settings = config.load("database_url", database_url=database_url)
    with asking(settings.dsn, "why") as q:
        events, copies = stories.story(q, subject), q.copies_of_subject(subject)
    seen = _look(subject, copies, database_url) if look else []
    if as_json:
        words.print_json({"events": [asdict(e) for e in events], "seen": seen})
    else:
        _show(events, seen)


def _look(subject: str, copies: list[Copy], database_url: str | None) -> list[str]:
    with App(config.load_all("database_url", database_url=database_url)) as app:
        return stories.look(subject, copies, app.stores, app.cache)


def _show(events: list[Event], seen: list[str]) -> None:
    out = words.console()
    for line in _lines(events):
        out.print(line)
    for text in seen:
        out.print(f"[cyan]seen[/]    {escape(text)}")


def _lines(events: list[Event]) -> Iterator[str]:
    told = None
    for event in events:
        if event.subject != told:
            yield f"[bold]{event.subject}[/]"
            told = event.subject
        if event.event == "now":
            yield f"  [bold]→ {escape(event.detail)}[/]"
        else:
            when = f"{event.at:%Y-%m-%d %H:%M:%S}" if event.at else ""
            yield f"  {when:<20}{event.event:<17}[dim]{escape(event.detail)}[/]"

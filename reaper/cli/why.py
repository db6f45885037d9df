"""`reaper why CODE|HASH`: what happened to a paste or a content, and why it is still there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape

from reaper import config, db
from reaper.app import App
from reaper.cli import options, words
from reaper.errors import BadArgument
from reaper.migrate import check_schema
from reaper.ops.reports import Copy, Event, Reports

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
    with db.connect(settings.dsn, "reaper:why") as connection:
        check_schema(connection)
        reports = Reports(connection)
        events, copies = reports.why(subject), reports.copies(subject)
    if not events:
        raise BadArgument(
            f"nothing is known of {subject!r}",
            "It never was, or it went longer ago than reaper.settings.keep_codes.",
        )
    seen = _look(subject, copies, database_url) if look else []
    if as_json:
        words.print_json({"events": [asdict(e) for e in events], "seen": seen})
    else:
        _show(events, seen)


def _look(subject: str, copies: list[Copy], database_url: str | None) -> list[str]:
    """What is really there: the objects of the content, the cache entry of the code."""
    with App(config.load_all("database_url", database_url=database_url)) as app:
        seen = [_object(app, copy) for copy in copies]
        cached = bool(app.cache.present([subject]))
    return [*seen, f"a cache entry for {subject} is {'there' if cached else 'not there'}"]


def _object(app: App, copy: Copy) -> str:
    store = app.stores.get(copy.backend)
    if store is None:
        return f"backend {copy.backend} is not configured here"
    found = store.find([copy.object_key]).get(copy.object_key)
    there = f"there, {found.size:,} bytes" if found else "not there"
    return f"{copy.object_key} on {copy.backend} is {there}"


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

"""`reaper usage`: what the backends were used for, month by month."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.tables import Column, show_table
from reaper.config.units import format_size

if TYPE_CHECKING:
    from reaper.queries.usage import MonthlyUsage

_Month = Annotated[
    str | None,
    typer.Option("--month", metavar="YYYY-MM", help="This month only.", show_default="all that are kept"),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("usage")(usage)


def usage(month: _Month = None, as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Show the S3 requests and bytes of each backend by month, and the limits.

    Every try of a request counts. Processes tell their counts each half minute, each 5 seconds near a limit.
    The SQL function set_limit() changes a limit. Needs only the database.
    """
    wanted = None if month is None else _first_day(month)
    with asking("operator", database_url) as q:
        found = q.usage(wanted)
    if as_json:
        formatting.print_json(found)
        return
    columns = (
        *(Column("month"), Column("backend"), Column("requests", number=True)),
        *(Column("read", number=True, only_if_wide=True), Column("write", number=True, only_if_wide=True)),
        *(Column("list", number=True, only_if_wide=True), Column("delete", number=True, only_if_wide=True)),
        *(Column("ingress", number=True), Column("egress", number=True), Column("limits", wraps=True)),
    )
    show_table(columns, [_row(each) for each in found])


def _first_day(month: str) -> date:
    try:
        return datetime.strptime(month, "%Y-%m").date()  # noqa: DTZ007
    except ValueError:
        raise typer.BadParameter("write a month as 2026-01", param_hint="--month") from None


def _row(used: MonthlyUsage) -> tuple[str, ...]:
    figures = (used.requests_read, used.requests_write, used.requests_list, used.requests_delete)
    return (
        f"{used.month:%Y-%m}",
        f"[bold]{escape(used.backend)}[/]",
        f"{used.requests:,}",
        *(f"{figure:,}" for figure in figures),
        format_size(used.ingress),
        format_size(used.egress),
        ", ".join(_limits(used)),
    )


def _limits(used: MonthlyUsage) -> list[str]:
    limits = (
        ("requests", used.requests, used.monthly_requests),
        ("ingress", used.ingress, used.monthly_ingress),
        ("egress", used.egress, used.monthly_egress),
    )
    return [
        f"{name} {'reached' if done >= limit else f'{done / limit:.0%}'} of "
        + (f"{limit:,}" if name == "requests" else format_size(limit))
        for name, done, limit in limits
        if limit is not None
    ]

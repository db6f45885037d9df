"""`reaper rebalance`: what the rebalancer would move, and moving it now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.tables import Column, show_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reaper.model import Move

LONGEST_PLAN = 10_000
_Plan = Annotated[bool, typer.Option("--plan", help="Show what would be moved; change nothing.")]
_Here = Annotated[
    bool,
    typer.Option("--here", help="Move it once in this process, as `reaper service run rebalancer --here`."),
]
_Wait = Annotated[
    bool, typer.Option("--wait", help="With --here: wait while another worker holds the service lock.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("rebalance")(rebalance)


def rebalance(
    plan: _Plan = False,
    here: _Here = False,
    wait: _Wait = False,
    as_json: options.Json = False,
    database_url: options.Dsn = None,
) -> None:
    """Show what the rebalancer would move, or move it now.

    By settings.rebalance_strategy (spread or pack) and rebalance_threshold; backends without a quota take no
    part. The service rebalancer is off at first: `reaper service enable rebalancer`.
    """
    if plan == here:
        raise typer.BadParameter("choose one of --plan and --here")
    if here:
        from reaper.cli.service import run_here

        run_here("rebalancer", wait=wait, despite_pause=False, as_json=as_json, database_url=database_url)
        return
    with asking("operator", database_url) as q:
        moves = q.plan_moves(LONGEST_PLAN)
    if as_json:
        formatting.print_json(moves)
    else:
        _show(moves)


def _show(moves: Sequence[Move]) -> None:
    ways: dict[tuple[str, str], list[int]] = {}
    for move in moves:
        ways.setdefault((move.source, move.destination), []).append(move.size_bytes)
    if not ways:
        typer.echo("nothing to move: the utilisation of the backends differs by less than the threshold")
        return
    columns = (Column("from"), Column("to"), Column("objects", number=True), Column("bytes", number=True))
    rows = [(escape(a), escape(b), f"{len(sizes):,}", f"{sum(sizes):,}") for (a, b), sizes in ways.items()]
    show_table(columns, rows)
    if len(moves) == LONGEST_PLAN:
        typer.echo(f"The plan ends after {LONGEST_PLAN:,} moves; there may be more.")

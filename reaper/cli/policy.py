"""`reaper policy`: retention of old rows, for any table."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.progress import counted
from reaper.cli.tables import Column, show_fields, show_table
from reaper.errors import Exit, ServicePaused

if TYPE_CHECKING:
    from reaper.queries import Queries
    from reaper.queries.retention import Policy, PolicyForecast

_HELP = """
Delete old rows of any table, a bounded batch at a time.

Register a policy, check what it would delete, then enable it:

    reaper policy add history --table public.history --column created_at --max-age '90 days'

    reaper policy plan history

    reaper policy enable history

A policy that is dangerous or slow is refused, with the statement that fixes it. Needs only the database, \
the role reaper_ops, and the right to delete from the table.
"""

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The policy.", show_default=False)]
_Table = Annotated[
    str,
    typer.Option(
        "--table", metavar="TABLE", help="The table, as SQL names it: app.events or 'app.\"My Table\"'."
    ),
]
_Column = Annotated[
    str, typer.Option("--column", metavar="COLUMN", help="The column that says how old a row is.")
]
_MaxAge = Annotated[
    str,
    typer.Option("--max-age", metavar="AGE", help="Rows older than this are deleted: '90 days', '3 months'."),
]
_BatchLimit = Annotated[
    int,
    typer.Option(
        "--batch-limit", metavar="N", min=1, max=10_000, help="Rows that one batch deletes at most."
    ),
]
_Schedule = Annotated[
    str,
    typer.Option("--schedule", metavar="CRON", help="Cron, @hourly and the like, or '10 minutes'."),
]
_Cascade = Annotated[
    bool,
    typer.Option("--allow-cascade", help="Agree to what foreign keys and triggers do with each deleted row."),
]
_Limit = Annotated[
    int | None,
    typer.Option(
        "--limit", metavar="N", min=1, max=10_000, help="Rows per batch.", show_default="the policy's"
    ),
]
_All = Annotated[bool, typer.Option("--all", help="Batch after batch, until nothing is left to delete.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands to the application."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
    group.command("add")(add)
    group.command("list")(list_policies)
    group.command("plan")(plan)
    group.command("enable")(enable)
    group.command("disable")(disable)
    group.command("remove")(remove)
    group.command("run")(run)
    app.add_typer(group, name="policy", help=_HELP, short_help="Delete old rows of any table, by policies.")


def add(
    name: _Name,
    table: _Table,
    column: _Column,
    max_age: _MaxAge,
    batch_limit: _BatchLimit = 500,
    schedule: _Schedule = "@hourly",
    allow_cascade: _Cascade = False,
    database_url: options.Dsn = None,
) -> None:
    """Register a policy. Nothing is deleted until it is enabled."""
    from reaper.services import schedule_syntax

    with asking("policy", database_url) as q:
        # SQL knows what a schedule looks like, this knows whether its numbers make sense.
        schedule_syntax.parse(schedule)
        q.add_retention_policy(name, table, column, max_age, batch_limit, schedule, allow_cascade)
    typer.echo(f"policy {name} is registered and not enabled")
    typer.echo(f"First check what it deletes: reaper policy plan {name}. Then: reaper policy enable {name}")


def list_policies(as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Show every policy, what it did last, and what would stop it."""
    with asking("policy", database_url) as q:
        found = q.policies()
    if as_json:
        formatting.print_json(found)
        return
    if not found:
        typer.echo("no policies; see reaper policy add --help")
        return
    columns = (
        *(Column("policy"), Column("state"), Column("schedule")),
        *(Column("last purge", wraps=True), Column("deletes", wraps=True)),
    )
    show_table(columns, [_row(policy) for policy in found])


def plan(name: _Name, as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Show what a policy would delete now, in how many batches and by which plan; change nothing."""
    with asking("policy", database_url) as q:
        forecast = q.plan_policy(name)
    if as_json:
        formatting.print_json(forecast)
    else:
        show_fields(_forecast_lines(forecast))


def enable(name: _Name, database_url: options.Dsn = None) -> None:
    """Let a policy delete from now on."""
    with asking("policy", database_url) as q:
        q.enable_policy(name)
    typer.echo(f"policy {name} is enabled")


def disable(name: _Name, database_url: options.Dsn = None) -> None:
    """Stop a policy; a batch that has begun is finished."""
    with asking("policy", database_url) as q:
        q.disable_policy(name)
    typer.echo(f"policy {name} is disabled")


def remove(name: _Name, database_url: options.Dsn = None) -> None:
    """Remove a policy; its table and the rows in it stay."""
    with asking("policy", database_url) as q:
        q.remove_policy(name)
    typer.echo(f"policy {name} is removed")


def run(
    name: _Name,
    limit: _Limit = None,
    all_: _All = False,
    despite_pause: options.DespitePause = False,
    database_url: options.Dsn = None,
) -> None:
    """Delete one batch now, or with --all everything that is old enough.

    Any number may run at the same time, beside the workers. Ctrl-C stops between two batches. Exit code 1
    while the policy is paused (`reaper service pause policy:NAME`); a pause that begins meanwhile ends it.
    """
    from reaper.ops.policy_purge import batch_limit

    stop = threading.Event()
    options.stop_on_signals(stop)
    with asking("policy", database_url) as q:
        size = batch_limit(q, name, limit)
        deleted, pause = _purge(q, name, size, stop, despite_pause, only_one=not all_)
    if deleted:
        typer.echo(_result(deleted, more=not all_ and deleted[-1] == size))
    if pause:
        raise pause
    if stop.is_set():
        raise typer.Exit(Exit.INTERRUPTED)


def _purge(
    q: Queries, name: str, size: int, stop: threading.Event, despite_pause: bool, only_one: bool
) -> tuple[list[int], ServicePaused | None]:
    """What each batch deleted, and the pause that ended it."""
    from reaper.ops.policy_purge import purge_all

    deleted: list[int] = []
    try:
        for number in counted(purge_all(q, name, size, stop.is_set, despite_pause), "rows deleted"):
            deleted.append(number)
            if only_one:
                break
    except ServicePaused as pause:
        return deleted, pause
    return deleted, None


def _result(deleted: list[int], more: bool) -> str:
    rows, batches = formatting.count(sum(deleted), "row"), formatting.count(len(deleted), "batch", "batches")
    hint = "\nthere may be more: run it again, or with --all" if more else ""
    return f"{rows} deleted in {batches}{hint}"


def _row(policy: Policy) -> tuple[str, ...]:
    cascade = ", with cascades" if policy.allow_cascade else ""
    what = f"{policy.table_name}, {policy.column_name} older than {policy.max_age}"
    lines = [f"{escape(what)}; {formatting.count(policy.batch_limit, 'row')} at a time{cascade}"]
    lines += [f"[yellow]{escape(problem)}[/]" for problem in policy.problems]
    return (
        f"[bold]{escape(policy.name)}[/]",
        "[green]enabled[/]" if policy.enabled else "[dim]disabled[/]",
        escape(policy.schedule),
        _last_purge(policy),
        "\n".join(lines),
    )


def _last_purge(policy: Policy) -> str:
    if policy.last_purge_at is None:
        return "[dim]never[/]"
    deleted = formatting.count(policy.last_deleted or 0, "row")
    return f"{policy.last_purge_at:%Y-%m-%d %H:%M %Z}, {deleted}"


def _forecast_lines(forecast: PolicyForecast) -> Iterator[tuple[str, str]]:
    share = f"{forecast.share:.1%} of about {forecast.rows_total:,}"
    yield "rows", f"{formatting.count(forecast.rows_aged, 'row')} to delete, {share}"
    yield "cutoff", f"older than {forecast.cutoff:%Y-%m-%d %H:%M:%S %Z}"
    yield "batches", f"{forecast.batches:,}"
    basis = "as in its last purge" if forecast.speed_is_measured else "assumed: it has never run"
    speed = f"{forecast.rows_per_second:,.0f} rows/s, {basis}"
    yield "time", f"about {formatting.age(timedelta(seconds=math.ceil(forecast.seconds)))} at {speed}"
    yield "statement", escape(forecast.statement)
    for number, line in enumerate(forecast.plan.splitlines()):
        yield "" if number else "plan", escape(line)

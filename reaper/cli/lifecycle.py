"""`reaper lifecycle`: rules by which pastes become due."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.tables import Column, show_fields, show_table

if TYPE_CHECKING:
    from reaper.queries.lifecycle import LifecycleForecast, LifecycleRule

_HELP = """
Let pastes expire by rules: by the beginning of their code, by size, by age.

Add a rule, check what it would delete, then enable it:

    reaper lifecycle add logs --prefix log- --days 30

    reaper lifecycle plan logs

    reaper lifecycle enable logs

Needs only the database and the role reaper_ops, and an index led by created_at: without one a rule is \
refused, with the statement that makes it.
"""

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The rule.", show_default=False)]
_Days = Annotated[
    int, typer.Option("--days", metavar="N", help="Pastes created more days ago than this expire.")
]
_Prefix = Annotated[
    str | None, typer.Option("--prefix", metavar="TEXT", help="Only pastes whose code begins with this.")
]
_MinSize = Annotated[
    int | None, typer.Option("--min-size", metavar="BYTES", help="Only content of at least this size.")
]
_MaxSize = Annotated[
    int | None, typer.Option("--max-size", metavar="BYTES", help="Only content of at most this size.")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands to the application."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
    group.command("add")(add)
    group.command("list")(list_rules)
    group.command("plan")(plan)
    group.command("enable")(enable)
    group.command("disable")(disable)
    group.command("remove")(remove)
    app.add_typer(group, name="lifecycle", help=_HELP, short_help="Let pastes expire by code, size and age.")


def add(
    name: _Name,
    days: _Days,
    prefix: _Prefix = None,
    min_size: _MinSize = None,
    max_size: _MaxSize = None,
    database_url: options.Dsn = None,
) -> None:
    """Add a rule with at least one filter. Nothing expires until it is enabled."""
    with asking("lifecycle", database_url) as q:
        q.add_lifecycle_rule(name, prefix, min_size, max_size, days)
    typer.echo(f"lifecycle rule {name} is added and not enabled")
    typer.echo(
        f"First check what it deletes: reaper lifecycle plan {name}. Then: reaper lifecycle enable {name}"
    )


def list_rules(as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Show every rule, what it did last, and what would stop it."""
    with asking("lifecycle", database_url) as q:
        found = q.lifecycle_rules()
    if as_json:
        formatting.print_json(found)
        return
    if not found:
        typer.echo("no lifecycle rules; see reaper lifecycle add --help")
        return
    columns = (
        Column("rule"),
        Column("state"),
        Column("last pass", wraps=True),
        Column("expires", wraps=True),
    )
    show_table(columns, [_row(rule) for rule in found])


def plan(name: _Name, as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Show what a rule would delete now: pastes, objects and bytes; change nothing."""
    with asking("lifecycle", database_url) as q:
        forecast = q.plan_lifecycle_rule(name)
    if as_json:
        formatting.print_json(forecast)
    else:
        show_fields(_forecast_lines(forecast))


def enable(name: _Name, database_url: options.Dsn = None) -> None:
    """Let pastes expire by a rule from now on."""
    with asking("lifecycle", database_url) as q:
        q.enable_lifecycle_rule(name)
    typer.echo(f"lifecycle rule {name} is enabled")


def disable(name: _Name, database_url: options.Dsn = None) -> None:
    """Stop a rule; what has expired by it stays expired."""
    with asking("lifecycle", database_url) as q:
        q.disable_lifecycle_rule(name)
    typer.echo(f"lifecycle rule {name} is disabled")


def remove(name: _Name, database_url: options.Dsn = None) -> None:
    """Remove a rule; what has expired by it stays expired."""
    with asking("lifecycle", database_url) as q:
        q.remove_lifecycle_rule(name)
    typer.echo(f"lifecycle rule {name} is removed")


def _row(rule: LifecycleRule) -> tuple[str, ...]:
    lines = [escape(_in_words(rule))]
    lines += [f"[yellow]{escape(problem)}[/]" for problem in rule.problems]
    return (
        f"[bold]{escape(rule.name)}[/]",
        "[green]enabled[/]" if rule.enabled else "[dim]disabled[/]",
        _last_pass(rule),
        "\n".join(lines),
    )


def _in_words(rule: LifecycleRule) -> str:
    filters = [
        f"codes that begin with {rule.prefix}" if rule.prefix is not None else "",
        f"at least {rule.min_size:,} bytes" if rule.min_size is not None else "",
        f"at most {rule.max_size:,} bytes" if rule.max_size is not None else "",
    ]
    after = formatting.count(rule.expiration_days, "day")
    return f"{', '.join(f for f in filters if f)}; {after} after creation"


def _last_pass(rule: LifecycleRule) -> str:
    if rule.last_pass_at is None:
        return "[dim]in its first[/]" if rule.is_in_pass else "[dim]never[/]"
    return f"{rule.last_pass_at:%Y-%m-%d %H:%M %Z}, {formatting.count(rule.last_expired or 0, 'paste')}"


def _forecast_lines(forecast: LifecycleForecast) -> Iterator[tuple[str, str]]:
    yield "pastes", f"{formatting.count(forecast.rows_matching, 'paste')} to expire"
    yield "cutoff", f"created before {forecast.cutoff:%Y-%m-%d %H:%M:%S %Z}"
    unsized = f", {forecast.objects_unsized:,} of unknown size" if forecast.objects_unsized else ""
    freed = f"{formatting.count(forecast.objects_freed, 'object')} to delete, {forecast.bytes_freed:,} bytes"
    yield "objects", freed + unsized
    yield "kept", f"{formatting.count(forecast.objects_kept, 'content')} that other pastes need"
    if forecast.rows_without_time:
        without = formatting.count(forecast.rows_without_time, "paste")
        yield "never", f"{without} without created_at: no rule matches them"

"""`reaper service …`, `reaper pause` and `reaper resume`: the schedule, in an operator's hands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database import connected
from reaper.cli.tables import Column, show_table
from reaper.errors import Exit

if TYPE_CHECKING:
    from reaper.ops.services import Desk, Planned

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The service, as `reaper service list` calls it.")]
_Reason = Annotated[
    str | None,
    typer.Option("--reason", metavar="TEXT", help="Why; kept in reaper.audit.", show_default=False),
]
_Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; everybody sees it.")]
_For = Annotated[str, typer.Option("--for", metavar="SPAN", help="How long: 30 min, 2 h, 1 d; up to 30 d.")]

group = typer.Typer(help="See and change what runs when.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(group, name="service")
    app.command("pause")(pause_drain)
    app.command("resume")(resume_drain)


@group.command("list")
def list_services(as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Show every service: when it ran, how that ended, when it runs next.

    Exit code 1 when the last run of one failed.
    """
    with desk(database_url) as opened:
        found = opened.schedule()
    if as_json:
        formatting.print_json(found)
    else:
        _show(found)
    raise typer.Exit(Exit.BEHIND if any(s.last_error for s in found) else Exit.OK)


@group.command("run")
def run(name: _Name, reason: _Reason = None, database_url: options.Dsn = None) -> None:
    """Make a service due now; a worker starts it within seconds."""
    with desk(database_url) as opened:
        opened.run_now(name, reason)
    typer.echo(f"{name} is due; the next tick of a worker starts it")


@group.command("enable")
def enable(name: _Name, reason: _Reason = None, database_url: options.Dsn = None) -> None:
    """Switch a service on."""
    with desk(database_url) as opened:
        opened.enable(name, reason)
    typer.echo(f"{name} is enabled")


@group.command("disable")
def disable(name: _Name, reason: _Reason = None, database_url: options.Dsn = None) -> None:
    """Switch a service off until it is enabled again."""
    with desk(database_url) as opened:
        opened.disable(name, reason)
    typer.echo(f"{name} is disabled")


@group.command("pause")
def pause(name: _Name, reason: _Why, span: _For = "1 h", database_url: options.Dsn = None) -> None:
    """Keep a service from running for a while; a drain stops before its next batch. Ends by itself."""
    length = options.duration(span, "--for")
    with desk(database_url) as opened:
        until = opened.pause(name, length, reason)
    typer.echo(f"{name} is paused until {until:%Y-%m-%d %H:%M:%S %Z}")


@group.command("resume")
def resume(name: _Name, reason: _Reason = None, database_url: options.Dsn = None) -> None:
    """End a pause before its time; a run that was missed meanwhile is made up for at once."""
    with desk(database_url) as opened:
        opened.resume(name, reason)
    typer.echo(f"{name} is resumed")


@group.command("reschedule")
def reschedule(
    name: _Name,
    when: Annotated[
        str,
        typer.Argument(metavar="SCHEDULE", help="'0 0 * * *' (UTC), @hourly, '15 minutes' or continuous."),
    ],
    reason: _Reason = None,
    database_url: options.Dsn = None,
) -> None:
    """Change when a service runs; releases to come leave it so."""
    from reaper.services import schedule

    schedule.parse(when)
    with desk(database_url) as opened:
        opened.reschedule(name, when, reason)
    typer.echo(f"{name} runs: {when}")


def pause_drain(reason: _Why, span: _For = "1 h", database_url: options.Dsn = None) -> None:
    """Stop draining for a while: `reaper service pause drain`."""
    pause("drain", reason, span, database_url)


def resume_drain(reason: _Reason = None, database_url: options.Dsn = None) -> None:
    """Resume draining: `reaper service resume drain`."""
    resume("drain", reason, database_url)


@contextmanager
def desk(database_url: str | None) -> Iterator[Desk]:
    """The operator's desk, on a connection of its own."""
    from reaper.ops.services import Desk

    with connected("desk", database_url) as connection:
        yield Desk(connection)


def _show(found: list[Planned]) -> None:
    if not found:
        typer.echo("no service yet: they are registered when the first worker starts (reaper worker)")
        return
    columns = (
        Column("service"),
        Column("schedule"),
        Column("state"),
        Column("what it does", wraps=True, only_if_wide=True),
        Column("last run", wraps=True),
    )
    show_table(columns, [_row(service) for service in found])


def _row(service: Planned) -> tuple[str, ...]:
    return (
        f"[bold]{escape(service.name)}[/]",
        escape(service.schedule),
        state(service),
        f"[dim]{escape(service.description)}[/]",
        _last_run(service),
    )


def state(service: Planned) -> str:
    """What the service does now: off, paused, or when it runs next."""
    if not service.enabled:
        return "off"
    if service.is_paused and service.paused_until:
        return f"paused for {formatting.age(service.paused_until - service.now)}"
    if service.next_run_at is None:
        return "to be planned"
    due = service.next_run_at <= service.now
    return "due" if due else f"next in {formatting.age(service.next_run_at - service.now)}"


def _last_run(service: Planned) -> str:
    lines = []
    if service.is_paused:
        lines.append(f"[yellow]paused: {escape(service.pause_reason or '')}[/]")
    if service.last_finished_at:
        figures = ", ".join(f"{name} {number}" for name, number in (service.last_result or {}).items())
        ago = formatting.age(service.now - service.last_finished_at)
        lines.append(f"{ago} ago{': ' if figures else ''}{escape(figures)}")
    if service.last_error:
        times = formatting.count(service.consecutive_failures, "time")
        lines.append(f"[red]failed {times} in a row: {escape(service.last_error)}[/]")
    return "\n".join(lines) or "[dim]never[/]"

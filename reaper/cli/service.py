"""`reaper service …`, `reaper pause` and `reaper resume`: the schedule, in an operator's hands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.markup import escape

from reaper import config, db
from reaper.cli import options, words
from reaper.config.units import parse_duration
from reaper.errors import Exit
from reaper.migrate import check_schema
from reaper.ops.services import Desk, Planned
from reaper.services import schedule

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
        words.print_json(found)
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
    try:
        length = parse_duration(span)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--for") from None
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
    schedule.parse(when)
    with desk(database_url) as opened:
        opened.reschedule(name, when, reason)
    typer.echo(f"{name} runs: {when}")


def pause_drain(reason: _Why, span: _For = "1 h", database_url: options.Dsn = None) -> None:
    """Stop draining for a while: `reaper service pause drain`."""
    pause("drain", reason, span, database_url)


def resume_drain(reason: _Reason = None, database_url: options.Dsn = None) -> None:
    """Go on draining: `reaper service resume drain`."""
    resume("drain", reason, database_url)


@contextmanager
def desk(database_url: str | None) -> Iterator[Desk]:
    """The operator's desk, on a connection of its own."""
    settings = config.load("database_url", database_url=database_url)
    with db.connect(settings.dsn, "reaper:desk") as connection:
        check_schema(connection)
        yield Desk(connection)


def _show(found: list[Planned]) -> None:
    if not found:
        typer.echo("no service yet: they are registered when the first worker starts (reaper worker)")
    out = words.console()
    for service in found:
        out.print(
            f"[bold]{escape(service.name):<14}[/]{escape(service.schedule):<14}"
            f"{state(service):<30}[dim]{escape(service.description)}[/]"
        )
        for line in _details(service):
            out.print(f"{'':<14}{line}")


def state(service: Planned) -> str:
    """What the service does now: off, paused, or when it runs next."""
    if not service.enabled:
        return "off"
    if service.is_paused and service.paused_until:
        return f"paused for {words.age(service.paused_until - service.now)}"
    if service.next_run_at is None:
        return "to be planned"
    due = service.next_run_at <= service.now
    return "due" if due else f"next in {words.age(service.next_run_at - service.now)}"


def _details(service: Planned) -> Iterator[str]:
    if service.is_paused:
        yield f"[yellow]paused: {escape(service.pause_reason or '')}[/]"
    if service.last_finished_at:
        figures = ", ".join(f"{name} {number}" for name, number in (service.last_result or {}).items())
        ago = words.age(service.now - service.last_finished_at)
        yield f"[dim]ran {ago} ago{': ' if figures else ''}{escape(figures)}[/]"
    if service.last_error:
        times = words.count(service.consecutive_failures, "time")
        yield f"[red]failed {times} in a row: {escape(service.last_error)}[/]"

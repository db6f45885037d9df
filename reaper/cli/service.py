"""`reaper service …`, `reaper pause` and `reaper resume`: list, run, pause, reschedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.tables import Column, show_table
from reaper.errors import Exit, ReaperError, ServicePaused, describe

if TYPE_CHECKING:
    from reaper.model import Waiting
    from reaper.queries.services import ServiceState
    from reaper.services.base import Tick
    from reaper.worker.work_runner import Outcome

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The service, as `reaper service list` calls it.")]
_Reason = Annotated[
    str | None,
    typer.Option("--reason", metavar="TEXT", help="Why; kept in reaper.audit.", show_default=False),
]
_Why = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why; reaper status and reaper service list show it.")
]
_For = Annotated[str, typer.Option("--for", metavar="SPAN", help="How long: 30 min, 2 h, 1 d; up to 30 d.")]

_Here = Annotated[bool, typer.Option("--here", help="Run it once in this process, and print what it did.")]
_Wait = Annotated[
    bool, typer.Option("--wait", help="With --here: wait while another worker holds the service lock.")
]
_DespitePause = Annotated[
    bool, typer.Option("--despite-pause", help="With --here: run it although it is paused.")
]

group = typer.Typer(help="List, run, pause and reschedule services.", no_args_is_help=True)


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
    with asking("operator", database_url) as q:
        found = q.schedule()
    if as_json:
        formatting.print_json(found)
    else:
        _show(found)
    raise typer.Exit(Exit.BEHIND if any(s.last_error for s in found) else Exit.OK)


@group.command("run")
def run(
    name: _Name,
    here: _Here = False,
    wait: _Wait = False,
    despite_pause: _DespitePause = False,
    reason: _Reason = None,
    as_json: options.Json = False,
    database_url: options.Dsn = None,
) -> None:
    """Make a service due now, so that a worker starts it within seconds; with --here, run it in this process.

    With --here it runs once, also when it is switched off, with the same lock and the same record as in a
    worker, and what it did is printed. Exit code 1 when it failed or is paused.
    """
    if here:
        run_here(name, wait, despite_pause, as_json, database_url)
        return
    if wait or despite_pause or as_json:
        raise typer.BadParameter("--wait, --despite-pause and --json need --here")
    with asking("operator", database_url) as q:
        q.run_now(name, reason)
    typer.echo(f"{name} is due; a worker starts it within 5 seconds")


def run_here(name: str, wait: bool, despite_pause: bool, as_json: bool, database_url: str | None) -> None:
    """One run in this process."""
    from reaper import config
    from reaper.app import App
    from reaper.ops.service_phase import require_runnable
    from reaper.services import ALL
    from reaper.worker.heartbeat import worker_name

    worker = worker_name()
    options.set_up_logging(verbose=False, log_json=False, worker=worker)
    outcome: Outcome | None = None
    failure: ReaperError | None = None
    settings = config.load_all("database_url", "backends", database_url=database_url)
    with App(settings, worker=worker) as app:
        app.check(compare_owners=any(service.changes_buckets for service in ALL if service.name == name))
        options.stop_on_signals(app.stop)
        runner = app.runner_by_hand(despite_pause=despite_pause)
        try:
            with app.asking("operator") as q:
                require_runnable(q, name, despite_pause)
        except ServicePaused as error:
            if not as_json:
                raise
            failure = error
        if failure is None:
            what = runner.find(name)
            with app.heartbeat():
                try:
                    outcome = runner.run(what, wait)
                except ReaperError as error:
                    failure = error
        if wait and app.stop.is_set() and outcome and outcome.tick is None:
            raise typer.Exit(Exit.INTERRUPTED)
    _report_run(name, outcome, failure, as_json)


def _outcome(tick: Tick | None, failure: ReaperError | None) -> str:
    if failure:
        return "paused" if isinstance(failure, ServicePaused) else "failed"
    return "done" if tick else "skipped"


def _report_run(name: str, outcome: Outcome | None, failure: ReaperError | None, as_json: bool) -> None:
    tick = outcome.tick if outcome else None
    if as_json:
        formatting.print_json(
            {
                "service": name,
                "outcome": _outcome(tick, failure),
                "figures": dict(tick.figures) if tick else None,
                "more": tick.more if tick else None,
                "waiting": tick.waiting if tick else None,
                "error": describe(failure) if failure else None,
            }
        )
    elif tick:
        more = "; there is more to do" if tick.more else ""
        typer.echo(f"{name}: {formatting.figures(tick.figures)}{more}{_waiting(tick.waiting)}")
    elif failure is None:
        typer.echo(f"{name} skipped: another worker held the service lock")
    else:
        typer.echo(f"reaper: {name} failed: {describe(failure)}", err=True)
    if failure:
        raise typer.Exit(Exit.BEHIND)


def _waiting(waiting: Waiting | None) -> str:
    if waiting is None:
        return ""
    verb = "waits," if waiting.number == 1 else "wait, the next"
    return f"; {waiting.number:,} {verb} until {waiting.until:%Y-%m-%d %H:%M:%S %Z}"


@group.command("enable")
def enable(name: _Name, reason: _Reason = None, database_url: options.Dsn = None) -> None:
    """Switch a service on."""
    with asking("operator", database_url) as q:
        q.enable_service(name, reason)
    typer.echo(f"{name} is enabled")


@group.command("disable")
def disable(name: _Name, reason: _Reason = None, database_url: options.Dsn = None) -> None:
    """Switch a service off until it is enabled again."""
    with asking("operator", database_url) as q:
        q.disable_service(name, reason)
    typer.echo(f"{name} is disabled")


@group.command("pause")
def pause(name: _Name, reason: _Why, span: _For = "1 h", database_url: options.Dsn = None) -> None:
    """Keep a service from running for a while; a drain stops before its next batch. Ends by itself."""
    length = options.duration(span, "--for")
    with asking("operator", database_url) as q:
        until = q.pause(name, length, reason)
    typer.echo(f"{name} is paused until {until:%Y-%m-%d %H:%M:%S %Z}")


@group.command("resume")
def resume(name: _Name, reason: _Reason = None, database_url: options.Dsn = None) -> None:
    """End a pause before its time; a run that was missed meanwhile starts at once."""
    with asking("operator", database_url) as q:
        q.resume(name, reason)
    typer.echo(f"{name} is resumed")


@group.command("reschedule")
def reschedule(
    name: _Name,
    when: Annotated[
        str,
        typer.Argument(metavar="SCHEDULE", help="'0 0 * * *', @hourly, '15 minutes' or continuous."),
    ],
    reason: _Reason = None,
    database_url: options.Dsn = None,
) -> None:
    """Change when a service runs; newer releases keep the change."""
    from reaper.services import schedule_syntax

    schedule_syntax.parse(when)
    with asking("operator", database_url) as q:
        q.reschedule(name, when, reason)
    typer.echo(f"{name} runs: {when}")


def pause_drain(reason: _Why, span: _For = "1 h", database_url: options.Dsn = None) -> None:
    """Stop draining for a while: `reaper service pause drain`."""
    pause("drain", reason, span, database_url)


def resume_drain(reason: _Reason = None, database_url: options.Dsn = None) -> None:
    """Resume draining: `reaper service resume drain`."""
    resume("drain", reason, database_url)


def _show(found: list[ServiceState]) -> None:
    if not found:
        typer.echo("no services are registered: run reaper migrate")
        return
    columns = (
        Column("service"),
        Column("schedule"),
        Column("state"),
        Column("what it does", wraps=True, only_if_wide=True),
        Column("last run", wraps=True),
    )
    show_table(columns, [_row(service) for service in found])


def _row(service: ServiceState) -> tuple[str, ...]:
    return (
        f"[bold]{escape(service.name)}[/]",
        escape(service.schedule),
        state(service),
        f"[dim]{escape(service.description)}[/]",
        _last_run(service),
    )


def state(service: ServiceState) -> str:
    """What the service does now: off, paused, or when it runs next."""
    from reaper.ops.service_phase import Phase, phase

    match phase(service):
        case Phase.PAUSED if service.paused_until:
            return f"paused for {formatting.age(service.paused_until - service.now)}"
        case Phase.WAITING if service.next_run_at:
            return f"next in {formatting.age(service.next_run_at - service.now)}"
        case Phase.UNPLANNED:
            return "not planned yet"
        case other:
            return str(other.value)


def _last_run(service: ServiceState) -> str:
    lines = []
    if service.is_paused:
        who, why = escape(service.paused_by or "unknown"), escape(service.pause_reason or "")
        lines.append(f"[yellow]paused by {who}: {why}[/]")
    if service.last_finished_at:
        figures = ", ".join(f"{name} {number}" for name, number in (service.last_result or {}).items())
        ago = formatting.age(service.now - service.last_finished_at)
        lines.append(f"{ago} ago{': ' if figures else ''}{escape(figures)}")
    if service.last_error:
        times = formatting.count(service.consecutive_failures, "time")
        lines.append(f"[red]failed {times} in a row: {escape(service.last_error)}[/]")
    return "\n".join(lines) or "[dim]never[/]"

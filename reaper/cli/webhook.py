"""`reaper webhook …`: endpoints that are told of events."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.progress import counted
from reaper.cli.tables import Column, show_fields, show_table
from reaper.errors import Exit, ReaperError
from reaper.ops.webhook_phase import is_in_trouble

if TYPE_CHECKING:
    from reaper.model import Answer, Request
    from reaper.queries import Queries
    from reaper.queries.notifications import Replay, WebhookLane

_HELP = """
Webhooks: endpoints that are told of events, such as drain.finished or circuit.opened.

    reaper webhook add chat https://example.com/hooks/reaper --event 'circuit.*' --secret-env CHAT_SECRET

    reaper webhook test chat

    reaper webhook replay chat --since '2026-03-01 00:00'

The secret stays in a variable of the processes that deliver: whsec_ and the base64 of 24 to 64 random bytes.
"""
AT_ONCE = 1000
_Name = Annotated[str, typer.Argument(metavar="NAME", help="The webhook.", show_default=False)]
_Url = Annotated[str, typer.Argument(metavar="URL", help="Where events are sent.", show_default=False)]
_Events = Annotated[
    list[str],
    typer.Option(
        "--event", metavar="EVENT", help="An event, a prefix such as 'circuit.*', or '*'; may be repeated."
    ),
]
_Secret = Annotated[
    str | None,
    typer.Option(
        "--secret-env",
        metavar="VARIABLE",
        help="The variable that holds the secret of the signatures, where events are sent.",
        show_default="unsigned",
    ),
]
_NewSecret = Annotated[
    str, typer.Option("--secret-env", metavar="VARIABLE", help="The variable that holds the new secret.")
]
_DropOld = Annotated[bool, typer.Option("--drop-old", help="Sign with the new secret only.")]
_Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; the other webhooks are told.")]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
_Since = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Events that happened then or later.", show_default=False),
]
_Until = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME", help="Events that happened before then.", show_default=False),
]
_Ids = Annotated[
    list[UUID] | None,
    typer.Option("--id", metavar="ID", help="This event; may be repeated.", show_default=False),
]
_Dlq = Annotated[bool, typer.Option("--dlq", help="Only events that were given up; alone, all of these.")]

group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(group, name="webhook", help=_HELP, short_help="Tell endpoints of events.")


@group.command("add")
def add(
    name: _Name, url: _Url, events: _Events, secret_env: _Secret = None, as_json: options.Json = False,
    database_url: options.Dsn = None,
) -> None:  # fmt: skip
    """Tell an endpoint of events from now on."""
    with asking("operator", database_url) as q:
        q.add_webhook(name, url, events, secret_env)
        _show_changed(q, name, "added", as_json)
    if not as_json:
        typer.echo(f"Try it: reaper webhook test {name}")


@group.command("list")
def list_webhooks(as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Show every webhook, what waits for it, and why.

    Exit code 1 when one is disabled by its endpoint, held, failing, or has events that were given up.
    """
    with asking("operator", database_url) as q:
        lanes = q.webhooks()
    if as_json:
        formatting.print_json(lanes)
    elif not lanes:
        typer.echo("no webhooks; add one: reaper webhook add NAME URL --event '*'")
    else:
        columns = (
            *(Column("webhook"), Column("endpoint"), Column("events", wraps=True)),
            *(Column("waiting", number=True), Column("given up", number=True), Column("state", wraps=True)),
        )
        show_table(columns, [_row(lane) for lane in lanes])
    raise typer.Exit(Exit.BEHIND if any(map(is_in_trouble, lanes)) else Exit.OK)


@group.command("test")
def send_test(name: _Name, as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Send one event (webhook.test), and show the request and the answer.

    It is sent from here, with the secret that this process has; nothing is recorded, also not for a disabled
    webhook. Exit code 1 when the endpoint does not accept it.
    """
    from reaper import config
    from reaper.app import App
    from reaper.ops.connection import asking as checked

    options.set_up_logging(verbose=False, log_json=False)
    settings = config.load("database_url", database_url=database_url)
    with checked(settings.dsn, "operator") as q:
        found = q.webhook_to_test(name)
    if found is None:
        raise ReaperError(f"unknown webhook {name}", "Run reaper webhook list to see all of them.")
    endpoint, event = found
    with App(settings) as app:
        request = app.webhooks.request(endpoint, event)
        answer = app.webhooks.send(endpoint, event)
    if as_json:
        formatting.print_json(_told(request, answer))
    else:
        _show_exchange(request, answer)
    raise typer.Exit(Exit.BEHIND if answer.error else Exit.OK)


@group.command("replay")
def replay(
    name: _Name, since: _Since = None, until: _Until = None, ids: _Ids = None, dlq: _Dlq = False,
    as_json: options.Json = False, database_url: options.Dsn = None,
) -> None:  # fmt: skip
    """Send events again, under their ids: those that were given up, and delivered ones of the last 7 days."""
    from reaper.queries.notifications import Replay

    if not (since or until or ids or dlq):
        raise typer.BadParameter("choose events with --since, --until, --id or --dlq")
    first, last = _moment(since, "--since"), _moment(until, "--until")
    with asking("operator", database_url) as q:
        chosen = Replay(first, last, ids or None, dlq, before=q.now())
        number = sum(counted(_replayed(q, name, chosen), "queued again"))
    if as_json:
        formatting.print_json({"webhook": name, "queued": number})
    else:
        typer.echo(f"{formatting.count(number, 'event')} queued; workers deliver within seconds")


@group.command("enable")
def enable(name: _Name, as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Deliver again, at once: what waited, and what happens from now on."""
    with asking("operator", database_url) as q:
        q.enable_webhook(name)
        _show_changed(q, name, "enabled", as_json)


@group.command("disable")
def disable(
    name: _Name, reason: _Why, as_json: options.Json = False, database_url: options.Dsn = None
) -> None:
    """Record and deliver nothing until it is enabled again."""
    with asking("operator", database_url) as q:
        q.disable_webhook(name, reason)
        _show_changed(q, name, "disabled", as_json)


@group.command("rotate")
def rotate(
    name: _Name, secret_env: _NewSecret, drop_old: _DropOld = False, as_json: options.Json = False,
    database_url: options.Dsn = None,
) -> None:  # fmt: skip
    """Sign with another secret; with the former one too, until it is called again with --drop-old."""
    with asking("operator", database_url) as q:
        q.rotate_webhook_secret(name, secret_env, not drop_old)
        _show_changed(q, name, "changed", as_json)


@group.command("remove")
def remove(
    name: _Name, yes: _Yes = False, as_json: options.Json = False, database_url: options.Dsn = None
) -> None:
    """Forget a webhook, what waits for it and what was given up."""
    with asking("operator", database_url) as q:
        lane = next((lane for lane in q.webhooks() if lane.name == name), None)
        lost = lane.waiting + lane.given_up if lane else 0
        if lost and not yes and not _agreed(lost):
            return
        q.remove_webhook(name)
    if as_json:
        formatting.print_json({"webhook": name, "removed": True, "events_dropped": lost})
    else:
        typer.echo(f"webhook {name} removed, {formatting.count(lost, 'event')} dropped")


def _agreed(lost: int) -> bool:
    typer.echo(f"{formatting.count(lost, 'event')} not delivered would be dropped")
    if not sys.stdin.isatty():
        raise typer.BadParameter("stdin is no terminal to confirm on: add --yes")
    try:
        agreed = typer.confirm("Remove it?")
    except typer.Abort:
        raise typer.Exit(Exit.INTERRUPTED) from None
    if not agreed:
        typer.echo("nothing was changed")
    return agreed


def _replayed(q: Queries, name: str, chosen: Replay) -> Iterator[int]:
    while number := q.replay_deliveries(name, chosen, AT_ONCE):
        yield number


def _moment(text: str | None, option: str) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            "write a time such as 2026-03-01T02:00:00Z or 2026-03-01 (UTC)", param_hint=option
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _show_changed(q: Queries, name: str, what: str, as_json: bool) -> None:
    if as_json:
        formatting.print_json(next(lane for lane in q.webhooks() if lane.name == name))
    else:
        typer.echo(f"webhook {name} {what}")


def _row(lane: WebhookLane) -> tuple[str, ...]:
    return (
        f"[bold]{escape(lane.name)}[/]",
        escape(lane.endpoint),
        escape(", ".join(lane.events)),
        f"{lane.waiting:,}",
        f"{lane.given_up:,}",
        _state(lane),
    )


def _state(lane: WebhookLane) -> str:
    if not lane.enabled:
        return f"[yellow]disabled[/]: {escape(lane.disabled_reason or '')}"
    if lane.held_reason:
        return f"[red]held[/]: {escape(lane.held_reason)}"
    if lane.failures:
        until = f", next attempt {formatting.second(lane.held_until)}" if lane.held_until else ""
        return f"[red]failing[/]: {escape(lane.last_error or '')}{until}"
    if lane.last_delivered_at:
        return f"[green]ok[/], last delivery {formatting.second(lane.last_delivered_at)}"
    return "nothing sent yet"


def _told(request: Request, answer: Answer) -> dict[str, object]:
    """Both sides of a test, for machines."""
    return {
        "accepted": answer.error is None,
        "error": answer.error,
        "request": {"url": request.url, "headers": request.headers, "body": request.body.decode()},
        "answer": {
            "status": answer.status,
            "headers": answer.headers,
            "body": answer.body.decode(errors="replace"),
        },
    }


def _show_exchange(request: Request, answer: Answer) -> None:
    lines = [f"POST {request.url}", *(f"{name}: {value}" for name, value in request.headers.items())]
    lines += ["", request.body.decode(), ""]
    if answer.status is not None:
        lines += [f"answered {answer.status}"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        lines += ["", answer.body.decode(errors="replace")] if answer.body else []
    for line in lines:
        # What an endpoint says may hold anything; a terminal must not obey it.
        typer.echo("".join(c if c.isprintable() or c in "\n\t" else "�" for c in line))
    typer.echo()
    show_fields([("result", f"[red]{escape(answer.error)}[/]" if answer.error else "[green]accepted[/]")])

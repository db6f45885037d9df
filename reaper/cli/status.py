"""`reaper status`: is everything deleted in time, on one screen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.service import state
from reaper.cli.tables import console, show_fields
from reaper.config.units import format_size
from reaper.errors import Exit

if TYPE_CHECKING:
    from reaper.ops.status import Status
    from reaper.queries import Queries
    from reaper.queries.backends import BackendState
    from reaper.queries.checks import Speed
    from reaper.queries.jobs import DrainSlots
    from reaper.queries.services import ServiceState
    from reaper.queries.status import Health, InFlight, WorkerState

_EXIT = {
    "ok": Exit.OK,
    "paused": Exit.OK,
    "attention": Exit.BEHIND,
    "behind": Exit.BEHIND,
    "stalled": Exit.STALLED,
}
_COLOUR = {"ok": "green", "paused": "cyan", "attention": "yellow", "behind": "yellow", "stalled": "red"}
# What the view counts to; beyond it the number says only "at least".
_COUNTED = 100_000
_SHOWN = 8
WATCH_EVERY = 2.0

_Watch = Annotated[bool, typer.Option("--watch", help="Show it again every 2 seconds, until Ctrl-C.")]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("status")(status)


def status(as_json: options.Json = False, watch: _Watch = False, database_url: options.Dsn = None) -> None:
    """Show the verdict with its reasons, backlog, batches, workers, schedule and queues.

    Exit code 0 ok or paused, 1 attention (something needs a person) or behind (rows are late by the drain's
    own schedule), 3 stalled (work is due and nothing moves). Each reason names its remedy. Needs only the
    database. With --watch, Ctrl-C ends it with the last verdict's code.
    """
    if watch and as_json:
        raise typer.BadParameter("--watch and --json exclude each other")
    with asking("status", database_url) as q:
        found = _watch(q) if watch else look_at(q)
    if as_json:
        formatting.print_json(found.as_dict())
    elif not watch:
        _show(found)
    raise typer.Exit(_EXIT[found.verdict])


def look_at(q: Queries) -> Status:
    """How things stand now; what that needs is loaded only then."""
    from reaper.ops.status import look

    return look(q)


def _watch(q: Queries) -> Status:
    """Show it again and again until Ctrl-C: on a terminal in place, elsewhere one line each time."""
    out = console()
    found = look_at(q)
    try:
        while True:
            if out.is_terminal:
                # The screen is cleared when the next one is ready, so that it does not flicker.
                out.clear()
                _show(found)
                out.print(f"\n[dim]every {WATCH_EVERY:.0f} s; Ctrl-C ends it[/]")
            else:
                typer.echo(_one_line(found))
            time.sleep(WATCH_EVERY)
            found = look_at(q)
    except KeyboardInterrupt:
        return found


def _one_line(found: Status) -> str:
    health = found.health
    reasons = f": {'; '.join(health.reasons)}" if health.reasons else ""
    return f"{formatting.second(health.judged_at)} {found.verdict}, {_due(health)}{reasons}"


def _show(found: Status) -> None:
    health = found.health
    colour = _COLOUR[found.verdict]
    out = console()
    out.print(f"[bold {colour}]● {found.verdict}[/]  [dim]{health.judged_at:%Y-%m-%d %H:%M:%S %Z}[/]")
    for reason in health.reasons:
        _show_reason(reason, colour)
    out.print()
    show_fields(_lines(found))


def _show_reason(reason: str, colour: str) -> None:
    """A sentence behind a dash for a person, indented as a whole; in a pipe one line."""
    out = Console(highlight=False)
    if out.is_terminal:
        line = Table.grid()
        line.add_column(width=4, no_wrap=True)
        line.add_column(overflow="fold", style=colour)
        line.add_row("  - ", escape(reason))
        out.print(line)
    else:
        print(f"  {reason}")


def _at_least(number: int) -> str:
    return "at least " if number >= _COUNTED else ""


def _lines(found: Status) -> Iterator[tuple[str, str]]:
    health = found.health
    yield "backlog", _backlog(health)
    yield "in flight", _in_flight(found.in_flight)
    if health.batches_stuck:
        stuck = formatting.count(health.batches_stuck, "batch", "batches")
        yield "", f"[yellow]{stuck} stuck[/]: see reaper.stuck"
    yield from _workers(found.workers, health.judged_at)
    yield from _schedule(found.schedule)
    yield "slots", _slots(found.slots)
    yield "last run", _last_run(health, found.speed)
    yield from _backends(found.backends)
    again = "see reaper.blocked_rows; reaper.unblock() lets the next drain try again"
    yield "blocked", _with_hint(health.rows_blocked, "row", again)
    yield (
        "queue",
        _with_hint(health.objects_queued, "object", "retried every minute; see reaper.cleanup_backlog"),
    )
    yield "DLQ", _with_hint(health.objects_dead, "object", "see reaper dlq list")
    yield "cache", _with_hint(health.invalidations_queued, "invalidation", "waiting for Redis")
    yield "drift", _with_hint(health.drift_last_day, "wrong count", "in the last day; see reaper.drift")
    yield "refusals", _with_hint(health.refusals, "call", "of late workers refused so far (RP001)")


def _backlog(health: Health) -> str:
    if health.oldest_due is None:
        return "[dim]nothing is due[/]"
    age = formatting.age(health.judged_at - health.oldest_due)
    return f"{_due(health)}, the oldest expired {age} ago"


def _due(health: Health) -> str:
    return f"{_at_least(health.due_rows)}{formatting.count(health.due_rows, 'due row')}"


def _backends(backends: list[BackendState]) -> Iterator[tuple[str, str]]:
    label = "backends"
    for backend in backends:
        yield label, _shelter(backend)
        label = ""
        if backend.circuit != "closed":
            yield "", f"  [red]circuit {backend.circuit}: {escape(backend.last_error or 'no answer')}[/]"
        if backend.owner == "other":
            yield "", f"  [red]not ours: {escape(backend.owner_detail or '')}[/]"


def _shelter(backend: BackendState) -> str:
    room = f" of {format_size(backend.quota)}" if backend.quota is not None else ""
    owed = f", {format_size(backend.orphan_bytes)} waiting for deletion" if backend.orphan_bytes else ""
    state = "" if backend.state == "active" else f", {backend.state}"
    return f"{escape(backend.name)}: {format_size(backend.bytes_used)}{room}{owed}{state}"


def _in_flight(groups: list[InFlight]) -> str:
    return (
        ", ".join(f"{g.batches:,} {g.state.lower()} (oldest {formatting.age(g.oldest)})" for g in groups)
        or "[dim]no batch[/]"
    )


def _workers(members: list[WorkerState], now: datetime) -> Iterator[tuple[str, str]]:
    alive = sum(member.alive for member in members)
    others = f", {len(members) - alive} silent" if alive < len(members) else ""
    yield "workers", f"{alive} alive{others}" if members else "[dim]none[/]"
    for member in members[:_SHOWN]:
        silent = "" if member.alive else " [yellow]silent[/],"
        holds = formatting.count(member.batches, "batch", "batches")
        beat = formatting.age(now - member.beat_at)
        yield "", f"{escape(member.worker)}:{silent} beat {beat} ago, holds {holds}"
        if member.throttled:
            yield "", f"  [yellow]waits: {escape(member.throttled)}[/]"
        for service, error in (member.degraded or {}).items():
            yield "", f"  [yellow]{escape(service)} does not answer: {escape(error)}[/]"
    if len(members) > _SHOWN:
        yield "", f"[dim]and {len(members) - _SHOWN} more: see reaper.fleet[/]"


def _schedule(services: list[ServiceState]) -> Iterator[tuple[str, str]]:
    drain = [s for s in services if s.name == "drain"]
    yield "drain", f"{state(drain[0])} ({escape(drain[0].schedule)})" if drain else "[dim]no worker yet[/]"
    failing = [s for s in services if s.last_error]
    off = [s.name for s in services if not s.enabled]
    verb = f", [red]{len(failing)} failing[/]" if failing else ""
    yield "services", f"{len(services) - len(off)} on{verb}" + (f", off: {', '.join(off)}" if off else "")
    for service in failing:
        yield "", f"[red]{escape(service.name)}: {escape(service.last_error or '')}[/]"


def _slots(slots: DrainSlots) -> str:
    if not slots.running and not slots.waiting:
        return "[dim]no drain job[/]"
    return f"{slots.running} draining, {slots.waiting} waiting"


def _last_run(health: Health, speed: Speed) -> str:
    if health.last_finished is None:
        return "[dim]none yet[/]"
    ago = formatting.age(health.judged_at - health.last_finished)
    if speed.rows_per_second is None:
        return f"{ago} ago"
    batches = formatting.count(speed.batches, "batch", "batches")
    return f"{ago} ago; {speed.rows_per_second:,.0f} rows/s over the last {batches}"


def _with_hint(number: int, noun: str, hint: str) -> str:
    shown = f"{_at_least(number)}{formatting.count(number, noun)}"
    return f"{shown}, {hint}" if number else f"[dim]{formatting.count(0, noun)}[/]"

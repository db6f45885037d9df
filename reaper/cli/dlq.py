"""`reaper dlq …`: objects whose deletion was given up; look, try again, or write off."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database import asking
from reaper.cli.progress import counted
from reaper.cli.tables import Column, show_fields, show_table
from reaper.config.units import format_size
from reaper.errors import Exit, ReaperError

if TYPE_CHECKING:
    from reaper.queries.dlq import DlqEntry, DlqFilter, DlqGroup

_HELP = """
Dead letters: objects whose deletion was given up.

A deletion is tried ten times over some days, then it waits here; one that is denied for good comes at once. \
An outage of the store brings nothing here. The bytes are still stored: mend the cause, then try again.

    reaper dlq list

    reaper dlq retry --cause AccessDenied

Needs only the database; retry and drop need the role reaper_ops.
"""
_Backend = Annotated[
    str | None, typer.Option("--backend", metavar="NAME", help="Of this backend.", show_default=False)
]
_Cause = Annotated[
    str | None,
    typer.Option("--cause", metavar="CODE", help="Given up for this: AccessDenied, …", show_default=False),
]
_Ids = Annotated[
    list[int] | None,
    typer.Option("--id", metavar="N", help="This one; may be repeated.", show_default=False),
]
_All = Annotated[bool, typer.Option("--all", help="All of them.")]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
_Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=0, max=10_000, help="Name the newest so many.")
]
_Number = Annotated[int, typer.Argument(metavar="N", help="Its number, as `reaper dlq list` shows it.")]
_Reason = Annotated[
    str | None,
    typer.Option("--reason", metavar="TEXT", help="Why; kept in reaper.audit.", show_default=False),
]
_Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in reaper.audit.")]
_FreeNames = Annotated[
    bool,
    typer.Option("--free-names", help="Also those whose name an application may use again afterwards."),
]

group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(group, name="dlq", help=_HELP, short_help="Settle deletions that were given up.")


@group.command("list")
def list_entries(
    backend: _Backend = None,
    cause: _Cause = None,
    limit: _Limit = 20,
    as_json: options.Json = False,
    database_url: options.Dsn = None,
) -> None:
    """Count the dead letters by backend and cause, and name the newest.

    Exit code 1 when there are any.
    """
    from reaper.queries.dlq import DlqFilter

    choice = DlqFilter(backend, cause)
    with asking("operator", database_url) as q:
        groups, newest = q.count_dlq(choice), q.dlq_newest(choice, limit)
    if as_json:
        formatting.print_json({"groups": groups, "letters": newest})
    else:
        _show(groups, newest)
    raise typer.Exit(Exit.BEHIND if groups else Exit.OK)


@group.command("show")
def show(number: _Number, as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Tell all that is known of one dead letter."""
    with asking("operator", database_url) as q:
        letter, now = q.dlq_entry(number), q.now()
    if letter is None:
        raise ReaperError(f"there is no dead letter {number}", "reaper dlq list shows those that there are.")
    if as_json:
        formatting.print_json(letter)
        return
    show_fields(_story(letter, now))
    typer.echo(f"\nTry again: reaper dlq retry --id {number}")
    typer.echo(f"Write off: reaper dlq drop --id {number} --reason …")


@group.command("retry")
def retry(
    backend: _Backend = None,
    cause: _Cause = None,
    ids: _Ids = None,
    all_: _All = False,
    reason: _Reason = None,
    yes: _Yes = False,
    database_url: options.Dsn = None,
) -> None:
    """Owe deletions again: the next run of the cleanup tries them, with ten attempts before them.

    What is given up again meanwhile is not retried twice.
    """
    from reaper.ops.dlq import retry_all

    choice = _chosen(backend, cause, ids, all_)
    with asking("operator", database_url) as q:
        choice = replace(choice, before=q.now())
        groups = q.count_dlq(choice)
        if not groups:
            typer.echo("no dead letter matches")
        elif _agreed(groups, "Try to delete them again?", yes):
            moved = sum(counted(retry_all(q, choice, groups, reason), "queued again"))
            typer.echo(f"{formatting.count(moved, 'object')} queued again; workers try them within a minute")


@group.command("drop")
def drop(
    reason: _Why,
    backend: _Backend = None,
    cause: _Cause = None,
    ids: _Ids = None,
    all_: _All = False,
    free_names: _FreeNames = False,
    yes: _Yes = False,
    database_url: options.Dsn = None,
) -> None:
    """Write deletions off: reaper forgets the objects, and deletes nothing.

    For objects that somebody removed by hand, or that may stay for ever. Their bytes leave the account of the
    backend; reaper.audit keeps their names and the reason.

    An object whose name is retired stays, because a late deletion of it may still be on its way: an
    application that stored the same content under that name again would lose it. When you are sure that
    none is: --free-names.
    """
    from reaper.ops.dlq import write_off_all

    choice = _chosen(backend, cause, ids, all_)
    with asking("operator", database_url) as q:
        choice = replace(choice, before=q.now())
        groups = q.count_dlq(choice)
        kept = 0 if free_names else sum(group.retired_names for group in groups)
        if not groups:
            typer.echo("no dead letter matches")
        elif kept == sum(group.objects for group in groups):
            raise ReaperError(
                f"{formatting.count(kept, 'dead letter')} not written off: the name is retired",
                "A late deletion may still be on its way to it. When you are sure that none is: --free-names",
            )
        elif _agreed(groups, f"Forget them without deleting anything?{_but(kept)}", yes):
            batches = write_off_all(q, choice, groups, reason, free_names)
            forgotten = sum(counted(batches, "written off"))
            objects = formatting.count(forgotten, "object")
            typer.echo(f"{objects} written off; reaper.audit has every name{_but(kept)}")


def _chosen(backend: str | None, cause: str | None, ids: Sequence[int] | None, all_: bool) -> DlqFilter:
    """What was asked for; everything only when somebody says so."""
    if all_ == bool(backend or cause or ids):
        raise typer.BadParameter("say which: --backend, --cause, --id, or --all")
    from reaper.queries.dlq import DlqFilter

    return DlqFilter(backend, cause, ids or None)


def _agreed(groups: list[DlqGroup], question: str, yes: bool) -> bool:
    """Say how many are meant, then ask."""
    _show_groups(groups)
    if yes:
        return True
    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody is there to be asked: add --yes")
    try:
        agreed = typer.confirm(question)
    except typer.Abort:
        raise typer.Exit(Exit.INTERRUPTED) from None
    if not agreed:
        typer.echo("nothing was changed")
    return agreed


def _but(kept: int) -> str:
    return (
        f" ({kept:,} with a retired name {'stays' if kept == 1 else 'stay'}: see --free-names)"
        if kept
        else ""
    )


def _show(groups: list[DlqGroup], newest: list[DlqEntry]) -> None:
    if not groups:
        typer.echo("no dead letters")
        return
    _show_groups(groups)
    if newest:
        typer.echo()
        columns = (
            *(Column("id", number=True), Column("given up"), Column("size", number=True)),
            Column("object", wraps=True),
        )
        show_table(columns, [_entry_row(letter) for letter in newest])
    hidden = sum(group.objects for group in groups) - len(newest)
    if newest and hidden:
        typer.echo(f"and {hidden:,} more: --limit, --backend, --cause, or the view reaper.dlq")


def _entry_row(letter: DlqEntry) -> tuple[str, ...]:
    name = f"{escape(letter.backend)}/{escape(letter.object_key)}"
    given_up = formatting.second(letter.buried_at)
    return str(letter.queue_id), given_up, _size(letter), f"{name}\n[dim]{escape(letter.last_error)}[/]"


def _show_groups(groups: list[DlqGroup]) -> None:
    """The sum, then a line per backend and cause."""
    objects, stored = sum(g.objects for g in groups), sum(g.bytes for g in groups)
    typer.echo(f"{formatting.count(objects, 'dead letter')}, {format_size(stored)} still stored")
    columns = (
        *(Column("backend"), Column("cause"), Column("objects", number=True), Column("size", number=True)),
        *(Column("given up", wraps=True), Column()),
    )
    show_table(columns, [_group_row(group) for group in groups])


def _group_row(group: DlqGroup) -> tuple[str, ...]:
    first, last = (formatting.minute(at) for at in (group.first_buried_at, group.last_buried_at))
    return (
        escape(group.backend),
        escape(group.cause),
        f"{group.objects:,}",
        format_size(group.bytes),
        first if first == last else f"{first} to {last}",
        f"[dim]{group.retired_names:,} with a retired name[/]" if group.retired_names else "",
    )


def _story(letter: DlqEntry, now: datetime) -> Iterator[tuple[str, str]]:
    yield "object", escape(f"{letter.backend}/{letter.object_key}")
    yield "size", _size(letter)
    yield "held", escape(letter.content_hash or "unknown content")
    yield "cause", escape(letter.cause)
    yield "error", escape(letter.last_error)
    yield "attempts", str(letter.attempts)
    yield (
        "owed since",
        f"{letter.queued_at:%Y-%m-%d %H:%M:%S}, {formatting.age(now - letter.queued_at)} ago",
    )
    yield "given up", f"{letter.buried_at:%Y-%m-%d %H:%M:%S}, {formatting.age(now - letter.buried_at)} ago"
    if letter.name_retired:
        yield "name", "[yellow]retired: no content may take it until this is settled (RP004)[/]"


def _size(letter: DlqEntry) -> str:
    return "unknown" if letter.size_bytes is None else format_size(letter.size_bytes)

"""`reaper dlq …`: objects whose deletion was given up: list, retry, write off."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.progress import counted
from reaper.cli.tables import Column, show_fields, show_table
from reaper.config.units import format_size
from reaper.errors import Exit, ReaperError

if TYPE_CHECKING:
    from reaper.queries.dlq import DlqEntry, DlqFilter, DlqGroup

_HELP = """
The DLQ: objects whose deletion was given up.

A deletion is tried ten times over some days, then becomes a DLQ entry; a permanent refusal does at once. \
An outage of the store makes none. The bytes are still stored: fix the cause, then retry.

    reaper dlq list

    reaper dlq retry --cause AccessDenied

Needs only the database; retry and drop need the role reaper_ops.
"""
_Backend = Annotated[
    str | None,
    typer.Option("--backend", metavar="NAME", help="Only entries of this backend.", show_default=False),
]
_Cause = Annotated[
    str | None,
    typer.Option(
        "--cause", metavar="CODE", help="Only entries with this cause: AccessDenied, …", show_default=False
    ),
]
_Ids = Annotated[
    list[int] | None,
    typer.Option("--id", metavar="N", help="This entry; may be repeated.", show_default=False),
]
_All = Annotated[bool, typer.Option("--all", help="All entries.")]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
_Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=0, max=10_000, help="List the newest N entries.")
]
_Number = Annotated[
    int, typer.Argument(metavar="N", help="The id of the entry, as `reaper dlq list` shows it.")
]
_Reason = Annotated[
    str | None,
    typer.Option("--reason", metavar="TEXT", help="Why; kept in reaper.audit.", show_default=False),
]
_Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in reaper.audit.")]
_FreeNames = Annotated[
    bool,
    typer.Option(
        "--free-names",
        help="Also entries whose object name is retired; applications may use the name again then.",
    ),
]

group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(
        group,
        name="dlq",
        help=_HELP,
        short_help="List, retry or write off deletions that were given up (DLQ).",
    )


@group.command("list")
def list_entries(
    backend: _Backend = None,
    cause: _Cause = None,
    limit: _Limit = 20,
    as_json: options.Json = False,
    database_url: options.Dsn = None,
) -> None:
    """Count the DLQ entries by backend and cause, and list the newest.

    Exit code 1 when there are any.
    """
    from reaper.queries.dlq import DlqFilter

    choice = DlqFilter(backend, cause)
    with asking("operator", database_url) as q:
        groups, newest = q.count_dlq(choice), q.dlq_newest(choice, limit)
    if as_json:
        formatting.print_json({"groups": groups, "entries": newest})
    else:
        _show(groups, newest)
    raise typer.Exit(Exit.BEHIND if groups else Exit.OK)


@group.command("show")
def show(number: _Number, as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Show one DLQ entry."""
    with asking("operator", database_url) as q:
        entry, now = q.dlq_entry(number), q.now()
    if entry is None:
        raise ReaperError(f"no DLQ entry {number}", "Run reaper dlq list to see all entries.")
    if as_json:
        formatting.print_json(entry)
        return
    show_fields(_story(entry, now))
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
    """Move entries back to the cleanup queue; the next run tries them, with ten new attempts.

    An object that is given up again meanwhile is not retried a second time.
    """
    from reaper.ops.dlq import retry_all, who_tries

    choice = _chosen(backend, cause, ids, all_)
    with asking("operator", database_url) as q:
        choice = replace(choice, before=q.now())
        groups = q.count_dlq(choice)
        if not groups:
            typer.echo("no DLQ entry matches")
        elif _agreed(groups, "Retry these deletions?", yes):
            moved = sum(counted(retry_all(q, choice, groups, reason), "queued again"))
            typer.echo(f"{formatting.count(moved, 'object')} queued; {who_tries(q)}")


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
    """Write entries off: reaper removes the entries, and deletes no object.

    For objects that were removed by hand, or that may stay for ever. Their bytes leave the account of the
    backend; reaper.audit keeps their names and the reason.

    An entry whose object name is retired is kept, because a late deletion of the object may still arrive: an
    application that stored the same content under that name again would lose it. When you are sure that
    none arrives any more: --free-names.
    """
    from reaper.ops.dlq import write_off_all

    choice = _chosen(backend, cause, ids, all_)
    with asking("operator", database_url) as q:
        choice = replace(choice, before=q.now())
        groups = q.count_dlq(choice)
        kept = 0 if free_names else sum(group.retired_names for group in groups)
        if not groups:
            typer.echo("no DLQ entry matches")
        elif kept == sum(group.objects for group in groups):
            raise ReaperError(
                f"{_entries(kept)} not written off: the object name is retired",
                "A late deletion of it may still arrive. If you are sure that none does: --free-names",
            )
        elif _agreed(groups, f"Write them off without deleting any object?{_but(kept)}", yes):
            batches = write_off_all(q, choice, groups, reason, free_names)
            forgotten = sum(counted(batches, "written off"))
            objects = formatting.count(forgotten, "object")
            typer.echo(f"{objects} written off; reaper.audit has every name{_but(kept)}")


def _chosen(backend: str | None, cause: str | None, ids: Sequence[int] | None, all_: bool) -> DlqFilter:
    """What was asked for; everything only with --all."""
    if all_ == bool(backend or cause or ids):
        raise typer.BadParameter("choose entries with --backend, --cause or --id, or use --all")
    from reaper.queries.dlq import DlqFilter

    return DlqFilter(backend, cause, ids or None)


def _agreed(groups: list[DlqGroup], question: str, yes: bool) -> bool:
    """Say how many are meant, then ask."""
    _show_groups(groups)
    if yes:
        return True
    if not sys.stdin.isatty():
        raise typer.BadParameter("stdin is no terminal to confirm on: add --yes")
    try:
        agreed = typer.confirm(question)
    except typer.Abort:
        raise typer.Exit(Exit.INTERRUPTED) from None
    if not agreed:
        typer.echo("nothing was changed")
    return agreed


def _entries(number: int) -> str:
    return formatting.count(number, "DLQ entry", "DLQ entries")


def _but(kept: int) -> str:
    return (
        f" ({kept:,} with a retired name {'is' if kept == 1 else 'are'} kept: see --free-names)"
        if kept
        else ""
    )


def _show(groups: list[DlqGroup], newest: list[DlqEntry]) -> None:
    if not groups:
        typer.echo("the DLQ is empty")
        return
    _show_groups(groups)
    if newest:
        typer.echo()
        columns = (
            *(Column("id", number=True), Column("given up"), Column("size", number=True)),
            Column("object", wraps=True),
        )
        show_table(columns, [_entry_row(entry) for entry in newest])
    hidden = sum(group.objects for group in groups) - len(newest)
    if newest and hidden:
        typer.echo(f"and {hidden:,} more: --limit, --backend, --cause, or the view reaper.dlq")


def _entry_row(entry: DlqEntry) -> tuple[str, ...]:
    name = f"{escape(entry.backend)}/{escape(entry.object_key)}"
    given_up = formatting.second(entry.buried_at)
    return str(entry.queue_id), given_up, _size(entry), f"{name}\n[dim]{escape(entry.last_error)}[/]"


def _show_groups(groups: list[DlqGroup]) -> None:
    """The sum, then a line per backend and cause."""
    objects, stored = sum(g.objects for g in groups), sum(g.bytes for g in groups)
    unsized = sum(g.objects_unsized for g in groups)
    typer.echo(f"{_entries(objects)}, {_stored(stored, objects, unsized)} still stored")
    columns = (
        *(Column("backend"), Column("cause"), Column("objects", number=True), Column("size", number=True)),
        *(Column("given up", wraps=True), Column()),
    )
    show_table(columns, [_group_row(group) for group in groups])


def _stored(known: int, objects: int, unsized: int) -> str:
    """The bytes of the objects; those without a recorded size are no zero."""
    if not unsized:
        return format_size(known)
    return "unknown size" if unsized == objects else f"{format_size(known)} and more"


def _group_row(group: DlqGroup) -> tuple[str, ...]:
    first, last = (formatting.minute(at) for at in (group.first_buried_at, group.last_buried_at))
    return (
        escape(group.backend),
        escape(group.cause),
        f"{group.objects:,}",
        _stored(group.bytes, group.objects, group.objects_unsized),
        first if first == last else f"{first} to {last}",
        f"[dim]{group.retired_names:,} with a retired name[/]" if group.retired_names else "",
    )


def _story(entry: DlqEntry, now: datetime) -> Iterator[tuple[str, str]]:
    yield "object", escape(f"{entry.backend}/{entry.object_key}")
    yield "size", _size(entry)
    yield "content", escape(entry.content_hash or "unknown")
    yield "cause", escape(entry.cause)
    yield "error", escape(entry.last_error)
    yield "attempts", str(entry.attempts)
    yield (
        "queued",
        f"{entry.queued_at:%Y-%m-%d %H:%M:%S}, {formatting.age(now - entry.queued_at)} ago",
    )
    yield "given up", f"{entry.buried_at:%Y-%m-%d %H:%M:%S}, {formatting.age(now - entry.buried_at)} ago"
    if entry.name_retired:
        yield "name", "[yellow]retired: no content may use it until this entry is settled (RP004)[/]"


def _size(entry: DlqEntry) -> str:
    return "unknown" if entry.size_bytes is None else format_size(entry.size_bytes)

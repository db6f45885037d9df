"""`reaper backend …`: the backends, whose their buckets are, and how one is emptied and removed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.tables import Column, show_fields, show_table
from reaper.errors import Exit, NotSupported, ReaperError

if TYPE_CHECKING:
    from reaper.model import Remains
    from reaper.ports import ObjectStore
    from reaper.queries.backends import BackendState
    from reaper.storage.ownership import Finding

_HELP = """
The backends, and whose their buckets are.

The object .reaper/owner in a bucket names the installation, the database and the PostgreSQL cluster that \
owns it. Beside any other database reaper deletes and stores nothing there: a copy of production would \
delete production's objects.

    reaper backend list

    reaper backend take-over default --reason 'moved to the new server'

A backend that is to go is drained first: nothing new is stored there, the replicator copies everything off, \
and once nothing lies or is owed there it can be removed.

    reaper backend drain east --reason 'the contract ends'

    reaper backend remove east --reason 'empty'
"""
_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The backend, as in reaper.toml.", show_default=False)
]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
_Abort = Annotated[
    bool, typer.Option("--abort-uploads", help="Abort the uploads in parts that are open in its bucket.")
]
_Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in reaper.audit.")]
_COLOUR = {"ours": "green", "other": "red", "not checked": "dim"}

group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(
        group,
        name="backend",
        help=_HELP,
        short_help="List the backends, drain and remove them, say whose bucket it is.",
    )


@group.command("list")
def list_backends(as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Show every backend: state, circuit, whose its bucket is, and what a drained one still has.

    Exit code 1 when a bucket belongs to another installation. Needs only the database.
    """
    with asking("operator", database_url) as q:
        found = q.backends()
        remains = {b.name: q.backend_remains(b.name) for b in found if b.state == "draining"}
    if as_json:
        formatting.print_json([{**asdict(b), "remains": remains.get(b.name)} for b in found])
    else:
        columns = (Column("backend"), Column("state"), Column("circuit"), Column("owner"))
        show_table((*columns, Column("detail", wraps=True)), [_row(backend, remains) for backend in found])
    raise typer.Exit(Exit.BEHIND if any(b.owner == "other" for b in found) else Exit.OK)


@group.command("take-over")
def take_over(name: _Name, reason: _Why, yes: _Yes = False, database_url: options.Dsn = None) -> None:
    """Make this database the owner of a backend's bucket.

    For a database that was moved (another server, pg_upgrade, another name), or a copy that shall have the
    bucket from now on. Stop the workers of the former owner first: each compares once an hour.
    """
    from reaper import config
    from reaper.app import App
    from reaper.ops.connection import asking as checked

    options.set_up_logging(verbose=False, log_json=False)
    settings = config.load_all("database_url", "backends", database_url=database_url)
    with checked(settings.dsn, "operator") as q:
        if name in settings.backends:
            q.register_backend(name, settings.backends[name].quota)
    with App(settings) as app:
        found = app.ownership.look(name)
        show_fields([("backend", escape(name)), ("bucket", escape(repr(app.stores[name])))])
        show_fields([("was", escape(found.detail)), ("will be", escape(str(found.me)))])
        if found.is_ours and found.installation.is_recorded_here:
            typer.echo("nothing was changed: the bucket is ours")
        elif _agreed(yes):
            app.ownership.take_over(name, _former(found), reason)
            typer.echo(f"backend {name} is ours now; reaper.audit has the former owner")


@group.command("drain")
def drain(name: _Name, reason: _Why, database_url: options.Dsn = None) -> None:
    """Empty a backend: nothing new is stored there, and everything is copied to the others and removed.

    The replicator does it; `reaper backend list` shows how far it is. `reaper backend activate` ends it.
    """
    _set_state(name, "draining", reason, database_url)


@group.command("activate")
def activate(name: _Name, reason: _Why, database_url: options.Dsn = None) -> None:
    """Store new objects on a backend, also on one that was being drained."""
    _set_state(name, "active", reason, database_url)


@group.command("readonly")
def readonly(name: _Name, reason: _Why, database_url: options.Dsn = None) -> None:
    """Store no new objects on a backend; those that are there are read and deleted as before."""
    _set_state(name, "readonly", reason, database_url)


@group.command("remove")
def remove(
    name: _Name, reason: _Why, abort_uploads: _Abort = False, database_url: options.Dsn = None
) -> None:
    """Forget a backend that was drained; refused while anything lies or is owed there, with what it is.

    Where the backend is still configured here, its bucket is listed, too: an object that no row names keeps
    it, and so does an upload in parts that is open. Take it out of reaper.toml first, or the next worker
    registers it again.
    """
    with asking("operator", database_url) as q:
        # Drained, and empty by the rows: nothing is being stored there any more. Else the rows refuse.
        drained = any(b.name == name and b.state == "draining" for b in q.backends())
        configured = False
        if drained and not q.backend_remains(name):
            configured = _require_empty_bucket(name, abort_uploads, database_url)
        q.remove_backend(name, reason)
    typer.echo(f"backend {name} is removed")
    if configured:
        typer.echo(
            "it is still configured here: take it out of reaper.toml on all hosts now, or the next process"
            " that deletes or copies registers it again, as active",
            err=True,
        )


def _set_state(name: str, state: str, reason: str, database_url: str | None) -> None:
    with asking("operator", database_url) as q:
        q.set_backend_state(name, state, reason)
        remains = q.backend_remains(name) if state == "draining" else None
    typer.echo(f"backend {name} is {state}")
    if remains is not None:
        typer.echo(_left(remains))


def _require_empty_bucket(name: str, abort_uploads: bool, database_url: str | None) -> bool:
    """Refuse where the bucket has foreign objects or open uploads; False where it is not configured."""
    from reaper import config
    from reaper.app import App

    settings = config.load_all("database_url", database_url=database_url)
    if name not in settings.backends:
        typer.echo(f"backend {name} is not configured here: its bucket was not listed", err=True)
        return False
    with App(settings) as app:
        store = app.stores[name]
        first = next(iter(store.list()), None)
        if first is not None:
            raise ReaperError(
                f"the bucket of backend {name} is not empty: {first.key} lies there ({first.size:,} bytes)",
                "If the replicator has finished, no row names it: `reaper verify` lists such objects."
                " Delete it, or take the backend out of reaper.toml and call this again.",
            )
        _end_uploads(name, store, abort_uploads)
    return True


def _end_uploads(name: str, store: ObjectStore, abort: bool) -> None:
    """Abort the uploads in parts that are open, or refuse; no listing of objects shows what they stored."""
    try:
        uploads = list(store.uploads())
    except NotSupported as error:
        typer.echo(f"{error.message}: whether some are open there was not looked at", err=True)
        return
    if uploads and not abort:
        raise ReaperError(
            f"the bucket of backend {name} has {len(uploads):,} uploads in parts that are open, such as that"
            f" of {uploads[0].key}, begun {formatting.second(uploads[0].begun_at)}",
            "What they stored is paid for and shown by no listing: add --abort-uploads, or let the service"
            " multipart_cleanup abort them when they are old enough.",
        )
    for upload in uploads:
        store.abort(upload)
        typer.echo(f"aborted the upload in parts of {upload.key}, begun {formatting.second(upload.begun_at)}")


def _left(remains: Sequence[Remains]) -> str:
    if not remains:
        return "empty: it can be removed"
    return "left there: " + ", ".join(f"{r.number:,} {r.what} ({r.bytes:,} bytes)" for r in remains)


def _agreed(yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise typer.BadParameter("stdin is no terminal to confirm on: add --yes")
    try:
        agreed = typer.confirm("Does the bucket belong to this database from now on?")
    except typer.Abort:
        raise typer.Exit(Exit.INTERRUPTED) from None
    if not agreed:
        typer.echo("nothing was changed")
    return agreed


def _former(found: Finding) -> str:
    return found.detail.removeprefix("it belongs to ")


def _row(backend: BackendState, remains: Mapping[str, Sequence[Remains]]) -> tuple[str, ...]:
    colour = _COLOUR[backend.owner]
    detail = [escape(backend.owner_detail or "")]
    if backend.name in remains:
        detail.append(f"[yellow]{_left(remains[backend.name])}[/]")
    if backend.circuit != "closed":
        detail.append(f"[red]{escape(backend.last_error or 'no answer')}[/]")
    return (
        f"[bold]{escape(backend.name)}[/]",
        backend.state,
        backend.circuit,
        f"[{colour}]{backend.owner}[/]",
        "\n".join(line for line in detail if line),
    )

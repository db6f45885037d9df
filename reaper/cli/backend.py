"""`reaper backend …`: the backends and whose their buckets are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.tables import Column, show_fields, show_table
from reaper.errors import Exit

if TYPE_CHECKING:
    from reaper.queries.backends import BackendState
    from reaper.storage.ownership import Finding

_HELP = """
The backends, and whose their buckets are.

The object .reaper/owner in a bucket names the installation, the database and the PostgreSQL cluster that \
owns it. Beside any other database reaper deletes and stores nothing there: a copy of production would \
delete production's objects.

    reaper backend list

    reaper backend take-over default --reason 'moved to the new server'
"""
_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The backend, as in reaper.toml.", show_default=False)
]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
_Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in reaper.audit.")]
_COLOUR = {"ours": "green", "other": "red", "not checked": "dim"}

group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(
        group, name="backend", help=_HELP, short_help="List the backends, and say whose bucket it is."
    )


@group.command("list")
def list_backends(as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Show every backend: its state, its circuit, and whose its bucket is.

    Exit code 1 when a bucket belongs to another installation. Needs only the database.
    """
    with asking("operator", database_url) as q:
        found = q.backends()
    if as_json:
        formatting.print_json(found)
    else:
        columns = (Column("backend"), Column("state"), Column("circuit"), Column("owner"))
        show_table((*columns, Column("detail", wraps=True)), [_row(backend) for backend in found])
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


def _row(backend: BackendState) -> tuple[str, ...]:
    colour = _COLOUR[backend.owner]
    detail = [escape(backend.owner_detail or "")]
    if backend.circuit != "closed":
        detail.append(f"[red]{escape(backend.last_error or 'no answer')}[/]")
    return (
        f"[bold]{escape(backend.name)}[/]",
        backend.state,
        backend.circuit,
        f"[{colour}]{backend.owner}[/]",
        "\n".join(line for line in detail if line),
    )

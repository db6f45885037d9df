"""`reaper copies HASH`: where the copies of a content lie, in what condition, and what is to be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.tables import Column, show_table
from reaper.errors import BadArgument, Exit

if TYPE_CHECKING:
    from reaper.model import CopyDetail

_Hash = Annotated[str, typer.Argument(metavar="HASH", help="A content's hash.", show_default=False)]
_COLUMNS = (
    Column("what"),
    Column("backend"),
    Column("condition"),
    Column("verified"),
    Column("detail", wraps=True),
)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("copies")(copies)


def copies(content_hash: _Hash, as_json: options.Json = False, database_url: options.Dsn = None) -> None:
    """Show where the copies of a content lie, and what is known of each.

    Exit code 1 when one of them is missing or corrupt, 4 when there is no such content. Needs only the
    database; `reaper why HASH --look` asks the backends.
    """
    with asking("operator", database_url) as q:
        found = q.copies_detail(content_hash)
    if not found:
        raise BadArgument(
            f"no content has the hash {content_hash!r}", "See what became of it: reaper why HASH"
        )
    if as_json:
        formatting.print_json(found)
    else:
        show_table(_COLUMNS, [_row(each) for each in found])
    raise typer.Exit(Exit.BEHIND if any(each.trouble for each in found) else Exit.OK)


def _row(each: CopyDetail) -> tuple[str, ...]:
    verified = formatting.second(each.verified_at) or ("never" if each.kind == "copy" else "")
    return each.kind, f"[bold]{escape(each.backend or '')}[/]", _condition(each), verified, _detail(each)


def _condition(each: CopyDetail) -> str:
    if each.trouble:
        return f"[red]{each.trouble}[/]"
    words = [each.state if each.state not in (None, "active") else ""]
    words.append(f"circuit {each.circuit}" if each.circuit not in (None, "closed") else "")
    return ", ".join(word for word in words if word) or ("[green]good[/]" if each.kind == "copy" else "")


def _detail(each: CopyDetail) -> str:
    size = None if each.size_bytes is None else formatting.count(each.size_bytes, "byte")
    parts = (each.object_key, size, each.detail)
    return escape(", ".join(part for part in parts if part))

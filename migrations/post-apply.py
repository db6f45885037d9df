"""What yoyo runs after it applied migrations: the rest of a release, by the very code of `reaper migrate`.

That is reaper's own ledger, procrastinate's schema, functions and views, and their owner. It works on
connections of its own, and outside a transaction, so that it never waits for yoyo. `reaper migrate` does not
read this file.
"""

from __future__ import annotations

import sys
from typing import Any

from psycopg.conninfo import make_conninfo
from yoyo import step

from reaper import config
from reaper.errors import ReaperError, describe
from reaper.migrate import Request, migrate
from reaper.services import ALL

__transactional__ = False


def complete(connection: Any) -> None:
    """Migrate the database that yoyo is connected to."""
    info = connection.info
    # The parameters of a connection are without the password.
    password = {"password": info.password} if info.password else {}
    try:
        queue = Request(queue_schema=config.load().queue_schema)
        migrate(make_conninfo(info.dsn, **password), tables=queue, services=ALL, say=print)
    except ReaperError as error:
        sys.exit(f"reaper: {describe(error)}")


step(complete)

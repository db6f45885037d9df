"""INVALID indexes that a failed CREATE INDEX CONCURRENTLY left behind."""

from __future__ import annotations

import re
from collections.abc import Iterable

from psycopg import sql

from reaper.db.connection import Connection
from reaper.migrate.files import Migration
from reaper.migrate.patience import Patience

_INVALID = """
    select n.nspname, c.relname
      from pg_catalog.pg_index i
      join pg_catalog.pg_class c on c.oid = i.indexrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_class t on t.oid = i.indrelid
     where not i.indisvalid
       and (n.nspname = 'reaper' or n.nspname = 'public' and t.relname in ('pastes', 'content'))
"""


def invalid_indexes(connection: Connection, pending: Iterable[Migration]) -> list[sql.Identifier]:
    """Those that a pending migration will build: IF NOT EXISTS would take them for finished ones."""
    words = {word for m in pending for text in m.statements for word in re.findall(r"\w+", text)}
    return [sql.Identifier(schema, name) for schema, name in connection.execute(_INVALID) if name in words]


def drop(connection: Connection, patience: Patience, index: sql.Identifier) -> None:
    """Drop one without blocking writers; the backend of a killed migrator may still be building it."""
    statement = sql.SQL("drop index concurrently if exists {}").format(index)
    connection.execute("set lock_timeout = '2s'")
    try:
        patience.run(
            f"drop the unfinished index {index.as_string()}",
            connection,
            lambda: connection.execute(statement),
        )
    finally:
        connection.execute("set lock_timeout = 0")

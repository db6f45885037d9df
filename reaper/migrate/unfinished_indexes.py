"""INVALID indexes that a failed CREATE INDEX CONCURRENTLY left behind."""

from __future__ import annotations

import re
from collections.abc import Iterable

from psycopg import sql

from reaper.db.connection import Connection
from reaper.migrate.migration_files import Migration
from reaper.migrate.step import Kind, Step, statements

# The server process of a killed migrator may still be building it.
_LOCK_TIMEOUT = "2s"
_INVALID = """
    select n.nspname, c.relname
      from pg_catalog.pg_index i
      join pg_catalog.pg_class c on c.oid = i.indexrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where not i.indisvalid
"""


def drop_steps(
    connection: Connection, pending: Iterable[Migration], prepared: Iterable[Step] = ()
) -> list[Step]:
    """Drop those that a pending step will build: IF NOT EXISTS would take them for finished ones."""
    words = {word for m in pending for text in m.statements for word in re.findall(r"\w+", text)}
    names = {name for step in prepared for name in step.names}
    found = (
        sql.Identifier(*row).as_string()
        for row in connection.execute(_INVALID)
        if row[1] in names or (row[0] == "reaper" and row[1] in words)
    )
    return [_drop(index) for index in found]


def _drop(index: str) -> Step:
    return Step(
        kind=Kind.DROP_UNFINISHED_INDEX,
        title=f"drop the unfinished index {index}",
        locks="its table SHARE UPDATE EXCLUSIVE; readers and writers are not blocked",
        statements=statements(f"drop index concurrently if exists {index}"),
        names=(index,),
        transactional=False,
        lock_timeout=_LOCK_TIMEOUT,
    )

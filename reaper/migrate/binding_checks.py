"""What only a look at the rows, or a try on an empty copy, tells about bound tables; nothing stays of it."""

from __future__ import annotations

import psycopg
from psycopg import errors, sql

from reaper.db.connection import Connection
from reaper.errors import MigrationRefused
from reaper.migrate.binding import Binding, BoundTable
from reaper.migrate.bound_tables import look_at

_TEXTS = ("text", "character varying")
_TRIED = """
    select format_type(a.atttypid, null), pg_get_indexdef(i.indexrelid, 1, true), i.indnatts
      from pg_catalog.pg_index i
      join pg_catalog.pg_attribute a on a.attrelid = i.indexrelid and a.attnum = 1
     where i.indexrelid = 'pg_temp.reaper_key_check_index'::regclass
"""
_STATUS = "status"
_OTHER_STATES = """
    select count(*)
      from (select from {table} where {column} not in ('NOT_EXPIRED', 'DELETION_IN_PROGRESS', 'DELETED')
             limit 1000) as s
"""
_HOLDS_STATES = """
    select exists (select from (select {column}::text as state from {table} limit 1000) as s
                    where s.state in ('NOT_EXPIRED', 'DELETION_IN_PROGRESS'))
"""


def check_key_expression(connection: Connection, content: BoundTable) -> None:
    """Refuse an expression that cannot be read, indexed or used as a key; tried on an empty copy."""
    if content.key_expression is None:
        return
    try:
        type_, _, columns = _tried(connection, content)
    except psycopg.Error as error:
        hint = (
            "Write a column or an expression over one row, columns without a prefix, such as"
            " 'objects/' || sha."
        )
        if isinstance(error, errors.InvalidObjectDefinition):
            hint = "Use || instead of format() or concat(), which depend on settings of the session."
        raise _refusal(content, str(error.diag.message_primary or error), hint) from None
    if columns != 1:
        raise _refusal(content, f"it is {columns} expressions, not one", "Write one expression.")
    if type_ not in _TEXTS:
        raise _refusal(content, f"it is {type_}, not text", "Cast it: (…)::text.")


def check_states(connection: Connection, binding: Binding) -> None:
    """Refuse a status column with other values: a check on it would refuse the application's own rows."""
    pastes, tables = binding.pastes, look_at(connection, binding)
    column = pastes.columns["deletion_status"]
    if tables is None or column not in tables.pastes.columns or tables.has_status_check():
        return
    query = sql.SQL(_OTHER_STATES).format(column=sql.Identifier(column), table=sql.SQL(pastes.table))
    row = connection.execute(query).fetchone()
    if row and row[0]:
        raise MigrationRefused(
            f"{pastes.table}.{column}: {row[0]} rows or more have another value than NOT_EXPIRED,"
            " DELETION_IN_PROGRESS or DELETED; nothing was changed",
            "Bind deletion_status to another column, or leave it out: then reaper adds one of its own.",
        )


def check_doubled_status(connection: Connection, binding: Binding) -> None:
    """Refuse to add a second column for states that a column `status` holds already."""
    pastes, tables = binding.pastes, look_at(connection, binding)
    column = pastes.columns["deletion_status"]
    if tables is None or column in tables.pastes.columns or _STATUS not in tables.pastes.columns:
        return
    query = sql.SQL(_HOLDS_STATES).format(column=sql.Identifier(_STATUS), table=sql.SQL(pastes.table))
    row = connection.execute(query).fetchone()
    if row and row[0]:
        raise MigrationRefused(
            f"{pastes.table}.{_STATUS}: holds the states of expiry already, and reaper would add a second"
            " column for them; nothing was changed",
            f'Bind it: --bind pastes.deletion_status={_STATUS}, or deletion_status = "{_STATUS}" under'
            " [tables.pastes] in reaper.toml.",
        )


def printed_key(connection: Connection, content: BoundTable) -> str | None:
    """The expression as PostgreSQL prints it, for comparing it with indexes; None where there is none."""
    if content.key_expression is None:
        return None
    try:
        return _tried(connection, content)[1]
    except psycopg.Error:
        # What is wrong with it is told by the check.
        return None


def _tried(connection: Connection, content: BoundTable) -> tuple[str, str, int]:
    """The type of the key, how PostgreSQL prints it, and of how many columns it is.

    As a prepared statement, which is one statement: an expression cannot end it.
    """
    table, expression = content.table, content.key_expression
    connection.execute(f"select ({expression}) from {table} limit 0", prepare=True)
    with connection.transaction(force_rollback=True):
        connection.execute("set transaction read write")
        connection.execute(f"create temporary table reaper_key_check (like {table})")
        connection.execute(
            f"create index reaper_key_check_index on pg_temp.reaper_key_check (({expression}))"
        )
        row = connection.execute(_TRIED).fetchone()
    assert row is not None
    return row[0], row[1], row[2]


def _refusal(content: BoundTable, problem: str, hint: str) -> MigrationRefused:
    return MigrationRefused(
        f"content.object_key cannot be {content.key_expression} over {content.table}: {problem};"
        " nothing was changed",
        hint,
    )

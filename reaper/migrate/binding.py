"""Which tables of the application the views read: what a person wants, and what is recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from psycopg import errors, sql

from reaper.config.tables import COLUMNS, KEY, TABLE, Names, column_name, is_column
from reaper.db.connection import Connection
from reaper.errors import MigrationRefused
from reaper.migrate.ledger import relation_exists

# What reaper brings along where the application has no such column.
BROUGHT = frozenset({"object_key", "size_bytes", "created_at", "deletion_status", "deletion_initiated_at"})
_RECORDED = "select name, bound_table, columns, key_expression from reaper.bindings"
_RECORD = """\
insert into reaper.bindings (name, bound_table, columns, key_expression) values
    {values}
    on conflict (name) do update
   set bound_table = excluded.bound_table, columns = excluded.columns,
       key_expression = excluded.key_expression, keys_confirmed = null, keys_checked = null,
       bound_at = now()"""


@dataclass(frozen=True)
class BoundTable:
    """One of the two tables: its name in SQL, and the application's name of each column that reaper uses."""

    name: str
    table: str
    columns: Mapping[str, str]
    key_expression: str | None = None
    # Columns that a person named: they must exist, reaper does not add them.
    told: frozenset[str] = field(default=frozenset(), compare=False)

    def column(self, name: str) -> str:
        """The application's column, quoted for SQL."""
        return sql.Identifier(self.columns[name]).as_string()

    @property
    def relation(self) -> str:
        """The table's own name, without quotes and schema; names of indexes begin with it."""
        return parts_of(self.table)[1]

    @property
    def schema(self) -> str:
        """The table's schema, without quotes."""
        return parts_of(self.table)[0]


@dataclass(frozen=True)
class Binding:
    """Both tables."""

    pastes: BoundTable
    content: BoundTable

    @property
    def tables(self) -> tuple[BoundTable, BoundTable]:
        """Content first: pastes refer to it."""
        return self.content, self.pastes

    @property
    def is_default(self) -> bool:
        """Whether these are the tables that reaper would create."""
        return all(each.table == f"public.{each.name}" and not each.told for each in self.tables)

    def as_json(self) -> str:
        """For the check of the tables, which is SQL."""
        return json.dumps(
            {
                each.name: {
                    "table": each.table,
                    "columns": dict(each.columns),
                    "expression": each.key_expression,
                    "told": sorted(each.told),
                }
                for each in self.tables
            }
        )

    def record_statement(self) -> str:
        """The statement that writes it down."""
        rows = (
            sql.SQL("({}, {}, {}, {})").format(
                sql.Literal(each.name),
                sql.Literal(each.table),
                sql.Literal(json.dumps(dict(each.columns))),
                sql.Literal(each.key_expression),
            )
            for each in self.tables
        )
        return _RECORD.format(values=",\n    ".join(row.as_string() for row in rows))


def parts_of(table: str) -> tuple[str, str]:
    """Schema and name of a table, whose name in SQL is `table`, as made by `quoted`."""
    schema, name = map(column_name, _split(table))
    return schema, name


def recorded(connection: Connection) -> Binding | None:
    """What the database says; None where nothing is bound yet."""
    if not relation_exists(connection, "reaper", "bindings"):
        return None
    rows = {row[0]: BoundTable(*row) for row in connection.execute(_RECORDED)}
    return Binding(**rows) if len(rows) == len(COLUMNS) else None


def wanted(connection: Connection, told: Names, options: Names) -> Binding:
    """What a person says, options before the file; else what is recorded, else the default."""
    base = None if told else recorded(connection)
    tables = {name: _table(connection, name, base, told, options) for name in COLUMNS}
    return Binding(**tables)


def _table(
    connection: Connection, name: str, base: Binding | None, told: Names, options: Names
) -> BoundTable:
    before: BoundTable | None = getattr(base, name) if base else None
    names = {**told.get(name, {}), **options.get(name, {})}
    columns: dict[str, Any] = {column: column for column in COLUMNS[name]}
    columns |= before.columns if before else {}
    expression = before.key_expression if before else None
    for column, value in names.items():
        if column == KEY:
            expression = None if is_column(value) else value
        if column != TABLE:
            columns[column] = column_name(value)
    if expression is not None:
        columns.pop(KEY)
    table = names.get(TABLE) or (before.table if before else f"public.{name}")
    return BoundTable(name, quoted(connection, table), columns, expression, frozenset(names) - {TABLE})


def quoted(connection: Connection, table: str) -> str:
    """A table's name as SQL writes it, with its schema; without one it is in public."""
    try:
        row = connection.execute("select parse_ident(%s)", (table,)).fetchone()
    except errors.InvalidParameterValue:
        raise MigrationRefused(
            f"{table!r} is no name of a table", "Write schema.table, with double quotes where SQL needs them."
        ) from None
    given = row[0] if row else []
    if len(given) > 2:
        raise MigrationRefused(
            f"{table!r} has {len(given)} parts",
            "Write schema.table: only tables of this database can be bound.",
        )
    parts = ["public", *given][-2:]
    names = connection.execute("select format('%%I.%%I', %s::text, %s::text)", parts).fetchone()
    assert names is not None
    return str(names[0])


def _split(table: str) -> tuple[str, str]:
    """At the dot between schema and name, which may stand in quotes."""
    in_quotes = False
    for position, character in enumerate(table):
        if character == '"':
            in_quotes = not in_quotes
        if character == "." and not in_quotes:
            return table[:position], table[position + 1 :]
    raise ValueError(table)

"""What the catalogue says about the application's tables: columns, constraints, indexes, rights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, count

from reaper.db.connection import Connection
from reaper.migrate.binding import Binding, BoundTable
from reaper.migrate.ledger import relation_exists

# What reaper_owner needs; a trigger on content is the guard of object keys.
RIGHTS = {
    "pastes": ["SELECT", "INSERT", "UPDATE", "DELETE"],
    "content": ["SELECT", "INSERT", "UPDATE", "DELETE", "TRIGGER"],
}
_OID = "select to_regclass(%s)::oid"
# An index of ours that was not finished is dropped first, and its name is free then.
_TAKEN = """
    select exists (select from pg_catalog.pg_class c
                     join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                     left join pg_catalog.pg_index i on i.indexrelid = c.oid
                    where n.nspname = %s and c.relname = %s
                      and (i.indrelid is distinct from to_regclass(%s)::oid or i.indisvalid))
"""
_NOTED = "select name from reaper.provenance where kind = 'index' and table_name = %s"
_COLUMNS = """
    select a.attname::text, a.attcollation::regcollation::text
      from pg_catalog.pg_attribute a
     where a.attrelid = %s and a.attnum > 0 and not a.attisdropped
"""
_INDEXES = """
    select i.indexrelid::regclass::text, coalesce(a.attname, pg_get_indexdef(i.indexrelid, 1, true)),
           m.amname::text, i.indisunique, i.indnkeyatts, i.indoption[0] in (0, 3),
           i.indcollation[0] = coalesce(a.attcollation, i.indcollation[0]), i.indkey[0] = 0
      from pg_catalog.pg_index i
      join pg_catalog.pg_class c on c.oid = i.indexrelid
      join pg_catalog.pg_am m on m.oid = c.relam
      left join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
     where i.indrelid = %s and i.indisvalid and i.indpred is null
"""
_STATUS_CHECK = """
    select exists (select from pg_catalog.pg_constraint c
                     join pg_catalog.pg_attribute a on a.attrelid = c.conrelid and a.attnum = any (c.conkey)
                    where c.conrelid = %s and c.contype = 'c' and a.attname = %s
                      and pg_get_constraintdef(c.oid) like '%%DELETION_IN_PROGRESS%%')
"""
_FOREIGN_KEY = """
    select exists (select from pg_catalog.pg_constraint c
                     join pg_catalog.pg_attribute p on p.attrelid = c.conrelid and p.attname = %s
                     join pg_catalog.pg_attribute t on t.attrelid = c.confrelid and t.attname = %s
                    where c.conrelid = %s and c.confrelid = %s and c.contype = 'f'
                      and c.conkey = array[p.attnum] and c.confkey = array[t.attnum])
"""
_NOT_VALIDATED = """
    select c.conname::text
      from pg_catalog.pg_constraint c
     where c.conrelid = %s and not c.convalidated
       and (c.confrelid = %s
            or (c.contype = 'c' and pg_get_constraintdef(c.oid) like '%%DELETION_IN_PROGRESS%%'))
     order by 1
"""
# Ours, on columns that are bound no more: they would go on refusing the application's rows.
_FORMER = """
    select c.conname::text
      from reaper.provenance p
      join pg_catalog.pg_constraint c on c.conrelid = %s and c.conname = p.name
     where p.kind = 'constraint' and p.table_name = %s
       and not exists (select from pg_catalog.pg_attribute a
                        where a.attrelid = c.conrelid and a.attnum = any (c.conkey)
                          and a.attname = case c.contype when 'f' then %s else %s end)
     order by 1
"""
# Before the first migration there is no role yet; it will have what PUBLIC has.
_RIGHTS = """
    select has_schema_privilege(r.name, c.relnamespace, 'USAGE'),
           (select bool_and(has_table_privilege(r.name, c.oid, p))
              from unnest(%s::text[]) as p)
      from pg_catalog.pg_class c
     cross join (select coalesce(max(rolname), 'public') as name
                   from pg_catalog.pg_roles where rolname = 'reaper_owner') as r
     where c.oid = %s
"""
_VIEWS = """
    select coalesce(bool_and(d.refobjid = w.oid), false) and count(distinct r.ev_class) = 2
      from unnest(%s::text[], %s::oid[]) as w (name, oid)
      join pg_catalog.pg_rewrite r on r.ev_class = to_regclass('reaper.' || w.name)
      join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = r.oid
       and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> r.ev_class
"""
_GUARD = """
    select exists (select from pg_catalog.pg_trigger t
                    where t.tgrelid = %s and t.tgname = 'reaper_retired_key' and t.tgtype = 21
                      and t.tgenabled in ('O', 'A')
                      and not exists (select from pg_catalog.pg_attribute a
                                       where a.attrelid = t.tgrelid and not a.attisdropped
                                         and a.attname = any (%s) and a.attnum <> all (t.tgattr::int2[])))
"""


@dataclass(frozen=True)
class Index:
    """What an index begins with, and whether it serves."""

    name: str
    leads: str
    method: str
    is_unique: bool
    keys: int
    is_ordered: bool
    same_collation: bool
    is_expression: bool


@dataclass(frozen=True)
class ExistingTable:
    """A table of the application as it is."""

    oid: int
    columns: Mapping[str, str]
    indexes: tuple[Index, ...]
    schema_is_open: bool
    rights_are_granted: bool


@dataclass(frozen=True)
class ExistingTables:
    """Both; what holds between them is asked here."""

    connection: Connection
    binding: Binding
    pastes: ExistingTable
    content: ExistingTable

    def has_status_check(self) -> bool:
        """Whether a constraint names the three states."""
        return self._is(_STATUS_CHECK, self.pastes.oid, self.binding.pastes.columns["deletion_status"])

    def has_foreign_key(self) -> bool:
        """Whether pastes refer to content by the hash."""
        columns = self.binding.pastes.columns["content_hash"], self.binding.content.columns["content_hash"]
        return self._is(_FOREIGN_KEY, *columns, self.pastes.oid, self.content.oid)

    def not_validated(self) -> list[str]:
        """The constraints of pastes that reaper relies on and that PostgreSQL has not checked yet."""
        rows = self.connection.execute(_NOT_VALIDATED, (self.pastes.oid, self.content.oid))
        return [row[0] for row in rows]

    def has_views(self) -> bool:
        """Whether both views exist and read these very tables."""
        return self._is(_VIEWS, ["pastes", "content"], [self.pastes.oid, self.content.oid])

    def has_guard(self) -> bool:
        """Whether content has the trigger of retired object keys."""
        watched = [self.binding.content.columns.get(name) for name in ("content_hash", "object_key")]
        return self._is(_GUARD, self.content.oid, watched)

    def free_index_name(self, bound: BoundTable, stem: str) -> str:
        """A name that no index has: one that serves another table or another column keeps its own."""
        names = chain([stem], (f"{stem}_{number}" for number in count(2)))
        return next(name for name in names if not self._is(_TAKEN, bound.schema, name, bound.table))

    def former_constraints(self) -> list[str]:
        """The constraints of ours on columns of pastes that are bound no more."""
        if not relation_exists(self.connection, "reaper", "provenance"):
            return []
        pastes = self.binding.pastes
        columns = pastes.columns["content_hash"], pastes.columns["deletion_status"]
        return [row[0] for row in self.connection.execute(_FORMER, (self.pastes.oid, pastes.table, *columns))]

    def noted_indexes(self, bound: BoundTable) -> set[str]:
        """The indexes of this table that reaper built."""
        if not relation_exists(self.connection, "reaper", "provenance"):
            return set()
        return {row[0] for row in self.connection.execute(_NOTED, (bound.table,))}

    def _is(self, query: str, *parameters: object) -> bool:
        row = self.connection.execute(query, parameters).fetchone()
        return bool(row and row[0])


def look_at(connection: Connection, binding: Binding) -> ExistingTables | None:
    """The tables; None where they do not exist yet."""
    pastes, content = _look(connection, binding.pastes), _look(connection, binding.content)
    return ExistingTables(connection, binding, pastes, content) if pastes and content else None


def missing_tables(connection: Connection, binding: Binding) -> list[str]:
    """Those of the bound tables that do not exist."""
    return [each.table for each in binding.tables if _oid(connection, each) is None]


def _oid(connection: Connection, table: BoundTable) -> int | None:
    row = connection.execute(_OID, (table.table,)).fetchone()
    return row[0] if row else None


def _look(connection: Connection, table: BoundTable) -> ExistingTable | None:
    oid = _oid(connection, table)
    if oid is None:
        return None
    rights = connection.execute(_RIGHTS, (RIGHTS[table.name], oid)).fetchone() or (False, False)
    return ExistingTable(
        oid=oid,
        columns={row[0]: row[1] for row in connection.execute(_COLUMNS, (oid,))},
        indexes=tuple(Index(*row) for row in connection.execute(_INDEXES, (oid,))),
        schema_is_open=rights[0],
        rights_are_granted=rights[1],
    )

"""What is to be done about the application's tables: bind them, make them fit, or let them go again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from psycopg import sql

from reaper.config.tables import Names
from reaper.db.connection import Connection
from reaper.errors import MigrationRefused
from reaper.migrate import binding as bindings
from reaper.migrate import binding_checks, bound_tables
from reaper.migrate.binding import Binding
from reaper.migrate.binding_steps import TableSteps
from reaper.migrate.ledger import relation_exists
from reaper.migrate.step import Kind, Step, statements
from reaper.migrate.table_release import TableRelease

_GUARD = "reaper_retired_key"
_COMMENT = (
    "Refuses (RP004) an object key that is queued for deletion and can be reused,"
    " such as the bare content hash; made by reaper.bind()."
)
_IN_FLIGHT = "select count(*) from reaper.batches"
# Columns by which a table of an application can be told that has the part of pastes or content.
_ALIKE = """
    select n.nspname || '.' || c.relname,
           string_agg(a.attname, ', ' order by a.attnum)
      from pg_catalog.pg_class c
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'p') and c.relpersistence <> 't'
       and n.nspname !~ '^(pg_|information_schema$|reaper$|procrastinate$)'
       and (a.attname ~ '^ref(s|_?counts?|erences?|erence_?counts?|_?cnt)$'
            and format_type(a.atttypid, null) in ('bigint', 'integer', 'smallint')
            or a.attname ~ '(expir|valid_until|delete_after|dies_at)'
            and format_type(a.atttypid, null) ~ '^(timestamp|date)')
     group by 1
     order by 1
     limit 10
"""


@dataclass(frozen=True)
class Request:
    """What a person says about the tables: in the file, by options, and whether new ones are wanted."""

    told: Names = field(default_factory=dict)
    options: Names = field(default_factory=dict)
    create_tables: bool = False
    # The schema of procrastinate's tables; None: the one of before.
    queue_schema: str | None = None


@dataclass(frozen=True)
class BindingPlan:
    """The steps, by where they stand among the others."""

    # The tables that exist, and are adopted; None where reaper creates them, or nothing is asked.
    adopts: Binding | None = None
    changed: bool = False
    record: tuple[Step, ...] = ()
    prepare: tuple[Step, ...] = ()
    views: tuple[Step, ...] = ()


def make(connection: Connection, request: Request) -> BindingPlan:
    """Compare what is asked with what is there; refuse what would leave an adopter with two empty tables."""
    before = bindings.recorded(connection)
    binding = bindings.wanted(connection, request.told, request.options)
    missing = bound_tables.missing_tables(connection, binding)
    if missing and before is None and binding.is_default and len(missing) == len(binding.tables):
        if not request.create_tables:
            _refuse_look_alikes(connection)
        return BindingPlan(views=(_create_views(binding, None, ()),))
    if missing:
        _refuse_missing(binding, missing)
    changed = binding != before
    if changed and before is not None:
        _refuse_in_flight(connection, before, binding)
    existing = bound_tables.look_at(connection, binding)
    assert existing is not None, "missing tables were refused"
    fits = not changed and existing.has_views() and existing.has_guard()
    return BindingPlan(
        adopts=binding,
        changed=changed,
        # A binding that replaces another is recorded with its views: until then nothing may be read by it.
        record=(_record(binding),) if before is None else (),
        prepare=tuple(
            TableSteps(binding, existing, binding_checks.printed_key(connection, binding.content)).list()
        ),
        views=() if fits else (_create_views(binding, before, _gone_guards(connection, before)),),
    )


def views_to_drop(connection: Connection) -> tuple[str, ...]:
    """The statements that take the views and the guard away, before the functions go that they call."""
    before = bindings.recorded(connection)
    drops = [f"drop trigger if exists {_GUARD} on {table}" for table in _gone_guards(connection, before)]
    return (*drops, "drop view if exists reaper.pastes, reaper.content")


def restore_views(connection: Connection) -> Iterator[Step]:
    """Create the views and the guard again for the tables that are bound."""
    before = bindings.recorded(connection)
    if before is not None:
        yield _create_views(before, before, ())


def _refuse_look_alikes(connection: Connection) -> None:
    found = connection.execute(_ALIKE).fetchall()
    if found:
        tables = "; ".join(f"{table} ({columns})" for table, columns in found)
        raise MigrationRefused(
            "there are no tables public.pastes and public.content, but tables that may have their part:"
            f" {tables}; nothing was changed",
            "Name your tables in reaper.toml ([tables.pastes], [tables.content]) or by --bind pastes=…"
            " --bind content=… (docs/adoption.md); or let reaper create tables of its own: reaper migrate"
            " --create-tables",
        )


def _refuse_missing(binding: Binding, missing: Sequence[str]) -> None:
    there = [each.table for each in binding.tables if each.table not in missing]
    beside = f"; {', '.join(there)} exists" if there else ""
    raise MigrationRefused(
        f"{' and '.join(missing)} does not exist{beside}; nothing was changed"
        if len(missing) == 1
        else f"{' and '.join(missing)} do not exist; nothing was changed",
        "reaper needs both tables. Correct the names in reaper.toml ([tables.pastes], [tables.content]) or"
        " of --bind, or create the table.",
    )


def _refuse_in_flight(connection: Connection, before: Binding, binding: Binding) -> None:
    """Batches name rows of the former table by codes that may mean others in the new one."""
    if [each.table for each in before.tables] == [each.table for each in binding.tables]:
        return
    row = (
        connection.execute(_IN_FLIGHT).fetchone()
        if relation_exists(connection, "reaper", "batches")
        else None
    )
    if row and row[0]:
        raise MigrationRefused(
            f"{row[0]} batches hold rows of {before.pastes.table}; nothing was changed",
            "Stop the workers, let reaper drain finish these batches, then bind the other tables.",
        )


def _record(binding: Binding) -> Step:
    tables = " and ".join(f"{each.table} as {each.name}" for each in binding.tables)
    return Step(
        kind=Kind.RECORD_BINDING,
        title=f"bind {tables}",
        locks="none on existing tables",
        statements=statements(binding.record_statement()),
        names=tuple(each.table for each in binding.tables),
    )


def _gone_guards(connection: Connection, before: Binding | None) -> tuple[str, ...]:
    """Where the former guard is, as far as that table still exists."""
    if before is None or before.content.table in bound_tables.missing_tables(connection, before):
        return ()
    return (before.content.table,)


def _replace_binding(before: Binding, binding: Binding) -> Iterator[str]:
    """Rows of other tables are deleted only after a person has enabled the drain for them."""
    yield binding.record_statement()
    if before.pastes.table != binding.pastes.table:
        yield "update reaper.services set enabled = false where name = 'drain'"


def _create_views(binding: Binding, before: Binding | None, guarded: Sequence[str]) -> Step:
    changed = before is not None and before != binding
    replaced = _replace_binding(before, binding) if before is not None and changed else ()
    comment = sql.Literal(_COMMENT).as_string()
    return Step(
        kind=Kind.CREATE_VIEWS,
        title="create the views reaper.pastes and reaper.content,"
        f" and the guard of object keys on {binding.content.table}",
        locks=f"{binding.content.table} SHARE ROW EXCLUSIVE, the two views ACCESS EXCLUSIVE, for moments",
        statements=statements(
            *(f"drop trigger if exists {_GUARD} on {table}" for table in guarded),
            *replaced,
            "set local role reaper_owner",
            "select reaper_internal.create_bound_views()",
            "reset role",
            f"comment on trigger {_GUARD} on {binding.content.table} is {comment}",
        ),
    )


def release_steps(connection: Connection) -> Iterator[Step]:
    """What takes away again what reaper created in the application's tables; never what is theirs."""
    before = bindings.recorded(connection)
    if before is not None:
        yield from TableRelease(connection, before).list()

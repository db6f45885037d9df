"""The way back for an application's tables: what reaper created in them goes, all else stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from psycopg import sql

from reaper.db.connection import Connection
from reaper.migrate.binding import Binding, BoundTable
from reaper.migrate.step import Kind, Step, statements

_CREATED = """
    select kind, name from reaper.provenance
     where table_name = %s and kind <> 'table' order by kind desc, name
"""
_IS_OURS = "select exists (select from reaper.provenance where kind = 'table' and table_name = %s)"
_EXISTS = "select to_regclass(%s) is not null"
_BEFORE = """
    select p.table_name, coalesce(array_agg(p.name) filter (where p.kind = 'column'), '{}')
      from reaper.provenance p
     where p.kind <> 'table' and p.table_name <> all (%s)
     group by p.table_name
     order by p.table_name desc
"""
# What a column holds beyond its default is information.
_LOSSES = {
    "object_key": "{column} is not null",
    "size_bytes": "{column} is not null",
    "deletion_status": "{column} <> 'NOT_EXPIRED'",
    "deletion_initiated_at": "{column} is not null",
}
_GUARD = """\
do $$
declare
    v_rows  bigint;
    v_loss  text[] := '{{}}';
begin
{counts}
    if v_loss <> '{{}}' then
        raise exception sqlstate 'RP007' using
            message = format('dropping columns that reaper added would lose what %s',
                             array_to_string(v_loss, ', ')),
            hint    = 'Drain first, and keep a copy of the columns; or stay on this release.';
    end if;
end;
$$"""
_COUNT = """\
    select count(*) into v_rows from {table} where {condition};
    if v_rows > 0 then
        v_loss := v_loss || format('%s rows hold in %s', v_rows, {shown});
    end if;"""


@dataclass(frozen=True)
class TableRelease:
    """Lists the steps for both tables, from what is noted in reaper.provenance."""

    connection: Connection
    binding: Binding

    def list(self) -> Iterator[Step]:
        """Nothing for tables that reaper created, which a migration drops, nor for those that are gone."""
        for bound in (self.binding.pastes, self.binding.content, *self._bound_before()):
            if self._is(_EXISTS, bound) and not self._is(_IS_OURS, bound):
                yield from self._release(bound)

    def _bound_before(self) -> Iterator[BoundTable]:
        """Tables of a former binding. What reaper added to them has reaper's names: named columns existed."""
        bound = [each.table for each in self.binding.tables]
        for table, columns in self.connection.execute(_BEFORE, (bound,)):
            yield BoundTable("former", table, {column: column for column in columns})

    def _release(self, bound: BoundTable) -> Iterator[Step]:
        created = self.connection.execute(_CREATED, (bound.table,)).fetchall()
        columns = [name for kind, name in created if kind == "column"]
        constraints = [name for kind, name in created if kind == "constraint"]
        yield from (self._drop_index(bound, name) for kind, name in created if kind == "index")
        drops = [f"drop constraint if exists {_quoted(name)}" for name in constraints]
        drops += [f"drop column if exists {_quoted(name)}" for name in columns]
        alter = [f"alter table {bound.table} {', '.join(drops)}"] if drops else []
        shown = ", ".join((*constraints, *columns))
        yield Step(
            kind=Kind.RELEASE_TABLE,
            title=f"drop {shown} of {bound.table}" if shown else f"let go of {bound.table}",
            locks=f"{bound.table} ACCESS EXCLUSIVE, for a look at its rows and catalogue changes",
            statements=statements(*guards(bound, columns), *alter, *_revoke(bound)),
            guarded=bool(guards(bound, columns)),
            record=statements(
                f"delete from reaper.provenance where table_name = {sql.Literal(bound.table).as_string()}"
            ),
            names=(bound.table,),
        )

    def _drop_index(self, bound: BoundTable, name: str) -> Step:
        index = sql.Identifier(bound.schema, name).as_string()
        return Step(
            kind=Kind.RELEASE_TABLE,
            title=f"drop the index {index}",
            locks=f"{bound.table} SHARE UPDATE EXCLUSIVE; readers and writers are not blocked",
            statements=statements(f"drop index concurrently if exists {index}"),
            names=(name,),
            transactional=False,
            # It waits for every transaction that uses the table, while the code is dropped: not for ever.
            lock_timeout="2s",
        )

    def _is(self, query: str, bound: BoundTable) -> bool:
        row = self.connection.execute(query, (bound.table,)).fetchone()
        return bool(row and row[0])


def guards(bound: BoundTable, columns: list[str]) -> tuple[str, ...]:
    """A look at what would be lost with these columns; none where nothing can be."""
    counts = [
        _COUNT.format(
            table=bound.table,
            condition=_LOSSES[column].format(column=_quoted(column)),
            shown=sql.Literal(f"{bound.table}.{column}").as_string(),
        )
        # What reaper added has reaper's names, whatever is bound now.
        for column in columns
        if column in _LOSSES
    ]
    return (_GUARD.format(counts="\n".join(counts)),) if counts else ()


def _revoke(bound: BoundTable) -> Iterator[str]:
    yield f"revoke all on {bound.table} from reaper_owner"
    if bound.schema != "public":
        yield f"revoke usage on schema {_quoted(bound.schema)} from reaper_owner"


def _quoted(name: str) -> str:
    return sql.Identifier(name).as_string()

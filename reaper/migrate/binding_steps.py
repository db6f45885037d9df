"""The steps that make an application's tables fit: rights, columns, constraints, indexes; online.

They stand beside the ledger of migrations: what is missing is found out anew each time, so a changed binding
or an interrupted run needs nothing else. What they create is noted in reaper.provenance before it is created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from psycopg import sql

from reaper.migrate.binding import BROUGHT, Binding, BoundTable
from reaper.migrate.bound_tables import RIGHTS, ExistingTable, ExistingTables, Index
from reaper.migrate.step import Kind, Step, statements

# What is created: its kind, its table, its name. Work: how a title calls it, what is noted, and the SQL.
_Noted = tuple[str, BoundTable, str]
_Work = tuple[str, _Noted, tuple[str, ...]]
_Serves = Callable[[BoundTable, Index], bool]

# An index name has 63 bytes at most.
_LONGEST_STEM = 40
_TYPES = {
    "object_key": "text collate {collation}",
    "size_bytes": "bigint",
    "created_at": "timestamptz",
    "deletion_status": "varchar(20) not null default 'NOT_EXPIRED'",
    "deletion_initiated_at": "timestamptz",
}
_STATES = "('NOT_EXPIRED', 'DELETION_IN_PROGRESS', 'DELETED')"
# Waiting in the weak mode, which no reader or writer notices, makes an autovacuum give way; only then the
# strong lock is asked for.
_LOCK_GENTLY = """\
set local lock_timeout = '5s';
lock table {content}, {pastes} in share update exclusive mode;
set local lock_timeout = '100ms'"""
_VALIDATE = """\
do $$
begin
    {validations}
exception when foreign_key_violation then
    raise exception using
        errcode = 'foreign_key_violation',
        message = format('%s rows of {pastes} name content that does not exist',
                         (select count(*) from {pastes} p
                           where not exists (select from {content} c where c.{key} = p.{reference}))),
        hint    = 'Delete these rows or restore their content rows, then run reaper migrate again;'
                  ' it resumes with this step.';
when check_violation then
    raise exception using
        errcode = 'check_violation',
        message = format('%s rows of {pastes} have another {status} than NOT_EXPIRED, DELETION_IN_PROGRESS'
                         ' or DELETED',
                         (select count(*) from {pastes} p where p.{status} not in {states})),
        hint    = 'Bind deletion_status to another column, or leave it out: then reaper adds one of its own.'
                  ' Then run reaper migrate again.';
end;
$$"""
_FORGET = "delete from reaper.provenance where (kind, table_name, name) = ({}, {}, {})"
_NOTE = "insert into reaper.provenance (kind, table_name, name) values {rows} on conflict do nothing"


@dataclass(frozen=True)
class TableSteps:
    """Compares the tables with what reaper needs, and lists what is to be done."""

    binding: Binding
    tables: ExistingTables
    # The expression of the object key as PostgreSQL prints it, where there is one.
    printed_key: str | None = None

    def list(self) -> Iterator[Step]:
        """In the order in which they run. The index by content comes before the foreign key: without it the
        application's own DELETE of content would read all pastes."""
        pastes, content = self.binding.pastes, self.binding.content
        yield from self._rights()
        yield from self._index(pastes, "content", pastes.column("content_hash"), self._serves_content)
        yield from self._former_constraints()
        yield from self._columns_and_constraints()
        yield from self._validate()
        due = f"{pastes.column('expires_at')}, {pastes.column('short_code')}"
        yield from self._index(pastes, "due", due, self._serves_claims)
        yield from self._key_index(content)
        yield from self._former_indexes()

    def _rights(self) -> Iterator[Step]:
        pairs = ((self.binding.content, self.tables.content), (self.binding.pastes, self.tables.pastes))
        closed = dict.fromkeys(
            sql.Identifier(bound.schema).as_string() for bound, table in pairs if not table.schema_is_open
        )
        lacking = [bound for bound, table in pairs if not table.rights_are_granted]
        grants = [f"grant usage on schema {schema} to reaper_owner" for schema in closed]
        grants += [f"grant {', '.join(RIGHTS[b.name]).lower()} on {b.table} to reaper_owner" for b in lacking]
        if grants:
            names = ", ".join((*closed, *(bound.table for bound in lacking)))
            yield _prepare(f"let reaper_owner use {names}", "none on tables", *grants)

    def _index(
        self, bound: BoundTable, suffix: str, on: str, serves: _Serves, unique: str = ""
    ) -> Iterator[Step]:
        existing = self.tables.pastes if bound.name == "pastes" else self.tables.content
        if any(serves(bound, index) for index in existing.indexes):
            return
        name = self.tables.free_index_name(bound, index_name(bound, suffix))
        shown = sql.Identifier(name).as_string()
        yield Step(
            kind=Kind.PREPARE_TABLE,
            title=f"build the {unique}index {shown} on {bound.table} ({on})",
            locks=f"{bound.table} SHARE UPDATE EXCLUSIVE while it builds;"
            " readers and writers are not blocked",
            statements=statements(
                _note(("index", bound, name)),
                f"create {unique}index concurrently if not exists {shown} on {bound.table} ({on})",
            ),
            names=(name,),
            transactional=False,
            lock_timeout="0",
            repeatable=False,
        )

    def _key_index(self, content: BoundTable) -> Iterator[Step]:
        """A key that two content rows name could be deleted under a live paste; each batch looks for keys."""
        on = f"({content.key_expression})" if content.key_expression else content.column("object_key")
        yield from self._index(content, "object_key", on, self._serves_keys, "unique ")

    def _former_indexes(self) -> Iterator[Step]:
        """Those that reaper built for columns that were bound before."""
        pairs = ((self.binding.pastes, self.tables.pastes), (self.binding.content, self.tables.content))
        needs = {"pastes": (self._serves_content, self._serves_claims), "content": (self._serves_keys,)}
        for bound, table in pairs:
            ours = self.tables.noted_indexes(bound)
            for index in table.indexes:
                name = _bare(index.name)
                if name in ours and not any(serves(bound, index) for serves in needs[bound.name]):
                    yield _drop_index(bound, name)

    def _former_constraints(self) -> Iterator[Step]:
        pastes, names = self.binding.pastes, self.tables.former_constraints()
        if names:
            drops = ", ".join(f"drop constraint {sql.Identifier(name).as_string()}" for name in names)
            yield _prepare(
                f"drop {', '.join(names)} of {pastes.table}, made for a column that was bound before",
                f"{pastes.table} ACCESS EXCLUSIVE, catalogue changes only (milliseconds)",
                f"alter table {pastes.table} {drops}",
                *(_forget("constraint", pastes, name) for name in names),
            )

    def _columns_and_constraints(self) -> Iterator[Step]:
        pastes, content = self.binding.pastes, self.binding.content
        work = [
            *_added_columns(content, self.tables.content),
            *_added_columns(pastes, self.tables.pastes),
            *self._added_constraints(),
        ]
        if work:
            yield _prepare(
                f"add {', '.join(what for what, *_ in work)}",
                f"{pastes.table} and {content.table} ACCESS EXCLUSIVE, catalogue changes only (milliseconds);"
                " waits for it at most 100 ms at a time",
                _LOCK_GENTLY.format(content=content.table, pastes=pastes.table),
                *(text for _, _, texts in work for text in texts),
                _note(*(noted for _, noted, _ in work)),
            )

    def _added_constraints(self) -> Iterator[_Work]:
        """Not valid: the next step checks the rows that are there, without keeping anyone out."""
        pastes, content = self.binding.pastes, self.binding.content
        if not self.tables.has_status_check():
            name = f"{pastes.relation[:_LONGEST_STEM]}_deletion_status_check"
            check = f"check ({pastes.column('deletion_status')} in {_STATES})"
            yield _constraint(pastes, name, check)
        if not self.tables.has_foreign_key():
            name = f"{pastes.relation[:_LONGEST_STEM]}_content_hash_fkey"
            key = f"foreign key ({pastes.column('content_hash')}) references"
            to = f"{content.table} ({content.column('content_hash')}) on delete restrict"
            yield _constraint(pastes, name, f"{key} {to}")

    def _validate(self) -> Iterator[Step]:
        """What was just added, and what an earlier run, or the application, left unchecked."""
        pastes, content = self.binding.pastes, self.binding.content
        former = self.tables.former_constraints()
        names = [name for name in self.tables.not_validated() if name not in former]
        names += [noted[2] for _, noted, _ in self._added_constraints()]
        if not names:
            return
        validate = (
            f"alter table {pastes.table} validate constraint {sql.Identifier(name).as_string()};"
            for name in dict.fromkeys(names)
        )
        text = _VALIDATE.format(
            validations="\n    ".join(validate),
            pastes=pastes.table,
            content=content.table,
            key=content.column("content_hash"),
            reference=pastes.column("content_hash"),
            status=pastes.column("deletion_status"),
            states=_STATES,
        )
        yield _prepare(
            f"validate {', '.join(dict.fromkeys(names))} of {pastes.table}",
            f"{pastes.table} SHARE UPDATE EXCLUSIVE and {content.table} ROW SHARE for one scan;"
            " readers and writers are not blocked",
            "set local lock_timeout = '5s'",
            text,
        )

    @staticmethod
    def _serves_content(bound: BoundTable, index: Index) -> bool:
        leads = index.leads == bound.columns["content_hash"] and index.same_collation
        return leads and index.method in ("btree", "hash")

    @staticmethod
    def _serves_claims(bound: BoundTable, index: Index) -> bool:
        return index.leads == bound.columns["expires_at"] and index.method == "btree" and index.is_ordered

    def _serves_keys(self, bound: BoundTable, index: Index) -> bool:
        if not index.is_unique or index.keys != 1:
            return False
        if bound.key_expression is None:
            return index.leads == bound.columns["object_key"]
        return index.is_expression and index.leads == self.printed_key


def index_name(bound: BoundTable, suffix: str) -> str:
    """The name of an index of ours on a bound table."""
    return f"reaper_{bound.relation[:_LONGEST_STEM]}_{suffix}"


def _drop_index(bound: BoundTable, name: str) -> Step:
    return Step(
        kind=Kind.PREPARE_TABLE,
        title=f"drop the index {name}, built for a column that was bound before",
        locks=f"{bound.table} SHARE UPDATE EXCLUSIVE; readers and writers are not blocked",
        statements=statements(
            f"drop index concurrently if exists {_in_schema(bound, name)}",
            _forget("index", bound, name),
        ),
        transactional=False,
        lock_timeout="0",
    )


def _added_columns(bound: BoundTable, table: ExistingTable) -> Iterator[_Work]:
    """Those that reaper brings along. No row is rewritten: defaults are constants.

    The key is compared with the hash, so it is sorted like it: between two collations PostgreSQL does not
    choose. When a row was created stays unknown for those that are older than the column.
    """
    collation = table.columns.get(bound.columns["content_hash"], '"default"')
    for name, column in bound.columns.items():
        if name not in BROUGHT or column in table.columns:
            continue
        shown, type_ = bound.column(name), _TYPES[name].format(collation=collation)
        texts = [f"alter table {bound.table} add column if not exists {shown} {type_}"]
        if name == "created_at":
            texts.append(f"alter table {bound.table} alter column {shown} set default now()")
        yield f"{bound.table}.{column}", ("column", bound, column), tuple(texts)


def _constraint(bound: BoundTable, name: str, definition: str) -> _Work:
    shown = sql.Identifier(name).as_string()
    text = f"alter table {bound.table} add constraint {shown} {definition} not valid"
    return name, ("constraint", bound, name), (text,)


def _prepare(title: str, locks: str, *texts: str) -> Step:
    return Step(kind=Kind.PREPARE_TABLE, title=title, locks=locks, statements=statements(*texts))


def _note(*created: _Noted) -> str:
    rows = (
        sql.SQL("({}, {}, {})").format(sql.Literal(kind), sql.Literal(bound.table), sql.Literal(name))
        for kind, bound, name in created
    )
    return _NOTE.format(rows=", ".join(row.as_string() for row in rows))


def _forget(kind: str, bound: BoundTable, name: str) -> str:
    return sql.SQL(_FORGET).format(sql.Literal(kind), sql.Literal(bound.table), sql.Literal(name)).as_string()


def _in_schema(bound: BoundTable, name: str) -> str:
    return sql.Identifier(bound.schema, name).as_string()


def _bare(name: str) -> str:
    return name.rpartition(".")[2].strip('"')

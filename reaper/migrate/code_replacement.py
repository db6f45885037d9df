"""The SQL that brings functions, views and triggers to the state of the files, decided before any of it runs.

`create or replace` keeps an object's identity, so it is tried first. PostgreSQL refuses it where a return
type or a view's columns changed; then the object, and what of ours depends on it, is dropped and created.
What is not ours is never dropped along: no statement has CASCADE, so PostgreSQL refuses, and names it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from psycopg import sql

from reaper.db.connection import Connection
from reaper.migrate import catalogue, code
from reaper.migrate.catalogue import Named
from reaper.migrate.code import CodeFile, CodePlan
from reaper.migrate.step import Statement, statements

_REPLACE = """\
do {quote}
declare
    v_definition text := {definition};
begin
    execute v_definition;{overload}
exception when invalid_function_definition or invalid_table_definition
            or wrong_object_type or duplicate_object then
    -- It cannot be replaced in place.
    {drops}
    execute v_definition;
end;
{quote}"""
_OVERLOAD = """
    if exists (select from pg_catalog.pg_proc p
                where p.pronamespace = {schema}::regnamespace and p.proname = {name}
                  and oidvectortypes(p.proargtypes) <> all ({arguments})) then
        -- Other arguments: the old function would stay beside the new one.
        raise invalid_function_definition;
    end if;"""
_UNLESS_THERE = """\
do {quote}
begin
    if not exists ({there}) then
        execute {definition};
    end if;
end;
{quote}"""
_THERE = {
    "views": "select from pg_class where relnamespace = {schema}::regnamespace and relname = {name}",
    "triggers": "select from pg_trigger where tgname = {name} and not tgisinternal",
    "functions": "select from pg_proc where pronamespace = {schema}::regnamespace and proname = {name}",
}
_RECORD = """\
insert into reaper.code_files (path, sha256) values
    {values}
    on conflict (path) do update set sha256 = excluded.sha256, applied_at = now()"""


class CodeStatements:
    """Writes the statements for one database as it is now."""

    def __init__(self, connection: Connection, files: Iterable[CodeFile]) -> None:
        self._connection = connection
        self._files = {file.named: file for file in files}
        self._objects = catalogue.read_objects(connection)
        self._loaded = {code.named(path) for path in code.loaded(connection)}

    def load(self, changes: CodePlan) -> tuple[Statement, ...]:
        """Load what changed, then drop what vanished, which nothing of ours uses any more.

        In the order of the files each one finds what it depends on, as a fresh installation proves.
        """
        hanging = self._hanging_on(file.named for file in changes.load)
        again = {named for each in hanging.values() for named in each}
        return (
            Statement("set local check_function_bodies = off"),
            *(self._load(file, hanging.get(file.named)) for file in changes.load),
            *(self._load_again(file) for named, file in self._files.items() if named in again),
            *self._drop(named for named in map(code.named, changes.drop) if named not in self._files),
        )

    def drop_all(self, paths: Iterable[str]) -> tuple[Statement, ...]:
        """Drop every object of these files."""
        return self._drop(map(code.named, paths))

    def _hanging_on(self, targets: Iterable[Named]) -> dict[Named, set[Named]]:
        there = [named for named in targets if named in self._objects]
        ours = self._files.keys() | self._loaded
        found = catalogue.read_dependents(self._connection, self._objects, there) if there else {}
        return {named: hanging & ours for named, hanging in found.items()}

    def _drop(self, targets: Iterable[Named]) -> tuple[Statement, ...]:
        return statements(*catalogue.drop_statements(self._objects, set(targets)))

    def _load(self, file: CodeFile, hanging: Collection[Named] | None) -> Statement:
        """The file as it is; guarded where an object of this name is there."""
        if hanging is None:
            return Statement(file.text, file.path)
        drops = catalogue.drop_statements(self._objects, {file.named, *hanging})
        text = _REPLACE.format(
            quote=_tag("replace", file.text),
            definition=_quoted(file.text),
            overload=self._overload(file.named),
            drops="\n    ".join(f"{drop};" for drop in drops),
        )
        return Statement(text, file.path)

    def _overload(self, named: Named) -> str:
        if named.kind not in ("functions", "internal"):
            return ""
        arguments = [found.arguments for found in self._objects[named]]
        return _OVERLOAD.format(**_literals(named), arguments=sql.Literal(arguments).as_string())

    def _load_again(self, file: CodeFile) -> Statement:
        """The file as it is, in case that its object had to go along with another one."""
        text = _UNLESS_THERE.format(
            quote=_tag("again", file.text),
            there=_THERE.get(file.named.kind, _THERE["functions"]).format(**_literals(file.named)),
            definition=_quoted(file.text),
        )
        return Statement(text, file.path)


def record_statements(changes: CodePlan) -> tuple[Statement, ...]:
    """The statements that write down what was loaded and dropped."""
    texts = []
    if changes.drop:
        paths = ", ".join(sql.Literal(path).as_string() for path in changes.drop)
        texts.append(f"delete from reaper.code_files where path in ({paths})")
    if changes.load:
        rows = (sql.SQL("({}, {})").format(file.path, file.sha256).as_string() for file in changes.load)
        texts.append(_RECORD.format(values=",\n    ".join(rows)))
    return statements(*texts)


def _literals(named: Named) -> dict[str, str]:
    return {"schema": sql.Literal(named.schema).as_string(), "name": sql.Literal(named.name).as_string()}


def _quoted(text: str) -> str:
    tag = _tag("file", text)
    return f"{tag}\n{text.strip()}\n{tag}"


def _tag(word: str, text: str) -> str:
    """A dollar quote that the text does not contain."""
    while f"${word}$" in text:
        word += "_"
    return f"${word}$"

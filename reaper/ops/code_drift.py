"""Is the code in the database the code of this release? Also a body that was changed by hand must be noticed.

PostgreSQL stores a view as a tree and a function with its header taken apart, so texts cannot be compared.
Instead each file is loaded once more as a temporary object, PostgreSQL writes both out the same way, and all
is rolled back.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from reaper.db.connection import Connection, translated
from reaper.migrate.code import CodeFile

_CREATE = re.compile(
    r"^create or replace (function|procedure|view) (?:reaper|reaper_internal)\.", re.MULTILINE
)
_GRANT = re.compile(r"^grant (\w+) on .* to ([\w, ]+);$", re.MULTILINE)
# Functions have a name twice only where an overload was added, which is a difference too.
_WRITTEN_OUT = """
    select case n.nspname when 'reaper_internal' then 'internal' else 'functions' end, p.proname::text,
           n.oid <> pg_my_temp_schema(),
           regexp_replace(pg_get_functiondef(p.oid), '^(CREATE OR REPLACE \\w+) [^.]+\\.', '\\1 ')
      from pg_catalog.pg_proc p
      join pg_catalog.pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('reaper', 'reaper_internal') or n.oid = pg_my_temp_schema()
    union all
    select 'views', c.relname::text, n.oid <> pg_my_temp_schema(), pg_get_viewdef(c.oid)
      from pg_catalog.pg_class c
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where (n.nspname = 'reaper' or n.oid = pg_my_temp_schema()) and c.relkind = 'v'
"""
_GRANTED = """
    select case n.nspname when 'reaper_internal' then 'internal' else 'functions' end, p.proname::text,
           g.grantee::regrole::text
      from pg_catalog.pg_proc p
      join pg_catalog.pg_namespace n on n.oid = p.pronamespace
     cross join lateral aclexplode(p.proacl) as g
     where n.nspname in ('reaper', 'reaper_internal') and g.grantee not in (0, p.proowner)
    union all
    select 'views', c.relname::text, g.grantee::regrole::text
      from pg_catalog.pg_class c
     cross join lateral aclexplode(c.relacl) as g
     where c.relnamespace = 'reaper'::regnamespace and c.relkind = 'v' and g.grantee not in (0, c.relowner)
"""
# Made by the ledger of migrations and by reaper.bind(), not by a file.
_OTHERWISE_MADE = {("views", "schema_version"), ("views", "pastes"), ("views", "content")}

Name = tuple[str, str]


@dataclass(frozen=True)
class Differences:
    """Names of functions and views."""

    changed: list[str]
    missing: list[str]
    strange: list[str]


@dataclass(frozen=True)
class GrantDifferences:
    """Role and object, as `reaper_ops on health`."""

    missing: list[str]
    surplus: list[str]


def compare_code(connection: Connection, files: Iterable[CodeFile]) -> Differences:
    """What differs between the files and the database."""
    wanted = [file for file in files if file.named.kind != "triggers"]
    with translated(), connection.transaction(force_rollback=True):
        connection.execute("set local check_function_bodies = off")
        # All at once: two hundred round trips would be slow over a network.
        connection.execute("\n".join(_as_temporary(file.text) for file in wanted).encode())
        ours, loaded = _written_out(connection)
    names = {(file.named.kind, file.named.name) for file in wanted}
    return Differences(
        changed=_labels(name for name in names & loaded.keys() if loaded[name] != ours[_temporary(name)]),
        missing=_labels(names - loaded.keys()),
        strange=_labels(loaded.keys() - names - _OTHERWISE_MADE),
    )


def compare_grants(connection: Connection, files: Collection[CodeFile]) -> GrantDifferences:
    """What differs between the grants in the files and those in the database."""
    names = {tuple(file.named) for file in files}
    declared = {
        (file.named.kind, file.named.name, role.strip())
        for file in files
        for _, roles in _GRANT.findall(file.text)
        for role in roles.split(",")
    }
    with translated():
        granted = {tuple(row) for row in connection.execute(_GRANTED)}
    return GrantDifferences(
        missing=sorted(f"{role} on {name}" for _, name, role in declared - granted),
        surplus=sorted(
            f"{role} on {name}" for kind, name, role in granted - declared if (kind, name) in names
        ),
    )


def _as_temporary(text: str) -> str:
    statement = text.split("\ncomment on ", 1)[0]
    return _CREATE.sub(r"create or replace \1 pg_temp.", statement, count=1)


def _temporary(name: Name) -> Name:
    """Where the temporary copy is found: all functions are in one schema, no name is used in both of ours."""
    return ("functions" if name[0] == "internal" else name[0], name[1])


def _written_out(connection: Connection) -> tuple[dict[Name, list[str]], dict[Name, list[str]]]:
    sides: dict[bool, defaultdict[Name, list[str]]] = {True: defaultdict(list), False: defaultdict(list)}
    for kind, name, is_loaded, text in connection.execute(_WRITTEN_OUT):
        sides[is_loaded][kind, name].append(text)
    return sides[False], sides[True]


def _labels(names: Iterable[Name]) -> list[str]:
    return sorted(name for _, name in names)

"""Writes docs/sql.md from the catalogue of a freshly migrated database: the comments are the documentation.

.venv/bin/python tools/sql_docs.py
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from reaper.dev.embedded import Postgres
from reaper.migrate import migrate
from reaper.migrate.release_folders import installed_folders

PAGE = Path(__file__).parent.parent / "docs" / "sql.md"

INTRO = """\
# SQL reference

Everything that a worker does to the database is one of these functions, and a DBA can call each by hand while
workers run: `\\df reaper.*` lists them. This page is written from the database's own comments
(`\\df+ reaper.*`, `\\d+ reaper.*`) by `tools/sql_docs.py`; a test keeps it current. What the functions call
in turn is in schema `reaper_internal` (`sql/internal/`), which no role can use.

One batch by hand, in psql:

```sql
select * from reaper.claim_expired(1000) \\gset
select * from reaper.drop_references(:'batch_id');      -- these objects have no reference left: delete them
select * from reaper.released_codes(:'batch_id');       -- these pastes are gone: delete their cache entries
select * from reaper.finish_batch(:'batch_id', '[]');   -- all deleted; without '[]' a worker does both later
```

The same without marking the rows first, in one transaction less:

```sql
select * from reaper.reap_expired(1000) \\gset
select * from reaper.drop_references(:'batch_id');      -- delete these
select * from reaper.released_codes(:'batch_id');       -- and the cache entries of these
select * from reaper.finish_batch(:'batch_id', '[]');
```

A loop ends when `claim_expired` or `reap_expired` from the start returns no row. The whole backlog, leaving
objects and cache entries to the next worker: `call reaper.drain();`

| SQLSTATE | meaning | the caller |
|---|---|---|
| RP001 | batch no longer held | skips it and continues |
| RP002 | content is gone, bytes are needed | uploads to the intent's key, commits again |
| RP003 | intent gone | begins again |
| RP004 | this key's deletion is pending | uses a new key, or tries later |
| RP005 | bad argument | gives up; the hint says what is allowed |
| RP006 | wrong isolation level | uses read committed |
| RP007 | a rollback would lose information | reads the count, saves it first |
| RP008 | no backend has room | frees bytes, raises a quota or adds a backend; tries later |
| RP009 | the object key is an expression: no content can be created | stores object and row by itself |
| RP010 | the binding does not hold, or its keys name no objects | does what the hint says |
| RP011 | the service is paused | waits until the pause ends, resumes it, or runs it despite the pause |
| 23505 | the short code is taken | chooses another |
| 55P03 | other sessions hold the rows | tries again when they have ended their transactions |
"""

FUNCTIONS = """
    select p.proname, pg_get_function_arguments(p.oid),
           case p.prokind when 'p' then null else pg_get_function_result(p.oid) end,
           obj_description(p.oid, 'pg_proc'),
           (select string_agg(a.grantee::regrole::text, ', ' order by a.grantee::regrole::text)
              from aclexplode(p.proacl) as a where a.grantee not in (0, p.proowner))
      from pg_proc p
     where p.pronamespace = 'reaper'::regnamespace
"""

RELATIONS = """
    select c.relname, obj_description(c.oid, 'pg_class'),
           array(select array[a.attname::text, format_type(a.atttypid, a.atttypmod),
                              col_description(c.oid, a.attnum)]
                   from pg_attribute a
                  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                  order by a.attnum)
      from pg_class c
     where c.relnamespace = 'reaper'::regnamespace and c.relkind = %s and c.relname not like '%%yoyo%%'
     order by c.relname
"""


class Function(NamedTuple):
    """A function of schema reaper, in the area that is the folder of its file."""

    area: str
    name: str
    arguments: str
    result: str | None
    comment: str
    roles: str


class Relation(NamedTuple):
    """A view or a table of schema reaper; of each column the name, the type and the comment."""

    name: str
    comment: str
    columns: list[list[str]]


def render(conn: psycopg.Connection[Any]) -> str:
    """The whole page."""
    functions = _functions(conn)
    views = [Relation(*row) for row in conn.execute(RELATIONS, ["v"])]
    tables = [Relation(*row) for row in conn.execute(RELATIONS, ["r"])]
    return "\n".join(
        [
            INTRO,
            "## Contents\n",
            *_contents(functions, views, tables),
            "",
            *_areas(functions),
            "## Views\n",
            *map(_relation, views),
            "## Tables\n\nOnly `reaper_owner` has rights on them; `settings` may be tuned by `reaper_ops`.\n",
            *map(_relation, tables),
        ]
    )


def _functions(conn: psycopg.Connection[Any]) -> list[Function]:
    """By area and name."""
    areas = {path.stem: path.parent.name for path in (installed_folders().sql / "functions").glob("*/*.sql")}
    return sorted(Function(areas[row[0]], *row) for row in conn.execute(FUNCTIONS))


def _contents(functions: list[Function], views: list[Relation], tables: list[Relation]) -> Iterator[str]:
    for area, members in groupby(functions, lambda f: f.area):
        yield f"- [{area}](#functions-{area}): {_links(members)}"
    yield f"- [Views](#views): {_links(views)}"
    yield f"- [Tables](#tables): {_links(tables)}"


def _links(members: Iterator[Function] | list[Relation]) -> str:
    return " · ".join(f"[{member.name}](#{member.name})" for member in members)


def _areas(functions: list[Function]) -> Iterator[str]:
    for area, members in groupby(functions, lambda f: f.area):
        yield f"## Functions: {area}\n"
        yield from map(_function, members)


def _function(function: Function) -> str:
    call = "call " if function.result is None else ""
    returns = f" → `{function.result}`" if function.result not in (None, "void") else ""
    return (
        f"### {function.name}\n\n`{call}reaper.{function.name}({function.arguments})`{returns}\n\n"
        f"For: {function.roles}.\n\n{function.comment}\n"
    )


def _relation(relation: Relation) -> str:
    rows = [f"| `{column}` | {kind} | {text} |" for column, kind, text in relation.columns]
    return "\n".join(
        [
            f"### {relation.name}\n\n{relation.comment}\n",
            "| column | type | meaning |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def main() -> None:
    """Migrate a database of our own and write the page."""
    with Postgres.start() as server:
        migrate(server.dsn())
        with psycopg.connect(server.dsn()) as conn:
            PAGE.write_text(render(conn))


if __name__ == "__main__":
    main()

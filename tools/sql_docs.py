"""Writes docs/sql.md from the catalogue of a freshly migrated database: the comments are the documentation.

.venv/bin/python tools/sql_docs.py
"""

from pathlib import Path
from typing import Any

import psycopg

from reaper.dev.embedded import Postgres
from reaper.migrate import migrate

PAGE = Path(__file__).parent.parent / "docs" / "sql.md"

INTRO = """\
# SQL reference

Everything that a worker does to the database is one of these functions, and a DBA can call each by hand while
workers run. This page is written from the database's own comments (`\\df+ reaper.*`, `\\d+ reaper.*`) by
`tools/sql_docs.py`; a test keeps it current.

One batch by hand, in psql:

```sql
select * from reaper.claim_expired(1000) \\gset
select * from reaper.drop_references(:'batch_id');      -- these objects have no reference left: delete them
select * from reaper.finish_batch(:'batch_id', '[]');   -- all deleted; without '[]' a worker does it later
```

The whole backlog, leaving objects and cache entries to the next worker: `call reaper.drain();`

| SQLSTATE | meaning | the caller |
|---|---|---|
| RP001 | batch no longer held | drops it, goes on |
| RP002 | content is gone, bytes are needed | uploads to the intent's key, commits again |
| RP003 | intent gone | begins again |
| RP004 | this key's deletion is pending | uses a new key, or tries later |
| RP005 | bad argument | gives up; the hint says what is allowed |
| RP006 | wrong isolation level | uses read committed |
| RP007 | a rollback would lose information | reads the count, saves it first |
| RP008 | no backend has room | frees bytes, raises a quota or adds a backend; tries later |
| 23505 | the short code is taken | chooses another |
"""

FUNCTIONS = """
    select p.proname || '(' || pg_get_function_arguments(p.oid) || ')',
           case p.prokind when 'p' then null else pg_get_function_result(p.oid) end,
           obj_description(p.oid, 'pg_proc'),
           (select string_agg(a.grantee::regrole::text, ', ' order by a.grantee::regrole::text)
              from aclexplode(p.proacl) as a where a.grantee not in (0, p.proowner))
      from pg_proc p
     where p.pronamespace = 'reaper'::regnamespace
     order by p.proname
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


def render(conn: psycopg.Connection[Any]) -> str:
    """The whole page."""
    functions = conn.execute(FUNCTIONS).fetchall()
    public = [row for row in functions if row[3]]
    internal = [row for row in functions if not row[3]]
    return "\n".join(
        [
            INTRO,
            "## Functions\n",
            *(_function(*row) for row in public),
            "## Views\n",
            *(_relation(*row) for row in conn.execute(RELATIONS, ["v"])),
            "## Tables\n\nOnly `reaper_owner` has rights on them; `settings` may be tuned by `reaper_ops`.\n",
            *(_relation(*row) for row in conn.execute(RELATIONS, ["r"])),
            "## Internal functions\n\nCalled by the functions above; nobody else may.\n",
            *(f"- `{signature}`: {comment}" for signature, _, comment, _ in internal),
            "",
        ]
    )


def _function(signature: str, result: str | None, comment: str, roles: str) -> str:
    returns = f"Returns `{result}`. " if result and result != "void" else ""
    return f"### `{signature}`\n\n{comment}\n\n{returns}For: {roles}.\n"


def _relation(name: str, comment: str, columns: list[list[str]]) -> str:
    rows = [f"| `{column}` | {kind} | {text} |" for column, kind, text in columns]
    return "\n".join(
        [f"### `{name}`\n\n{comment}\n", "| column | type | meaning |", "|---|---|---|", *rows, ""]
    )


def main() -> None:
    """Migrate a database of our own and write the page."""
    with Postgres.start() as server:
        migrate(server.dsn())
        with psycopg.connect(server.dsn()) as conn:
            PAGE.write_text(render(conn))


if __name__ == "__main__":
    main()

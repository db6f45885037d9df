"""What to GRANT where PostgreSQL only says that a permission is missing."""

from __future__ import annotations

import re
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

# From the fewest rights to the most: the first that may is the one to grant.
ROLES = ("reaper_ro", "reaper_app", "reaper_worker", "reaper_ops")
_DENIED = re.compile(r"permission denied for (?:schema|function|procedure|view|table|sequence) (\S+)$")
# Everybody may read the catalogue, also of schemas that are closed to them.
_GRANTEES = """
    select quote_ident(session_user),
           array(select r.rolname::text
                   from pg_catalog.pg_namespace n
                  cross join lateral (
                        select p.proacl as acl from pg_catalog.pg_proc p where p.pronamespace = n.oid and p.proname = %(name)s
                        union all
                        select c.relacl from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relname = %(name)s
                        union all
                        select n.nspacl where n.nspname = %(name)s) as o
                  cross join lateral pg_catalog.aclexplode(o.acl) as g
                   join pg_catalog.pg_roles r on r.oid = g.grantee
                  where (n.nspname = 'reaper' or exists (select from pg_catalog.pg_class q
                                                          where q.relnamespace = n.oid and q.relname = 'procrastinate_jobs'))
                    and r.rolname = any (%(roles)s))
"""  # noqa: E501


def grant_that_helps(error: psycopg.Error, connection: psycopg.Connection[tuple[object, ...]]) -> str | None:
    """Which role of ours has the right that was missed, as the statement that grants it to this login."""
    values = _denied(error, connection)
    if values is None:
        return None
    try:
        cursor = connection.cursor(row_factory=psycopg.rows.tuple_row)
        return _hint(cursor.execute(_GRANTEES, values).fetchall())
    except psycopg.Error:
        return None


async def grant_that_helps_async(
    error: psycopg.Error, connection: psycopg.AsyncConnection[Any]
) -> str | None:
    """The same, asked on an event loop."""
    values = _denied(error, connection)
    if values is None:
        return None
    try:
        cursor = connection.cursor(row_factory=psycopg.rows.tuple_row)
        return _hint(await (await cursor.execute(_GRANTEES, values)).fetchall())
    except psycopg.Error:
        return None


def _denied(error: psycopg.Error, connection: psycopg.BaseConnection[Any]) -> dict[str, Any] | None:
    """What to ask about the name that was denied, where the connection can be asked."""
    denied = _DENIED.search(error.diag.message_primary or "")
    if denied is None or connection.info.transaction_status is not TransactionStatus.IDLE:
        return None
    return {"name": denied[1], "roles": list(ROLES)}


def _hint(rows: list[Any]) -> str | None:
    [(login, grantees)] = rows
    able = [role for role in ROLES if role in grantees]
    if not able:
        return None
    also = f" (or {' or '.join(able[1:])})" if len(able) > 1 else ""
    return f"Run: grant {able[0]} to {login}{also}"

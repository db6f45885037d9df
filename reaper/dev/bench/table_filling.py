"""Fills a migrated database with a workload, and leaves it as a table looks after a quiet day."""

from __future__ import annotations

from typing import Any

from reaper.db.connection import Connection
from reaper.dev.bench.workload import Order, Workload

# Deterministic: each method of each run meets the same rows.
SEED = 0.42

_STAGE = """
create temp table staged as
select n,
       case when random() < %(hot)s then 1
            when n <= %(contents)s then n
            else 1 + floor(random() * %(contents)s)::int end as content,
       random() as chance
  from generate_series(1, %(rows)s) as n
"""
# Exactly so many are due, whatever the dice say.
_RANDOM_ORDER = """
create temp table fate as
select n, case when rank <= %(due)s
               then now() - interval '1 hour' - random() * interval '30 days'
               else now() + interval '1 day' + random() * interval '300 days' end as expires_at
  from (select n, row_number() over (order by chance) as rank from staged) as ranked
"""
# The oldest rows lie first and expire first.
_COHORT_ORDER = """
create temp table fate as
select n, case when n <= %(due)s
               then now() - interval '31 days' + interval '30 days' * n / %(rows)s
               else now() + interval '1 day' + interval '300 days' * n / %(rows)s end as expires_at
  from staged
"""
_CONTENT = """
insert into public.content (content_hash, object_key, ref_count, size_bytes)
select hash, case when not %(bare)s then left(hash, 2) || '/' || hash || '/' || md5('key ' || content) end,
       refs, 200 + content %% 4000
  from (select content, encode(sha256(content::text::bytea), 'hex') as hash, count(*) as refs
          from staged group by content) as counted
 order by content
"""
_PASTES = """
insert into public.pastes (short_code, content_hash, created_at, expires_at{columns})
select left(translate(encode(sha256(('paste ' || n)::bytea), 'base64'), '+/=', 'xyz'), 10),
       encode(sha256(content::text::bytea), 'hex'),
       f.expires_at - interval '30 days',
       f.expires_at{values}
  from staged join fate as f using (n)
 order by n
"""
_TIDY = ("vacuum (analyze, freeze) public.pastes", "vacuum (analyze, freeze) public.content", "checkpoint")


def load(connection: Connection, workload: Workload) -> None:
    """Write the rows of a workload into empty tables, with every index in place as an application has it."""
    numbers = {
        "rows": workload.rows,
        "due": workload.due,
        "contents": workload.contents,
        "hot": workload.hot_share,
        "bare": workload.bare_keys,
    }
    with connection.transaction():
        connection.execute("select setseed(%s)", (SEED,))
        # We know that the rows fit together: the keys need not be looked up again.
        connection.execute("set local session_replication_role = replica")
        connection.execute("set local work_mem = '256MB'")
        connection.execute(_STAGE, numbers)
        connection.execute(_COHORT_ORDER if workload.order is Order.COHORT else _RANDOM_ORDER, numbers)
        connection.execute("analyze staged")
        connection.execute("analyze fate")
        connection.execute(_CONTENT, numbers)
        _insert_pastes(connection, workload)
    connection.execute("drop table staged, fate")
    for statement in _TIDY:
        connection.execute(statement)


def _insert_pastes(connection: Connection, workload: Workload) -> None:
    columns, values = "", ""
    if workload.payload_bytes:
        # Too short to be moved out of line or compressed: the row really is that wide.
        connection.execute("alter table public.pastes add column note text")
        columns, values = ", note", f", left(repeat(md5(n::text), 40), {workload.payload_bytes:d})"
    connection.execute(_PASTES.format(columns=columns, values=values))


def fill_cache(connection: Connection, client: Any, share: float) -> None:
    """Cache some of the pastes, due or not, under their bare codes."""
    pipeline = client.pipeline(transaction=False)
    statement = "select short_code from public.pastes where abs(hashtext(short_code)::bigint) %% 1000 < %s"
    for (code,) in connection.execute(statement, (round(share * 1000),)).fetchall():
        pipeline.set(code, b"paste")
    pipeline.execute()

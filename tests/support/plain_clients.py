"""Clients in any language, that know a few calls and repeat them until nothing is due."""

import psycopg

CLIENTS = 8
# Ten pastes share a content, and those of one content are far apart.
FILL = """
insert into content (content_hash, object_key, ref_count, size_bytes)
select 'h' || i, 'k' || i, 0, 10 from generate_series(0, {rows} / 10 - 1) as i;
insert into pastes (short_code, content_hash, expires_at)
select 'c' || lpad(i::text, 8, '0'), 'h' || (i * 7919) % ({rows} / 10),
       now() - interval '1 hour' + i * interval '1 ms'
  from generate_series(1, {rows}) as i;
update content c set ref_count = n.refs
  from (select content_hash, count(*) as refs from pastes group by content_hash) as n
 where n.content_hash = c.content_hash;
"""


def mark_until_nothing_is_due(dsn: str, batch_size: int) -> None:
    """Claim, drop, finish: all that a client without any library of ours has to know."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        name = f"plain:{connection.info.backend_pid}"
        while claimed := connection.execute(
            "select batch_id from reaper.claim_expired(%s, %s)", [batch_size, name]
        ).fetchone():
            connection.execute("select * from reaper.drop_references(%s)", claimed)
            connection.execute("select * from reaper.finish_batch(%s, '[]')", claimed)


def reap_until_nothing_is_due(dsn: str, batch_size: int) -> int:
    """Reap, finish; how many rows it released."""
    rows = 0
    with psycopg.connect(dsn, autocommit=True) as connection:
        name = f"plain:{connection.info.backend_pid}"
        while reaped := connection.execute(
            "select batch_id, released from reaper.reap_expired(%s, %s)", [batch_size, name]
        ).fetchone():
            connection.execute("select * from reaper.finish_batch(%s, '[]')", reaped[:1])
            rows += reaped[1]
    return rows

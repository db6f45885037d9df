"""Clients in any language, that know three calls: claim, drop, finish, until a claim returns nothing."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.support.paste_fixtures import codes, marked, value

CLIENTS = 8
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


def loop(dsn: str, batch_size: int) -> None:
    """All that a client without any library of ours has to know."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        name = f"plain:{connection.info.backend_pid}"
        while claimed := connection.execute(
            "select batch_id from reaper.claim_expired(%s, %s)", [batch_size, name]
        ).fetchone():
            connection.execute("select * from reaper.drop_references(%s)", claimed)
            connection.execute("select * from reaper.finish_batch(%s, '[]')", claimed)


@pytest.mark.parametrize("batch_size", [1000, 50])
@pytest.mark.usefixtures("checked_db")
def test_eight_plain_clients_leave_nothing_due_and_nothing_marked(db, dsn, sized, batch_size):
    rows = sized(50_000, 5_000)
    db.execute(FILL.format(rows=rows))
    with ThreadPoolExecutor(CLIENTS) as clients:
        running = [clients.submit(loop, dsn, min(batch_size, rows // 20)) for _ in range(CLIENTS)]
    for client in running:
        client.result()
    assert (len(codes(db)), len(marked(db))) == (0, 0)
    assert value(db, "select count(*) from reaper.batches") == 0

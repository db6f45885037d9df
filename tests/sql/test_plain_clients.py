"""Clients in any language, that know three calls: claim, drop, finish, until a claim returns nothing."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.paste_fixtures import codes, marked, value
from tests.support.plain_clients import CLIENTS, FILL, mark_until_nothing_is_due


@pytest.mark.parametrize("batch_size", [1000, 50])
@pytest.mark.usefixtures("checked_db")
def test_eight_plain_clients_leave_nothing_due_and_nothing_marked(db, dsn, sized, batch_size):
    rows = sized(50_000, 5_000)
    db.execute(FILL.format(rows=rows))
    with ThreadPoolExecutor(CLIENTS) as clients:
        size = min(batch_size, rows // 20)
        running = [clients.submit(mark_until_nothing_is_due, dsn, size) for _ in range(CLIENTS)]
    for client in running:
        client.result()
    assert (len(codes(db)), len(marked(db))) == (0, 0)
    assert value(db, "select count(*) from reaper.batches") == 0

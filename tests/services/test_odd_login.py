"""A worker whose role has every setting at its worst value."""

import asyncio
from collections.abc import Iterator

import pytest
from psycopg.conninfo import make_conninfo

from reaper.worker import tasks
from tests.support.paste_fixtures import Connection
from tests.support.worker_world import WorkerWorld

WORST = """
create role odd login superuser;
alter role odd set datestyle = 'German, DMY';
alter role odd set client_encoding = 'SQL_ASCII';
alter role odd set quote_all_identifiers = on;
alter role odd set standard_conforming_strings = off;
alter role odd set default_transaction_read_only = on;
alter role odd set statement_timeout = '5ms';
alter role odd set lock_timeout = '1ms';
alter role odd set idle_session_timeout = '1s';
alter role odd set idle_in_transaction_session_timeout = '1ms';
alter role odd set default_transaction_isolation = 'serializable';
alter role odd set search_path = '';
alter role odd set timezone = 'Pacific/Kiritimati';
alter role odd set intervalstyle = 'iso_8601';
alter role odd set row_security = off;
"""


@pytest.fixture
def odd_world(world: WorkerWorld, db: Connection) -> Iterator[WorkerWorld]:
    db.execute(WORST)
    if db.info.server_version >= 170000:
        db.execute("alter role odd set transaction_timeout = '100ms'")
    world.extra["REAPER_DATABASE_URL"] = make_conninfo(world.dsn, user="odd")
    yield world
    world.end()
    db.execute("drop role odd")


def test_a_worker_drains_and_serves_whatever_its_role_sets(odd_world: WorkerWorld) -> None:
    odd_world.populate(due=20, live=5, contents=20)
    worker = odd_world.worker()
    odd_world.started("drain")
    odd_world.run("drain")
    odd_world.until("(select count(*) = 5 from public.pastes)")
    odd_world.run("watchdog")
    odd_world.until("(select runs > 0 from reaper.services where name = 'watchdog')")
    assert worker.is_alive()
    assert odd_world.value("select count(*) from reaper.job_errors") == 0
    assert "Traceback" not in odd_world.said()


def test_no_connection_of_the_queue_keeps_the_time_limit_of_transactions(odd_world: WorkerWorld) -> None:
    connector = tasks.connector(odd_world.extra["REAPER_DATABASE_URL"])
    question = "select coalesce(current_setting('transaction_timeout', true), '0') as limit"

    async def asked() -> list[str]:
        await connector.open_async()
        try:
            pooled = await connector.execute_query_one_async(question)
            async with connector._get_standalone_connection() as listening:
                heard = await (await listening.execute(question)).fetchone()
            return [pooled["limit"], *(heard or ())]
        finally:
            await connector.close_async()

    assert asyncio.run(asked()) == ["0", "0"]
    deferring = connector.get_sync_connector()
    deferring.open()
    try:
        assert deferring.execute_query_one(question) == {"limit": "0"}
    finally:
        deferring.close()

"""A worker whose role has every setting at its worst value."""

from collections.abc import Iterator

import pytest
from psycopg.conninfo import make_conninfo

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

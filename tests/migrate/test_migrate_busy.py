"""Busy tables, and the migration lock."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from reaper.errors import LockLost, TableBusy
from reaper.migrate import migrate
from reaper.migrate.migration_lock import LOCK_CLASS, LOCK_ID
from tests.support.migrate.release_folder import Workshop, admin, tables, wait_until

HOLDER = "select pid from pg_locks where locktype = 'advisory' and classid = %s and objid = %s"


@pytest.fixture
def workshop(tmp_path: Path, empty_db_dsn: str) -> Workshop:
    """A migrated table and a pending step that must lock it."""
    made = Workshop(tmp_path)
    made.tables("a")
    migrate(empty_db_dsn, folders=made.folders)
    made.migration("0002.widen", "alter table reaper.a add column if not exists more int;")
    return made


def test_a_step_that_cannot_have_its_lock_is_tried_again_until_the_table_is_free(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    waiting = "(select from pg_locks where relation = 'reaper.a'::regclass and not granted)"
    with psycopg.connect(empty_db_dsn) as blocker, ThreadPoolExecutor(1) as pool:
        blocker.execute("select * from reaper.a")
        run = pool.submit(migrate, empty_db_dsn, folders=workshop.folders)
        for _ in range(2):
            wait_until(empty_db_dsn, f"select exists {waiting}")
            wait_until(empty_db_dsn, f"select not exists {waiting}")
        blocker.rollback()
        assert run.result().applied == ["0002.widen"]


def test_when_patience_ends_the_error_names_who_was_in_the_way_but_not_the_query(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    with psycopg.connect(empty_db_dsn, application_name="billing") as blocker:
        pid = blocker.info.backend_pid
        blocker.execute("select 'a private matter', a.* from reaper.a a")
        with pytest.raises(TableBusy) as caught:
            migrate(empty_db_dsn, folders=workshop.folders, patience=0.5)
    assert f"pid {pid}" in caught.value.message
    for words in ("0002.widen", "user postgres", "'billing'", "idle in transaction since"):
        assert words in caught.value.message
    assert "private" not in caught.value.message


def test_the_wait_for_a_lock_is_short_so_that_the_application_is_not_held_up(
    empty_db_dsn: str, workshop: Workshop
) -> None:
    workshop.migration(
        "0003.shown", "create table reaper.shown as select current_setting('lock_timeout') as value;"
    )
    migrate(empty_db_dsn, folders=workshop.folders)
    with admin(empty_db_dsn) as connection:
        assert connection.execute("select value from reaper.shown").fetchone() == ("100ms",)


def test_a_second_migrator_waits_without_a_snapshot(empty_db_dsn: str, workshop: Workshop) -> None:
    said: list[str] = []
    heard = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        heard.set()

    with admin(empty_db_dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute("select pg_advisory_lock(%s, %s)", (LOCK_CLASS, LOCK_ID))
        run = pool.submit(migrate, empty_db_dsn, folders=workshop.folders, say=say)
        assert heard.wait(60)
        wait_until(
            empty_db_dsn,
            "select wait_event_type = 'Client' and backend_xmin is null"
            " from pg_stat_activity where application_name = 'reaper:migrate'",
        )
        other.execute("select pg_advisory_unlock(%s, %s)", (LOCK_CLASS, LOCK_ID))
        assert run.result().applied == ["0002.widen"]
    assert "another migration is running" in said[0]


def test_a_migrator_that_lost_its_lock_stops_before_it_commits(empty_db_dsn: str, workshop: Workshop) -> None:
    sql = "set local lock_timeout = 0;\ncreate table reaper.c (id int);\nselect pg_advisory_xact_lock(7);"
    workshop.migration("0003.c", sql)
    with admin(empty_db_dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute("select pg_advisory_lock(7)")
        run = pool.submit(migrate, empty_db_dsn, folders=workshop.folders)
        wait_until(
            empty_db_dsn,
            "select exists (select from pg_stat_activity"
            " where application_name = 'reaper:migrate' and wait_event = 'advisory')",
        )
        other.execute(
            f"select pg_terminate_backend(holder.pid) from ({HOLDER}) holder", (LOCK_CLASS, LOCK_ID)
        )
        wait_until(empty_db_dsn, f"select not exists ({HOLDER})", LOCK_CLASS, LOCK_ID)
        other.execute("select pg_advisory_unlock(7)")
        with pytest.raises(LockLost):
            run.result()
    assert tables(empty_db_dsn) == {"a"}

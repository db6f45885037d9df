"""The migrations that are shipped, and procrastinate's."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from reaper.errors import WouldLoseInformation
from reaper.migrate import check_schema, code, migrate
from reaper.migrate.migration_files import migration_ids, read_migrations
from reaper.migrate.release_folders import installed_folders
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.release_folder import admin, column, one

JOBS = "select count(*) from procrastinate.procrastinate_jobs"


def test_every_migration_says_what_it_locks_and_has_a_way_back() -> None:
    assert read_migrations(installed_folders().migrations)


def test_up_down_up_ends_in_the_same_catalogue(empty_db_dsn: str) -> None:
    untouched = catalogue(empty_db_dsn, "public")
    migrate(empty_db_dsn)
    up = catalogue(empty_db_dsn, "public", "reaper", "procrastinate")
    migrate(empty_db_dsn, to="base")
    assert catalogue(empty_db_dsn, "public") == untouched
    migrate(empty_db_dsn)
    assert catalogue(empty_db_dsn, "public", "reaper", "procrastinate") == up


@pytest.mark.slow
def test_each_rollback_restores_the_catalogue_from_before_its_migration(empty_db_dsn: str) -> None:
    ids = ["base", *migration_ids(installed_folders().migrations)[:-1]]
    before = {}
    for target in ids:
        migrate(empty_db_dsn, to=target)
        before[target] = catalogue(empty_db_dsn, "public", "reaper")
    migrate(empty_db_dsn)
    for target in reversed(ids):
        migrate(empty_db_dsn, to=target)
        assert catalogue(empty_db_dsn, "public", "reaper") == before[target], f"back at {target}"


def test_a_rollback_that_would_lose_pastes_refuses_and_the_schema_still_works(dsn: str) -> None:
    with admin(dsn) as connection:
        connection.execute("insert into content (content_hash, ref_count, size_bytes) values ('h', 1, 1)")
        connection.execute("insert into pastes (short_code, content_hash) values ('a', 'h')")
    with pytest.raises(WouldLoseInformation, match="1 row"):
        migrate(dsn, to="base")
    migrate(dsn)
    assert one(dsn, "select count(*) from pastes") == 1
    assert column(dsn, "select invariant from reaper.check_invariants()") == []


def test_a_changed_setting_stops_the_way_back_before_the_settings_go(dsn: str) -> None:
    with admin(dsn) as connection:
        connection.execute("update reaper.settings set drain_slots = 3, wait_for_standby = '*'")
    with pytest.raises(WouldLoseInformation, match=r"changed in it: drain_slots, wait_for_standby$"):
        migrate(dsn, to="base")
    # What is newer than the settings went, and held nothing.
    assert "0010.settings" not in migrate(dsn).applied
    assert one(dsn, "select drain_slots from reaper.settings") == 3


def test_a_bucket_whose_marker_names_the_installation_stops_the_way_back(dsn: str) -> None:
    with admin(dsn) as connection:
        [(me,)] = connection.execute("select installation_id from reaper.installation").fetchall()
        connection.execute("select reaper.record_backend_owner('default', %s, 'ours', 'marker')", [me])
    with pytest.raises(WouldLoseInformation, match="name: default"):
        migrate(dsn, to="base")
    assert not migrate(dsn).applied
    assert one(dsn, "select installation_id from reaper.installation") == me


def test_a_second_migration_keeps_the_identity_of_the_installation(dsn: str) -> None:
    with admin(dsn) as connection:
        [(me,)] = connection.execute("select installation_id from reaper.installation").fetchall()
        [file] = installed_folders().migrations.glob("*.installation.sql")
        connection.execute(file.read_bytes())
    assert one(dsn, "select installation_id from reaper.installation") == me


def test_the_schema_of_internal_functions_belongs_to_the_owner_and_nobody_else_may_use_it(dsn: str) -> None:
    query = """
        select nspowner::regrole::text, nspacl::text, obj_description(oid) from pg_namespace
         where nspname = 'reaper_internal'
    """
    with admin(dsn) as connection:
        [(owner, rights, comment)] = connection.execute(query).fetchall()
    assert (owner, rights) == ("reaper_owner", None)
    assert comment


def test_loading_all_code_again_replaces_it_in_place(dsn: str) -> None:
    """What the doctor advises where code was changed by hand; calls that run at this moment go through."""
    identities = (
        "select p.oid, p.proname from pg_proc p where pronamespace = 'reaper'::regnamespace order by 1"
    )
    schemas = ("public", "reaper", "reaper_internal")
    before = (catalogue(dsn, *schemas), column(dsn, identities))
    with admin(dsn) as connection:
        connection.execute("delete from reaper.code_files")
        connection.execute("create or replace function reaper.clock() returns timestamptz return now()")
    report = migrate(dsn)
    assert len(report.code_loaded) == len(code.read(installed_folders().sql))
    assert (catalogue(dsn, *schemas), column(dsn, identities)) == before


def test_four_migrators_at_once_on_an_empty_database(empty_db_dsn: str) -> None:
    start = threading.Barrier(4)

    def run(_: int) -> bool:
        start.wait()
        return migrate(empty_db_dsn).changed

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(run, range(4))) == [False, False, False, True]


def test_a_worker_may_read_the_version_and_defer_jobs_but_not_the_ledgers(dsn: str) -> None:
    with admin(dsn) as connection:
        connection.execute("set role reaper_worker")
        check_schema(connection)
        connection.execute("set search_path = procrastinate")
        assert connection.execute(JOBS).fetchone() == (0,)
        for ledger in ("reaper.migration_files", "reaper.code_files", "procrastinate.migration_files"):
            query = "select has_table_privilege('reaper_worker', %s, 'select')"
            assert connection.execute(query, (ledger,)).fetchone() == (False,)


def test_procrastinates_objects_belong_to_reaper_owner_and_stay_when_reaper_goes(empty_db_dsn: str) -> None:
    migrate(empty_db_dsn)
    owners = "select distinct tableowner from pg_tables where schemaname = 'procrastinate'"
    assert column(empty_db_dsn, owners) == ["reaper_owner"]
    migrate(empty_db_dsn, to="base")
    assert one(empty_db_dsn, JOBS) == 0


def test_procrastinates_migrations_make_what_its_own_schema_file_makes(empty_db_dsn: str, dsn: str) -> None:
    procrastinate = installed_folders().procrastinate
    assert procrastinate is not None
    with admin(empty_db_dsn) as connection:
        connection.execute("create schema procrastinate; set search_path = procrastinate")
        connection.execute((procrastinate.parent / "schema.sql").read_text())
    query = "select oid::regprocedure::text from pg_proc where pronamespace = %s::regnamespace order by 1"
    assert column(dsn, query, "procrastinate") == column(empty_db_dsn, query, "procrastinate")

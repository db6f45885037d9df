"""A rollback that would lose something refuses before its first step, with all counts and all remedies."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import psycopg
import pytest

from reaper.cli import main
from reaper.errors import Exit, TableBusy, WouldLoseInformation
from reaper.migrate import Request, migrate, plan, render_sql
from reaper.migrate.migration_files import read_migrations
from reaper.migrate.release_folders import installed_folders
from tests.support.migrate import existing_application
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.release_folder import admin, column, one, tables

SCHEMAS = ("public", "reaper", "procrastinate")


class Thing(NamedTuple):
    """Something that a database in use holds."""

    migration: int
    fill: str
    # What the refusal says of it.
    words: str
    settle: str


USED = {
    "content": Thing(
        2,
        "insert into public.content (content_hash, ref_count) values ('h1', 1), ('h2', 0)",
        "2 rows of public.content",
        "delete from public.content",
    ),
    "pastes": Thing(
        2,
        "insert into public.pastes (short_code, content_hash) values ('a', 'h1')",
        "1 rows of public.pastes",
        "delete from public.pastes",
    ),
    "object_locations": Thing(
        3,
        """insert into reaper.object_locations
           values ('h1', 'default', 'k1', 1, now()), ('h2', 'default', 'k2', 1, now())""",
        "2 copies of objects",
        "delete from reaper.object_locations",
    ),
    "backend_list": Thing(
        3,
        "select reaper.register_backend('east', null)",
        "1 backends",
        "delete from reaper.backend_list where name = 'east'",
    ),
    "batches": Thing(
        4,
        """insert into reaper.batches (batch_id, short_codes, rows_claimed, claimed_at, held_since)
           values (gen_random_uuid(), '{a}', 1, now(), now())""",
        "1 batches with deletions",
        "delete from reaper.batches",
    ),
    "cleanup_queue": Thing(
        5,
        """insert into reaper.cleanup_queue (backend, object_key, queued_at, next_attempt)
           values ('default', 'k', now(), now())""",
        "1 queued deletions of objects",
        "delete from reaper.cleanup_queue",
    ),
    "cleanup_dlq": Thing(
        5,
        """insert into reaper.cleanup_dlq
                  (queue_id, backend, object_key, attempts, last_error, queued_at, buried_at)
           values (7, 'default', 'd', 9, 'AccessDenied', now(), now())""",
        "1 DLQ entries",
        "delete from reaper.cleanup_dlq",
    ),
    "invalidations": Thing(
        5,
        "insert into reaper.invalidations (short_code, queued_at, next_attempt) values ('a', now(), now())",
        "1 queued deletions of cache entries",
        "delete from reaper.invalidations",
    ),
    "retired_keys": Thing(
        5,
        "insert into reaper.retired_keys values ('h9', now())",
        "1 retired object keys",
        "delete from reaper.retired_keys",
    ),
    "put_intents": Thing(
        6,
        """insert into reaper.put_intents
                  (intent_id, short_code, content_hash, size_bytes, backend, object_key, upload_required,
                   reserved, begun_at, next_attempt)
           values (gen_random_uuid(), 'p', 'h3', 1, 'default', 'k3', true, false, now(), now())""",
        "1 uploads in flight",
        "delete from reaper.put_intents",
    ),
    "runs": Thing(
        7,
        """insert into reaper.runs
                  (batch_id, rows_claimed, rows_deleted, rows_returned, rows_blocked, objects_deleted,
                   objects_failed, bytes_freed, invalidations_failed, claimed_at, released_at, finished_at)
           select gen_random_uuid(), 1, 1, 0, 0, 1, 0, 1, 0, now(), now(), now()
             from generate_series(1, 3)""",
        "3 runs",
        "delete from reaper.runs",
    ),
    "drift": Thing(
        7,
        """insert into reaper.drift (content_hash, expected, found, action, noticed_at)
           values ('h1', 1, 2, 'left', now())""",
        "1 wrong reference counts",
        "delete from reaper.drift",
    ),
    "retention_policies": Thing(
        8,
        """create table public.logins (id bigint primary key, at timestamptz not null);
           create index logins_at on public.logins (at);
           grant select, delete, update (at) on public.logins to reaper_owner;
           select reaper.add_retention_policy('logins', 'public.logins', 'at', '30 days')""",
        "1 policies",
        "select reaper.remove_policy('logins'); drop table public.logins",
    ),
    "services": Thing(
        9,
        """select reaper.register_service('nap', '@daily', 'Sleeps.');
           select reaper.reschedule('nap', '@hourly');
           select reaper.pause('nap', '1 hour', 'quiet')""",
        "1 changed schedules, 1 pauses",
        "delete from reaper.services where name = 'nap'",
    ),
    "audit": Thing(
        9,
        "insert into reaper.audit (at, who, action, subject) values (now(), 'me', 'pause', 'nap')",
        " audit entries",
        "delete from reaper.audit",
    ),
    "job_errors": Thing(
        9,
        "insert into reaper.job_errors (job_id, task, attempt, error, at) values (1, 'run', 1, 'no', now())",
        "1 errors of jobs",
        "delete from reaper.job_errors",
    ),
    "settings": Thing(
        10,
        "update reaper.settings set drain_slots = 5, keep_codes = '0'",
        "changed in it: drain_slots, keep_codes",
        "update reaper.settings set drain_slots = default, keep_codes = default",
    ),
    "lifecycle_rules": Thing(
        14,
        """insert into reaper.lifecycle_rules (name, prefix, expiration_days, created_by, created_at)
           values ('logs', 'log-', 30, 'me', now())""",
        "1 lifecycle rules",
        "select reaper.remove_lifecycle_rule('logs')",
    ),
    "reconciliations": Thing(
        15,
        "insert into reaper.reconciliations (backend, untracked) values ('default', 'delete')",
        "1 orders to import or delete untracked objects",
        "update reaper.reconciliations set untracked = 'report'",
    ),
    "sightings": Thing(
        15,
        "insert into reaper.sightings values ('default', 'zz', 1, now(), now(), now(), null)",
        "1 names of objects that are about to be deleted",
        "delete from reaper.sightings",
    ),
    "backend_owners": Thing(
        11,
        """insert into reaper.backend_owners
           select 'default', 'ours', 'marker', now(), i.installation_id, i.database, i.system_identifier
             from reaper.installation i""",
        "the markers in these buckets name: default",
        "delete from reaper.backend_owners",
    ),
    "usage_processes": Thing(
        16,
        """insert into reaper.usage_processes (process, month, backend, seen_at)
           values (gen_random_uuid(), '2026-01-01', 'default', now())""",
        "rows of usage",
        "delete from reaper.usage_processes",
    ),
    "usage_monthly": Thing(
        16,
        "insert into reaper.usage_monthly (month, backend) values ('2026-01-01', 'default')",
        "rows of usage",
        "delete from reaper.usage_monthly",
    ),
    "usage_limits": Thing(
        16,
        "insert into reaper.usage_limits (backend, what, amount) values ('default', 'monthly_egress', 1)",
        "1 monthly limits",
        "delete from reaper.usage_limits",
    ),
    "webhooks": Thing(
        17,
        """insert into reaper.webhooks (name, url, events, created_by, created_at)
           values ('ops', 'https://example.com/', '{*}', 'me', now())""",
        "1 webhooks",
        "delete from reaper.webhooks",
    ),
    "notification_outbox": Thing(
        17,
        """insert into reaper.notification_outbox
             (webhook_id, event_id, type, data, occurred_at, queued_at, next_attempt)
           values (1, gen_random_uuid(), 'webhook.test', '{}', now(), now(), now())""",
        "1 undelivered events",
        "delete from reaper.notification_outbox",
    ),
    "delivery_dlq": Thing(
        17,
        """insert into reaper.delivery_dlq
             (outbox_id, webhook_id, event_id, type, data, occurred_at, attempts, buried_at)
           values (1, 1, gen_random_uuid(), 'webhook.test', '{}', now(), 1, now())""",
        "1 deliveries in the DLQ",
        "delete from reaper.delivery_dlq",
    ),
    "copy_intents": Thing(
        13,
        """insert into reaper.copy_intents
                  (intent_id, content_hash, purpose, source, source_key, destination, object_key, begun_at,
                   lease, lease_until)
           values (gen_random_uuid(), 'h4', 'replicate', 'default', 'k4', 'east', 'k5', now(),
                   gen_random_uuid(), now())""",
        "1 copies that are being made",
        "delete from reaper.copy_intents",
    ),
}
# Found out anew by the next worker, or derived from the tables above.
NO_INFORMATION = {
    "suspects",
    "workers",
    "blocked",
    "circuits",
    "byte_deltas",
    "stray_scan",
    "unreferenced_scan",
    "bindings",
    "provenance",
    "usage_flushes",
    "nearly_full",
    "state_snapshot",
    # Without a marker that names it, another identity is as good.
    "installation",
    # Follows the webhooks.
    "webhook_subscriptions",
    # At worst one state is told again.
    "notified_states",
    # The sweep finds out who needs copies, and the rebalancer plans, anew.
    "copy_wants",
    "copy_excess",
    "copy_moves",
    "copy_sweep",
}


@pytest.fixture
def used(dsn: str) -> str:
    """A database in which something of everything is recorded."""
    with admin(dsn) as connection:
        for thing in USED.values():
            connection.execute(thing.fill.encode())
    return dsn


def settle(dsn: str) -> None:
    """What the hints say, in the order in which the tables refer to each other."""
    with admin(dsn) as connection:
        for name in ("pastes", "content", *(USED.keys() - {"pastes", "content", "audit"}), "audit"):
            connection.execute(USED[name].settle.encode())


def everything(dsn: str) -> list[str]:
    """The catalogue, functions included, and how much is in each table of ours."""
    with admin(dsn) as connection:
        names = [*sorted(tables(dsn)), "code_files", "migration_files"]
        counts = [
            f"{n}: {connection.execute(f'select count(*) from reaper.{n}'.encode()).fetchone()}"
            for n in names
        ]
    return catalogue(dsn, *SCHEMAS) + counts


def test_every_table_is_guarded_or_holds_no_information(dsn: str) -> None:
    assert tables(dsn) == USED.keys() - {"content", "pastes"} | NO_INFORMATION


def test_every_rollback_of_a_table_with_information_is_marked_as_guarded() -> None:
    migrations = read_migrations(installed_folders().migrations)
    guarded = {int(m.number) for m in migrations if m.rollback and m.rollback.guarded}
    assert guarded == {thing.migration for thing in USED.values()}


@pytest.mark.slow(but=8)
@pytest.mark.parametrize("name", sorted(USED.keys() - {"content", "pastes", "audit"}))
def test_each_thing_alone_is_enough_for_a_refusal(dsn: str, name: str) -> None:
    with admin(dsn) as connection:
        connection.execute(USED[name].fill.encode())
        connection.execute("delete from reaper.audit")
    with pytest.raises(WouldLoseInformation) as caught:
        plan(dsn, to="base")
    assert USED[name].words in caught.value.message
    assert caught.value.message.count("would lose") + caught.value.message.count("would forget") == 1


def test_what_workers_find_out_anew_is_no_obstacle(dsn: str) -> None:
    with admin(dsn) as connection:
        connection.execute("insert into reaper.workers values ('w', now(), now())")
        connection.execute("insert into reaper.blocked values ('a', '23503', 'no', 1, now(), now())")
        connection.execute("insert into reaper.circuits (backend, changed_at) values ('default', now())")
        connection.execute("select reaper.register_service('nap', '@daily', 'Sleeps.')")
    assert migrate(dsn, to="base").version is None


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("way", [migrate, plan, render_sql])
@pytest.mark.parametrize(("to", "first"), [("base", 1), ("0005", 6)])
def test_all_losses_are_said_at_once_and_again_and_nothing_is_changed(
    used: str, to: str, first: int, way: Callable[..., object]
) -> None:
    before = everything(used)
    for _ in range(2):
        with pytest.raises(WouldLoseInformation) as caught:
            way(used, to=to)
        assert caught.value.message.startswith("nothing was changed: ")
        for thing in USED.values():
            assert (thing.words in caught.value.message) == (thing.migration >= first), thing.words
    assert everything(used) == before


def test_the_command_has_exit_code_4_and_names_counts_and_remedies(
    used: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REAPER_DATABASE_URL", used)
    for arguments in ([], ["--plan"], ["--sql"], ["--plan", "--json"]):
        monkeypatch.setattr("sys.argv", ["reaper", "migrate", "--to", "base", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        written = capsys.readouterr()
        assert (ended.value.code, written.out) == (Exit.REFUSED, ""), arguments
        assert all(thing.words in written.err for thing in USED.values())
        for remedy in (
            "reaper drain",
            "reaper dlq list",
            "reaper policy remove",
            "set them back to their defaults",
        ):
            assert remedy in written.err


def test_after_the_remedies_the_rollback_works_and_the_way_up_is_open_again(used: str) -> None:
    before = catalogue(used, *SCHEMAS)
    settle(used)
    assert migrate(used, to="base").version is None
    assert tables(used) == set()
    migrate(used)
    assert catalogue(used, *SCHEMAS) == [line for line in before if "public.logins" not in line]


def test_after_the_remedies_of_some_the_rollback_to_them_works(used: str) -> None:
    with admin(used) as connection:
        for thing in USED.values():
            if thing.migration > 5:
                connection.execute(thing.settle.encode())
        connection.execute("delete from reaper.audit")
    assert migrate(used, to="0005").version == "0005.deletion-queues"
    assert one(used, "select count(*) from reaper.cleanup_dlq") == 1
    migrate(used)
    assert one(used, "select count(*) from reaper.pastes") == 1


def functions(dsn: str) -> int:
    return int(one(dsn, "select count(*) from pg_proc where pronamespace = 'reaper'::regnamespace"))


def test_adopted_tables_come_back_as_they_were(empty_db_dsn: str) -> None:
    existing_application.build(empty_db_dsn)
    before = catalogue(empty_db_dsn, "public"), existing_application.rows_of(empty_db_dsn, "pastes")
    migrate(empty_db_dsn)
    migrate(empty_db_dsn, to="base")
    assert (catalogue(empty_db_dsn, "public"), existing_application.rows_of(empty_db_dsn, "pastes")) == before
    assert migrate(empty_db_dsn).changed


def test_adopted_columns_that_hold_something_are_counted_before_the_first_step(empty_db_dsn: str) -> None:
    existing_application.build(empty_db_dsn)
    migrate(empty_db_dsn)
    with admin(empty_db_dsn) as connection:
        connection.execute(
            "update public.content set object_key = 'k' || content_hash where content_hash < 'hash-2'"
        )
        connection.execute(
            "update public.pastes set deletion_status = 'DELETION_IN_PROGRESS' where short_code = 'code-1'"
        )
        connection.execute(
            "insert into reaper.audit (at, who, action, subject) values (now(), 'me', 'pause', 'nap')"
        )
    before = everything(empty_db_dsn)
    with pytest.raises(WouldLoseInformation) as caught:
        migrate(empty_db_dsn, to="base")
    for words in (
        "rows hold in public.content.object_key",
        "1 rows hold in public.pastes.deletion_status",
        "1 audit entries",
    ):
        assert words in caught.value.message
    assert everything(empty_db_dsn) == before


@pytest.mark.slow
@pytest.mark.parametrize("table", ["pastes", "content"])
def test_a_busy_table_of_the_application_on_the_way_back_restores_the_code(
    empty_db_dsn: str, table: str
) -> None:
    existing_application.build(empty_db_dsn)
    migrate(empty_db_dsn)
    loaded = functions(empty_db_dsn)
    with psycopg.connect(empty_db_dsn) as reader:
        reader.execute(f"lock table public.{table} in access share mode".encode())
        with pytest.raises(TableBusy):
            migrate(empty_db_dsn, to="base", patience=0.2)
    assert functions(empty_db_dsn) == loaded
    migrate(empty_db_dsn)
    assert one(empty_db_dsn, "select count(*) from reaper.pastes") == 60
    assert column(empty_db_dsn, "select verdict from reaper.diagnose_tables() where name = 'binding'") == [
        "ok"
    ]


OTHER_TABLES = """
    create schema app;
    create table app.blobs (content_hash varchar(64) primary key, ref_count bigint not null);
    create table app.docs (
        short_code text primary key, content_hash varchar(64) not null, expires_at timestamptz
    );
"""


def bind_others(dsn: str) -> None:
    migrate(dsn, tables=Request({}, {"pastes": {"table": "app.docs"}, "content": {"table": "app.blobs"}}))


def test_tables_that_were_bound_before_come_back_as_they_were_too(empty_db_dsn: str) -> None:
    existing_application.build(empty_db_dsn, OTHER_TABLES)
    before = catalogue(empty_db_dsn, "public", "app")
    migrate(empty_db_dsn)
    bind_others(empty_db_dsn)
    migrate(empty_db_dsn, to="base")
    assert catalogue(empty_db_dsn, "public", "app") == before


def test_what_columns_of_tables_hold_that_were_bound_before_is_counted_too(empty_db_dsn: str) -> None:
    existing_application.build(empty_db_dsn, OTHER_TABLES)
    migrate(empty_db_dsn)
    with admin(empty_db_dsn) as connection:
        connection.execute("update public.content set object_key = 'k' where content_hash = 'hash-1'")
    bind_others(empty_db_dsn)
    with pytest.raises(WouldLoseInformation, match=r"1 rows hold in public\.content\.object_key"):
        migrate(empty_db_dsn, to="base")


def test_a_bound_table_that_the_application_dropped_is_no_obstacle(empty_db_dsn: str) -> None:
    existing_application.build(empty_db_dsn)
    migrate(empty_db_dsn)
    with admin(empty_db_dsn) as connection:
        connection.execute("drop table public.pastes cascade")
    assert migrate(empty_db_dsn, to="base").version is None
    assert column(empty_db_dsn, "select indexname from pg_indexes where indexname ~ '^reaper_'") == []

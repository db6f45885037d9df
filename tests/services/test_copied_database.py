"""A copy of production's database beside production's bucket deletes nothing there, nor does a clone."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from reaper.dev.embedded import Postgres
from reaper.errors import ForeignBucket
from reaper.migrate import migrate
from tests.support.copied_databases import restored
from tests.support.postgres_node import Node
from tests.support.s3_double.served_bucket import ServedBucket
from tests.support.worker_world import WorkerWorld
from tests.support.world import Bucket

STAGING = "reaper_staging"
REASON = "staging gets this bucket"
IDENTITY = "select installation_id, database, system_identifier from reaper.installation_identity()"
VERDICT = "select verdict from reaper.health"
UNTOUCHED = "select count(*) from pastes where deletion_status = 'NOT_EXPIRED'"
Copy = Callable[[str, Postgres], AbstractContextManager[str]]


@contextmanager
def under_another_name(dsn: str, server: Postgres) -> Iterator[str]:
    """A dump, restored on the same server."""
    with restored(dsn, server, STAGING) as copy:
        yield copy


@contextmanager
def on_another_server(dsn: str, _: Postgres) -> Iterator[str]:
    """A dump, restored elsewhere under the same name."""
    with Node.made() as node:
        node.start()
        with restored(dsn, node, psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]) as copy:
            yield copy


@contextmanager
def from_a_template(dsn: str, server: Postgres) -> Iterator[str]:
    """A copy of the files of one database."""
    source = sql.Identifier(str(psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]))
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s",
            [psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]],
        )
        admin.execute(sql.SQL("create database {} template {}").format(sql.Identifier(STAGING), source))
        yield server.dsn(STAGING)
        admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(STAGING)))


COPIES = pytest.mark.parametrize("copy", [under_another_name, on_another_server, from_a_template])


@pytest.fixture
def staging_folder(tmp_path: Path) -> Path:
    (tmp_path / "staging").mkdir()
    return tmp_path / "staging"


def beside(production: WorkerWorld, dsn: str, folder: Path) -> WorkerWorld:
    """Staging, as it happens: another database, and the bucket of production by mistake."""
    return WorkerWorld(dsn, "", production.backends, folder)


def take_over(world: WorkerWorld) -> None:
    """As the command does, once confirmed."""
    with world.app() as app:
        app.ownership.take_over("default", app.ownership.look("default").detail, REASON)


def drain_is_refused(world: WorkerWorld) -> str:
    """Why nothing may be drained."""
    with pytest.raises(ForeignBucket) as refused:
        world.drain()
    assert world.value(VERDICT) == "attention"
    return refused.value.message


@pytest.mark.slow(but=1)
@COPIES
@pytest.mark.parametrize("marked", [True, False], ids=["marked", "not yet marked"])
def test_a_copy_of_production_deletes_nothing_of_production(
    world: WorkerWorld, server: Postgres, staging_folder: Path, copy: Copy, marked: bool
) -> None:
    world.populate(due=40, live=20, contents=30)
    if marked:
        world.drain(max_batches=1, batch_size=10)
    # Batches that are not settled yet: the copy has these, too.
    world.sql("call reaper.drain(5, 1)")
    before = world.keys()
    with copy(world.dsn, server) as dsn:
        staging = beside(world, dsn, staging_folder)
        due = staging.value(UNTOUCHED)
        # By what the rows say, before any process of the copy has looked at the bucket.
        assert staging.value(VERDICT) == "attention"
        drain_is_refused(staging)
        staging.watchdog()
        assert world.keys() == before
        assert staging.value(UNTOUCHED) == due
        world.drain()
        world.judge()
        assert world.value(VERDICT) == "ok"


@pytest.mark.slow(but=1)
@COPIES
def test_after_a_take_over_the_copy_owns_the_bucket_and_the_former_owner_is_refused(
    world: WorkerWorld, server: Postgres, staging_folder: Path, copy: Copy
) -> None:
    world.populate(due=20, live=10, contents=15)
    world.drain(max_batches=1, batch_size=10)
    with copy(world.dsn, server) as dsn:
        staging = beside(world, dsn, staging_folder)
        take_over(staging)
        staging.drain()
        staging.judge()
        assert staging.value(VERDICT) == "ok"
        assert f"database {staging.value('select current_database()')}" in drain_is_refused(world)
        take_over(world)
        world.drain()
        world.judge()
        drain_is_refused(staging)


def test_of_two_installations_on_one_bucket_the_second_deletes_nothing(
    world: WorkerWorld, empty_db_dsn: str, staging_folder: Path
) -> None:
    world.populate(due=20, live=10, contents=15)
    world.drain(max_batches=1, batch_size=10)
    migrate(empty_db_dsn)
    second = beside(world, empty_db_dsn, staging_folder)
    # As two installations that hash the same contents would, under the same names.
    second.sql(
        "insert into content (content_hash, object_key, size_bytes, ref_count) values ('h', %s, 10, 1)",
        min(world.keys()),
    )
    second.sql("insert into pastes (short_code, content_hash, expires_at) values ('a', 'h', now())")
    before = world.keys()
    drain_is_refused(second)
    second.sql("call reaper.drain()")
    second.watchdog()
    assert world.keys() == before
    world.drain()
    world.judge()


@pytest.mark.slow
def test_the_commands_of_a_copy_say_what_is_wrong_and_what_to_do(
    world: WorkerWorld, server: Postgres, staging_folder: Path
) -> None:
    world.populate(due=20, live=10, contents=15)
    with restored(world.dsn, server, STAGING) as dsn:
        staging = beside(world, dsn, staging_folder)
        remedy = "reaper backend take-over default"
        drain, status, doctor = (staging.command(name) for name in ("drain", "status", "doctor"))
        assert (drain.returncode, status.returncode, doctor.returncode) == (4, 1, 1)
        assert "bucket of backend default is not ours" in drain.stderr
        assert remedy in drain.stderr
        assert status.stdout.startswith("● attention")
        assert remedy in status.stdout
        [line] = [line for line in doctor.stdout.splitlines() if "bucket default, owner" in line]
        assert line.startswith("fail")
        assert remedy in line
        done = staging.command(*remedy.split()[1:], "--yes", "--reason", REASON)
        assert (done.returncode, done.stderr) == (0, "")
        assert staging.command("drain").returncode == 0


@pytest.fixture
def migrated_node() -> Iterator[Node]:
    """A server whose disks can be copied, with a database of reaper."""
    with Node.made() as node:
        node.start()
        node.sql("create database pastes")
        migrate(node.dsn("pastes"))
        yield node


@pytest.mark.slow
def test_a_clone_of_the_disks_is_refused_once_it_has_an_identity_of_its_own(
    world: WorkerWorld, staging_folder: Path, migrated_node: Node
) -> None:
    production = WorkerWorld(migrated_node.dsn("pastes"), "", world.backends, world.folder)
    production.populate(due=20, live=10, contents=15, cached=False)
    production.drain(max_batches=1, batch_size=10)
    with migrated_node.copied() as clone:
        clone.start()
        clone.promote()
        staging = beside(world, clone.dsn("pastes"), staging_folder)
        assert staging.sql(IDENTITY) == production.sql(IDENTITY)
        staging.sql("select reaper.renew_installation('a clone for staging')")
        before = world.keys()
        drain_is_refused(staging)
        assert world.keys() == before
    production.drain()
    production.judge()


@pytest.mark.slow
def test_a_promoted_standby_is_the_same_owner(world: WorkerWorld, migrated_node: Node) -> None:
    production = WorkerWorld(migrated_node.dsn("pastes"), "", world.backends, world.folder)
    production.populate(due=20, live=10, contents=15, cached=False)
    production.drain(max_batches=1, batch_size=10)
    with migrated_node.copied() as standby:
        standby.start()
        standby.promote()
        migrated_node.stop()
        promoted = WorkerWorld(standby.dsn("pastes"), "", world.backends, world.folder)
        promoted.drain()
        promoted.judge()


def test_a_copy_with_a_bucket_of_its_own_that_is_restored_each_night_stays_the_owner_there(
    world: WorkerWorld, server: Postgres, staging_folder: Path
) -> None:
    world.populate(due=20, live=10, contents=15)
    world.s3.buckets.add("staging")
    own: dict[str, Bucket] = {"default": ServedBucket(world.s3, "staging")}
    for night in range(2):
        with restored(world.dsn, server, STAGING) as dsn:
            staging = WorkerWorld(dsn, "", own, staging_folder)
            if night == 0:
                drain_is_refused(staging)
                take_over(staging)
            staging.drain()
            assert staging.value(VERDICT) == "ok"
    assert world.value("select reaper.count_due()") == 20

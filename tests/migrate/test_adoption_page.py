"""Every shape of docs/adoption.md: adopted under writes, drained, verified, rolled back; all is exact."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from reaper.dev.embedded import Postgres
from reaper.migrate import migrate, plan, render_sql
from reaper.services import ALL
from tests.support.migrate.adoption_page import PAGE, Application, Shape, shapes
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.logins import table_owner
from tests.support.migrate.release_folder import psql
from tests.support.s3_double.served_bucket import ServedBucket
from tests.support.s3_double.server import ScriptedS3
from tests.support.world import BODY, World

SHAPES = shapes()


@pytest.fixture(params=SHAPES, ids=[shape.title for shape in SHAPES])
def shape(request: pytest.FixtureRequest) -> Shape:
    shape: Shape = request.param
    return shape


@pytest.fixture
def application(shape: Shape, empty_db_dsn: str) -> Application:
    return filled(empty_db_dsn, shape)


@pytest.fixture
def owned_application(shape: Shape, server: Postgres, empty_db_dsn: str) -> Iterator[Application]:
    """Its login owns the tables and is no superuser."""
    with table_owner(server, empty_db_dsn) as login:
        login.may("create on database reaper_empty")
        login.may("reaper_owner")
        yield filled(login.dsn, shape)


def filled(dsn: str, shape: Shape) -> Application:
    """The tables of the page, with pastes of which about half are due."""
    made = Application(dsn, shape)
    made.create()
    made.fill()
    return made


@pytest.fixture
def world(empty_db_dsn: str, s3_double: ScriptedS3, scratch: Path) -> Iterator[World]:
    with World(empty_db_dsn, "", {"default": ServedBucket(s3_double, "pastes")}, scratch) as world:
        yield world


def test_the_page_has_the_shapes_that_it_promises() -> None:
    assert len(SHAPES) == 4
    assert any("||" in shape.key for shape in SHAPES)
    assert any(shape.key_column for shape in SHAPES)


@pytest.mark.slow(but=1)
def test_it_is_adopted_under_writes_drained_verified_and_rolled_back(
    application: Application, world: World
) -> None:
    adopt_drain_verify_and_roll_back(application, world)


@pytest.mark.slow(but=1)
def test_the_owner_of_its_tables_does_all_of_that_without_being_a_superuser(
    owned_application: Application, world: World
) -> None:
    adopt_drain_verify_and_roll_back(owned_application, world)


def adopt_drain_verify_and_roll_back(application: Application, world: World) -> None:
    """The application's login migrates both ways; bucket, rows and catalogue are exact after each step."""
    schemas = ("public", "app")
    before = catalogue(application.dsn, *schemas)
    with application.writing() as codes:
        migrate(application.dsn, tables=application.shape.request)
    assert codes
    assert plan(application.dsn).empty
    assert plan(application.dsn, tables=application.shape.request).empty

    for key in sorted(application.keys()):
        world.backends["default"].store(key, BODY)
    live = application.live_keys()
    assert live
    assert live < application.keys()
    world.drain(workers=2)
    assert world.keys() == live == application.keys()
    assert world.sql("select * from reaper.check_invariants()") == []
    with world.app() as app:
        assert app.verify().clean

    rows = [application.rows(name) for name in ("content", "pastes")]
    for table in ("runs", "audit", "drift", "backend_owners", "usage_processes", "usage_monthly"):
        world.sql(f"delete from reaper.{table}")
    migrate(application.dsn, to="base")
    assert catalogue(application.dsn, *schemas) == before
    kept = [len(row) for row in (application.rows("content")[0], application.rows("pastes")[0])]
    assert [[row[:n] for row in all_] for n, all_ in zip(kept, rows, strict=True)] == [
        application.rows(name) for name in ("content", "pastes")
    ]


@pytest.mark.slow
def test_the_two_tables_alone_are_restored_as_the_page_says(
    empty_db_dsn: str, server: Postgres, world: World, tmp_path: Path
) -> None:
    [shape] = [shape for shape in SHAPES if shape.table("pastes") == "app.documents"]
    application = filled(empty_db_dsn, shape)
    migrate(application.dsn, tables=shape.request, services=ALL)
    for key in sorted(application.keys()):
        world.backends["default"].store(key, BODY)
    before = [application.rows(name) for name in ("content", "pastes")]
    dump, *commands = restore_commands()

    def run(command: str) -> subprocess.CompletedProcess[str]:
        paths = f"{server.bin_dir}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        variables = {**os.environ, "PATH": paths, "REAPER_DATABASE_URL": application.dsn}
        return subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=variables, check=False, capture_output=True, text=True
        )

    assert run(dump).returncode == 0
    application.sql("delete from app.documents where dies_at > now()")
    [refused] = [run(command) for command in commands if command.startswith("pg_restore")]
    assert "view reaper.pastes depends on table app.documents" in refused.stderr
    for command in commands:
        # The bucket is this process's own.
        if command.startswith("reaper verify"):
            with world.app() as app:
                assert app.verify().clean
            continue
        done = run(command)
        assert done.returncode == 0, (command, done.stderr)
    assert [application.rows(name) for name in ("content", "pastes")] == before
    assert plan(application.dsn).empty
    world.drain()
    assert world.keys() == application.live_keys() == application.keys()


def restore_commands() -> list[str]:
    """The block of the page about a restore, line by line."""
    [block] = [block for block in PAGE.read_text().split("```\n") if block.startswith("pg_dump ")]
    return [line for line in block.splitlines() if line]


@pytest.mark.slow(but=1)
def test_the_script_for_a_dba_does_the_same(application: Application, server: Postgres) -> None:
    script = render_sql(application.dsn, tables=application.shape.request)
    assert psql(server, application.dsn, script) == (0, "")
    assert plan(application.dsn).empty
    assert application.sql("select claimed > 0 from reaper.claim_expired()") == [(True,)]


def test_the_doors_write_to_it_or_say_why_they_cannot(application: Application) -> None:
    migrate(application.dsn, tables=application.shape.request)
    with psycopg.connect(application.dsn, autocommit=True) as db:
        begin = "select * from reaper.begin_put('new', %s, 10, null)"
        # Content that is there already only gets one reference more, whatever its key is made of.
        [intent] = db.execute(begin, ["h001"]).fetchall()
        db.execute("select reaper.commit_put(%s, false)", [intent[0]])
        if "||" in application.shape.key:
            with pytest.raises(psycopg.Error, match=r"is the expression 'objects/' \|\| sha") as caught:
                db.execute("select * from reaper.begin_put('newer', 'fresh', 10, null)")
            assert caught.value.sqlstate == "RP009"
            return
        [intent] = db.execute("select * from reaper.begin_put('newer', 'fresh', 10, null)").fetchall()
        db.execute("select reaper.commit_put(%s, true)", [intent[0]])
        [found] = db.execute("select object_key from reaper.get_paste('newer')").fetchall()
        assert found[0].startswith("fr/fresh/")

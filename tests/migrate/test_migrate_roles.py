"""Who may migrate: roles, owners, passwords."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from reaper.dev.embedded import Postgres
from reaper.errors import ConfigError, MigrationRefused, ReaperError, Unreachable
from reaper.migrate import migrate, plan, render_sql
from reaper.migrate.connection import migrator_connection
from reaper.migrate.migrator_rights import ROLES
from reaper.migrate.release_folders import installed_folders
from reaper.migrate.step import Kind
from tests.support.migrate.release_folder import Workshop, admin, column, one, psql

PASSWORD = "p@ss/w:o%rd?#'x"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Postgres]:
    """A server of its own: roles belong to the whole cluster."""
    with Postgres.start() as running:
        yield running


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.tables("a")
    made.function("f", "", "int", "select 1")
    return made


@pytest.fixture
def owned(cluster: Postgres) -> Iterator[str]:
    """A database whose owner is a plain login, in a cluster without our roles."""
    with admin(cluster.dsn()) as connection:
        connection.execute("create role plain login")
        connection.execute("create database owned owner plain")
        yield cluster.dsn("owned", user="plain")
        connection.execute("drop database owned with (force)")
        for role in ("plain", *ROLES):
            connection.execute(f"drop role if exists {role}")


def run_as_superuser(cluster: Postgres, sql: str) -> None:
    with admin(cluster.dsn("owned")) as connection:
        connection.execute(sql)


def test_a_plain_database_owner_is_told_the_sql_that_a_superuser_must_run_and_then_migrates(
    cluster: Postgres, owned: str, workshop: Workshop
) -> None:
    with pytest.raises(MigrationRefused, match="'plain' may not create roles") as caught:
        migrate(owned, folders=workshop.folders)
    assert one(owned, "select to_regnamespace('reaper')") is None
    run_as_superuser(cluster, (caught.value.hint or "").partition("\n")[2])
    assert migrate(owned, folders=workshop.folders).applied == ["0001.a"]
    assert not migrate(owned, folders=workshop.folders).changed


def test_a_plain_database_owner_migrates_the_whole_release_up_and_down(cluster: Postgres, owned: str) -> None:
    run_as_superuser(cluster, (installed_folders().sql / "roles.sql").read_text())
    run_as_superuser(cluster, "grant reaper_owner to plain")
    assert migrate(owned).changed
    assert not migrate(owned).changed
    assert migrate(owned, to="base").version is None


def test_a_role_that_is_no_member_of_the_owner_is_told_the_grant(
    cluster: Postgres, owned: str, workshop: Workshop
) -> None:
    run_as_superuser(cluster, (installed_folders().sql / "roles.sql").read_text())
    with pytest.raises(MigrationRefused, match="'plain' may not act as reaper_owner") as caught:
        migrate(owned, folders=workshop.folders)
    assert 'grant reaper_owner to "plain";' in (caught.value.hint or "")


def test_a_role_with_createrole_makes_the_roles_and_lets_itself_act_as_the_owner(
    cluster: Postgres, owned: str, workshop: Workshop
) -> None:
    run_as_superuser(cluster, "alter role plain createrole")
    report = migrate(owned, folders=workshop.folders)
    assert report.roles == list(ROLES)
    assert column(owned, "select distinct tableowner from pg_tables where schemaname = 'reaper'") == [
        "reaper_owner"
    ]


def test_the_script_lets_a_role_with_createrole_act_as_the_owner(
    cluster: Postgres, owned: str, workshop: Workshop
) -> None:
    run_as_superuser(cluster, "alter role plain createrole")
    made = plan(owned, folders=workshop.folders)
    assert [step.kind for step in made.steps[:2]] == [Kind.CREATE_ROLES, Kind.GRANT_OWNER]
    assert psql(cluster, owned, render_sql(owned, folders=workshop.folders)) == (0, "")
    assert not migrate(owned, folders=workshop.folders).changed


def test_a_role_that_may_not_create_schemas_is_told_the_grant(
    cluster: Postgres, owned: str, workshop: Workshop
) -> None:
    run_as_superuser(cluster, (installed_folders().sql / "roles.sql").read_text())
    run_as_superuser(cluster, "alter database owned owner to postgres; grant reaper_owner to plain")
    with pytest.raises(MigrationRefused, match="may not create schemas") as caught:
        migrate(owned, folders=workshop.folders)
    run_as_superuser(cluster, (caught.value.hint or "").partition(": ")[2])
    assert migrate(owned, folders=workshop.folders).applied == ["0001.a"]


def test_a_schema_that_a_dba_made_beforehand_is_given_to_the_owner(
    cluster: Postgres, owned: str, workshop: Workshop
) -> None:
    run_as_superuser(cluster, "create schema reaper")
    migrate(cluster.dsn("owned"), folders=workshop.folders)
    owner = "select nspowner::regrole::text from pg_namespace where nspname = 'reaper'"
    assert one(owned, owner) == "reaper_owner"


def test_the_plan_of_a_role_without_rights_is_made_all_the_same(owned: str, workshop: Workshop) -> None:
    made = plan(owned, folders=workshop.folders)
    assert made.names(Kind.CREATE_ROLES) == list(ROLES)
    assert made.role_problem is not None
    assert "create role" in render_sql(owned, folders=workshop.folders)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("granted", ["", "reaper_ro", "reaper_ops", "reaper_worker"])
def test_a_role_that_cannot_read_what_was_migrated_is_told_the_right_and_the_grant(
    cluster: Postgres, owned: str, granted: str
) -> None:
    migrate(cluster.dsn("owned"))
    if granted:
        run_as_superuser(cluster, f"grant {granted} to plain")
    for attempt in (plan, migrate, render_sql):
        with pytest.raises(MigrationRefused) as caught:
            attempt(owned)
        assert "'plain' may not act as reaper_owner" in caught.value.message
        assert "permission denied for" in caught.value.message
        assert caught.value.hint == 'Let a superuser run this once:\ngrant reaper_owner to "plain";'
    run_as_superuser(cluster, (caught.value.hint or "").partition("\n")[2])
    assert plan(owned).empty


def test_the_plan_says_of_a_grant_that_is_refused_who_must_give_it(
    cluster: Postgres, owned: str, workshop: Workshop
) -> None:
    run_as_superuser(cluster, (installed_folders().sql / "roles.sql").read_text())
    made = plan(owned, folders=workshop.folders)
    [step] = [step for step in made.steps if step.kind is Kind.GRANT_OWNER]
    grant = 'grant reaper_owner to "plain"'
    assert step.title == f"let plain act as reaper_owner, which only a superuser can: {grant}"
    assert any("'plain' may not act as reaper_owner" in text for text in made.as_dict()["warnings"])
    assert any('grant reaper_owner to "plain";' in text for text in made.as_dict()["warnings"])


@pytest.mark.parametrize("form", ["url", "pairs"])
def test_passwords_of_odd_characters_and_options_arrive_whole_in_either_form(
    cluster: Postgres, form: str
) -> None:
    url = f"postgresql://postgres:{quote(PASSWORD, safe='')}@/postgres?host={quote(cluster.host, safe='')}"
    escaped = PASSWORD.replace("'", r"\'")
    pairs = f"dbname=postgres user=postgres host={cluster.host} password='{escaped}'"
    dsn = {"url": f"{url}&options=-c%20work_mem%3D5MB", "pairs": f"{pairs} options='-c work_mem=5MB'"}[form]
    with migrator_connection(dsn) as connection:
        assert connection.info.password == PASSWORD
        assert connection.execute("show work_mem").fetchone() == ("5MB",)
        assert connection.execute("show application_name").fetchone() == ("reaper:migrate",)


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me:s3cr%zzet@localhost/db",
        "host=localhost password=s3cret nonsense",
        "password='s3cret",
        "postgresql://me:s3cret@/db?host=/nowhere&nonsense=1",
        "postgresql://me:s3cret@/db?host=/nowhere",
        "host=/nowhere password=s3cret",
    ],
)
def test_no_error_ever_shows_a_password(dsn: str, workshop: Workshop) -> None:
    with pytest.raises((ConfigError, Unreachable)) as caught:
        migrate(dsn, folders=workshop.folders)
    chain: list[BaseException] = [caught.value]
    while link := chain[-1].__cause__ or (None if chain[-1].__suppress_context__ else chain[-1].__context__):
        chain.append(link)
    for link in chain:
        hint = link.hint if isinstance(link, ReaperError) else ""
        assert "s3cr" not in f"{link} {link!r} {hint}"

"""Who owns the application's tables adopts them without being a superuser; its writers notice nothing."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from reaper.dev.embedded import Postgres
from reaper.errors import MigrationRefused
from reaper.migrate import migrate
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.existing_application import build
from tests.support.migrate.logins import Login, new_login, table_owner
from tests.support.migrate.release_folder import admin, one


@pytest.fixture
def owner(server: Postgres, empty_db_dsn: str) -> Iterator[Login]:
    """The owner of the tables, in a cluster where a superuser has made reaper's roles."""
    with table_owner(server, empty_db_dsn) as login:
        build(login.dsn)
        yield login


def test_the_owner_of_the_tables_adopts_them_and_takes_it_back(owner: Login) -> None:
    owner.may("create on database reaper_empty")
    owner.may("reaper_owner")
    before = catalogue(owner.dsn, "public")
    migrate(owner.dsn)
    with admin(owner.dsn) as connection:
        connection.execute("select reaper.claim_expired()")
    assert (
        one(owner.dsn, "select pg_get_userbyid(relowner) from pg_class where relname = 'pastes'")
        == owner.name
    )
    with admin(owner.dsn) as connection:
        connection.execute("select reaper.reset_stuck('0')")
    migrate(owner.dsn, to="base")
    assert catalogue(owner.dsn, "public") == before


def test_an_owner_who_lacks_rights_is_told_which_and_changes_nothing(owner: Login) -> None:
    before = catalogue(owner.dsn, "public", "reaper", "procrastinate")
    with pytest.raises(MigrationRefused, match="may not create schemas") as refusal:
        migrate(owner.dsn)
    assert f'grant create on database "reaper_empty" to "{owner.name}"' in str(refusal.value.hint)
    owner.may("create on database reaper_empty")
    with pytest.raises(MigrationRefused, match="may not act as reaper_owner") as refusal:
        migrate(owner.dsn)
    assert "grant reaper_owner to" in str(refusal.value.hint)
    assert catalogue(owner.dsn, "public", "reaper", "procrastinate") == before


def test_a_stranger_to_the_tables_is_refused(owner: Login, server: Postgres, empty_db_dsn: str) -> None:
    with new_login(server, empty_db_dsn, "stranger") as stranger:
        stranger.may("create on database reaper_empty")
        stranger.may("reaper_owner")
        problem = (
            f"public.pastes: belongs to {owner.name}, and the migrating role is not a member of that role"
        )
        with pytest.raises(MigrationRefused, match=problem) as refusal:
            migrate(stranger.dsn)
        assert f"grant {owner.name} to {stranger.name}" in str(refusal.value.hint)


def test_a_writer_without_any_right_in_schema_reaper_goes_on_writing(
    server: Postgres, empty_db_dsn: str
) -> None:
    build(empty_db_dsn)
    migrate(empty_db_dsn)
    with new_login(server, empty_db_dsn, "writer") as writer:
        writer.may("select, insert, update, delete on public.content, public.pastes")
        with psycopg.connect(writer.dsn) as connection:
            connection.execute("insert into content (content_hash, ref_count) values ('new', 1)")
            connection.execute("insert into pastes (short_code, content_hash) values ('new', 'new')")
        with psycopg.connect(writer.dsn) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.execute("insert into content (content_hash, ref_count) values ('newer', 0)")
            connection.execute("delete from pastes where short_code = 'new'")
            connection.execute("update content set ref_count = 0 where content_hash = 'new'")
    assert one(empty_db_dsn, "select count(*) from content where content_hash like 'new%%'") == 2

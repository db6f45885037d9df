"""`reaper migrate --sql` where no database is at hand: the script of a fresh installation."""

import pytest

from reaper.config.tables import read_options
from reaper.dev.embedded import Postgres
from reaper.errors import ConfigError
from reaper.migrate import Request, migrate, plan, render_sql
from reaper.services import ALL
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.release_folder import psql

SCHEMAS = ("public", "reaper", "reaper_internal", "procrastinate")


def test_run_by_psql_it_leaves_nothing_to_migrate(empty_db_dsn: str, server: Postgres) -> None:
    assert psql(server, empty_db_dsn, render_sql(None, services=ALL)) == (0, "")
    assert plan(empty_db_dsn, services=ALL).steps == ()
    made = catalogue(empty_db_dsn, *SCHEMAS)
    migrate(empty_db_dsn, services=ALL)
    assert catalogue(empty_db_dsn, *SCHEMAS) == made


def test_the_queue_lies_in_the_schema_that_was_asked_for(empty_db_dsn: str, server: Postgres) -> None:
    elsewhere = Request(queue_schema="shop_queue")
    assert psql(server, empty_db_dsn, render_sql(None, tables=elsewhere, services=ALL)) == (0, "")
    assert plan(empty_db_dsn, tables=elsewhere, services=ALL).steps == ()


def test_it_says_for_what_it_is() -> None:
    head = render_sql(None, services=ALL).splitlines()[:3]
    assert "on a new, empty database" in head[0]
    assert any("REAPER_DATABASE_URL is not set" in line for line in head)


def test_tables_of_an_application_must_be_looked_at() -> None:
    with pytest.raises(ConfigError, match="REAPER_DATABASE_URL is not set, and tables are bound"):
        render_sql(None, tables=Request(options=read_options(["pastes=app.documents"])), services=ALL)

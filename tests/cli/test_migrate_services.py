"""The services are in the schedule as soon as the schema is migrated."""

import psycopg
import pytest

from reaper import services
from reaper.migrate import migrate, plan, render_sql
from reaper.migrate.step import Kind
from tests.support.paste_fixtures import column, refused, value

NAMES = sorted(service.name for service in services.ALL)
ORDERS = (
    "select reaper.pause('drain', '2 hours', 'closing the month')",
    "select reaper.resume('drain')",
    "select reaper.reschedule('drain', '30 1 * * *', 'later')",
    "select reaper.disable_service('prune')",
    "select reaper.enable_service('prune')",
    "select reaper.run_now('watchdog')",
)


@pytest.fixture
def migrated(empty_db_dsn):
    migrate(empty_db_dsn, services=services.ALL)
    with psycopg.connect(empty_db_dsn, autocommit=True) as connection:
        yield connection


def test_a_migration_registers_them(migrated):
    assert column(migrated, "select name from reaper.schedule order by name") == NAMES
    switched_off = column(migrated, "select name from reaper.schedule where not enabled order by name")
    assert switched_off == sorted(service.name for service in services.ALL if not service.enabled)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("order", ORDERS)
def test_operators_give_orders_before_any_worker_ran(migrated, order):
    migrated.execute(order)
    assert value(migrated, "select count(*) from reaper.audit") == 1


def test_a_second_migration_has_nothing_to_register(migrated, empty_db_dsn):
    migrated.execute("select reaper.reschedule('drain', '30 1 * * *', 'later')")
    assert plan(empty_db_dsn, services=services.ALL).names(Kind.REGISTER_SERVICES) == []
    migrate(empty_db_dsn, services=services.ALL)
    assert value(migrated, "select schedule from reaper.schedule where name = 'drain'") == "30 1 * * *"


def test_one_that_is_missing_or_differs_is_registered_and_shown_before(migrated, empty_db_dsn):
    migrated.execute("delete from reaper.services where name = 'prune'")
    migrated.execute("update reaper.services set description = 'of an older release' where name = 'drain'")
    migrated.execute("update reaper.services set enabled = false where name = 'drain'")
    step = plan(empty_db_dsn, services=services.ALL).steps[-1]
    assert step.title == "register the services drain, prune"
    script = render_sql(empty_db_dsn, services=services.ALL)
    assert script.count("reaper.register_service(") == 2
    migrate(empty_db_dsn, services=services.ALL)
    assert column(migrated, "select name from reaper.schedule order by name") == NAMES
    assert value(migrated, "select enabled from reaper.schedule where name = 'drain'") is False


def test_the_command_registers_them(empty_db_dsn, bare_run):
    shown = bare_run("migrate", "--plan", "--json", REAPER_DATABASE_URL=empty_db_dsn).json
    assert shown["steps"][-1]["kind"] == "register_services"
    assert shown["steps"][-1]["names"] == [service.name for service in services.ALL]
    bare_run("migrate", REAPER_DATABASE_URL=empty_db_dsn)
    with psycopg.connect(empty_db_dsn) as connection:
        assert column(connection, "select name from reaper.schedule order by name") == NAMES


def test_where_none_is_registered_the_hint_says_who_does_it(migrated):
    migrated.execute("delete from reaper.services")
    with refused("RP005", "there is no service 'drain'") as refusal:
        migrated.execute("select reaper.pause('drain', '2 hours', 'x')")
    assert refusal.value.diag.message_hint == "Run reaper migrate: it registers the services."

"""Whatever a role sets, commands work, or one line says what to set; odd years are read."""

import os
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from psycopg.conninfo import make_conninfo

from reaper import open_store
from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection, Pastes, value

WORST = {
    "datestyle": "'German, DMY'",
    "client_encoding": "'SQL_ASCII'",
    "quote_all_identifiers": "on",
    "standard_conforming_strings": "off",
    "default_transaction_read_only": "on",
    "statement_timeout": "1",
    "idle_session_timeout": "'1s'",
    "idle_in_transaction_session_timeout": "1",
    "lock_timeout": "1",
    "default_transaction_isolation": "'serializable'",
    "search_path": "''",
    "timezone": "'Pacific/Kiritimati'",
    "intervalstyle": "'iso_8601'",
    "bytea_output": "'escape'",
    "extra_float_digits": "-15",
    "row_security": "off",
    "transaction_timeout": "'20ms'",
}
NAMED = {
    *("datestyle", "quote_all_identifiers", "standard_conforming_strings", "default_transaction_read_only"),
    *("statement_timeout", "idle_session_timeout", "lock_timeout", "default_transaction_isolation"),
    *("row_security", "idle_in_transaction_session_timeout", "transaction_timeout"),
}
# Connections of an application are its own: these end its calls, with a line that says what to set.
APPLICATIONS = {
    *("default_transaction_read_only", "statement_timeout", "idle_session_timeout", "lock_timeout"),
    "transaction_timeout",
}
# The first release of PostgreSQL that has a setting.
SINCE = {"transaction_timeout": 170000}


@pytest.fixture
def odd(db: Connection, dsn: str) -> Iterator[Callable[..., str]]:
    """The address for a login with settings of its own."""
    db.execute("create role odd login superuser")

    def make(**settings: str) -> str:
        for name, worst in settings.items():
            if db.info.server_version < SINCE.get(name, 0):
                pytest.skip(f"{name} came with a later PostgreSQL")
            db.execute(f"alter role odd set {name} = {worst}")
        return make_conninfo(dsn, user="odd")

    yield make
    db.execute("drop role odd")


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("name", WORST)
def test_a_setting_of_the_role_at_its_worst_value_stops_nothing(
    run: Run, odd: Callable[..., str], paste: Pastes, db: Connection, name: str
) -> None:
    paste("gone", content="old", expires="-1 hour")
    address = odd(**{name: WORST[name]})
    for command in (("migrate",), ("service", "run", "watchdog", "--here"), ("drain",), ("status",)):
        done = run(*command, REAPER_DATABASE_URL=address)
        assert (done.code, done.err) == (0, ""), (command, done)
    assert value(db, "select count(*) from pastes") == 0
    examined = run("doctor", "--json", REAPER_DATABASE_URL=address).json
    told = [d["detail"] for d in examined if d["name"] == "settings of the login"]
    assert (name in " ".join(told).lower()) == (name in NAMED), told


def test_a_session_that_ends_at_once_is_one_line_that_says_what_to_set(
    run: Run, odd: Callable[..., str]
) -> None:
    for _ in range(20):
        done = run("status", REAPER_DATABASE_URL=odd(idle_session_timeout="1"))
        assert "Traceback" not in done.err
        if done.code:
            assert done.code == 5
            assert "idle_session_timeout" in done.complaint[1]


def test_a_store_works_for_a_login_with_odd_settings(
    run: Run, odd: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = odd(**{n: worst for n, worst in WORST.items() if n not in APPLICATIONS})
    assert run("status", REAPER_DATABASE_URL=address).code == 0
    monkeypatch.setenv("REAPER_DATABASE_URL", address)
    assert "REAPER_S3_BUCKET" in os.environ
    with open_store() as store:
        store.put(b"bytes", timedelta(days=1), "code")
        paste = store.get("code")
        assert paste is not None
        assert paste.data == b"bytes"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "expires", ["infinity", "-infinity", "20000-01-01", "0044-03-15 BC", "9999-12-31 23:59:59-12"]
)
def test_a_time_outside_of_pythons_years_ends_no_command(
    run: Run, paste: Pastes, db: Connection, expires: str
) -> None:
    paste("odd", content="of odd", expires="1 day")
    db.execute("update pastes set expires_at = %s::timestamptz", [expires])
    db.execute("update content set created_at = %s::timestamptz", [expires])
    due = value(db, "select expires_at <= now() from pastes")
    for command in (("status",), ("why", "odd"), ("plan",), ("verify",), ("status", "--json")):
        done = run(*command)
        assert "Traceback" not in done.err, done
        assert done.code in (0, 1, 3), (command, done)
    if not due:
        with open_store() as store:
            store.put(b"bytes", None, "other")
            db.execute("update pastes set expires_at = %s::timestamptz", [expires])
            paste_read = store.get("other")
            assert paste_read is not None
            assert paste_read.data == b"bytes"
    assert run("drain").code == 0
    assert value(db, "select count(*) from pastes where short_code = 'odd'") == int(not due)


def test_an_empty_search_path_in_the_address_stops_nothing(run: Run, dsn: str) -> None:
    address = make_conninfo(dsn, options="-csearch_path=")
    assert run("status", REAPER_DATABASE_URL=address).code == 0

"""`reaper usage`: what the backends were used for."""

import json

import pytest

from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection

ROW = {"process": "00000000-0000-0000-0000-000000000001", "month": "2026-01-01", "backend": "default"}


@pytest.fixture
def used(db: Connection) -> None:
    """January of a backend with a limit."""
    db.execute("select reaper.set_limit('default', 'monthly_requests', 10, 'why')")
    db.execute(
        "insert into reaper.usage_monthly (month, backend, requests_read, requests_write, egress)"
        " values ('2026-01-01', 'default', 2, 3, 1500), ('2025-12-01', 'default', 12, 0, 0)"
    )


@pytest.mark.usefixtures("used")
def test_months_and_limits_are_shown_the_newest_first(bare_run: Run, dsn: str) -> None:
    done = bare_run("usage", REAPER_DATABASE_URL=dsn)
    assert (done.code, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines()[1:]]
    assert [row[:3] for row in rows] == [["2026-01", "default", "5"], ["2025-12", "default", "12"]]
    assert "1.5 kB" in done.out
    assert "requests 50% of 10" in done.out
    assert "requests reached of 10" in done.out


@pytest.mark.usefixtures("used")
def test_one_month_is_shown_for_machines(bare_run: Run, dsn: str) -> None:
    [row] = bare_run("usage", "--month", "2026-01", "--json", REAPER_DATABASE_URL=dsn).json
    assert (row["month"], row["requests"], row["egress"], row["monthly_requests"]) == (
        "2026-01-01",
        5,
        1500,
        10,
    )
    assert json.dumps(row)
    wrong = bare_run("usage", "--month", "January", REAPER_DATABASE_URL=dsn)
    assert (wrong.code, "2026-01" in wrong.err) == (2, True)


def test_a_drain_tells_at_its_end_what_it_used(run: Run) -> None:
    assert run("drain").code == 0
    [row] = run("usage", "--json").json
    assert row["backend"] == "default"
    assert row["requests"] > 0

"""A database that an unreleased version migrated: refused by name, and the way out that is named works."""

from __future__ import annotations

from pathlib import Path

import pytest

from reaper.errors import MigrationRefused
from reaper.migrate import migrate, plan, render_sql
from tests.support.migrate.catalogue_snapshot import catalogue
from tests.support.migrate.existing_application import build, rows_of
from tests.support.migrate.release_folder import Workshop, admin, column

SCHEMAS = ("public", "reaper", "reaper_internal", "procrastinate")


@pytest.fixture
def past(empty_db_dsn: str, tmp_path: Path) -> str:
    """A database whose ledger has numbers of this release under other names, and one number more."""
    release = Workshop(tmp_path)
    release.tables("provenance", "blocked")
    release.migration("0026.one-foreign-key", "select 1;")
    migrate(empty_db_dsn, folders=release.folders)
    build(empty_db_dsn)
    return empty_db_dsn


@pytest.mark.parametrize("ask", [migrate, plan, render_sql])
@pytest.mark.parametrize("to", [None, "base"])
def test_it_is_refused_by_the_first_unknown_name_before_the_first_change(
    past: str, ask: object, to: str | None
) -> None:
    before = catalogue(past, *SCHEMAS)
    words = r"unreleased version of reaper \(0001\.provenance is unknown to this release\); there is no path"
    with pytest.raises(MigrationRefused, match=words) as refusal:
        ask(past, to=to)  # type: ignore[operator]
    assert "drop schema reaper cascade" in str(refusal.value.hint)
    assert catalogue(past, *SCHEMAS) == before


def test_what_the_refusal_says_to_do_keeps_the_applications_rows(past: str) -> None:
    rows = {table: rows_of(past, table) for table in ("content", "pastes")}
    with admin(past) as connection:
        connection.execute("drop schema reaper cascade")
    migrate(past)
    assert plan(past).empty
    assert column(past, "select invariant from reaper.check_invariants()") == []
    for table, before in rows.items():
        assert [row[: len(before[0])] for row in rows_of(past, table)] == before

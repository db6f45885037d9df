"""The page on writing is true: its SQL runs as it stands there, with no more rights than it says."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg.rows import dict_row

from reaper.cache.redis.key_names import TOMBSTONES
from reaper.errors import by_sqlstate
from tests.support.paste_fixtures import Connection, codes, refs, value
from tests.support.writer_fixtures import owed

PAGE = Path(__file__).parents[2] / "docs" / "writing.md"


class Psql:
    """Runs statements as psql does: \\gset keeps a row's columns, :'name' gives one back."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._kept: dict[str, Any] = {}

    def run(self, block: str) -> list[list[dict[str, Any]]]:
        """The rows of each statement of a block."""
        return [self._one(*statement) for statement in statements(block)]

    def _one(self, text: str, keep: bool) -> list[dict[str, Any]]:
        for name, kept in self._kept.items():
            text = text.replace(f":'{name}'", f"'{kept}'")
        cursor = self._connection.cursor(row_factory=dict_row)
        cursor.execute(text.encode())
        rows = cursor.fetchall() if cursor.description else []
        if keep:
            self._kept.update(rows[0])
        return rows


def statements(block: str) -> Iterator[tuple[str, bool]]:
    """Each statement, and whether it ends with \\gset."""
    code = re.sub(r"--.*", "", block)
    for text, end in re.findall(r"(.+?)(;|\\gset)\s*(?:\n|$)", code, re.DOTALL):
        yield text, end == r"\gset"


def blocks(heading: str) -> list[str]:
    """The SQL under a heading of the page; the part before the first one has the empty heading."""
    page = "## \n" + PAGE.read_text()
    parts = dict(re.findall(r"^## (.*?)\n(.+?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    return re.findall(r"```sql\n(.+?)```", parts[heading], re.DOTALL)


@pytest.fixture
def psql(checked_db: Connection) -> Iterator[Psql]:
    """As the login that the page makes."""
    for block in blocks(""):
        Psql(checked_db).run(block)
    checked_db.execute("set role paste_service")
    yield Psql(checked_db)
    checked_db.execute("reset role; drop role paste_service")


def test_the_page_has_one_complete_put_get_extend_and_delete(db, psql):
    begin, commit, give_up = blocks("A put")
    psql.run(begin)
    [[committed]] = psql.run(commit)
    assert committed["stored"] is True
    assert committed["object_key"].startswith("9f/9f86d081")
    psql.run(give_up)

    [block] = blocks("Read, extend, delete")
    [paste], [copy], [extended], [deleted] = psql.run(block)
    assert paste["object_key"] == copy["object_key"] == committed["object_key"]
    assert paste["remaining"].days == 6
    assert extended == {"extend_paste": True}
    assert deleted == {"delete_paste": True}
    db.execute("reset role")
    assert codes(db) == {"Xy7"}
    assert [entry.passes_left for entry in owed(db)] == [2]


def test_who_writes_the_tables_directly_finds_the_count_right(db, paste):
    insert, delete = blocks("If you write the tables yourself")
    Psql(db).run(insert)
    assert refs(db, "h1") == 1
    paste("other", content="h1", expires="1 day")
    Psql(db).run(delete)
    assert refs(db, "h1") == 1
    assert codes(db) == {"other"}


def test_every_sqlstate_that_a_door_raises_is_on_the_page(db):
    sources = value(
        db,
        "select string_agg(p.prosrc, '') from pg_proc p"
        " where p.pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)"
        "   and p.proname = any (array['begin_put', 'commit_put', 'abort_put', 'get_paste', 'copies_of',"
        "       'delete_paste', 'extend_paste', 'finish_put', 'add_reference', 'require_bytes',"
        "       'require_put', 'require_expiry', 'require_read_committed', 'raise_code_taken',"
        "       'raise_no_room'])",
    )
    raised = set(re.findall(r"'(RP\d{3})'", sources))
    table = set(re.findall(r"`(RP\d{3})`", PAGE.read_text()))
    assert raised == table
    assert all(by_sqlstate(state).sqlstate == state for state in raised)


def test_the_page_names_what_there_is(db):
    """What is renamed is renamed there too."""
    page = PAGE.read_text()
    assert TOMBSTONES in page
    for name in ("reaper.invalidations", "reaper.clock", "reaper_app", "settings.intent_min_age"):
        assert name in page
    assert value(db, "select 'reaper.invalidations'::regclass, intent_min_age from reaper.settings")

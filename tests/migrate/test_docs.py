"""The SQL reference is the catalogue's own words."""

import re
from typing import Any

import psycopg

from tests.support.paste_fixtures import column
from tools import sql_docs


def test_the_sql_reference_is_current(db: psycopg.Connection[Any]) -> None:
    assert sql_docs.PAGE.read_text() == sql_docs.render(db), "run .venv/bin/python tools/sql_docs.py"


def test_every_link_of_the_contents_leads_to_one_heading() -> None:
    page = sql_docs.PAGE.read_text()
    links = re.findall(r"\]\(#([^)]+)\)", page)
    # As a code host makes them.
    anchors = [
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^##+ (.+)$", page, re.MULTILINE)
    ]
    assert sorted(links) == sorted(set(anchors) - {"contents"})
    assert len(set(anchors)) == len(anchors)


def test_the_reference_names_no_function_that_nobody_may_call(db: psycopg.Connection[Any]) -> None:
    internal = column(db, "select proname from pg_proc where pronamespace = 'reaper_internal'::regnamespace")
    assert internal
    assert set(internal) & set(re.findall(r"^### (\w+)$", sql_docs.PAGE.read_text(), re.MULTILINE)) == set()

"""The SQL reference is the catalogue's own words."""

from typing import Any

import psycopg

from tools import sql_docs


def test_the_sql_reference_is_current(db: psycopg.Connection[Any]) -> None:
    assert sql_docs.PAGE.read_text() == sql_docs.render(db), "run .venv/bin/python tools/sql_docs.py"

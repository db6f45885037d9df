"""The fixtures that all other tests stand on."""

from typing import Any

import psycopg
import pytest


def test_each_test_has_a_database_of_its_own(db: psycopg.Connection[Any], dsn: str) -> None:
    db.execute("create table only_here ()")
    with psycopg.connect(dsn) as other:
        other.execute("table only_here")


@pytest.mark.parametrize("_again", [1, 2])
def test_what_a_test_leaves_behind_is_not_there_for_the_next(
    db: psycopg.Connection[Any], _again: int
) -> None:
    db.execute("create table left_behind ()")


def test_further_connections_see_the_same_database_and_commit_by_themselves(
    db: psycopg.Connection[Any], connect: Any
) -> None:
    connect().execute("create table made_elsewhere ()")
    db.execute("table made_elsewhere")


def test_a_further_connection_can_be_another_user(db: psycopg.Connection[Any], connect: Any) -> None:
    db.execute("create role somebody_else login")
    try:
        other = connect(user="somebody_else")
        assert other.execute("select current_user").fetchone() == ("somebody_else",)
    finally:
        db.execute("drop role somebody_else")


def test_an_empty_database_has_no_tables(empty_db_dsn: str) -> None:
    with psycopg.connect(empty_db_dsn) as connection:
        tables = connection.execute("select * from pg_tables where schemaname = 'public'")
        assert tables.fetchall() == []

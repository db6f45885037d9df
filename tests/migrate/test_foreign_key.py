"""The foreign key from pastes to content: RESTRICT where reaper makes it, untouched where it was there."""

from __future__ import annotations

import psycopg
import pytest

from reaper.migrate import migrate, plan
from reaper.migrate.step import Kind
from tests.support.migrate.existing_application import FOREIGN_KEY, build
from tests.support.migrate.release_folder import admin

LINKS = """
    select conname, confdeltype::text, convalidated from pg_constraint
     where contype = 'f' and conrelid = 'pastes'::regclass and confrelid = 'content'::regclass
"""
RESTRICT = ("pastes_content_hash_fkey", "r", True)


def links(dsn: str) -> list[tuple[str, str, bool]]:
    with admin(dsn) as connection:
        return connection.execute(LINKS).fetchall()


def test_tables_that_reaper_creates_restrict_from_the_first_moment(empty_db_dsn: str) -> None:
    migrate(empty_db_dsn, to="0002")
    assert links(empty_db_dsn) == [RESTRICT]
    migrate(empty_db_dsn)
    assert links(empty_db_dsn) == [RESTRICT]


def test_adopted_tables_without_a_key_get_one_that_restricts_and_is_validated_in_a_step_of_its_own(
    empty_db_dsn: str,
) -> None:
    build(empty_db_dsn)
    steps = [step for step in plan(empty_db_dsn).steps if step.kind is Kind.PREPARE_TABLE]
    [adding] = [
        step for step in steps if any("on delete restrict not valid" in s.text for s in step.statements)
    ]
    [checking] = [step for step in steps if any("validate constraint" in s.text for s in step.statements)]
    assert steps.index(adding) < steps.index(checking)
    assert "SHARE UPDATE EXCLUSIVE" in checking.locks
    migrate(empty_db_dsn)
    assert links(empty_db_dsn) == [RESTRICT]
    with admin(empty_db_dsn) as connection, pytest.raises(psycopg.errors.IntegrityError):
        connection.execute("delete from content where content_hash in (select content_hash from pastes)")


def test_the_key_that_reaper_gave_to_an_application_goes_with_reaper(empty_db_dsn: str) -> None:
    build(empty_db_dsn)
    migrate(empty_db_dsn)
    migrate(empty_db_dsn, to="base")
    assert links(empty_db_dsn) == []


OWN = {
    "no action": "",
    "restrict": " on delete restrict",
    "deferrable": " deferrable",
    "cascading updates": " on update cascade",
    "unvalidated": " not valid",
}


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("name", ["content_of_paste", "pastes_content_hash_fkey"])
@pytest.mark.parametrize("action", OWN.values(), ids=OWN)
def test_a_foreign_key_of_the_applications_own_keeps_its_name_and_action_up_and_down(
    empty_db_dsn: str, action: str, name: str
) -> None:
    build(empty_db_dsn, FOREIGN_KEY.replace("content_of_paste", name).rstrip().rstrip(";") + action)
    [(_, deleting, _)] = links(empty_db_dsn)
    migrate(empty_db_dsn)
    assert links(empty_db_dsn) == [(name, deleting, True)]
    migrate(empty_db_dsn, to="base")
    assert links(empty_db_dsn) == [(name, deleting, True)]

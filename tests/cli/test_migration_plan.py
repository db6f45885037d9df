"""`reaper migrate --plan` as a person reads it: which tables, what happens to each, and which steps."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import pytest

from reaper.migrate import migrate
from tests.cli.conftest import Run
from tests.support import terminal
from tests.support.migrate import existing_application
from tests.support.migrate.release_folder import admin

ENTRY = "from reaper.cli import main; main()"
OTHERS = """
    create schema app;
    create table app.blobs (content_hash varchar(64) primary key, ref_count bigint not null, object_key text);
    create table app.docs (code text primary key, content_hash varchar(64) not null, expires_at timestamptz);
"""
REBIND = ("--bind", "pastes=app.docs", "--bind", "pastes.short_code=code", "--bind", "content=app.blobs")
Shown = Callable[..., str]


@pytest.fixture
def piped(bare_run: Run) -> Shown:
    """What a pipe gets."""

    def plan(dsn: str, *arguments: str) -> str:
        done = bare_run("migrate", "--plan", *arguments, REAPER_DATABASE_URL=dsn)
        assert (done.code, done.err) == (0, "")
        return done.out

    return plan


def at_terminal(dsn: str, width: int, *arguments: str) -> str:
    """What a person sees, without colours."""
    command = [sys.executable, "-c", ENTRY, "migrate", "--plan", *arguments]
    shown = terminal.shown(command, width=width, variables={"REAPER_DATABASE_URL": dsn})
    return re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r", "")


def about(shown: str, table: str) -> list[str]:
    """What is said of one table."""
    block = shown.split(f"{table}\n", 1)[1]
    return [line.strip() for line in re.match(r"(    .*\n)*", block)[0].splitlines()]  # type: ignore[index]


def test_a_fresh_database_is_told_that_its_tables_will_be_created(empty_db_dsn: str, piped: Shown) -> None:
    shown = piped(empty_db_dsn)
    assert about(shown, "public.pastes") == ["created, empty, as pastes: no table of yours is bound"]
    assert about(shown, "public.content") == ["created, empty, as content: no table of yours is bound"]


def test_code_is_counted_by_folder_and_named_file_by_file_in_json(
    empty_db_dsn: str, piped: Shown, bare_run: Run
) -> None:
    shown = piped(empty_db_dsn)
    assert re.search(r"^    load functions: backends=\d+, binding=\d+, ", shown, re.MULTILINE)
    assert re.search(r"^    load views: \d+$", shown, re.MULTILINE)
    assert ".sql" not in shown
    assert shown.count("\n") < 60
    made = bare_run("migrate", "--plan", "--json", REAPER_DATABASE_URL=empty_db_dsn).json
    [code] = [step for step in made["steps"] if step["kind"] == "load_code"]
    assert "functions/expiry/claim_expired.sql" in code["names"]
    assert [note["table"] for note in made["tables"]] == ["public.pastes", "public.content"]


def test_a_few_files_of_code_are_named(dsn: str, piped: Shown) -> None:
    with admin(dsn) as connection:
        connection.execute("update reaper.code_files set sha256 = '' where path like 'functions/clock/%'")
    assert "\n    load functions/clock/clock.sql\n" in piped(dsn)


def test_an_application_is_told_what_its_tables_get_and_that_nothing_is_deleted_yet(
    empty_db_dsn: str, piped: Shown
) -> None:
    existing_application.build(empty_db_dsn)
    shown = piped(empty_db_dsn)
    assert about(shown, "public.pastes") == [
        "your table, bound as pastes: rows and columns stay as they are",
        "gets the columns created_at, deletion_status, deletion_initiated_at",
        "gets the constraints pastes_deletion_status_check, pastes_content_hash_fkey",
        "gets the indexes reaper_pastes_content, reaper_pastes_due",
        "the scheduled drain deletes nothing from it before: reaper service enable drain",
    ]
    assert about(shown, "public.content") == [
        "your table, bound as content: rows and columns stay as they are",
        "gets the columns object_key, size_bytes, created_at",
        "gets the index reaper_content_object_key",
        "gets the trigger reaper_retired_key",
    ]


def test_another_binding_and_a_rollback_say_what_becomes_of_both(empty_db_dsn: str, piped: Shown) -> None:
    existing_application.build(empty_db_dsn, OTHERS)
    migrate(empty_db_dsn)
    assert about(piped(empty_db_dsn), "public.pastes") == ["bound as pastes", "has all that reaper needs"]
    first, *_ = about(piped(empty_db_dsn, *REBIND), "app.docs")
    assert first == "bound as pastes instead of public.pastes, whose rows and columns stay"
    assert about(piped(empty_db_dsn, "--to", "base"), "public.content") == [
        "yours, with all rows: stays; only what reaper added to it is dropped"
    ]
    assert about(piped(empty_db_dsn, "--to", "0005"), "public.content") == [
        "stays bound as content: rows and columns are not changed"
    ]


def test_a_rollback_drops_tables_that_reaper_created(dsn: str, piped: Shown) -> None:
    assert about(piped(dsn, "--to", "base"), "public.pastes") == ["created by reaper, empty: dropped"]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("width", [80, 140])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_cut(empty_db_dsn: str, width: int) -> None:
    shown = at_terminal(empty_db_dsn, width)
    assert max(map(len, shown.splitlines())) <= width
    assert ("what it does" in shown) == (width == 140)
    for word in ("0004.workers-and-batches:", "reaper_internal", "unreferenced="):
        assert word in shown

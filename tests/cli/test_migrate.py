"""The command `reaper migrate` as a person or a script meets it."""

from __future__ import annotations

import sys
from pathlib import Path

import psycopg
import pytest

from tests.cli.conftest import Run
from tests.support import terminal

ENTRY = "from reaper.cli import main; main()"


@pytest.fixture
def migrate(bare_run: Run, empty_db_dsn: str) -> Run:
    """`reaper migrate` on an empty database."""
    return lambda *arguments: bare_run("migrate", *arguments, REAPER_DATABASE_URL=empty_db_dsn)


def test_migrate_says_what_it_does_and_the_second_time_that_there_is_nothing_to_do(migrate: Run) -> None:
    first = migrate()
    assert (first.code, first.err) == (0, "")
    assert "applying 0001." in first.out
    assert "the schema is now at" in first.out
    second = migrate()
    assert second.code == 0
    assert second.out.count("\n") == 1
    assert "nothing was changed" in second.out


def test_plan_as_text_and_as_json(migrate: Run) -> None:
    text = migrate("--plan").out
    assert "apply 0001." in text
    assert "    locks: " in text
    made = migrate("--plan", "--json").json
    [first, *_] = [step for step in made["steps"] if step["kind"] == "apply"]
    assert first["names"][0].startswith("0001.")
    assert made["empty"] is False


def test_the_report_as_json_is_all_that_stdout_gets(migrate: Run) -> None:
    assert migrate("--json").json["changed"] is True


def test_the_sql_goes_to_stdout_with_the_locks_of_each_step(migrate: Run) -> None:
    done = migrate("--sql")
    assert done.code == 0
    assert "\nbegin;\nset local lock_timeout = '100ms';\n" in done.out
    assert "-- locks: " in done.out


def test_back_to_base_says_what_was_left_alone(bare_run: Run, dsn: str) -> None:
    done = bare_run("migrate", "--to", "base", REAPER_DATABASE_URL=dsn)
    assert done.code == 0
    assert "note: schema procrastinate is kept" in done.out
    assert "the schema is now at base" in done.out


def test_a_missing_address_is_a_configuration_error_that_says_what_to_set(bare_run: Run) -> None:
    done = bare_run("migrate")
    assert done.code == 4
    assert done.err.startswith("reaper: REAPER_DATABASE_URL is not set\n")


def test_a_dotenv_file_is_read_and_other_commands_settings_do_not_matter(
    bare_run: Run, dsn: str, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text(f"REAPER_DATABASE_URL={dsn}\nREAPER_BATCH_SIZE=many\n")
    done = bare_run("migrate")
    assert (done.code, done.err) == (0, "")


def test_an_unreachable_server_has_its_own_exit_code_and_no_traceback(bare_run: Run) -> None:
    done = bare_run("migrate", REAPER_DATABASE_URL="postgresql://me:s3cret@/db?host=/nowhere")
    assert done.code == 5
    assert "cannot connect to the database" in done.err
    assert "Traceback" not in done.err
    assert "s3cret" not in done.err


def test_an_unknown_target_is_refused_with_the_known_ones(bare_run: Run, dsn: str) -> None:
    done = bare_run("migrate", "--to", "0999", REAPER_DATABASE_URL=dsn)
    assert done.code == 4
    assert "unknown migration '0999'" in done.err
    assert "base, 0001." in done.err


@pytest.mark.parametrize("arguments", [["--plan", "--sql"], ["--sql", "--json"], ["--nonsense"]])
def test_wrong_usage_has_exit_code_2(bare_run: Run, arguments: list[str]) -> None:
    assert bare_run("migrate", *arguments, REAPER_DATABASE_URL="dbname=x").code == 2


def test_help_teaches_and_version_is_one_line(bare_run: Run) -> None:
    text = bare_run("migrate", "--help").out
    for words in ("reaper migrate --sql > review.sql", "REAPER_DATABASE_URL", "base"):
        assert words in text
    assert bare_run("--version").out.startswith("reaper ")


def test_a_person_at_a_terminal_gets_the_plan_as_a_table(empty_db_dsn: str) -> None:
    """The one test here in a process of its own, in which a warning of any import would be an error."""
    command = [sys.executable, "-W", "error", "-c", ENTRY, "migrate", "--plan"]
    assert "what it does" in terminal.shown(command, variables={"REAPER_DATABASE_URL": empty_db_dsn})


OTHER_NAMES = """
    create schema app;
    create table app.blobs (sha text primary key, refs int not null);
    create table app.documents (id text primary key, sha text not null, dies_at timestamptz);
"""
FILE = """
[tables.pastes]
table = "app.documents"
short_code = "id"
content_hash = "sha"
expires_at = "dies_at"
[tables.content]
table = "app.blobs"
content_hash = "sha"
ref_count = "refs"
"""
CONSTRAINTS = ("documents_deletion_status_check", "documents_content_hash_fkey")
OPTIONS = [
    *(
        "--bind",
        "pastes=app.documents",
        "--bind",
        "pastes.short_code=id",
        "--bind",
        "pastes.content_hash=sha",
    ),
    *("--bind", "pastes.expires_at=dies_at", "--bind", "content=app.blobs"),
    *("--bind", "content.content_hash=sha", "--bind", "content.ref_count=refs"),
]


@pytest.fixture
def documents(empty_db_dsn: str) -> str:
    """An application with tables of other names."""
    with psycopg.connect(empty_db_dsn, autocommit=True) as connection:
        connection.execute(OTHER_NAMES)
    return empty_db_dsn


def test_tables_of_other_names_are_asked_for_instead_of_doubled(migrate: Run, documents: str) -> None:
    done = migrate()
    assert done.code == 4
    assert "app.blobs (refs); app.documents (dies_at)" in done.err
    assert "--create-tables" in done.err
    with psycopg.connect(documents) as connection:
        assert connection.execute("select to_regclass('public.pastes')").fetchone() == (None,)


@pytest.mark.usefixtures("documents")
@pytest.mark.parametrize("by", ["file", "options"])
def test_tables_of_other_names_are_bound_by_the_file_or_by_options(
    migrate: Run, tmp_path: Path, by: str
) -> None:
    if by == "file":
        (tmp_path / "reaper.toml").write_text(FILE)
    options = OPTIONS if by == "options" else []
    assert "app.documents" in migrate("--plan", *options).out
    assert "alter table app.documents" in migrate("--sql", *options).out
    assert migrate(*options).code == 0
    assert "nothing was changed" in migrate().out


@pytest.mark.usefixtures("documents")
def test_what_was_added_to_tables_of_the_application_is_listed(migrate: Run) -> None:
    plan = migrate("--plan", *OPTIONS).out
    lines = migrate(*OPTIONS).out.splitlines()
    added = [line for line in lines if line.startswith("added to ")]
    assert added == [
        "added to app.documents: the columns created_at, deletion_status, deletion_initiated_at",
        f"added to app.documents: the constraints {', '.join(CONSTRAINTS)}",
        "added to app.documents: the indexes reaper_documents_content, reaper_documents_due",
        "added to app.blobs: the columns object_key, size_bytes, created_at",
        "added to app.blobs: the index reaper_blobs_object_key",
        "added to app.blobs: the trigger reaper_retired_key",
    ]
    assert all(f"gets {line.partition(': ')[2]}" in plan for line in added)
    assert "added" not in migrate().out


@pytest.mark.usefixtures("documents")
def test_what_was_added_comes_as_json_by_table_and_kind(migrate: Run) -> None:
    added = migrate("--json", *OPTIONS).json["added"]
    assert {"table": "app.blobs", "kind": "trigger", "names": ["reaper_retired_key"]} in added
    assert migrate("--json").json["added"] == []


def test_tables_that_reaper_created_itself_are_no_additions(migrate: Run) -> None:
    assert "added to " not in migrate().out


def test_a_misspelt_binding_is_a_configuration_error(migrate: Run) -> None:
    done = migrate("--bind", "pastes.expire=x")
    assert done.code == 4
    assert "--bind pastes.expire is not known; did you mean expires_at?" in done.err


def test_without_a_database_the_sql_is_that_of_a_fresh_installation(bare_run: Run) -> None:
    done = bare_run("migrate", "--sql")
    assert (done.code, done.err) == (0, "")
    assert "create table if not exists reaper.batches" in done.out
    assert bare_run("migrate", "--plan").code == 4

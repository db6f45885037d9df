"""`reaper doctor` on the command line; what damage it names is in tests/reliability/detectors."""

from datetime import timedelta
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from reaper.ops import doctor
from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection


def verdicts(run: Run, *arguments: str, **variables: str) -> dict[str, str]:
    done = run("doctor", "--json", *arguments, **variables)
    found = {d["name"]: d["verdict"] for d in done.json}
    assert done.code == (1 if "fail" in found.values() else 0)
    assert all(d["fix"] for d in done.json if d["verdict"] == "fail")
    return found


def test_a_worker_in_a_good_system_has_nothing_to_complain_of(run: Run, worker_dsn: str) -> None:
    found = verdicts(run, "--database-url", worker_dsn)
    # The test server is not durable, and neither a worker nor reaper_owner sees what others run.
    assert {name for name, verdict in found.items() if verdict != "ok"} == {
        "durable commits",
        "old snapshots",
        "throttle",
    }
    assert {"login", "schema", "code", "grants", "clock", "bucket default", "cache"} <= found.keys()


def test_doctor_prints_what_to_do(run: Run, db: Connection) -> None:
    db.execute("update reaper.settings set clock_may_move = true")
    done = run("doctor")
    assert done.code == 1
    assert "fail  clock" in done.out
    assert "→ Run as the owner: update reaper.settings set clock_may_move = false" in done.out


def test_a_body_that_was_changed_by_hand_is_noticed_and_named(run: Run, db: Connection) -> None:
    body = db.execute("select pg_get_functiondef('reaper.count_due'::regproc)").fetchone()
    assert body is not None
    db.execute(body[0].replace("DELETION_IN_PROGRESS", "DELETED"))
    done = run("doctor")
    assert done.code == 1
    assert "differs from this release: count_due" in done.out


def test_comparing_the_code_leaves_nothing_behind(run: Run, db: Connection) -> None:
    before = db.execute("select count(*) from pg_proc").fetchone()
    verdicts(run)
    assert db.execute("select count(*) from pg_proc").fetchone() == before


def test_an_older_schema_is_the_one_thing_that_is_said_about_the_database(run: Run, db: Connection) -> None:
    db.execute("delete from reaper.migration_files where id = (select max(id) from reaper.migration_files)")
    found = verdicts(run)
    assert found["schema"] == "fail"
    assert "code" not in found
    assert found["bucket default"] == "ok"


def test_a_login_without_any_role_is_told_what_it_needs(run: Run, db: Connection, dsn: str) -> None:
    db.execute("create role stranger login")
    try:
        found = verdicts(run, "--database-url", make_conninfo(dsn, user="stranger"))
    finally:
        db.execute("drop role stranger")
    assert (found["login"], found["schema"]) == ("fail", "fail")


def test_an_old_transaction_is_named_with_its_session(
    run: Run, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinning = connect(autocommit=False, application_name="pinning")
    pinning.execute("select 1")
    assert verdicts(run)["old snapshots"] == "ok"
    monkeypatch.setattr(doctor, "_OLD", timedelta(0))
    assert verdicts(run)["old snapshots"] == "warn"
    assert f"select pg_terminate_backend({pinning.info.backend_pid})" in run("doctor").out


def test_a_bucket_that_is_missing_and_a_cache_that_is_away_fail(run: Run) -> None:
    found = verdicts(run, REAPER_S3_BUCKET="no-such-bucket", REAPER_REDIS_URL="redis://127.0.0.1:1/0")
    assert (found["bucket default"], found["cache"]) == ("fail", "fail")


def test_what_the_verdict_calls_attention_fails_here_too(run: Run, db: Connection) -> None:
    assert (run("status").code, run("doctor").code) == (0, 0)
    away = {"REAPER_REDIS_URL": "redis://127.0.0.1:1/0"}
    db.execute("select reaper.heartbeat('w', p_degraded => '{\"redis\": \"refused\"}')")
    assert (run("status").code, run("doctor", **away).code) == (1, 1)
    db.execute("select reaper.heartbeat('w', p_degraded => '{}')")
    db.execute("update reaper.settings set circuit_failures = 1")
    db.execute("select reaper.record_backend_failure('default', 'no connection')")
    assert (run("status").code, run("doctor").code) == (1, 1)


def test_services_that_are_not_configured_are_a_warning(bare_run: Run, dsn: str) -> None:
    found = verdicts(bare_run, REAPER_DATABASE_URL=dsn)
    assert (found["bucket"], found["cache"]) == ("warn", "warn")


def test_a_versioned_bucket_is_a_warning(run: Run, bucket: Any) -> None:
    bucket.Versioning().enable()
    done = run("doctor")
    assert done.code == 0
    assert "warn  bucket default" in done.out
    assert "the bucket is versioned" in done.out


def test_a_probe_writes_and_deletes_and_only_when_it_is_asked_for(run: Run, bucket: Any) -> None:
    bucket.Versioning().enable()
    assert "bucket default, probe" not in verdicts(run)
    assert list(bucket.object_versions.all()) == []
    assert verdicts(run, "--probe")["bucket default, probe"] == "ok"
    assert list(bucket.object_versions.all()) == []


def test_a_backend_that_is_left_alone_is_named(run: Run, db: Connection) -> None:
    db.execute("update reaper.settings set circuit_failures = 1")
    db.execute("select reaper.record_backend_failure('default', 'no connection')")
    assert verdicts(run)["circuit default"] == "fail"
    assert "open: no connection" in run("doctor").out


def test_a_backend_that_is_not_configured_here_is_named(run: Run, db: Connection) -> None:
    assert verdicts(run)["backends"] == "ok"
    db.execute("select reaper.register_backend('cold')")
    assert verdicts(run)["backend cold"] == "warn"

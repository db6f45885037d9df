"""`reaper verify` with several backends: each is looked at, and one that is not is no silence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reaper.dev.embedded import Moto, Valkey
from reaper.ops import verify
from tests.cli.conftest import Outcome, Run
from tests.support.paste_fixtures import Connection

Verify = Callable[..., Outcome]
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _no_writer_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "GRACE", 0.0)


@pytest.fixture
def cold(bucket: Any, buckets: Any) -> Any:
    """The bucket of the second backend."""
    made = buckets.Bucket(f"{bucket.name}-cold")
    made.create()
    return made


@pytest.fixture
def look(
    bare_run: Run, dsn: str, bucket: Any, cold: Any, moto: Moto, valkey: Valkey, entries: Any, tmp_path: Path
) -> Verify:
    """Verifies with two backends, or with the address that is given for the second."""
    entries.flushall()

    def run(*arguments: str, endpoint: str = moto.endpoint_url) -> Outcome:
        (tmp_path / "reaper.toml").write_text(
            f'[backends.default]\nbucket = "{bucket.name}"\nendpoint_url = "{moto.endpoint_url}"\n'
            f'[backends.cold]\nbucket = "{cold.name}"\nendpoint_url = "{endpoint}"\n'
        )
        return bare_run(
            *("verify", *arguments),
            REAPER_DATABASE_URL=dsn,
            REAPER_REDIS_URL=valkey.url,
            REAPER_CACHE_KEY="paste:{short_code}",
        )

    return run


@pytest.fixture
def stored(checked_db: Connection, bucket: Any, cold: Any) -> dict[str, str]:
    """Two pastes that came through the doors, one on each backend; their keys."""
    keys = {}
    for backend, place in (("default", bucket), ("cold", cold)):
        checked_db.execute("select reaper.register_backend('cold')")
        checked_db.execute("select reaper.set_backend_state(%s, 'active', 'test')", [backend])
        other = "cold" if backend == "default" else "default"
        checked_db.execute("select reaper.set_backend_state(%s, 'readonly', 'test')", [other])
        row = checked_db.execute(
            "select intent_id, object_key from reaper.begin_put(%s, %s, 10, null)",
            [f"on {backend}", f"hash {backend}"],
        ).fetchone()
        assert row is not None
        place.put_object(Key=row[1], Body=b"0123456789")
        checked_db.execute("select reaper.commit_put(%s, true)", [row[0]])
        keys[backend] = row[1]
    return keys


@pytest.mark.usefixtures("stored")
def test_every_backend_is_looked_at(look: Verify) -> None:
    done = look()
    assert done.code == 0, done.out
    assert "2 objects, 2 copies" in done.out


def test_what_is_missing_or_strange_is_named_with_its_backend(
    look: Verify, cold: Any, stored: dict[str, str]
) -> None:
    cold.Object(stored["cold"]).delete()
    cold.put_object(Key="strange", Body=b"x")
    found = look("--json").json
    assert found["counts"] == {"missing object": 1, "orphan object": 1}
    assert {finding["subject"] for finding in found["findings"]} == {
        f"{stored['cold']} on cold",
        "strange on cold",
    }
    assert found["lost"][0]["backend"] == "cold"


def test_the_same_key_on_another_backend_is_an_orphan(
    look: Verify, bucket: Any, stored: dict[str, str]
) -> None:
    bucket.put_object(Key=stored["cold"], Body=b"0123456789")
    assert look("--json").json["counts"] == {"orphan object": 1}


@pytest.mark.usefixtures("stored")
def test_a_backend_that_is_away_is_a_finding_and_the_others_are_compared(look: Verify, bucket: Any) -> None:
    bucket.put_object(Key="strange", Body=b"x")
    done = look("--json", endpoint=NOWHERE)
    assert done.code == 1
    assert done.json["counts"] == {"unchecked backend": 1, "orphan object": 1}


@pytest.mark.usefixtures("stored")
def test_a_backend_in_use_that_is_not_configured_is_a_finding(
    bare_run: Run, dsn: str, bucket: Any, moto: Moto
) -> None:
    done = bare_run(
        *("verify", "--json"),
        REAPER_DATABASE_URL=dsn,
        REAPER_S3_BUCKET=bucket.name,
        REAPER_S3_ENDPOINT_URL=moto.endpoint_url,
    )
    assert done.code == 1
    (finding,) = done.json["findings"]
    assert (finding["subject"], finding["kind"]) == ("cold", "unchecked backend")
    assert "not configured here" in finding["detail"]


@pytest.mark.usefixtures("stored")
def test_an_upload_under_way_is_no_orphan_and_what_is_owed_is_counted(
    look: Verify, checked_db: Connection, cold: Any
) -> None:
    row = checked_db.execute(
        "select object_key, backend from reaper.begin_put('new', 'new', 3, null)"
    ).fetchone()
    assert row is not None
    assert row[1] == "cold"
    cold.put_object(Key=row[0], Body=b"new")
    done = look("--json")
    assert (done.code, done.json["seen"]["puts in progress"]) == (0, 1), done.out


def test_a_copy_that_is_missing_is_named_with_the_backends_of_the_others(
    checked_db: Connection, look: Verify, bucket: Any, cold: Any, stored: dict[str, str]
) -> None:
    bucket.put_object(Key="second copy", Body=b"0123456789")
    checked_db.execute(
        "insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)"
        " values ('hash cold', 'default', 'second copy', 10, now())"
    )
    checked_db.execute("insert into reaper.byte_deltas (backend, used_bytes) values ('default', 10)")
    cold.Object(stored["cold"]).delete()
    done = look()
    assert done.code == 1, done.out
    assert "hash cold, the content of 1 live pastes (on cold); other copies lie on default" in done.out

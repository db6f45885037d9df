"""`reaper backend drain …`, `reaper copies` and `reaper rebalance`, as an operator uses them."""

from pathlib import Path
from typing import Any

import pytest

from reaper.dev.embedded import Moto
from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection, value

DATA = b"0123456789"
PUT = """
select b.backend, b.object_key, reaper.commit_put(b.intent_id, true)
  from reaper.begin_put(%s, encode(sha256(%s), 'hex'), 10, reaper.clock() + interval '1 day') as b
"""


@pytest.fixture
def two(
    run: Run, bucket: Any, buckets: Any, moto: Moto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """A second backend, and how a command is run that knows both."""
    other = buckets.Bucket(f"{bucket.name}-east")
    other.create()
    for name in ("REAPER_S3_BUCKET", "REAPER_S3_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    config = "".join(
        f'[backends.{name}]\nbucket = "{each.name}"\nendpoint_url = "{moto.endpoint_url}"\nquota = "1 GB"\n'
        for name, each in (("default", bucket), ("east", other))
    )
    (tmp_path / "reaper.toml").write_text(config)
    assert run("service", "run", "replicator", "--here").code == 0
    return other


def put(db: Connection, bucket: Any, code: str = "one") -> str:
    """A paste on default; its hash."""
    db.execute("select reaper.set_backend_state('east', 'readonly', 'for a test')")
    [(_, key, _)] = db.execute(PUT, [code, DATA]).fetchall()
    bucket.put_object(Key=key, Body=DATA)
    db.execute("select reaper.set_backend_state('east', 'active', 'for a test')")
    return str(value(db, "select content_hash from pastes where short_code = %s", code))


def keys(bucket: Any) -> set[str]:
    return {found.key for found in bucket.objects.all() if not found.key.startswith(".reaper/")}


def test_a_backend_is_drained_and_removed_and_not_before(
    run: Run, db: Connection, bucket: Any, two: Any
) -> None:
    content = put(db, bucket)
    db.execute("select reaper.set_backend_state('default', 'readonly', 'for a test')")
    refused = run("backend", "remove", "default", "--reason", "too early")
    assert refused.code == 4
    done = run("backend", "drain", "default", "--reason", "the contract ends")
    assert done.out.splitlines() == [
        "backend default is draining",
        "left there: 1 copies (10 bytes)",
    ]
    listed = run("backend", "list")
    assert "draining" in listed.out
    assert "left there: 1 copies" in listed.out
    [refusal, _] = run("backend", "remove", "default", "--reason", "still too early").complaint
    assert "is not empty" in refusal
    assert run("service", "run", "replicator", "--here").code == 0
    db.execute("update reaper.settings set clock_may_move = true, clock_offset = interval '1 hour'")
    assert run("service", "run", "cleanup_queue", "--here").code == 0
    assert (keys(bucket), len(keys(two))) == (set(), 1)
    assert run("copies", content).out.splitlines()[1].split()[:3] == ["copy", "east", "good"]
    [default, east] = run("backend", "list", "--json").json
    assert (default["remains"], east["remains"]) == ([], None)
    done = run("backend", "remove", "default", "--reason", "empty")
    assert done.out == "backend default is removed\n"
    assert "it is still configured here: take it out of reaper.toml" in done.err
    assert run("backend", "list", "--json").json[0]["name"] == "east"


def test_a_backend_with_an_open_upload_in_parts_is_not_removed(run: Run, db: Connection, two: Any) -> None:
    upload = two.Object("half/a-key").initiate_multipart_upload()
    db.execute("select reaper.set_backend_state('east', 'draining', 'for a test')")
    done = run("backend", "remove", "east", "--reason", "empty")
    assert done.code == 4
    assert "1 uploads in parts that are open, such as that of half/a-key" in done.complaint[0]
    assert value(db, "select count(*) from reaper.backends where name = 'east'") == 1
    done = run("backend", "remove", "east", "--reason", "empty", "--abort-uploads")
    assert done.out.splitlines()[0].startswith("aborted the upload in parts of half/a-key, begun 20")
    assert done.out.splitlines()[1:] == ["backend east is removed"]
    assert list(two.multipart_uploads.all()) == []
    assert upload.id


@pytest.mark.usefixtures("two")
def test_copies_of_a_content_are_shown_with_what_is_wrong_and_wanted(
    run: Run, db: Connection, bucket: Any
) -> None:
    content = put(db, bucket)
    db.execute("update reaper.settings set replication_factor = 2")
    assert run("service", "run", "replicator", "--here").code == 0
    [here, there] = run("copies", content, "--json").json
    assert {here["backend"], there["backend"]} == {"default", "east"}
    assert here["verified_at"] is not None
    db.execute(
        "select reaper.report_copy(%s, 'east', object_key, 'missing', 'nobody has it')"
        "  from reaper.object_locations where backend = 'east'",
        [content],
    )
    done = run("copies", content)
    assert done.code == 1
    assert [line.split()[:3] for line in done.out.splitlines()[1:3]] == [
        ["copy", "default", "good"],
        ["copy", "east", "missing"],
    ]
    assert "wanted" in done.out
    [complaint, _] = run("copies", "unknown").complaint
    assert "no content has the hash 'unknown'" in complaint


@pytest.mark.usefixtures("two")
def test_the_plan_of_the_rebalancer_is_shown_and_carried_out(run: Run, db: Connection, bucket: Any) -> None:
    assert "nothing to move" in run("rebalance", "--plan").out
    put(db, bucket)
    for name in ("default", "east"):
        db.execute("select reaper.set_quota(%s, 25, 'for a test')", [name])
    db.execute("update reaper.settings set rebalance_strategy = 'pack', rebalance_threshold = 0.1")
    assert run("rebalance").code == 2
    assert run("rebalance", "--here", "--json").json["outcome"] == "done"
    assert isinstance(run("rebalance", "--plan", "--json").json, list)

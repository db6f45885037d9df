"""An adopted application whose objects lie under names that reaper does not know, as an operator meets it."""

from typing import Any

import pytest

from reaper.migrate import migrate
from tests.cli.conftest import Run
from tests.support.migrate.existing_application import build

OWN_COLUMN = """
    alter table public.content add s3_path text;
    update public.content set s3_path = 'objects/' || content_hash;
"""
# Every paste of five contents.
MORE_DUE = "update public.pastes set expires_at = now() - interval '1 day' where id <= 10"


@pytest.fixture
def adopted(run: Run, empty_db_dsn: str, bucket: Any, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs commands on an application with 30 objects under names of its own."""
    build(empty_db_dsn, OWN_COLUMN, MORE_DUE)
    migrate(empty_db_dsn)
    for number in range(30):
        bucket.put_object(Key=f"objects/hash-{number}", Body=b"0123456789")
    monkeypatch.setenv("REAPER_DATABASE_URL", empty_db_dsn)
    return run


def keys(bucket: Any) -> int:
    """How many objects of the application lie there."""
    return len(list(bucket.objects.filter(Prefix="objects/")))


def object_keys(run: Run) -> dict[str, str]:
    [found] = [check for check in run("doctor", "--json").json if check["name"] == "object keys"]
    return dict(found)


def test_a_drain_under_wrong_keys_is_refused_and_says_what_to_do(adopted: Run, bucket: Any) -> None:
    done = adopted("drain")
    assert done.code == 4
    assert "0 of 30 objects were found, one that was not: hash-" in done.err
    assert "Bind object_key" in done.err
    assert "reaper verify" in done.err
    assert keys(bucket) == 30
    planned = adopted("drain", "--dry-run")
    assert planned.code == 0
    assert "a drain would be refused now" in planned.err


def test_the_keys_are_bound_and_the_next_drain_deletes_the_objects(adopted: Run, bucket: Any) -> None:
    assert adopted("drain").code == 4
    assert adopted("migrate", "--bind", "content.object_key=s3_path").code == 0
    done = adopted("drain", "--json")
    assert done.code == 0, done.err
    assert (done.json["rows_deleted"], done.json["objects_deleted"]) == (26, 5)
    assert keys(bucket) == 25


@pytest.mark.slow
def test_doctor_looks_first_and_reports_what_it_found(adopted: Run) -> None:
    found = object_keys(adopted)
    assert found["verdict"] == "fail"
    assert found["detail"].startswith("0 of 30 objects were found, one that was not: hash-")
    assert "Bind object_key" in found["fix"]
    assert adopted("migrate", "--bind", "content.object_key=s3_path").code == 0
    found = object_keys(adopted)
    assert (found["verdict"], found["detail"]) == ("ok", "30 of 30 objects were found")


def test_doctor_whose_bucket_does_not_answer_decides_nothing(adopted: Run, closed_port: int) -> None:
    done = adopted("doctor", "--json", REAPER_S3_ENDPOINT_URL=f"http://127.0.0.1:{closed_port}")
    verdicts = {check["name"]: check["verdict"] for check in done.json}
    assert (done.code, verdicts["look for objects"], verdicts["object keys"]) == (1, "fail", "warn")
    assert object_keys(adopted)["verdict"] == "fail"


def test_doctor_without_a_bucket_says_that_it_was_not_looked_yet(adopted: Run, bare_run: Run) -> None:
    del bare_run
    found = {c["name"]: c for c in adopted("doctor", "--json", REAPER_S3_BUCKET="").json}
    assert found["object keys"]["verdict"] == "warn"
    assert "not looked yet" in found["object keys"]["detail"]


def test_a_drain_whose_bucket_does_not_answer_does_not_begin(adopted: Run, closed_port: int) -> None:
    assert adopted("drain", REAPER_S3_ENDPOINT_URL=f"http://127.0.0.1:{closed_port}").code == 5


@pytest.mark.slow
def test_verify_tells_all_and_that_the_names_differ(adopted: Run) -> None:
    told = adopted("verify", "--json").json
    assert told["counts"] == {"missing object": 30, "orphan object": 30}
    [note] = [note for note in told["notes"] if "Bind object_key" in note]
    assert "30 of 30 objects that rows name are missing on backend default" in note
    assert "the rows name hash-0, the bucket has objects/hash-0" in note


@pytest.mark.slow
def test_verify_says_nothing_of_names_where_most_objects_agree(adopted: Run, bucket: Any) -> None:
    assert adopted("migrate", "--bind", "content.object_key=s3_path").code == 0
    bucket.Object("objects/hash-1").delete()
    bucket.put_object(Key="strange", Body=b"0")
    told = adopted("verify", "--json").json
    assert told["counts"] == {"missing object": 1, "orphan object": 1}
    assert not [note for note in told["notes"] if "Bind object_key" in note]

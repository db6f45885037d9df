"""Uploads in parts that nobody ends: aborted with their parts when the last of them is old."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reaper.errors import ReaperError, Unreachable
from tests.support.s3_double.server import error
from tests.support.two_backends import TwoBackends
from tests.support.worker_world import InProcessWorker, WorkerWorld

BEGIN = "select object_key from reaper.begin_put('slow', repeat('a', 64), 10, null)"
LONG_AGO = timedelta(hours=30)


class Uploads:
    """The uploads in a bucket of the double."""

    def __init__(self, world: WorkerWorld) -> None:
        self.bucket = world.s3.buckets.buckets[world.backends["default"].name]  # type: ignore[union-attr]

    def begin(self, key: str, began: timedelta, *came: timedelta) -> str:
        name = f"upload-of-{key}"
        self.bucket.uploads[name] = (key, "", dict.fromkeys(range(1, len(came) + 1), b"12345"))
        self.bucket.began[name] = datetime.now(UTC) - began
        for number, age in enumerate(came, start=1):
            self.bucket.came[name, number] = datetime.now(UTC) - age
        return name

    def keys(self) -> set[Any]:
        return {key for key, _, _ in self.bucket.uploads.values()}


def test_what_is_abandoned_goes_and_what_is_young_or_held_or_foreign_stays(
    world: WorkerWorld, in_process: InProcessWorker
) -> None:
    uploads = Uploads(world)
    held = world.value(BEGIN)
    uploads.begin("abandoned", LONG_AGO, LONG_AGO, LONG_AGO)
    uploads.begin("empty", LONG_AGO)
    uploads.begin("slow", 10 * LONG_AGO, 10 * LONG_AGO, timedelta(hours=1))
    uploads.begin("young", timedelta(hours=1))
    uploads.begin(held, LONG_AGO, LONG_AGO)
    in_process.run_service("multipart_cleanup")
    figures = world.result("multipart_cleanup")[0]
    assert figures == {
        "looked_at": 5, "aborted": 2, "parts": 2, "bytes": 10,
        "held": 1, "refused": 0, "unsupported": 0, "skipped": 0,
    }  # fmt: skip
    assert uploads.keys() == {"slow", "young", held}
    query = "select uploads, upload_parts, upload_bytes, oldest_upload < now() - interval '10 days'"
    assert world.sql(f"{query} from reaper.reconciliations") == [(3, 2, 10, True)]
    # The intent names another upload than the one that its writer began and gave up.
    world.sql("select reaper.record_put_upload(intent_id, 'another') from reaper.put_intents")
    world.advance_clock("24 hours")
    in_process.run_service("multipart_cleanup")
    assert uploads.keys() == set()


def test_a_store_that_refuses_requests_about_one_upload_keeps_no_other_from_being_aborted(
    world: WorkerWorld, in_process: InProcessWorker
) -> None:
    uploads = Uploads(world)
    for key in ("abandoned", "refused", "zz"):
        uploads.begin(key, LONG_AGO, LONG_AGO)
    world.s3.scripts["list_parts"] = lambda asked: (
        error(403, "AccessDenied") if asked.key == "refused" else None
    )
    try:
        with pytest.raises(ReaperError, match="AccessDenied"):
            in_process.run_service("multipart_cleanup")
    finally:
        del world.s3.scripts["list_parts"]
    assert uploads.keys() == {"refused"}
    assert world.value("select uploads from reaper.reconciliations") == 1


def test_a_store_that_cannot_list_uploads_is_counted_and_no_failure(
    world: WorkerWorld, in_process: InProcessWorker
) -> None:
    world.s3.scripts["list_multipart_uploads"] = lambda _: error(501, "NotImplemented")
    try:
        in_process.run_service("multipart_cleanup")
    finally:
        del world.s3.scripts["list_multipart_uploads"]
    figures, failure, *_ = world.result("multipart_cleanup")
    assert (figures["unsupported"], failure) == (1, None)


def test_a_backend_that_is_away_fails_the_run_after_the_others_were_looked_at(pair: TwoBackends) -> None:
    pair.sql("update reaper.settings set circuit_failures = 1")
    pair.cut("cold")
    with pair.in_process_worker() as in_process, pytest.raises(Unreachable):
        in_process.run_service("multipart_cleanup")
    assert pair.circuit("cold") == "open"
    assert pair.sql("select backend from reaper.reconciliations where uploads = 0") == [("default",)]

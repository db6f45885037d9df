"""One slot of the gate is one request, as the server sees it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from reaper.storage.request_gate import AdmissionGate
from reaper.storage.s3.store import S3Options
from tests.support.s3_double.server import Reply, ScriptedS3, error, in_turn
from tests.support.s3_fixtures import log_in

MIB = 1 << 20
VERSIONED = Reply(200, "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
VERSIONS = Reply(
    200, "<R><Version><Key>key</Key><VersionId>1</VersionId></Version><IsTruncated>false</IsTruncated></R>"
)


@pytest.fixture
def server(monkeypatch):
    log_in(monkeypatch, "any", "any")
    with ScriptedS3() as running:
        yield running


def test_uploads_of_two_stores_never_exceed_the_gate_that_they_share(server, open_store):
    gate, both = AdmissionGate(2), threading.Barrier(2)
    stores = [open_store(bucket, server.endpoint_url, gate=gate) for bucket in ("one", "two")]

    def nobody_comes_alone(_):
        both.wait(30)

    server.scripts["put_object"] = nobody_comes_alone
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: stores[n % 2].put(f"{n}", b"x", 1), range(20)))
    assert (server.peak, gate.peak, gate.in_flight) == (2, 2, 0)
    assert [len(server.buckets.keys(bucket)) for bucket in ("one", "two")] == [10, 10]


@pytest.fixture
def watched(server, monkeypatch):
    """A gate for one at a time, and how many were inside it whenever the server was asked for something."""
    gate, seen, answer = AdmissionGate(1), [], server.answer

    def look_and_answer(asked, body):
        seen.append((asked.operation, gate.in_flight))
        return answer(asked, body)

    monkeypatch.setattr(server, "answer", look_and_answer)
    return gate, seen


def test_every_kind_of_request_holds_exactly_one_slot(server, open_store, watched):
    gate, seen = watched
    options = S3Options(page_size=1, multipart_threshold=5 * MIB, part_size=5 * MIB)
    s3 = open_store("bucket", server.endpoint_url, options=options, gate=gate)
    s3.create_bucket()
    s3.check()
    s3.put("large", bytes(6 * MIB), 6 * MIB)
    s3.put("small", b"x", 1)
    assert (s3.get("small"), s3.get("absent"), s3.digest("large").size) == (b"x", None, 6 * MIB)
    assert len(list(s3.list())) == len(s3.find(["large", "small"])) == 2
    assert s3.delete(["small", "bell\x07"]) == {}
    server.scripts["upload_part"] = lambda _: error(500, "InternalError")
    with pytest.raises(Exception, match="InternalError"):
        s3.put("broken", bytes(6 * MIB), 6 * MIB)
    server.scripts["get_bucket_versioning"] = lambda _: VERSIONED
    server.scripts["list_object_versions"] = lambda _: VERSIONS
    assert open_store("bucket", server.endpoint_url, gate=gate).delete(["key"]).keys() == {"key"}
    assert {inside for _, inside in seen} == {1}
    assert {operation for operation, _ in seen} == {
        "abort_multipart_upload",
        "complete_multipart_upload",
        "create_bucket",
        "create_multipart_upload",
        "delete_object",
        "delete_objects",
        "get_bucket_versioning",
        "get_object",
        "list_object_versions",
        "list_objects_v2",
        "put_object",
        "upload_part",
    }


def test_a_request_that_is_tried_again_keeps_its_slot(server, open_store, watched):
    gate, seen = watched
    server.scripts["put_object"] = in_turn(lambda _: error(500, "InternalError"), lambda _: None)
    open_store("bucket", server.endpoint_url, options=S3Options(attempts=2), gate=gate).put("a", b"x", 1)
    assert seen == [("put_object", 1), ("put_object", 1)]


def test_nobody_holds_a_slot_while_looking_at_a_page(server, open_store):
    gate = AdmissionGate(1)
    s3 = open_store("bucket", server.endpoint_url, options=S3Options(page_size=1), gate=gate)
    for key in "abc":
        s3.put(key, b"x", 1)
    for found in s3.list():
        assert gate.in_flight == 0
        assert s3.get(found.key) == b"x"


def test_a_slot_is_held_until_the_last_byte_is_read(server, open_store):
    gate = AdmissionGate(1)
    s3 = open_store("bucket", server.endpoint_url, gate=gate)
    s3.put("key", b"abc", 3)
    with s3._arriving("key") as pieces:
        assert gate.in_flight == 1
        assert b"".join(pieces) == b"abc"
        assert gate.in_flight == 1
    assert gate.in_flight == 0


def test_whoever_stops_reading_gives_the_slot_back(server, open_store):
    gate = AdmissionGate(1)
    s3 = open_store("bucket", server.endpoint_url, gate=gate)
    for key in ("a", "b"):
        s3.put(key, b"x", 1)
    with closing(s3.list()) as listing:
        next(listing)
    with s3._arriving("a"):
        pass
    assert gate.in_flight == 0

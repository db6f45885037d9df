"""Uploads and downloads that go wrong: all or nothing, and no object is called absent that may be there."""

import hashlib
import io
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.awsrequest import AWSResponse
from urllib3 import HTTPResponse

from reaper.errors import ConfigError, ReaperError, Unreachable, UploadAborted
from reaper.queries.integrity import CopyToScrub
from reaper.storage.copy_check import check
from reaper.storage.s3.store import S3Options
from tests.support.s3_double.server import LOST, FaultRates, RandomFaults, Reply, ScriptedS3, error, in_turn
from tests.support.s3_fixtures import log_in

MIB = 1 << 20
ONCE = S3Options(attempts=1, multipart_threshold=5 * MIB, part_size=5 * MIB)
TWICE = S3Options(attempts=2, multipart_threshold=5 * MIB, part_size=5 * MIB)
LARGE = bytes(range(256)) * (6 * MIB // 256)


@pytest.fixture
def server(monkeypatch):
    log_in(monkeypatch, "any", "any")
    with ScriptedS3("bucket") as running:
        yield running


@pytest.fixture
def s3(server, open_store):
    return open_store("bucket", server.endpoint_url, options=ONCE)


def answer(reply):
    return lambda _: reply


def nothing_is_left(server):
    return not server.buckets.keys("bucket") and not server.buckets.buckets["bucket"].uploads


REFUSALS = [
    (error(503, "SlowDown"), Unreachable, "does not answer: SlowDown"),
    (error(429, "TooMany"), Unreachable, "does not answer: TooMany"),
    (error(500, "InternalError"), Unreachable, "does not answer: InternalError"),
    (error(400, "RequestTimeout"), Unreachable, "does not answer: RequestTimeout"),
    (Reply(None), Unreachable, "does not answer: the connection broke"),
    (error(404, "NoSuchBucket"), ConfigError, "bucket bucket does not exist"),
    (error(403, "AccessDenied"), ConfigError, "may not use bucket bucket"),
    (error(403, "InvalidAccessKeyId"), ConfigError, "refuses the AWS credentials"),
    (error(400, "EntityTooLarge"), ReaperError, "refuses the request: EntityTooLarge"),
]


@pytest.mark.parametrize(("reply", "kind", "message"), REFUSALS)
def test_an_upload_that_fails_says_why(server, s3, reply, kind, message):
    server.scripts["put_object"] = answer(reply)
    with pytest.raises(ReaperError, match=message) as caught:
        s3.put("key", b"abc", 3)
    assert type(caught.value) is kind
    assert nothing_is_left(server)


@pytest.mark.parametrize(("reply", "kind", "message"), REFUSALS)
def test_a_read_that_fails_says_why_and_never_that_the_object_is_absent(server, s3, reply, kind, message):
    s3.put("key", b"abc", 3)
    server.scripts["get_object"] = answer(reply)
    for read in (s3.get, s3.digest):
        with pytest.raises(ReaperError, match=message) as caught:
            read("key")
        assert type(caught.value) is kind


@pytest.mark.parametrize("reply", [Reply(404), Reply(404, "<html>Not here</html>"), error(404, "NotFound")])
def test_a_404_that_may_come_from_a_proxy_does_not_make_an_object_absent(server, s3, reply):
    server.scripts["get_object"] = answer(reply)
    with pytest.raises(ReaperError):
        s3.get("key")


def test_half_an_object_is_not_returned(server, s3):
    s3.put("key", LARGE[:MIB], MIB)
    server.random_faults = RandomFaults(FaultRates(cut=1))
    for read in (s3.get, s3.digest):
        with pytest.raises(Unreachable, match="the connection broke"):
            read("key")


def test_bytes_that_were_damaged_on_the_way_are_not_returned(server, s3):
    s3.put("key", b"abc", 3)
    server.buckets.buckets["bucket"].objects[b"key"].data = b"abd"
    for read in (s3.get, s3.digest):
        with pytest.raises(Unreachable, match="checksum mismatch"):
            read("key")


def test_a_store_that_never_answers_is_away(server, open_store):
    s3 = open_store("bucket", server.endpoint_url, options=S3Options(attempts=1, read_timeout=0.2))
    server.scripts["get_object"] = server.scripts["put_object"] = server.hang
    with pytest.raises(Unreachable, match="no answer in time"):
        s3.get("key")
    with pytest.raises(Unreachable, match="no answer in time"):
        s3.put("key", b"abc", 3)


def test_an_upload_that_is_tried_again_begins_again_where_the_body_stood(server, open_store):
    s3 = open_store("bucket", server.endpoint_url, options=TWICE)
    server.scripts["put_object"] = in_turn(answer(error(500, "InternalError")), answer(None))
    file = io.BytesIO(b"before" + LARGE[: 2 * MIB])
    file.seek(len(b"before"))
    s3.put("key", file, 2 * MIB)
    assert server.buckets.data("bucket", "key") == LARGE[: 2 * MIB]


@pytest.mark.parametrize("data", [b"abc", LARGE], ids=["whole", "in parts"])
def test_the_store_gets_something_to_compare_the_bytes_with(server, s3, data):
    s3.put("key", data, len(data))
    uploads = [asked.headers for asked in server.heard if asked.operation in ("put_object", "upload_part")]
    assert len(uploads) == (1 if data == b"abc" else 2)
    assert all("x-amz-checksum-crc32" in headers for headers in uploads)
    assert not any("content-md5" in headers or "x-amz-trailer" in headers for headers in uploads)


@pytest.mark.parametrize("data", [b"abc", LARGE], ids=["whole", "in parts"])
def test_content_md5_takes_the_place_of_the_crc32(server, open_store, data):
    options = S3Options(content_md5=True, multipart_threshold=5 * MIB, part_size=5 * MIB)
    open_store("bucket", server.endpoint_url, options=options).put("key", data, len(data))
    assert server.buckets.data("bucket", "key") == data
    for asked in server.heard:
        assert not [
            name for name in asked.headers if name.startswith(("x-amz-checksum", "x-amz-sdk-checksum"))
        ]
    assert sum("content-md5" in asked.headers for asked in server.heard) == (1 if data == b"abc" else 2)


@pytest.mark.parametrize("data", [b"abc", LARGE], ids=["whole", "in parts"])
def test_a_store_that_asks_for_content_md5_gets_it_from_then_on(server, s3, data):
    def demand(asked):
        return None if "content-md5" in asked.headers else error(400, "MissingContentMD5")

    server.scripts["put_object"] = server.scripts["upload_part"] = demand
    for key in ("a", "b"):
        s3.put(key, data, len(data))
        assert server.buckets.data("bucket", key) == data
    refused = [
        asked for asked in server.heard if asked.key == "a" and "x-amz-checksum-crc32" in asked.headers
    ]
    assert len(refused) == 1
    assert not server.buckets.buckets["bucket"].uploads


def test_two_who_learn_at_once_that_content_md5_is_needed_both_try_again(server, s3):
    both = threading.Barrier(2)

    def demand(asked):
        if "content-md5" in asked.headers:
            return None
        both.wait(30)
        return error(400, "MissingContentMD5")

    s3.check()
    server.script = server.scripts["put_object"] = demand
    with ThreadPoolExecutor(2) as pool:
        putting, deleting = pool.submit(s3.put, "a", b"abc", 3), pool.submit(s3.delete, ["b"])
        assert (putting.result(30), deleting.result(30)) == (None, {})


def test_a_store_that_is_never_content_with_content_md5_refuses(server, s3):
    server.scripts["put_object"] = answer(error(400, "MissingContentMD5"))
    with pytest.raises(ReaperError, match="refuses the request: MissingContentMD5"):
        s3.put("key", b"abc", 3)
    assert len(server.heard) == 2


def test_the_bytes_go_as_they_are_over_a_secure_connection_too(open_store, monkeypatch):
    """Without our own checksum the library would wrap them in frames there, which some stores keep."""
    log_in(monkeypatch, "any", "any")
    s3, sent = open_store("bucket", "https://127.0.0.1:1"), []

    def answer_at_once(request, **_):
        sent.append(request)
        return AWSResponse(request.url, 200, {}, HTTPResponse(io.BytesIO(), preload_content=False))

    s3._requests._client.meta.events.register("before-send.s3.PutObject", answer_at_once)
    s3.put("key", io.BytesIO(LARGE[: 2 * MIB]), 2 * MIB)
    (request,) = sent
    assert request.body.read() == LARGE[: 2 * MIB]
    assert request.headers["Content-Length"] == str(2 * MIB)
    assert "x-amz-checksum-crc32" in {name.lower() for name in request.headers}
    assert not {"content-encoding", "x-amz-trailer"} & {name.lower() for name in request.headers}


@pytest.mark.parametrize(
    ("operation", "reply"),
    [
        ("create_multipart_upload", error(503, "SlowDown")),
        ("upload_part", error(503, "SlowDown")),
        ("upload_part", Reply(None)),
        ("complete_multipart_upload", error(500, "InternalError")),
        ("complete_multipart_upload", error(200, "InternalError")),
        ("complete_multipart_upload", Reply(None)),
    ],
)
def test_no_part_stays_behind_an_upload_that_failed(server, s3, operation, reply):
    server.scripts[operation] = answer(reply)
    with pytest.raises(Unreachable):
        s3.put("key", LARGE, len(LARGE))
    assert nothing_is_left(server)


def test_an_upload_whose_parts_cannot_be_dropped_tells_its_first_trouble(server, s3):
    server.scripts["upload_part"] = answer(error(503, "SlowDown"))
    server.scripts["abort_multipart_upload"] = answer(error(403, "AccessDenied"))
    with pytest.raises(Unreachable, match="SlowDown"):
        s3.put("key", LARGE, len(LARGE))


def test_parts_that_were_joined_although_the_answer_was_lost_are_an_object(server, open_store):
    s3 = open_store("bucket", server.endpoint_url, options=TWICE)
    server.scripts["complete_multipart_upload"] = in_turn(answer(LOST), answer(None))
    s3.put("key", LARGE, len(LARGE))
    assert server.buckets.data("bucket", "key") == LARGE


def test_parts_that_somebody_else_dropped_are_no_object(server, s3):
    server.scripts["complete_multipart_upload"] = answer(error(404, "NoSuchUpload"))
    with pytest.raises(UploadAborted, match="was aborted before it was complete"):
        s3.put("key", LARGE, len(LARGE))
    assert nothing_is_left(server)


@pytest.fixture
def slow(server, open_store):
    """A store on which every request takes five minutes, and ten are allowed."""
    now = [0.0]

    def slowly(_):
        now[0] += 300

    for operation in ("get_object", "put_object", "upload_part", "complete_multipart_upload"):
        server.scripts[operation] = slowly
    return open_store("bucket", server.endpoint_url, options=ONCE, clock=lambda: now[0])


def test_a_transfer_within_its_time_succeeds_however_long_a_request_takes(slow):
    slow.put("key", b"abc", 3)
    assert slow.get("key") == b"abc"


def test_an_upload_that_takes_too_long_is_given_up_and_leaves_nothing(server, slow):
    with pytest.raises(Unreachable, match="took longer than 600 s"):
        slow.put("key", LARGE + LARGE, 2 * len(LARGE))
    assert nothing_is_left(server)


def test_a_download_that_takes_too_long_is_given_up(open_store, server):
    now = [0.0]
    s3 = open_store("bucket", server.endpoint_url, clock=lambda: now[0])
    s3.put("key", b"abc", 3)

    def slowly(_):
        now[0] += 601

    server.scripts["get_object"] = slowly
    with pytest.raises(Unreachable, match="took longer than 600 s"):
        s3.digest("key")


@pytest.mark.long
@pytest.mark.parametrize("store", ["seaweedfs"], indirect=True)
def test_memory_is_flat_while_a_gigabyte_is_compared(open_store, store, bucket, tmp_path):
    s3 = open_store(bucket, store.endpoint_url)
    digest = hashlib.sha256()
    with (tmp_path / "zeros").open("w+b") as file:
        file.truncate(1 << 30)
        while piece := file.read(1 << 24):
            digest.update(piece)
        file.seek(0)
        s3.put("key", file, 1 << 30)
    copy = CopyToScrub(digest.hexdigest(), "key", 1 << 30, sha256=True, size_is_ours=True, is_due=True)
    tracemalloc.start()
    try:
        assert check(s3, copy).outcome == "good"
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()

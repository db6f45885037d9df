"""What the store does wrong, and what becomes of every key then."""

import base64
import hashlib

import pytest

from reaper.errors import ConfigError, Unreachable
from reaper.model import Failed
from reaper.storage.s3.batch_delete import SPLITS
from reaper.storage.s3.store import S3Options
from tests.support.s3_double.server import (
    Reply,
    ScriptedS3,
    all_deleted,
    deleted,
    error,
    in_turn,
    refused,
    result,
)
from tests.support.s3_fixtures import log_in

KEYS = [f"{n:04d}" for n in range(2500)]
ONCE = S3Options(attempts=1)


@pytest.fixture
def server(monkeypatch):
    log_in(monkeypatch, "any", "any")
    with ScriptedS3() as running:
        yield running


@pytest.fixture
def s3(server, open_store):
    return open_store("bucket", server.endpoint_url, options=ONCE)


def refuse(code, when):
    return lambda asked: result(*(refused(key, code) if when(key) else deleted(key) for key in asked.keys))


def answer(reply):
    return lambda _: reply


def test_every_refused_key_comes_back_and_no_other(server, s3):
    server.script = refuse("SlowDown", when=lambda key: key.endswith("7"))
    failed = s3.delete(KEYS)
    assert failed == {key: Failed("SlowDown: so it is", outage=True) for key in KEYS if key.endswith("7")}
    assert server.sizes == [1000, 1000, 500]


@pytest.mark.parametrize("code", ["AccessDenied", "MethodNotAllowed", "ObjectLocked"])
def test_a_refusal_that_time_does_not_heal_is_for_good(server, s3, code):
    server.script = refuse(code, when=lambda key: key == "b")
    assert s3.delete(["a", "b"]) == {"b": Failed(f"{code}: so it is", permanent=True)}


@pytest.mark.parametrize("code", ["InternalError", "OperationAborted", "SomethingNew"])
def test_any_other_refusal_of_a_key_is_for_now_and_counts(server, s3, code):
    server.script = refuse(code, when=lambda key: key == "b")
    assert s3.delete(["a", "b"]) == {"b": Failed(f"{code}: so it is")}


@pytest.mark.parametrize("code", ["SlowDown", "ServiceUnavailable", "Throttling", "RequestLimitExceeded"])
def test_a_key_for_which_the_store_is_too_busy_has_not_failed(server, s3, code):
    server.script = refuse(code, when=lambda key: key == "b")
    assert s3.delete(["a", "b"]) == {"b": Failed(f"{code}: so it is", outage=True)}


@pytest.mark.parametrize("code", ["NoSuchKey", "NoSuchVersion"])
def test_a_key_that_is_reported_absent_is_a_success(server, s3, code):
    server.script = refuse(code, when=lambda _: True)
    assert s3.delete(["a"]) == {}


def test_a_key_that_the_reply_does_not_mention_is_not_called_deleted(server, s3):
    server.script = lambda asked: result(deleted(*asked.keys[:2]))
    assert s3.delete(["a", "b", "c"]) == {"c": Failed("the reply does not mention the key")}


def test_an_error_weighs_more_than_a_success_for_the_same_key(server, s3):
    server.script = answer(result(deleted("a", "a", "b"), refused("b", "InternalError")))
    assert s3.delete(["a", "b"]) == {"b": Failed("InternalError: so it is")}


def test_keys_that_were_not_asked_for_are_not_heard_of(server, s3):
    server.script = answer(result(deleted("a", "x"), refused("y", "InternalError")))
    assert s3.delete(["a"]) == {}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (error(503, "SlowDown"), "SlowDown: so it is"),
        (error(500, "InternalError"), "InternalError: so it is"),
        (error(200, "InternalError"), "InternalError: so it is"),
        (Reply(None), "the connection broke"),
        (Reply(502, ""), "502: Bad Gateway"),
        (error(429, "Enough"), "Enough: so it is"),
        (error(400, "RequestTimeout"), "RequestTimeout: so it is"),
    ],
)
def test_a_chunk_without_an_answer_is_an_outage_and_does_not_take_the_others_along(server, s3, reply, reason):
    server.script = in_turn(all_deleted, answer(reply), all_deleted)
    assert s3.delete(KEYS) == dict.fromkeys(KEYS[1000:2000], Failed(reason, outage=True))


def test_a_request_without_an_answer_fails_its_chunk_only(server, open_store):
    s3 = open_store("bucket", server.endpoint_url, options=S3Options(attempts=1, read_timeout=2))
    server.script = in_turn(server.hang, all_deleted)
    assert s3.delete(KEYS[:1500]) == dict.fromkeys(KEYS[:1000], Failed("no answer in time", outage=True))


def test_a_storm_fails_everything_for_now(server, s3):
    server.script = answer(error(503, "SlowDown"))
    assert s3.delete(KEYS) == dict.fromkeys(KEYS, Failed("SlowDown: so it is", outage=True))
    assert server.sizes == [1000, 1000, 500]


def test_a_request_is_tried_twice_by_default(server, open_store):
    server.script = in_turn(answer(error(500, "InternalError")), all_deleted)
    assert open_store("bucket", server.endpoint_url, options=S3Options()).delete(["a"]) == {}
    assert server.sizes == [1, 1]


def test_no_request_begins_after_the_deadline(server, open_store):
    now = [0.0]

    def slowly(asked):
        now[0] += 40
        return all_deleted(asked)

    server.script = slowly
    s3 = open_store("bucket", server.endpoint_url, options=S3Options(deadline=60), clock=lambda: now[0])
    assert s3.delete(KEYS) == dict.fromkeys(
        KEYS[2000:], Failed("deadline: not tried, the time for this call was over", outage=True)
    )
    assert server.sizes == [1000, 1000]
    assert s3.delete(["next call"]) == {}


SHUT_OUT = [
    (404, "NoSuchBucket"),
    (403, "InvalidAccessKeyId"),
    (403, "SignatureDoesNotMatch"),
    (400, "ExpiredToken"),
]


@pytest.mark.parametrize(("status", "code"), [*SHUT_OUT, (403, "AccessDenied")])
def test_a_store_that_lets_nobody_in_is_asked_no_more(server, s3, status, code):
    server.script = in_turn(all_deleted, answer(error(status, code)))
    assert s3.delete(KEYS) == dict.fromkeys(KEYS[1000:], Failed(f"{code}: so it is", outage=True))
    assert server.sizes == [1000, 1000]


@pytest.mark.parametrize(("status", "code"), SHUT_OUT)
def test_a_store_that_lets_nobody_in_is_asked_no_more_about_single_keys(server, open_store, status, code):
    options = S3Options(attempts=1, single_deletes=True, threads=1)
    s3 = open_store("bucket", server.endpoint_url, options=options)
    server.script = in_turn(all_deleted, answer(error(status, code)))
    assert s3.delete(KEYS) == dict.fromkeys(KEYS[1:], Failed(f"{code}: so it is", outage=True))
    assert len(server.asked) == 2


@pytest.mark.parametrize(("status", "code"), [(501, "NotImplemented"), (405, "MethodNotAllowed")])
def test_a_store_without_batches_gets_single_deletes_from_then_on(server, s3, status, code):
    server.script = lambda asked: all_deleted(asked) if asked.method == "DELETE" else error(status, code)
    assert s3.delete(KEYS[:20]) == {}
    assert s3.delete(KEYS[20:40]) == {}
    assert [asked.method for asked in server.asked] == ["POST"] + ["DELETE"] * 40
    assert {key for asked in server.asked[1:] for key in asked.keys} == set(KEYS[:40])


def test_single_deletes_have_an_outcome_per_key(server, open_store):
    replies = {
        "denied": error(403, "AccessDenied"),
        "busy": error(503, "SlowDown"),
        "gone": error(404, "NoSuchKey"),
        "stumble": error(500, "InternalError"),
        "away": error(504, "GatewayTimeout"),
        "conflict": error(409, "OperationAborted"),
    }
    server.script = lambda asked: replies.get(asked.keys[0], Reply(204))
    s3 = open_store("bucket", server.endpoint_url, options=S3Options(attempts=1, single_deletes=True))
    assert s3.delete(["a", *replies, "b"]) == {
        "denied": Failed("AccessDenied: so it is", permanent=True),
        "busy": Failed("SlowDown: so it is", outage=True),
        "stumble": Failed("InternalError: so it is"),
        "away": Failed("GatewayTimeout: so it is", outage=True),
        "conflict": Failed("OperationAborted: so it is"),
    }


@pytest.mark.parametrize("bad", [0, 499, 999])
def test_one_key_that_spoils_the_request_fails_alone(server, s3, bad):
    def chokes(asked):
        return error(400, "MalformedXML") if KEYS[bad] in asked.keys else all_deleted(asked)

    server.script = chokes
    assert s3.delete(KEYS[:1000]) == {KEYS[bad]: Failed("MalformedXML: so it is")}
    assert server.asked[-1].method == "DELETE" or bad < 999
    assert len(server.asked) < 30


def test_a_key_that_only_batches_cannot_name_is_deleted_alone(server, s3):
    def chokes(asked):
        spoilt = asked.method == "POST" and "odd" in asked.keys
        return error(400, "MalformedXML") if spoilt else all_deleted(asked)

    server.script = chokes
    assert s3.delete([*KEYS[:50], "odd"]) == {}


def test_a_store_that_refuses_every_request_is_not_asked_about_each_key(server, s3):
    server.script = answer(error(400, "MalformedXML"))
    assert s3.delete(KEYS[:1000]).keys() == set(KEYS[:1000])
    assert len(server.asked) < 4 * SPLITS


def test_a_reply_that_is_no_s3_fails_the_keys(server, s3):
    server.script = answer(Reply(200, "<html><p>Welcome to the proxy!</html>"))
    assert s3.delete(["a", "b"]).keys() == {"a", "b"}


@pytest.mark.parametrize(
    "demand",
    [
        error(400, "MissingContentMD5"),
        error(400, "InvalidRequest", "Missing required header for this request: Content-MD5"),
    ],
)
def test_a_store_that_asks_for_content_md5_gets_it_from_then_on(server, s3, demand):
    server.script = lambda asked: all_deleted(asked) if "content-md5" in asked.headers else demand
    assert s3.delete(["a", "b"]) == {}
    assert s3.delete(["c"]) == {}
    assert ["content-md5" in asked.headers for asked in server.asked] == [False, True, True]


def test_a_store_that_is_never_content_with_content_md5_fails_the_keys(server, s3):
    server.script = answer(error(400, "MissingContentMD5"))
    assert s3.delete(["a"]) == {"a": Failed("MissingContentMD5: so it is")}
    assert len(server.asked) == 2


def test_content_md5_takes_the_place_of_the_crc32(server, open_store):
    s3 = open_store("bucket", server.endpoint_url, options=S3Options(content_md5=True))
    assert s3.delete(["a"]) == {}
    headers = server.asked[0].headers
    assert "content-md5" in headers["authorization"]
    assert not [name for name in headers if name.startswith(("x-amz-checksum", "x-amz-sdk-checksum"))]
    assert len(base64.b64decode(headers["content-md5"])) == hashlib.md5(usedforsecurity=False).digest_size


@pytest.mark.parametrize(("status", "code"), [(501, "NotImplemented"), (403, "AccessDenied")])
def test_a_bucket_whose_versioning_is_not_told_is_taken_for_unversioned(server, s3, status, code):
    server.scripts["get_bucket_versioning"] = answer(error(status, code))
    assert s3.delete(["a"]) == {}
    assert s3.notes == (f"versioning could not be read ({code}: so it is); assumed to be off",)


def test_nothing_is_deleted_while_it_is_unknown_whether_only_markers_would_be_left(server, s3):
    server.scripts["get_bucket_versioning"] = answer(error(503, "SlowDown"))
    assert s3.delete(["a"]) == {"a": Failed("SlowDown: so it is", outage=True)}
    assert server.asked == []
    server.scripts.clear()
    assert s3.delete(["a"]) == {}


def test_an_address_that_is_no_s3_is_unreachable(server, s3):
    server.scripts["list_objects_v2"] = answer(Reply(200, "<html><p>Welcome!</html>"))
    with pytest.raises(Unreachable, match="does not answer"):
        s3.check()


def test_credentials_without_rights_are_told_which_they_need(server, s3):
    server.scripts["list_objects_v2"] = answer(error(403, "AccessDenied"))
    with pytest.raises(ConfigError, match="may not use bucket bucket") as caught:
        s3.check()
    assert "s3:DeleteObject" in caught.value.hint


def test_a_profile_that_does_not_exist_is_a_matter_of_configuration(server, open_store):
    with pytest.raises(ConfigError, match="ProfileNotFound"):
        open_store("bucket", server.endpoint_url, options=S3Options(profile="nobody"))

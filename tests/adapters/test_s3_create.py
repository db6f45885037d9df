"""Creating an object on a store that knows no conditions, answers late, or not at all."""

import pytest

from reaper.errors import ReaperError, Unreachable
from reaper.storage.s3.store import S3Options
from tests.support.s3_double.server import LOST, ScriptedS3, error
from tests.support.s3_fixtures import log_in

KEY = ".reaper/owner"


@pytest.fixture
def server(monkeypatch):
    log_in(monkeypatch, "any", "any")
    with ScriptedS3("pastes") as running:
        yield running


@pytest.fixture
def s3(server, open_store):
    return open_store("pastes", server.endpoint_url, options=S3Options(attempts=1))


def on_condition(reply):
    """Answer so to what is written on a condition, and as S3 to all else."""
    return lambda asked: reply if "if-none-match" in asked.headers else None


@pytest.mark.parametrize("reply", [error(501, "NotImplemented"), error(400, "InvalidArgument")])
def test_a_store_that_knows_no_conditions_is_looked_at_first(server, s3, reply):
    server.scripts["put_object"] = on_condition(reply)
    assert s3.create(KEY, b"first") is True
    assert s3.create(KEY, b"second") is False
    assert server.buckets.data("pastes", KEY) == b"first"


@pytest.mark.parametrize(
    "reply", [error(412, "PreconditionFailed"), error(409, "ConditionalRequestConflict")]
)
def test_another_who_was_quicker_is_no_error(server, s3, reply):
    server.scripts["put_object"] = on_condition(reply)
    assert s3.create(KEY, b"mine") is False


def test_a_store_that_is_busy_is_away(server, s3):
    server.scripts["put_object"] = on_condition(error(503, "SlowDown"))
    with pytest.raises(Unreachable):
        s3.create(KEY, b"mine")


def test_a_lost_answer_is_an_outage_though_the_object_is_there(server, s3):
    server.scripts["put_object"] = lambda _: LOST
    with pytest.raises(Unreachable):
        s3.create(KEY, b"mine")
    assert server.buckets.data("pastes", KEY) == b"mine"


def test_a_refused_right_is_said(server, s3):
    server.scripts["put_object"] = on_condition(error(403, "AccessDenied"))
    with pytest.raises(ReaperError, match="may not use bucket"):
        s3.create(KEY, b"mine")

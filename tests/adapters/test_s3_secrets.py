"""What must never be seen: the keys to the store."""

import logging
import traceback

import pytest

from reaper.errors import ReaperError
from reaper.storage.s3.store import S3Options
from reaper.telemetry.logging import configure_logging
from tests.support.s3_double.server import Reply, ScriptedS3, error, in_turn
from tests.support.s3_fixtures import log_in

CANARIES = ("canary-secret", "canary-token", "canary-password")


@pytest.fixture
def server(monkeypatch):
    log_in(monkeypatch, "any", "canary-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "canary-token")
    with ScriptedS3() as running:
        yield running


@pytest.fixture
def words(capfd, caplog):
    """All that was printed or logged so far, with everything on the record that wants to be."""
    logging.getLogger().addHandler(caplog.handler)
    caplog.set_level(logging.DEBUG)
    return lambda: "".join([caplog.text, *capfd.readouterr()])


def silent(text):
    return not any(canary in text for canary in CANARIES)


def test_deleting_with_every_outcome_says_no_secret(server, open_store, words):
    configure_logging(logging.DEBUG)
    s3 = open_store("bucket", server.endpoint_url, options=S3Options(attempts=2))
    server.script = in_turn(
        *(lambda _, reply=reply: reply for reply in (error(503, "SlowDown"), Reply(None)))
    )
    said = repr(s3.delete(["a"])) + repr(s3) + repr(vars(s3))
    assert server.asked[0].headers["x-amz-security-token"] == "canary-token"
    assert silent(said + words())


@pytest.mark.parametrize("reply", [error(403, "SignatureDoesNotMatch"), error(503, "SlowDown"), Reply(None)])
def test_a_failed_check_says_no_secret_in_its_whole_traceback(server, open_store, words, reply):
    server.scripts["list_objects_v2"] = lambda _: reply
    with pytest.raises(ReaperError) as caught:
        open_store("bucket", server.endpoint_url).check()
    said = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert silent(said + repr(caught.value.hint) + words())


@pytest.mark.usefixtures("server")
def test_a_login_in_the_address_is_not_shown(open_store, closed_port):
    s3 = open_store("bucket", f"http://someone:canary-password@127.0.0.1:{closed_port}")
    with pytest.raises(ReaperError) as caught:
        s3.check()
    assert silent(str(caught.value) + caught.value.hint + repr(s3) + repr(s3.delete(["a"])))

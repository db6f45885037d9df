"""What a store says when it is examined: good, missing, or not to be entered."""

import pytest

from reaper.errors import ConfigError, ReaperError, Unreachable
from reaper.model import Failed
from tests.support.s3_fixtures import log_in


def test_a_good_bucket_passes_the_check(s3):
    s3.check()
    assert s3.notes == ()


def test_a_probe_leaves_nothing_behind(s3, keys_in):
    s3.probe()
    assert keys_in() == set()


def test_a_probe_tells_of_an_object_that_cannot_be_deleted(s3, monkeypatch):
    monkeypatch.setattr(s3, "delete", lambda keys: {key: Failed("denied", permanent=True) for key in keys})
    with pytest.raises(ReaperError, match="cannot be deleted: denied") as told:
        s3.probe()
    assert "s3:DeleteObject" in (told.value.hint or "")


def test_a_missing_bucket_is_named_with_what_to_do(open_store, store):
    s3 = open_store("absent-bucket", store.endpoint_url)
    with pytest.raises(ConfigError, match="absent-bucket does not exist at http") as caught:
        s3.check()
    assert "REAPER_S3_BUCKET" in caught.value.message
    with pytest.raises(ConfigError, match="does not exist"):
        list(s3.list())


def test_no_object_is_called_absent_because_its_bucket_is(open_store, store):
    s3 = open_store("absent-bucket", store.endpoint_url)
    for read in (s3.get, s3.digest):
        with pytest.raises(ConfigError, match="absent-bucket does not exist"):
            read("key")


def test_a_missing_bucket_is_an_outage_for_its_keys(open_store, store):
    failed = open_store("absent-bucket", store.endpoint_url).delete(["a", "b"])
    assert failed.keys() == {"a", "b"}
    assert all("NoSuchBucket" in why.error and why.outage for why in failed.values())


def test_a_wrong_secret_is_named_with_what_to_do(needs, store, open_store, bucket, monkeypatch):
    needs("signatures")
    log_in(monkeypatch, store.access_key, "wrong")
    s3 = open_store(bucket, store.endpoint_url)
    with pytest.raises(ConfigError, match="refuses the AWS credentials") as caught:
        s3.check()
    assert "AWS_SECRET_ACCESS_KEY" in caught.value.hint
    failed = s3.delete(["a"])
    assert "SignatureDoesNotMatch" in failed["a"].error
    assert failed["a"].outage


def test_no_credentials_at_all_are_a_matter_of_configuration(store, open_store, bucket, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    s3 = open_store(bucket, store.endpoint_url)
    with pytest.raises(ConfigError, match="no AWS credentials were found"):
        s3.check()
    assert s3.delete(["a"]) == {"a": Failed("no AWS credentials were found", outage=True)}


@pytest.mark.usefixtures("store")
def test_a_store_that_is_not_there_is_unreachable(open_store, closed_port):
    s3 = open_store("bucket", f"http://127.0.0.1:{closed_port}")
    for ask in (s3.check, lambda: s3.get("a"), lambda: s3.digest("a"), lambda: s3.put("a", b"", 0)):
        with pytest.raises(Unreachable, match="does not answer: no connection"):
            ask()
    assert s3.delete(["a"]) == {"a": Failed("no connection", outage=True)}

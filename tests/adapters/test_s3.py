"""What every S3 store must do for us; the same tests run on each."""

import pytest

from reaper.adapters.s3 import S3Options
from reaper.errors import ConfigError, ReaperError, Unreachable
from reaper.model import Failed, StoredObject
from tests.adapters.conftest import CHECKS_SIGNATURES, LIMITS_BATCHES, SORTS_BY_BYTES, log_in

ODD_KEYS = [
    "with space",
    "plus+sign",
    "ünï/cødé/日本",
    "a&b<c>d",
    "quote'\"quote",
    "percent%20",
    "question?mark#hash",
    "tab\tkey",
    "emoji \U0001f5d1",
]


def needs(store, *capabilities):
    missing = set(capabilities) - store.knows
    if missing:
        pytest.skip(f"{store.name} does not do this: {', '.join(missing)}")


def test_deleted_objects_are_gone_and_others_stay(s3, put, keys_in):
    put("a", "b", "c")
    assert s3.delete(["a", "c"]) == {}
    assert keys_in() == {"b"}


def test_an_absent_key_is_a_success(s3):
    assert s3.delete(["never-there"]) == {}


def test_nothing_to_delete_is_no_request(open_store, store):
    assert open_store("no-such-bucket-asked", store.endpoint_url).delete([]) == {}


def test_a_key_that_is_given_twice_is_deleted_once(s3, put, keys_in):
    put("a")
    assert s3.delete(["a", "a", "b", "a"]) == {}
    assert keys_in() == set()


@pytest.mark.parametrize("count", [1000, 1001, 2500])
def test_any_number_of_keys_goes_in_chunks(s3, put, keys_in, count):
    keys = [f"{n:04d}" for n in range(count)]
    put(keys[0], keys[999], keys[-1])
    assert s3.delete(keys) == {}
    assert keys_in() == set()


def test_the_store_itself_refuses_more_than_a_chunk(store, client, bucket):
    needs(store, LIMITS_BATCHES)
    too_many = {"Objects": [{"Key": str(n)} for n in range(1001)]}
    with pytest.raises(client.exceptions.ClientError):
        client.delete_objects(Bucket=bucket, Delete=too_many)


@pytest.mark.parametrize("single_deletes", [False, True])
def test_odd_keys_are_deleted_and_their_neighbours_stay(
    open_store, store, bucket, put, keys_in, single_deletes
):
    put(*ODD_KEYS, "plus sign", "percent ", "question", "with")
    s3 = open_store(bucket, store.endpoint_url, options=S3Options(single_deletes=single_deletes))
    assert s3.delete(ODD_KEYS) == {}
    assert keys_in() == {"plus sign", "percent ", "question", "with"}


def test_an_empty_key_is_refused_for_good_and_the_bucket_survives(open_store, store, bucket, put, keys_in):
    put("a")
    for single_deletes in (False, True):
        s3 = open_store(bucket, store.endpoint_url, options=S3Options(single_deletes=single_deletes))
        assert s3.delete([""])[""].permanent
    assert keys_in() == {"a"}


@pytest.mark.parametrize("key", ["a/../live", "./live", "/live", "x//live", "."])
def test_a_path_that_a_server_may_resolve_is_not_deleted_alone(open_store, store, bucket, put, keys_in, key):
    put("live", "x/live")
    s3 = open_store(bucket, store.endpoint_url, options=S3Options(single_deletes=True))
    assert s3.delete([key])[key].permanent
    assert keys_in() == {"live", "x/live"}


@pytest.mark.parametrize("odd", ["bell\x07", "not-a-character\uffff", "half a pair \ud800"])
def test_a_key_that_fits_into_no_document_does_not_fail_the_others(s3, put, keys_in, odd):
    put("a", "b")
    failed = s3.delete(["a", odd, "b"])
    assert keys_in() == set()
    assert not failed.keys() - {odd}


def test_single_deletes_do_what_batches_do(open_store, store, bucket, put, keys_in):
    put("a", "b", "c")
    s3 = open_store(bucket, store.endpoint_url, options=S3Options(single_deletes=True))
    assert s3.delete(["a", "c", "absent"]) == {}
    assert keys_in() == {"b"}


def test_content_md5_is_accepted(open_store, store, bucket, put, keys_in):
    put("a", "b")
    s3 = open_store(bucket, store.endpoint_url, options=S3Options(content_md5=True))
    assert s3.delete(["a"]) == {}
    assert keys_in() == {"b"}


def test_a_listing_has_every_object_with_its_size_in_order(s3, client, bucket):
    for key, size in (("b", 2), ("a", 1), ("ab/c", 3)):
        client.put_object(Bucket=bucket, Key=key, Body=b"x" * size)
    assert list(s3.list()) == [StoredObject("a", 1), StoredObject("ab/c", 3), StoredObject("b", 2)]


def test_a_listing_begins_behind_a_key(s3, put):
    put("a", "b", "c")
    assert [found.key for found in s3.list(after="a")] == ["b", "c"]
    assert list(s3.list(after="c")) == []


def test_a_listing_goes_over_pages(open_store, store, bucket, put):
    keys = [f"{n:02d}" for n in range(11)]
    put(*keys)
    s3 = open_store(bucket, store.endpoint_url, options=S3Options(page_size=3))
    assert [found.key for found in s3.list()] == keys
    assert [found.key for found in s3.list(after="04")] == keys[5:]


def test_odd_keys_come_out_of_a_listing_as_they_went_in(s3, put):
    put(*ODD_KEYS)
    assert {found.key for found in s3.list()} == set(ODD_KEYS)


def test_a_listing_is_in_byte_order_or_says_that_it_is_not(s3, store, put):
    keys = ["dir-a", "dir/b", "dir0c"]
    put(*keys)
    if SORTS_BY_BYTES in store.knows:
        assert [found.key for found in s3.list()] == keys
    else:
        with pytest.raises(ReaperError, match="out of byte order"):
            list(s3.list())


def test_finding_tells_what_is_there_of_exactly_these_keys(s3, put):
    put("a", "ab", "b/c", "with space+")
    assert s3.find(["a", "b", "b/c", "with space+", "absent"]) == {
        key: StoredObject(key, len("bytes of ") + len(key)) for key in ("a", "b/c", "with space+")
    }


def test_a_probe_leaves_nothing_behind(s3, keys_in):
    s3.probe()
    assert keys_in() == set()


def test_a_good_bucket_passes_the_check(s3):
    s3.check()
    assert s3.notes == ()


def test_a_missing_bucket_is_named_with_what_to_do(open_store, store):
    s3 = open_store("absent-bucket", store.endpoint_url)
    with pytest.raises(ConfigError, match="absent-bucket does not exist at http") as caught:
        s3.check()
    assert "REAPER_S3_BUCKET" in caught.value.message
    with pytest.raises(ConfigError, match="does not exist"):
        list(s3.list())


def test_a_missing_bucket_fails_the_keys_for_now(open_store, store):
    failed = open_store("absent-bucket", store.endpoint_url).delete(["a", "b"])
    assert failed.keys() == {"a", "b"}
    assert all("NoSuchBucket" in why.error and why.outage for why in failed.values())


def test_a_wrong_secret_is_named_with_what_to_do(store, open_store, bucket, monkeypatch):
    needs(store, CHECKS_SIGNATURES)
    log_in(monkeypatch, store.access_key, "wrong")
    s3 = open_store(bucket, store.endpoint_url)
    with pytest.raises(ConfigError, match="does not take the AWS credentials") as caught:
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
    with pytest.raises(Unreachable, match="does not answer: no connection"):
        s3.check()
    assert s3.delete(["a"]) == {"a": Failed("no connection", outage=True)}

"""Deleting, on every store: together and alone, whatever was there, with an outcome for each key."""

import pytest

from reaper.storage.s3.store import S3Options

BOTH_WAYS = pytest.mark.parametrize("single_deletes", [False, True])


@pytest.fixture
def s3(open_store, store, bucket, single_deletes):
    """Together in one request, or alone in one request each: the outcome is the same."""
    return open_store(bucket, store.endpoint_url, options=S3Options(single_deletes=single_deletes))


@BOTH_WAYS
def test_deleted_objects_are_gone_and_others_stay(s3, put, keys_in):
    put("a", "b", "c")
    assert s3.delete(["a", "c", "absent"]) == {}
    assert keys_in() == {"b"}


@BOTH_WAYS
def test_a_key_that_is_given_twice_is_deleted_once(s3, put, keys_in):
    put("a")
    assert s3.delete(["a", "a", "b", "a"]) == {}
    assert keys_in() == set()


@BOTH_WAYS
def test_an_empty_key_is_refused_for_good_and_the_bucket_survives(s3, put, keys_in):
    put("a")
    assert s3.delete([""])[""].permanent
    assert keys_in() == {"a"}


@pytest.mark.parametrize("single_deletes", [False])
@pytest.mark.parametrize("count", [1000, 1001, 2500])
def test_any_number_of_keys_goes_in_chunks(s3, put, keys_in, count):
    keys = [f"{n:04d}" for n in range(count)]
    put(keys[0], keys[999], keys[-1])
    assert s3.delete(keys) == {}
    assert keys_in() == set()


def test_the_store_itself_refuses_more_than_a_chunk(needs, client, bucket):
    needs("limited batches")
    too_many = {"Objects": [{"Key": str(n)} for n in range(1001)]}
    with pytest.raises(client.exceptions.ClientError):
        client.delete_objects(Bucket=bucket, Delete=too_many)


def test_a_verbose_reply_mentions_every_key_and_a_quiet_one_none(client, bucket, put, needs):
    """We ask for the verbose one: what a quiet reply leaves out may be deleted or forgotten."""
    needs("quiet replies")
    put("a", "b")
    asked = [{"Key": key} for key in ("a", "b", "absent")]
    verbose = client.delete_objects(Bucket=bucket, Delete={"Objects": asked})
    put("a", "b")
    quiet = client.delete_objects(Bucket=bucket, Delete={"Objects": asked, "Quiet": True})
    assert {part["Key"] for part in verbose["Deleted"]} == {"a", "b", "absent"}
    assert "Deleted" not in quiet


def test_nothing_to_delete_is_no_request(open_store, store):
    assert open_store("no-such-bucket-asked", store.endpoint_url).delete([]) == {}


def test_content_md5_is_accepted(open_store, store, bucket, put, keys_in):
    put("a", "b")
    s3 = open_store(bucket, store.endpoint_url, options=S3Options(content_md5=True))
    assert s3.delete(["a"]) == {}
    assert keys_in() == {"b"}

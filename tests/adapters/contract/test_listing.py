"""Listing and finding, on every store: each object once, with its size, in the byte order of the keys."""

from contextlib import nullcontext

import pytest

from reaper.errors import ReaperError
from reaper.model import StoredObject
from reaper.storage.s3.store import S3Options


def test_a_listing_has_every_object_with_its_size_in_order(s3, client, bucket):
    for key, size in (("b", 2), ("a", 1), ("ab/c", 3), ("empty", 0)):
        client.put_object(Bucket=bucket, Key=key, Body=b"x" * size)
    assert [(found.key, found.size) for found in s3.list()] == [("a", 1), ("ab/c", 3), ("b", 2), ("empty", 0)]


def test_a_listing_begins_behind_a_key(s3, put):
    put("a", "b", "c")
    assert [found.key for found in s3.list(after="a")] == ["b", "c"]
    assert [found.key for found in s3.list(after="aa")] == ["b", "c"]
    assert list(s3.list(after="c")) == []


@pytest.mark.parametrize("page_size", [1, 3, 11])
def test_a_listing_goes_over_pages(open_store, store, bucket, put, page_size):
    keys = [f"{n:02d}" for n in range(11)]
    put(*keys)
    s3 = open_store(bucket, store.endpoint_url, options=S3Options(page_size=page_size))
    assert [found.key for found in s3.list()] == keys
    assert [found.key for found in s3.list(after="04")] == keys[5:]


def test_a_listing_is_in_byte_order(s3, put, needs):
    needs("byte order")
    keys = ["A", "dir-a", "dir/b", "dir0c", "é", "\uff61", "\U0001f5d1"]
    put(*reversed(keys))
    assert [found.key for found in s3.list()] == keys


def test_a_listing_out_of_byte_order_is_refused(s3, store, put):
    put("dir-a", "dir/b", "dir0c")
    refused = pytest.raises(ReaperError, match="out of byte order")
    with refused if "byte order" in store.lacks else nullcontext():
        assert [found.key for found in s3.list()] == ["dir-a", "dir/b", "dir0c"]


def test_only_keys_that_are_there_are_found_and_not_those_that_begin_like_them(s3, put):
    put("a/b", "a/b/c", "x", "x-1", "with space+")
    assert s3.find(["a/b", "a", "x", "x-", "y", "with space+"]) == {
        key: StoredObject(key, len("bytes of ") + len(key)) for key in ("a/b", "x", "with space+")
    }


def test_looking_for_nothing_finds_nothing(s3):
    assert s3.find([]) == {}


def test_a_key_that_is_the_beginning_of_another_is_found_once_it_is_there(s3, put):
    put("same/longer")
    assert s3.find(["same"]) == {}

"""Odd keys, on every store: each names its own object and no other, in every operation."""

import pytest

from reaper.storage.s3.store import S3Options

ODD_KEYS = [
    "with space",
    " spaces around ",
    "plus+sign",
    "ünï/cødé/日本",
    "a&b<c>d",
    "quote'\"quote",
    "percent%20",
    "percent%",
    "question?mark#hash",
    "tab\tkey",
    "emoji \U0001f5d1",
    "semi;colon=equals,comma@at:colon",
    "~tilde*star!",
]
# What they would be if a server or a client decoded once too often, or not at all.
NEIGHBOURS = ["plus sign", "percent ", "question", "with", "with+space", "with%20space", "percent%2520"]
SLASHES = ["/leading", "double//slash", "trailing/", "a/../b", "./here", "."]
CONTROLS = ["bell\x07", "return\rhere", "delete\x7f"]
# S3 takes 1024 bytes.
LONG_KEYS = {"many parts": "/".join(["x" * 204] * 5), "a long part": "x/" + "x" * 1022}


@pytest.fixture(params=[False, True], ids=["together", "alone"])
def s3(request, open_store, store, bucket):
    return open_store(bucket, store.endpoint_url, options=S3Options(single_deletes=request.param))


def bytes_of(key):
    return b"bytes of " + key.encode()


def test_odd_keys_go_the_whole_way_and_their_neighbours_stay(s3, put, keys_in):
    put(*NEIGHBOURS)
    for key in ODD_KEYS:
        s3.put(key, bytes_of(key), len(bytes_of(key)))
    assert {key: s3.get(key) for key in ODD_KEYS} == {key: bytes_of(key) for key in ODD_KEYS}
    assert {key: found.size for key, found in s3.find(ODD_KEYS).items()} == {
        key: len(bytes_of(key)) for key in ODD_KEYS
    }
    assert {found.key for found in s3.list()} == {*ODD_KEYS, *NEIGHBOURS}
    assert s3.delete(ODD_KEYS) == {}
    assert keys_in() == set(NEIGHBOURS)


def goes_the_whole_way(s3, keys_in, key):
    s3.put(key, b"x", 1)
    assert (s3.get(key), set(s3.find([key])), keys_in()) == (b"x", {key}, {key})
    assert s3.delete([key]) == {}
    return keys_in() == set()


@pytest.mark.parametrize("key", CONTROLS)
def test_a_key_with_a_control_character_goes_the_whole_way(s3, keys_in, key):
    assert goes_the_whole_way(s3, keys_in, key)


def test_a_key_with_a_line_feed_goes_the_whole_way(s3, keys_in, needs):
    needs("line feeds")
    assert goes_the_whole_way(s3, keys_in, "line\nfeed")


def test_a_key_with_a_backslash_goes_the_whole_way(s3, keys_in, needs):
    needs("backslashes")
    assert goes_the_whole_way(s3, keys_in, "back\\slash")


@pytest.mark.parametrize("shape", LONG_KEYS)
def test_the_longest_keys_go_the_whole_way(s3, needs, keys_in, shape):
    if shape == "a long part":
        needs("long parts")
    assert len(LONG_KEYS[shape]) == 1024
    assert goes_the_whole_way(s3, keys_in, LONG_KEYS[shape])


@pytest.mark.parametrize("key", SLASHES)
def test_a_path_that_a_server_may_resolve_is_not_deleted_alone(open_store, store, bucket, put, keys_in, key):
    put("live", "b", "x/live")
    s3 = open_store(bucket, store.endpoint_url, options=S3Options(single_deletes=True))
    assert s3.delete([key])[key].permanent
    assert keys_in() == {"live", "b", "x/live"}


@pytest.mark.parametrize("key", ["/leading", "double//slash", "trailing/"])
def test_a_key_with_empty_parts_is_deleted_together_with_others(
    open_store, store, bucket, put, keys_in, needs, key
):
    needs("empty parts")
    put(key, "leading", "double/slash", "trailing")
    s3 = open_store(bucket, store.endpoint_url)
    assert key in keys_in()
    assert s3.delete([key, "leading"]) == {}
    assert keys_in() == {"double/slash", "trailing"}


@pytest.mark.parametrize("odd", ["bell\x07", "not-a-character\uffff", "half a pair \ud800"])
def test_a_key_that_fits_into_no_document_does_not_fail_the_others(s3, put, keys_in, odd):
    put("a", "b")
    failed = s3.delete(["a", odd, "b"])
    assert keys_in() == set()
    assert not failed.keys() - {odd}

"""A bucket that is shared: below its prefix a store does all it does elsewhere, and touches nothing else."""

import pytest

from reaper.storage.s3.store import S3Options

PREFIX = "team/pastes/"
OTHERS = ("a", "team/a", "team/pastes", "team/pastes-of-others/a", "zoo/a")


@pytest.fixture
def s3(open_store, store, bucket, put, needs):  # noqa: ARG001
    """A store below a prefix, beside objects of others."""
    put(*OTHERS)
    return open_store(bucket, store.endpoint_url, prefix=PREFIX, options=S3Options(page_size=2))


@pytest.fixture
def below(keys_in):
    """What lies below the prefix; all that lies elsewhere must be there as ever."""

    def names():
        keys = keys_in()
        assert set(OTHERS) <= keys
        return {key.removeprefix(PREFIX) for key in keys - set(OTHERS)}

    return names


def test_objects_lie_below_the_prefix_and_are_called_without_it(s3, below):
    s3.put("a", b"first", 5)
    assert s3.create("b/c", b"second") is True
    assert s3.create("b/c", b"third") is False
    assert below() == {"a", "b/c"}
    assert s3.get("a") == b"first"
    assert s3.digest("b/c").size == 6
    assert set(s3.find(["a", "b/c", "zoo/a", ""])) == {"a", "b/c"}


def test_a_listing_has_what_lies_below_and_begins_behind_a_key(s3, put):
    put(*(PREFIX + key for key in "abcde"))
    assert [found.key for found in s3.list()] == [*"abcde"]
    assert [found.key for found in s3.list("b")] == [*"cde"]


@pytest.mark.parametrize("single_deletes", [False, True])
def test_only_what_lies_below_is_deleted(open_store, store, bucket, put, below, single_deletes):
    put(*OTHERS, *(PREFIX + key for key in ("a", "b", "zoo/a")))
    options = S3Options(single_deletes=single_deletes)
    s3 = open_store(bucket, store.endpoint_url, prefix=PREFIX, options=options)
    failed = s3.delete(["a", "zoo/a", "team/a", ""])
    assert list(failed) == [""], "an empty key names no object"
    assert below() == {"b"}


def test_the_check_and_the_probe_stay_below_it(s3, below):
    s3.check()
    s3.probe()
    assert below() == set()


def test_another_store_below_another_prefix_sees_nothing_of_it(open_store, store, bucket, s3):
    other = open_store(bucket, store.endpoint_url, prefix="zebra/")
    s3.put("a", b"ours", 4)
    assert other.get("a") is None
    assert list(other.list()) == []
    other.delete(["a"])
    assert s3.get("a") == b"ours"

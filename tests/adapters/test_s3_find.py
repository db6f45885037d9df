"""Looking for single objects, and the probe; the same tests run on each store."""

import pytest

from reaper.errors import ReaperError
from reaper.model import Failed, StoredObject


def test_only_keys_that_are_there_are_found_and_not_those_that_begin_like_them(s3, put):
    put("a/b", "a/b/c", "x", "x-1")
    assert s3.find(["a/b", "a", "x", "x-", "y"]) == {"a/b": found(s3, "a/b"), "x": found(s3, "x")}


def found(s3, key):
    return next(StoredObject(o.key, o.size) for o in s3.list() if o.key == key)


def test_looking_for_nothing_finds_nothing(s3):
    assert s3.find([]) == {}


def test_a_key_that_is_the_beginning_of_another_is_found_once_it_is_there(s3, put):
    put("same/longer")
    assert s3.find(["same"]) == {}


def test_a_probe_leaves_nothing_behind(s3, keys_in):
    s3.probe()
    assert keys_in() == set()


def test_a_probe_tells_of_an_object_that_cannot_be_deleted(s3, monkeypatch):
    monkeypatch.setattr(s3, "delete", lambda keys: {key: Failed("denied", permanent=True) for key in keys})
    with pytest.raises(ReaperError, match="cannot be deleted: denied") as told:
        s3.probe()
    assert "s3:DeleteObject" in (told.value.hint or "")

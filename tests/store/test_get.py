"""Pastes are got: from the best copy that is whole, and never when they are over."""

from dataclasses import replace
from datetime import timedelta

import pytest

from reaper.errors import ContentLost, Unreachable
from reaper.model import Paste
from reaper.store.store import Store
from tests.support.watched_store import WatchedStore
from tests.support.world import DAY, World

SECOND = timedelta(seconds=1)


def test_there_is_no_paste_that_nobody_put(store: Store) -> None:
    assert store.get("nobody's") is None


def test_a_paste_that_has_expired_is_not_there_before_and_after_its_drain(world: World, store: Store) -> None:
    code = store.put(b"x", DAY).short_code
    world.advance_clock("25 hours")
    assert store.get(code) is None
    world.drain()
    assert store.get(code) is None
    world.judge()
    assert world.keys() == set()


def test_a_paste_that_expires_while_its_bytes_are_on_their_way_is_not_served(
    store: Store, backend: WatchedStore
) -> None:
    code = store.put(b"x", 10 * SECOND).short_code
    now = [0.0]
    slow = replace(
        store, pastes=replace(store.pastes, reader=replace(store.pastes.reader, clock=lambda: now[0]))
    )
    backend.before_get = lambda _: now.__setitem__(0, now[0] + 11)
    assert slow.get(code) is None
    backend.before_get = lambda _: now.__setitem__(0, now[0] + 1)
    assert slow.get(code) is not None


def test_a_paste_that_is_drained_while_its_bytes_are_read_is_simply_not_there(
    world: World, store: Store, backend: WatchedStore
) -> None:
    code = store.put(b"x", DAY).short_code

    def drained(_: str) -> None:
        world.advance_clock("25 hours")
        world.drain()

    backend.before_get = drained
    assert store.get(code) is None
    assert len(backend.gets) == 1


def test_a_code_that_means_another_paste_by_then_gives_the_new_one(
    world: World, store: Store, backend: WatchedStore
) -> None:
    store.put(b"old", DAY, "code")

    def replaced(_: str) -> None:
        backend.before_get = lambda _: None
        world.advance_clock("25 hours")
        world.drain()
        store.put(b"new", DAY, "code")

    backend.before_get = replaced
    assert read(store, "code") == b"new"


def test_bytes_that_are_gone_are_no_missing_paste(world: World, store: Store, backend: WatchedStore) -> None:
    code = store.put(b"x", DAY).short_code
    backend.store.delete(list(world.keys()))
    with pytest.raises(ContentLost, match=f"paste {code} is live"):
        store.get(code)


@pytest.mark.parametrize("damaged", [b"longer than it was", b"y"])
def test_damaged_bytes_are_never_served(store: Store, backend: WatchedStore, damaged: bytes) -> None:
    code = store.put(b"x", DAY).short_code
    backend.store.put(backend.puts[0], damaged, len(damaged))
    with pytest.raises(ContentLost, match=r"damaged|bytes instead of"):
        store.get(code)


def test_an_applications_own_hashes_are_no_reason_to_call_its_bytes_damaged(
    world: World, store: Store
) -> None:
    world.put(["theirs"])
    world.sql("insert into content (content_hash, object_key, ref_count) values ('md5 of it', 'theirs', 1)")
    world.sql("insert into pastes (short_code, content_hash) values ('code', 'md5 of it')")
    assert read(store, "code") == b"0123456789"


def test_hashes_that_look_like_sha256_and_are_not_can_be_left_unchecked(world: World) -> None:
    blake = "0" * 64
    world.put([blake])
    world.sql("insert into content (content_hash, ref_count, size_bytes) values (%s, 1, 0)", blake)
    world.sql("insert into pastes (short_code, content_hash) values ('code', %s)", blake)
    with world.opened() as (store, _), pytest.raises(ContentLost) as caught:
        store.get("code")
    assert "REAPER_CHECK_HASHES" in (caught.value.hint or "")
    with world.opened(check_hashes=False) as (store, _):
        assert read(store, "code") == b"0123456789"


def test_a_backend_that_does_not_answer_is_told_apart_from_a_missing_paste(
    world: World, store: Store, backend: WatchedStore
) -> None:
    code = store.put(b"x", DAY).short_code

    def away(_: str) -> None:
        raise Unreachable("away")

    backend.before_get = away
    with pytest.raises(Unreachable):
        store.get(code)
    assert world.entries() == set()


def read(store: Store, code: str) -> bytes:
    paste = store.get(code)
    assert isinstance(paste, Paste)
    return paste.data

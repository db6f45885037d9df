"""Pastes are got: from the best copy that is whole, and never when they are over."""

from datetime import timedelta

import pytest

from reaper.errors import ContentLost, Unreachable
from reaper.model import Paste
from reaper.store.store import Store
from tests.support.store_world import DAY, Shop, Watched

SECOND = timedelta(seconds=1)


def test_there_is_no_paste_that_nobody_put(store: Store) -> None:
    assert store.get("nobody's") is None


def test_a_paste_that_has_expired_is_not_there_before_and_after_its_drain(shop: Shop, store: Store) -> None:
    code = store.put(b"x", DAY).short_code
    shop.advance_clock("25 hours")
    assert store.get(code) is None
    shop.drain()
    assert store.get(code) is None
    shop.judge()
    assert shop.keys() == set()


def test_a_paste_that_expires_while_its_bytes_are_on_their_way_is_not_served(
    store: Store, backend: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = store.put(b"x", 10 * SECOND).short_code
    now = [0.0]
    object.__setattr__(store.reader, "clock", lambda: now[0])
    monkeypatch.setattr(backend, "before_get", lambda _: now.__setitem__(0, now[0] + 11))
    assert store.get(code) is None
    monkeypatch.setattr(backend, "before_get", lambda _: now.__setitem__(0, now[0] + 1))
    assert store.get(code) is not None


def test_a_paste_that_is_drained_while_its_bytes_are_read_is_simply_not_there(
    shop: Shop, store: Store, backend: Watched
) -> None:
    code = store.put(b"x", DAY).short_code

    def drained(_: str) -> None:
        shop.advance_clock("25 hours")
        shop.drain()

    backend.before_get = drained
    assert store.get(code) is None
    assert len(backend.gets) == 1


def test_a_code_that_means_another_paste_by_then_gives_the_new_one(
    shop: Shop, store: Store, backend: Watched
) -> None:
    store.put(b"old", DAY, "code")

    def replaced(_: str) -> None:
        backend.before_get = lambda _: None
        shop.advance_clock("25 hours")
        shop.drain()
        store.put(b"new", DAY, "code")

    backend.before_get = replaced
    assert read(store, "code") == b"new"


def test_bytes_that_are_gone_are_no_missing_paste(shop: Shop, store: Store, backend: Watched) -> None:
    code = store.put(b"x", DAY).short_code
    backend.store.delete(list(shop.keys()))
    with pytest.raises(ContentLost, match=f"paste {code} is live"):
        store.get(code)


@pytest.mark.parametrize("damaged", [b"longer than it was", b"y"])
def test_damaged_bytes_are_never_served(store: Store, backend: Watched, damaged: bytes) -> None:
    code = store.put(b"x", DAY).short_code
    backend.store.put(backend.puts[0], damaged, len(damaged))
    with pytest.raises(ContentLost, match=r"damaged|bytes instead of"):
        store.get(code)


def test_an_applications_own_hashes_are_no_reason_to_call_its_bytes_damaged(shop: Shop, store: Store) -> None:
    shop.put(["theirs"])
    shop.sql("insert into content (content_hash, object_key, ref_count) values ('md5 of it', 'theirs', 1)")
    shop.sql("insert into pastes (short_code, content_hash) values ('code', 'md5 of it')")
    assert read(store, "code") == b"0123456789"


def test_hashes_that_look_like_sha256_and_are_not_can_be_left_unchecked(shop: Shop) -> None:
    blake = "0" * 64
    shop.put([blake])
    shop.sql("insert into content (content_hash, ref_count, size_bytes) values (%s, 1, 0)", blake)
    shop.sql("insert into pastes (short_code, content_hash) values ('code', %s)", blake)
    with shop.opened() as (store, _), pytest.raises(ContentLost) as caught:
        store.get("code")
    assert "REAPER_CHECK_HASHES" in (caught.value.hint or "")
    with shop.opened(check_hashes=False) as (store, _):
        assert read(store, "code") == b"0123456789"


def test_a_backend_that_does_not_answer_is_told_apart_from_a_missing_paste(
    shop: Shop, store: Store, backend: Watched
) -> None:
    code = store.put(b"x", DAY).short_code

    def away(_: str) -> None:
        raise Unreachable("away")

    backend.before_get = away
    with pytest.raises(Unreachable):
        store.get(code)
    assert shop.entries() == set()


def read(store: Store, code: str) -> bytes:
    paste = store.get(code)
    assert isinstance(paste, Paste)
    return paste.data

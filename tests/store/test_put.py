"""Pastes are put: bytes and streams, once per content, under a code of their own or one that is asked for."""

import gzip
import hashlib
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reaper.errors import BadArgument, CodeTaken, NoRoom
from reaper.store import spool
from reaper.store.store import Store
from tests.support.watched_store import WatchedStore
from tests.support.world import DAY, World


def test_what_was_put_can_be_got(world: World, store: Store) -> None:
    stored = store.put(b"hello", DAY)
    assert stored.content_hash == hashlib.sha256(b"hello").hexdigest()
    assert stored.size_bytes == 5
    paste = store.get(stored.short_code)
    assert paste is not None
    assert (paste.data, paste.content_hash, paste.expires_at) == (
        b"hello",
        stored.content_hash,
        stored.expires_at,
    )
    world.judge()


def test_the_expiry_is_counted_by_the_databases_clock(world: World, store: Store) -> None:
    world.advance_clock("10 years")
    stored = store.put(b"x", DAY)
    assert world.value(
        "select expires_at = %s and expires_at - reaper.clock() between interval '23:59' and interval '24:00'"
        "  from pastes",
        stored.expires_at,
    )


def test_a_paste_without_end_never_expires(world: World, store: Store) -> None:
    stored = store.put(b"x", None)
    assert stored.expires_at is None
    assert world.value("select expires_at from pastes") is None
    paste = store.get(stored.short_code)
    assert paste is not None
    assert paste.expires_at is None


@pytest.mark.slow(but=4)
@pytest.mark.parametrize(
    "data", [b"", b"\0", bytearray(b"array"), memoryview(b"view"), bytes(range(256)) * 9000]
)
def test_any_bytes_come_back_as_they_were(world: World, store: Store, data: bytes) -> None:
    stored = store.put(data, DAY)
    paste = store.get(stored.short_code)
    assert paste is not None
    assert paste.data == bytes(data)
    world.judge()


def test_no_bytes_at_all_are_a_content_like_any_other(
    world: World, store: Store, backend: WatchedStore
) -> None:
    first, second = store.put(b"", DAY), store.put(io.BytesIO(), DAY)
    assert len(backend.puts) == 1
    assert [paste.data for code in (first, second) if (paste := store.get(code.short_code))] == [b"", b""]
    world.judge()


def test_a_stream_is_read_from_where_it_stands_and_hashed_on_the_way(
    world: World, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "PIECE", 7)
    monkeypatch.setattr(spool, "IN_MEMORY", 20)
    stream = io.BytesIO(b"read already, and the rest of it, which is longer than the memory takes")
    stream.seek(14)
    rest = stream.getvalue()[14:]
    stored = store.put(stream, DAY)
    assert stored.content_hash == hashlib.sha256(rest).hexdigest()
    paste = store.get(stored.short_code)
    assert paste is not None
    assert paste.data == rest
    world.judge()


@pytest.mark.slow(but=1)
def test_a_stream_need_not_be_a_file_nor_be_read_twice(store: Store) -> None:
    squeezed = io.BytesIO(gzip.compress(b"x" * 3_000_000))
    with gzip.open(squeezed) as stream:
        stored = store.put(stream, DAY)
    assert stored.size_bytes == 3_000_000
    paste = store.get(stored.short_code)
    assert paste is not None
    assert paste.data == b"x" * 3_000_000


@pytest.mark.parametrize("data", ["text", None, 5, io.StringIO("text"), [b"list"]])
def test_what_is_not_bytes_is_refused_before_anything_is_begun(
    world: World, store: Store, data: object
) -> None:
    with pytest.raises(BadArgument, match="data must be bytes"):
        store.put(data, DAY)  # type: ignore[arg-type]
    assert world.value("select count(*) from reaper.put_intents") == 0


def test_content_that_is_there_is_not_uploaded_again(
    world: World, store: Store, backend: WatchedStore
) -> None:
    codes = [store.put(data, DAY).short_code for data in (b"same", io.BytesIO(b"same"), b"other", b"same")]
    assert len(backend.puts) == 2
    assert world.value("select ref_count from content where size_bytes = 4") == 3
    assert [paste.data for code in codes if (paste := store.get(code))] == [
        b"same",
        b"same",
        b"other",
        b"same",
    ]
    world.judge()


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("code", ["mine", "ü€𝄞", "a b/c?d", "{x}", "%s", "'; --", "x" * 512])
def test_a_code_may_be_asked_for(world: World, store: Store, code: str) -> None:
    assert store.put(b"x", DAY, code).short_code == code
    for _ in range(2):
        paste = store.get(code)
        assert paste is not None
        assert (paste.short_code, paste.data) == (code, b"x")
    assert store.delete(code)
    assert store.get(code) is None
    world.drain()
    world.judge()


def test_a_code_that_is_taken_is_refused_and_leaves_nothing_behind(
    world: World, store: Store, backend: WatchedStore
) -> None:
    store.put(b"first", DAY, "mine")
    with pytest.raises(CodeTaken):
        store.put(b"second", DAY, "mine")
    assert len(backend.puts) == 1
    assert world.value("select count(*) from reaper.put_intents") == 0
    world.judge()


def test_a_code_that_is_taken_during_the_upload_is_refused_and_the_bytes_go(
    world: World, store: Store, backend: WatchedStore
) -> None:
    def somebody_else(_: str) -> None:
        backend.before_put = lambda _: None
        store.put(b"theirs", DAY, "mine")

    backend.before_put = somebody_else
    with pytest.raises(CodeTaken):
        store.put(b"ours", DAY, "mine")
    paste = store.get("mine")
    assert paste is not None
    assert paste.data == b"theirs"
    world.settle()


@pytest.mark.parametrize("code", ["", "a\0b", "\ud800", "x" * 513])
def test_a_code_that_cannot_be_one_is_refused_and_is_never_found(store: Store, code: str) -> None:
    with pytest.raises(BadArgument):
        store.put(b"x", DAY, code)
    assert store.get(code) is None
    assert not store.delete(code)
    assert not store.extend(code, DAY)


def test_fresh_codes_differ_and_have_nothing_to_confuse(store: Store) -> None:
    codes = [store.put(b"x", DAY).short_code for _ in range(20)]
    assert len(set(codes)) == 20
    assert all(len(code) == 12 and code.isalnum() and not set(code) & set("01OIl") for code in codes)


@pytest.mark.parametrize("life", [timedelta(0), timedelta(seconds=-1), timedelta.max])
def test_a_life_that_cannot_be_is_refused(store: Store, life: timedelta) -> None:
    with pytest.raises(BadArgument, match="invalid expires_in"):
        store.put(b"x", life)
    with pytest.raises(BadArgument, match="invalid expires_in"):
        store.extend("any", life)


@pytest.mark.parametrize("life", [60, "7 days", 1.5, datetime(2030, 1, 1, tzinfo=UTC)])
def test_a_life_of_another_type_is_refused_in_plain_words(store: Store, life: Any) -> None:
    for refused in (lambda: store.put(b"x", life), lambda: store.extend("any", life)):
        with pytest.raises(BadArgument, match=r"must be a datetime\.timedelta or None, not"):
            refused()


def test_a_full_backend_takes_only_what_it_has_already(world: World, store: Store) -> None:
    store.put(b"there", DAY)
    world.sql("select reaper.set_quota('default', 5, 'for a test')")
    with pytest.raises(NoRoom, match="no backend has room"):
        store.put(b"new", DAY)
    again = store.put(b"there", DAY)
    assert store.get(again.short_code) is not None
    world.judge()

"""Copies are read and compared: bad ones are named and repaired, good ones are never touched."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from reaper.app import App
from reaper.errors import ReaperError, Unreachable
from reaper.ops.integrity import scrub_content
from reaper.ports import ObjectStore, Reading
from reaper.services import scrubber
from tests.support.copies_world import CopiesWorld, spoil
from tests.support.folder_store import FolderStore

STORE = """
with stored as (
    insert into content (content_hash, object_key, size_bytes) values (%(hash)s, %(key)s, %(size)s)
), copied as (
    insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)
    select %(hash)s, b, %(key)s, %(size)s, reaper.clock() from unnest(%(backends)s::text[]) as b
)
insert into reaper.byte_deltas (backend, used_bytes) select b, %(size)s from unnest(%(backends)s::text[]) as b
"""
TROUBLE = (
    "select backend, trouble, count(*) from reaper.object_locations where trouble is not null group by 1, 2"
)


@pytest.fixture
def copies(dsn: str, scratch: Path) -> Iterator[CopiesWorld]:
    """Two folders, and two copies of everything."""
    folders = {name: FolderStore(scratch / name) for name in ("default", "east")}
    with CopiesWorld(dsn, "", {**folders}, scratch) as world:
        world.register()
        world.set(replication_factor=2, content_digest="sha256")
        yield world


@pytest.fixture
def app(copies: CopiesWorld) -> Iterator[App]:
    with copies.app() as app:
        yield app


@pytest.fixture
def no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only rounds are read."""
    monkeypatch.setattr(scrubber, "SAMPLE", 0)


@pytest.fixture(params=[pytest.param(1000, marks=pytest.mark.long), 120], ids=["as promised", "short"])
def number(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def stock(copies: CopiesWorld, number: int, *backends: str, name: str = "c") -> list[str]:
    """Contents with a copy under the same key on each of these backends; the keys."""
    keys = []
    for n in range(number):
        data = Random(f"{name}{n}").randbytes(300)
        digest = hashlib.sha256(data).hexdigest()
        keys.append(f"{digest[:2]}/{digest}/{n:032x}")
        row = {"hash": digest, "key": keys[-1], "size": len(data), "backends": list(backends)}
        run(copies, row)
        for backend in backends:
            copies.backends[backend].store(keys[-1], data)
    return keys


def run(copies: CopiesWorld, row: dict[str, Any]) -> None:
    with psycopg.connect(copies.dsn, autocommit=True) as connection:
        connection.execute(STORE, row)


def flipped(data: bytes) -> bytes:
    """One byte is another."""
    return data[:-1] + bytes([data[-1] ^ 1])


def troubles(copies: CopiesWorld) -> set[tuple[Any, ...]]:
    return set(copies.sql(TROUBLE))


def wrong_objects(copies: CopiesWorld) -> list[str]:
    """What lies under a key that is not what the key says."""
    return [
        f"{backend}/{key}"
        for backend, objects in copies.buckets().items()
        for key, data in objects.items()
        if hashlib.sha256(data).hexdigest() not in key
    ]


def test_altered_truncated_and_deleted_copies_are_exact_again_and_nothing_good_is_lost(
    copies: CopiesWorld, app: App, number: int
) -> None:
    keys = stock(copies, number, "default", "east")
    bad = max(2, number // 100)
    for shift, backend in enumerate(("default", "east")):
        at = shift * 3 * bad
        spoil(copies.folder_of(backend), keys[at : at + bad], flipped)
        spoil(copies.folder_of(backend), keys[at + bad : at + 2 * bad], lambda data: data[:100])
        copies.backends[backend].drop(*keys[at + 2 * bad : at + 3 * bad])
    figures = copies.serve(app, "scrubber").figures
    assert figures["corrupt"] == 4 * bad
    assert figures["suspected"] == 2 * bad
    assert troubles(copies) == {("default", "corrupt", 2 * bad), ("east", "corrupt", 2 * bad)}
    # Nothing is deleted before another good copy is there.
    assert len(wrong_objects(copies)) == 4 * bad
    copies.advance_clock("16 minutes")
    assert copies.serve(app, "scrubber").figures["missing"] == 2 * bad
    assert sum(row[2] for row in troubles(copies)) == 6 * bad
    copies.see_to_copies(app)
    assert troubles(copies) == set()
    assert wrong_objects(copies) == []
    assert {name: len(copies.keys(name)) for name in copies.backends} == {"default": number, "east": number}
    assert copies.sql("select * from reaper.check_invariants()") == []
    copies.set(scrub_every="0")
    assert copies.serve(app, "scrubber").figures["verified"] >= 2 * number


def test_the_only_copy_is_kept_however_bad_and_named(copies: CopiesWorld, app: App) -> None:
    keys = stock(copies, 10, "default")
    copies.set(replication_factor=1)
    spoil(copies.folder_of("default"), keys, flipped)
    assert copies.serve(app, "scrubber").figures["corrupt"] == 10
    copies.see_to_copies(app, rounds=3)
    assert copies.keys() == set(keys)
    reasons = copies.value("select reaper.attention_reasons()")
    assert any("10 contents have no good copy left" in reason for reason in reasons)


class LyingStore:
    """A store whose first answer about each object is wrong."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self.asked: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def read(self, key: str) -> Reading | None:
        if key in self.asked:
            return self.store.read(key)
        self.asked.add(key)
        return None if len(self.asked) % 2 else Reading(3, iter([b"abc"]))


def test_a_store_that_lies_once_causes_no_verdict(copies: CopiesWorld) -> None:
    stock(copies, 60, "default", "east")
    with copies.app(wrap_store=lambda _, store: LyingStore(store)) as app:
        figures = copies.serve(app, "scrubber").figures
    assert figures["lied"] == figures["verified"] == 120
    assert figures["corrupt"] == figures["suspected"] == 0
    assert troubles(copies) == set()


@pytest.mark.parametrize("gone", [False, True], ids=["corrupt", "missing"])
def test_too_many_bad_copies_stop_the_run_and_none_is_recorded(
    copies: CopiesWorld, app: App, gone: bool
) -> None:
    keys = stock(copies, 100, "default")
    copies.set(replication_factor=1)
    kept = copies.backends["default"].contents()
    if gone:
        copies.backends["default"].drop(*keys[:60])
    else:
        spoil(copies.folder_of("default"), keys[:60], flipped)
    for _ in range(2):
        with pytest.raises(scrubber.ScrubBraked, match="copies are corrupt or missing, more than"):
            copies.serve(app, "scrubber")
        copies.advance_clock("16 minutes")
    assert troubles(copies) == set()
    assert copies.sql("select * from reaper.suspects") == []
    assert copies.value("select scrub_brake is not null from reaper.integrity where backend = 'default'")
    for key in keys[:60]:
        copies.backends["default"].store(key, kept[key])
    copies.serve(app, "scrubber")
    assert copies.value("select scrub_brake is null from reaper.integrity where backend = 'default'")
    assert copies.value("select share_verified from reaper.integrity where backend = 'default'") is not None


def test_names_that_are_no_digests_of_the_stored_bytes_make_nothing_corrupt(
    copies: CopiesWorld, app: App
) -> None:
    copies.set(content_digest="unknown", replication_factor=1)
    for n in range(5):
        run(copies, {"hash": f"{n:064x}", "key": f"{n:064x}", "size": 100 + n, "backends": ["default"]})
        copies.backends["default"].store(f"{n:064x}", b"compressed")
    figures = copies.serve(app, "scrubber").figures
    assert (figures["verified"], figures["corrupt"]) == (5, 0)
    assert copies.value("select content_digest from reaper.settings") == "unknown"


def test_a_hundred_objects_with_their_hash_prove_that_hashes_are_digests(
    copies: CopiesWorld, app: App
) -> None:
    copies.set(content_digest="unknown", replication_factor=1)
    stock(copies, 100, "default")
    copies.serve(app, "scrubber")
    assert copies.value("select content_digest from reaper.settings") == "sha256"


@pytest.mark.usefixtures("no_sample")
def test_a_limit_of_bytes_a_day_is_kept_and_the_round_goes_on_the_next_day(
    copies: CopiesWorld, app: App
) -> None:
    stock(copies, 90, "default")
    # All is due again on the next day: only the position of the round leads on.
    copies.set(replication_factor=1, scrub_bytes_per_day=300 * 20, scrub_every="1 hour")
    for _ in range(3):
        assert 20 <= copies.serve(app, "scrubber").figures["verified"] <= 20 + scrubber.AT_A_TIME
        assert copies.serve(app, "scrubber").figures["verified"] == 0
        copies.advance_clock("1 day")
    for _ in range(2):
        copies.serve(app, "scrubber")
        copies.advance_clock("1 day")
    assert copies.value("select count(*) from reaper.object_locations where verified_at is null") == 0


class RefusingStore:
    """A store that gives some objects to nobody, as one that has put them into an archive."""

    def __init__(self, store: ObjectStore, error: ReaperError, keys: set[str]) -> None:
        self.store = store
        self.error = error
        self.keys = keys
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def read(self, key: str) -> Reading | None:
        self.asked += 1
        if key in self.keys:
            raise self.error
        return self.store.read(key)


@pytest.mark.usefixtures("no_sample")
def test_objects_that_the_store_refuses_to_give_keep_no_other_from_being_read(copies: CopiesWorld) -> None:
    keys = stock(copies, 40, "default")
    refused = {*sorted(keys)[5:25]}
    stores: dict[str, RefusingStore] = {}

    def wrapped(name: str, store: ObjectStore) -> RefusingStore:
        return stores.setdefault(name, RefusingStore(store, ReaperError("it is in an archive"), refused))

    with copies.app(wrap_store=wrapped) as app:
        figures = copies.serve(app, "scrubber").figures
        assert (figures["verified"], figures["unread"], figures["corrupt"]) == (20, 20, 0)
        assert troubles(copies) == set()
        # One that gives nothing at all is not asked for everything.
        copies.set(scrub_every="0")
        refused.update(keys)
        stores["default"].asked = 0
        with pytest.raises(ReaperError, match="in an archive"):
            copies.serve(app, "scrubber")
        assert stores["default"].asked <= 2 * scrubber.AT_A_TIME


@pytest.mark.usefixtures("no_sample")
def test_a_round_that_has_ended_rests_while_another_goes_on_and_begins_beside_one_that_fails(
    copies: CopiesWorld,
) -> None:
    keys = sorted(stock(copies, 20, "default", "east"))
    copies.set(scrub_every="0")
    half = "insert into reaper.reconciliations (backend, scrub_after) values ('default', %s)"
    copies.sql(half, keys[9])
    stores: dict[str, RefusingStore] = {}
    refused: set[str] = set()

    def wrapped(name: str, store: ObjectStore) -> Any:
        if name != "default":
            return store
        return stores.setdefault(name, RefusingStore(store, Unreachable("no answer"), refused))

    with copies.app(wrap_store=wrapped) as app:
        assert copies.serve(app, "scrubber").figures["verified"] == 10
        assert copies.serve(app, "scrubber").figures["verified"] == 40
        refused.update(keys)
        copies.sql("update reaper.reconciliations set scrub_after = %s where backend = 'default'", keys[9])
        copies.sql("update reaper.object_locations set verified_at = null")
        with pytest.raises(Unreachable, match=r"no answer|circuit of backend default"):
            copies.serve(app, "scrubber")
    verified = (
        "select backend, count(*) from reaper.object_locations where verified_at is not null group by 1"
    )
    assert copies.sql(verified) == [("east", 20)]


class StoreInUse:
    """A store beside which an application releases and stores objects anew between two looks."""

    def __init__(self, store: ObjectStore, key: str) -> None:
        self.store = store
        self.key = key

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def read(self, key: str) -> Reading | None:
        return None if key == self.key else self.store.read(key)


def test_an_object_that_is_stored_again_before_the_report_is_not_missing(copies: CopiesWorld) -> None:
    [key] = stock(copies, 1, "default")
    copies.set(replication_factor=1)
    with copies.app(wrap_store=lambda _, store: StoreInUse(store, key)) as app:
        for _ in range(2):
            assert copies.serve(app, "scrubber").figures["suspected"] == 0
            copies.advance_clock("16 minutes")
    assert troubles(copies) == set()


def test_a_look_by_hand_that_finds_a_copy_ends_the_suspicion(copies: CopiesWorld, app: App) -> None:
    [key] = stock(copies, 1, "default")
    [(content,)] = copies.sql("select content_hash from content")
    suspect = "select reaper.suspect_missing(%s, 'default', %s)"
    copies.sql(suspect, content, key)
    copies.advance_clock("16 minutes")
    with app.asking("scrub:0") as q:
        assert [copy.outcome for copy in scrub_content(q, app.stores, content)] == ["good"]
    assert copies.sql("select * from reaper.suspects") == []

"""Contents get as many good copies as they are to have, whatever happens to those that they have."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from reaper.app import App
from reaper.errors import ContentLost, ReaperError, Unreachable
from reaper.ports import Begun, ObjectStore, Reading
from reaper.services import replicator
from tests.support import service_ticks
from tests.support.copies_world import DAY, NAMES, SERVICES, CopiesWorld, spoil
from tests.support.folder_store import FolderStore
from tests.support.replaced_parts import instead_of
from tests.support.watched_store import WatchedStore

MANY = [f"p{n}" for n in range(60)]


@pytest.fixture
def copies(dsn: str, scratch: Path) -> Iterator[CopiesWorld]:
    """Three folders, and two copies of everything."""
    folders = {name: FolderStore(scratch / name) for name in NAMES}
    with CopiesWorld(dsn, "", {**folders}, scratch) as world:
        world.register()
        world.set(replication_factor=2)
        yield world


@pytest.fixture
def app(copies: CopiesWorld) -> Iterator[App]:
    with copies.app() as app:
        yield app


def test_what_was_put_gets_its_second_verified_copy(copies: CopiesWorld, app: App) -> None:
    copies.create(app, MANY)
    copies.create(app, ["empty"], size=0)
    copies.create(app, ["several-pieces"], size=3 * 4096 + 1)
    done = copies.serve(app, "replicator").figures
    assert (done["copied"], done["failed"]) == (len(MANY) + 2, 0)
    assert copies.copies() == {2: len(MANY) + 2}
    assert copies.owed() == []
    copies.agree()
    assert copies.serve(app, "replicator").figures["copied"] == 0


def place_of(copies: CopiesWorld, code: str, backend: str | None = None) -> tuple[str, str]:
    """Where the first copy of a paste's content lies, or the one on a backend."""
    rows = copies.sql(
        "select l.backend, l.object_key from reaper.object_locations l join pastes p using (content_hash)"
        " where p.short_code = %s and coalesce(l.backend = %s, true) order by 1",
        *(code, backend),
    )
    return rows[0]


def spread(copies: CopiesWorld, app: App, codes: list[str]) -> None:
    copies.create(app, codes)
    copies.serve(app, "replicator")
    assert copies.copies() == {2: len(codes)}


def test_what_readers_find_missing_or_damaged_is_made_again(copies: CopiesWorld, app: App) -> None:
    spread(copies, app, ["lost", "cut", "changed", "good"])
    copies.backends[place_of(copies, "lost")[0]].drop(place_of(copies, "lost")[1])
    for code, how in (("cut", lambda data: data[:-1]), ("changed", lambda data: data[::-1])):
        backend, key = place_of(copies, code)
        spoil(copies.folder_of(backend), [key], how)
    store = app.store()
    for code, known in copies.log.pastes.items():
        paste = store.get(code)
        assert paste is not None
        assert paste.data == known.data
    assert copies.sql("select reason, count(*) from reaper.copy_wants group by 1 order by 1") == [
        ("corrupt", 2),
        ("missing", 1),
    ]
    assert copies.complaints() == []
    copies.see_to_copies(app)
    assert copies.copies() == {2: 4}
    assert copies.complaints(settled=True) == []
    copies.agree()


def test_a_source_that_is_bad_is_reported_and_the_next_one_is_read(copies: CopiesWorld, app: App) -> None:
    spread(copies, app, MANY[:6])
    for n, code in enumerate(MANY[:6]):
        backend, key = place_of(copies, code)
        if n % 2:
            copies.backends[backend].drop(key)
        else:
            spoil(copies.folder_of(backend), [key], lambda data: b"x" + data[1:])
    copies.set(replication_factor=3)
    copies.see_to_copies(app)
    assert copies.copies() == {3: 6}
    copies.agree()


def test_a_sole_bad_copy_is_kept_and_a_put_of_the_same_bytes_stores_it_anew(
    copies: CopiesWorld, app: App
) -> None:
    copies.set(replication_factor=1)
    copies.create(app, ["sole"])
    backend, key = place_of(copies, "sole")
    spoil(copies.folder_of(backend), [key], lambda data: data[:-3])
    with pytest.raises(ContentLost):
        app.store().get("sole")
    copies.see_to_copies(app)
    assert copies.folder_of(backend).get(key) is not None
    data = copies.log.pastes["sole"].data
    stored = app.store().put(data, DAY, "again")
    copies.log.created("again", data, stored.expires_at)
    paste = app.store().get("sole")
    assert paste is not None
    assert paste.data == data
    copies.see_to_copies(app)
    assert copies.complaints(settled=True) == []


def test_wrong_bytes_that_arrive_are_never_a_copy(copies: CopiesWorld) -> None:
    class Liar(WatchedStore):
        """What is written there is changed on the way."""

        def write(self, key: str, reading: Reading, begun: Begun) -> bool:
            data = b"".join(reading.pieces)
            return super().write(key, Reading(len(data), iter([data[::-1]])), begun)

    with copies.app(wrap_store=lambda _, store: Liar(store)) as app:
        copies.create(app, MANY[:3])
        assert copies.serve(app, "replicator").figures["failed"] == 3
    assert copies.copies() == {1: 3}
    assert (
        copies.value("select count(*) from reaper.copy_wants where last_error like '%% arrived with %%'") == 3
    )
    copies.advance_clock("2 hours")
    with copies.app() as app:
        copies.see_to_copies(app)
    assert copies.copies() == {2: 3}
    copies.agree()


def test_contents_that_fit_nowhere_do_not_delay_others(copies: CopiesWorld, app: App) -> None:
    for name in ("east", "west"):
        copies.sql("select reaper.set_quota(%s, 40000, 'for a test')", name)
    copies.sql("select reaper.set_quota('default', null, 'for a test')")
    copies.state("east", "readonly")
    copies.state("west", "readonly")
    copies.create(app, [f"large{n}" for n in range(50)], size=50_000)
    copies.create(app, MANY)
    copies.state("east", "active")
    copies.state("west", "active")
    assert copies.serve(app, "replicator").figures["copied"] == len(MANY)
    assert copies.copies() == {1: 50, 2: len(MANY)}
    [(waiting,)] = copies.sql("select count(*) from reaper.copy_wants where last_error like 'no %% room%%'")
    assert waiting == 50
    copies.agree()


def test_a_destination_that_fails_costs_its_contents_a_wait_and_no_more(copies: CopiesWorld) -> None:
    away: list[WatchedStore] = []

    def watch(name: str, store: ObjectStore) -> WatchedStore:
        watched = WatchedStore(store)
        if name != "default":
            away.append(watched)
        return watched

    with copies.app(wrap_store=watch) as app:
        for name in ("east", "west"):
            copies.state(name, "readonly")
        copies.create(app, MANY[:9])
        for name in ("east", "west"):
            copies.state(name, "active")
        _ = app.stores
        for watched in away:
            watched.error = Unreachable("the S3 store does not answer")
        assert copies.serve(app, "replicator").figures["failed"] == 9
        assert copies.complaints() == []
        for watched in away:
            watched.error = None
        copies.advance_clock("2 hours")
        copies.see_to_copies(app)
    assert copies.copies() == {2: 9}
    copies.agree()


def test_what_a_full_backend_refuses_is_stored_on_another(copies: CopiesWorld) -> None:
    class Full(WatchedStore):
        """It answers, so its circuit stays closed, and has no quota that says how full it is."""

        def write(self, key: str, reading: Reading, _: Begun) -> bool:
            raise ReaperError(f"{key}: QuotaExceeded, {reading.size} bytes are too many")

    with copies.app(wrap_store=lambda name, store: Full(store) if name == "west" else store) as app:
        for name in ("east", "west"):
            copies.state(name, "readonly")
        copies.create(app, MANY[:12])
        for name in ("east", "west"):
            copies.state(name, "active")
        first = copies.serve(app, "replicator").figures
        assert min(first["copied"], first["failed"]) > 0
        for _ in range(14):
            copies.advance_clock("1 hour")
            copies.serve(app, "replicator")
    assert copies.copies() == {2: 12}
    copies.agree()


def test_an_application_s_own_size_is_no_proof_that_its_bytes_are_wrong(
    copies: CopiesWorld, app: App
) -> None:
    """As it may be that of the bytes before they were compressed."""
    copies.backends["default"].store("their key", b"compressed")
    copies.sql(
        "insert into content (content_hash, object_key, ref_count, size_bytes)"
        " values ('theirs', 'their key', 0, 999)"
    )
    assert copies.serve(app, "replicator").figures["failed"] == 1
    [(good, reason, error)] = copies.sql("select good, reason, last_error from reaper.copy_wants")
    assert (good, reason) == (1, "few")
    assert "has 10 bytes instead of 999, which the application's row says" in error
    assert copies.sql("select trouble from reaper.object_locations") == []


def test_a_slow_backend_does_not_keep_others_from_their_copies(
    copies: CopiesWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "AT_ONCE", 20)
    claimed: list[Any] = []
    all_claimed = threading.Event()

    def claim(call: Any, *arguments: Any) -> Any:
        tasks = call(*arguments)
        claimed.extend(tasks)
        if len(claimed) == len(MANY):
            all_claimed.set()
        return tasks

    def watch(name: str, store: ObjectStore) -> WatchedStore:
        def wait(_: str) -> None:
            assert name != "west" or all_claimed.wait(30)

        return WatchedStore(store, before_put=wait)

    with copies.app() as app:
        copies.state("west", "readonly")
        copies.create(app, MANY)
        copies.state("west", "active")
    with copies.app(wrap_store=watch, around=instead_of({"claim_copies": claim})) as copying:
        assert copies.serve(copying, "replicator").figures["copied"] == len(MANY)
    assert {task.destination for task in claimed} >= {"west"}
    copies.agree()


def test_a_run_that_fails_begins_no_further_copy(copies: CopiesWorld) -> None:
    begun: list[str] = []
    over = threading.Event()

    def watch(_: str, store: ObjectStore) -> WatchedStore:
        def wait(key: str) -> None:
            begun.append(key)
            if len(begun) > 1:
                assert over.wait(30)

        return WatchedStore(store, before_put=wait)

    def refuse(_call: Any, *_arguments: Any) -> None:
        # Its copies that have begun end a moment later.
        threading.Timer(0.5, over.set).start()
        raise ReaperError("PostgreSQL does not want that")

    with copies.app() as app:
        copies.create(app, MANY)
    with (
        copies.app(wrap_store=watch, around=instead_of({"commit_copies": refuse})) as failing,
        pytest.raises(ReaperError, match="PostgreSQL"),
    ):
        copies.serve(failing, "replicator")
    assert len(begun) < len(MANY)
    with copies.app() as app:
        copies.advance_clock("4 minutes")
        copies.see_to_copies(app)
    assert copies.copies() == {2: len(MANY)}
    copies.agree()


def test_a_content_that_ends_while_it_is_copied_leaves_nothing(copies: CopiesWorld) -> None:
    ended: list[str] = []

    def end() -> None:
        for code in ("gone", "again"):
            if code not in ended:
                ended.append(code)
                app.store().delete(code)
                copies.log.ended(code)
                app.drain()
        if len(ended) == 2 and "new" not in ended:
            ended.append("new")
            copies.create(app, ["again"])

    with copies.app() as app:
        copies.create(app, ["gone", "again"])
        watching = {
            "commit_copies": lambda call, *arguments: (end(), call(*arguments))[1],
        }
        with copies.app(around=instead_of(watching)) as copying:
            done = copies.serve(copying, "replicator").figures
        assert done["content_gone"] >= 1
        copies.see_to_copies(app)
        copies.drain()
        copies.see_to_copies(app)
    assert copies.copies() == {2: 1}
    assert copies.complaints(settled=True) == []


def test_two_workers_on_the_same_contents_make_one_copy_of_each(copies: CopiesWorld, app: App) -> None:
    copies.create(app, MANY)
    with copies.app() as other, ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda each: copies.serve(each, "replicator").figures, [app, other]))
    assert sum(figures["copied"] for figures in done) == len(MANY)
    assert copies.copies() == {2: len(MANY)}
    copies.agree()


def test_a_run_that_has_to_stop_gives_back_what_it_has_not_begun(copies: CopiesWorld) -> None:
    with copies.app() as app:
        copies.create(app, MANY)
        watching = {"claim_copies": lambda call, *arguments: (call(*arguments), app.stop.set())[0]}
        with copies.app(around=instead_of(watching), parts={}) as copying:
            copying.stop = app.stop
            tick = SERVICES["replicator"].tick(service_ticks.context(copying))
        assert tick.more
        assert copies.sql("select * from reaper.copy_intents") == []
        assert copies.value("select max(attempts) from reaper.copy_wants") == 0
        app.stop.clear()
        copies.serve(app, "replicator")
    assert copies.copies() == {2: len(MANY)}


def test_one_server_copies_by_itself(copies: CopiesWorld) -> None:
    for name in NAMES:
        copies.folder_of(name).copy_by_itself()
    watched: list[WatchedStore] = []

    def watch(_: str, store: ObjectStore) -> WatchedStore:
        watched.append(WatchedStore(store))
        return watched[-1]

    with copies.app(wrap_store=watch) as app:
        copies.create(app, MANY[:5])
        copies.serve(app, "replicator")
    assert copies.copies() == {2: 5}
    copies.agree()

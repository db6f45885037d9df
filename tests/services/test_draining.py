"""Backends are emptied and evened out while the application goes on, and nothing live is lost."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import psycopg
import pytest

from reaper.app import App
from tests.support.copies_world import DAY, NAMES, CopiesWorld
from tests.support.folder_store import FolderStore
from tests.support.replaced_parts import instead_of

REMOVE = "select reaper.remove_backend(%s, 'for a test')"
ODD_KEY = "odd key/ü%2F+?#&=~'()*!\n"
USED = """
select name, (bytes_used + orphan_bytes + reserved_bytes) / quota::float from reaper.backends order by name
"""


@pytest.fixture
def copies(dsn: str, scratch: Path) -> Iterator[CopiesWorld]:
    """Three folders; one copy of everything."""
    folders = {name: FolderStore(scratch / name) for name in NAMES}
    with CopiesWorld(dsn, "", {**folders}, scratch) as world:
        world.register()
        yield world


@pytest.fixture
def app(copies: CopiesWorld) -> Iterator[App]:
    with copies.app() as app:
        yield app


@contextmanager
def busy(copies: CopiesWorld, app: App) -> Iterator[None]:
    """An application that puts pastes, deletes some, and drains."""
    over = threading.Event()
    store = app.store()

    def work() -> None:
        chance, number = Random(1), 0
        while not over.is_set():
            number += 1
            code, data = f"busy{number}", b"busy %d" % (number % 20)
            stored = store.put(data, DAY, code)
            copies.log.created(code, data, stored.expires_at)
            if chance.random() < 0.7:
                store.delete(code)
                copies.log.ended(code)
            if number % 10 == 0:
                app.drain()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def put_on(copies: CopiesWorld, app: App, backend: str, codes: list[str], size: int = 200) -> None:
    for name in NAMES:
        copies.state(name, "active" if name == backend else "readonly")
    copies.create(app, codes, size)
    for name in NAMES:
        copies.state(name, "active")


@pytest.mark.parametrize("factor", [1, 2])
def test_a_backend_ends_empty_while_the_application_goes_on(
    copies: CopiesWorld, app: App, factor: int
) -> None:
    copies.set(replication_factor=factor)
    put_on(copies, app, "east", [f"p{n}" for n in range(30)])
    put_on(copies, app, "east", ["empty"], 0)
    copies.serve(app, "replicator")
    with pytest.raises(psycopg.Error, match="is active"):
        copies.sql(REMOVE, "east")
    with busy(copies, app):
        copies.state("east", "draining")
        copies.serve(app, "replicator")
        with pytest.raises(psycopg.Error, match=r"is not empty: .* deletions queued"):
            copies.sql(REMOVE, "east")
    copies.see_to_copies(app)
    app.drain()
    copies.see_to_copies(app)
    assert copies.keys("east") == set()
    assert copies.sql("select * from reaper.backend_remains('east')") == []
    assert set(copies.copies()) == {factor}
    assert copies.complaints(settled=True) == []
    copies.sql(REMOVE, "east")
    assert copies.sql("select name from reaper.backends") == [("default",), ("west",)]


def test_a_full_backend_is_evened_out_and_packed_again(copies: CopiesWorld, app: App) -> None:
    put_on(copies, app, "default", [f"d{n}" for n in range(90)], 1000)
    put_on(copies, app, "east", [f"e{n}" for n in range(10)], 1000)
    put_on(copies, app, "west", [f"w{n}" for n in range(10)], 1000)
    put_on(copies, app, "default", ["zero"], 0)
    for name in NAMES:
        copies.sql("select reaper.set_quota(%s, 100000, 'for a test')", name)
    assert copies.serve(app, "rebalancer").figures["moved"] > 0
    copies.see_to_copies(app)
    used = dict(copies.sql(USED))
    assert max(used.values()) - min(used.values()) <= 0.1
    assert copies.sql("select * from reaper.plan_moves(100)") == []
    copies.agree()
    copies.set(rebalance_strategy="pack")
    copies.advance_clock("2 hours")
    copies.serve(app, "rebalancer")
    copies.see_to_copies(app)
    used = dict(copies.sql(USED))
    assert max(used.values()) > 0.8
    assert copies.complaints(settled=True) == []
    copies.agree()


def test_a_content_that_ends_or_is_made_again_during_its_move_ends_exact(copies: CopiesWorld) -> None:
    with copies.app() as app:
        put_on(copies, app, "east", ["ends", "again", "stays"])
        copies.state("east", "draining")
        done: list[str] = []

        def meanwhile() -> None:
            if done:
                return
            done.append("done")
            for code in ("ends", "again"):
                app.store().delete(code)
                copies.log.ended(code)
            app.drain()
            copies.create(app, ["again"])

        around = instead_of({"commit_copies": lambda call, *given: (meanwhile(), call(*given))[1]})
        with copies.app(around=around) as moving:
            copies.serve(moving, "replicator")
        copies.see_to_copies(app)
        app.drain()
        copies.see_to_copies(app)
    assert copies.copies() == {1: 2}
    assert copies.keys("east") == set()
    assert copies.complaints(settled=True) == []


def test_a_bare_hash_that_moved_away_is_not_deleted_under_the_application_that_stores_it_again(
    copies: CopiesWorld, app: App
) -> None:
    """An application's own object under its hash; it moved, ended, and is stored again by plain SQL."""
    copies.set(readers_use_doors=True)
    content, data = "bare hash of its own", b"as the application stored it"
    copies.backends["default"].store(content, data)
    again = "insert into content (content_hash, ref_count, size_bytes) values (%s, 1, %s)"
    copies.sql(again, content, len(data))
    copies.sql(
        "insert into pastes (short_code, content_hash, expires_at)"
        " values ('p', %s, reaper.clock() + interval '1 hour')",
        content,
    )
    copies.state("default", "draining")
    copies.serve(app, "replicator")
    copies.advance_clock("2 hours")
    app.drain()
    if copies.sql("select from reaper.cleanup_queue where object_key = %s", content):
        with pytest.raises(psycopg.Error, match="pending"):
            copies.sql(again, content, len(data))
    copies.see_to_copies(app)
    copies.sql(again, content, len(data))
    copies.backends["default"].store(content, data)
    for _ in range(3):
        copies.advance_clock("1 hour")
        copies.serve(app, "cleanup_queue")
    assert copies.folder_of("default").get(content) == data

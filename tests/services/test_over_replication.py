"""What has too many copies loses some, and at no moment one that it needs."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reaper.app import App
from tests.support.copies_world import NAMES, CopiesWorld, spoil
from tests.support.folder_store import FolderStore

MANY = [f"p{n}" for n in range(40)]


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


class Reading:
    """A reader beside it all that reads everything all the time."""

    def __init__(self, copies: CopiesWorld, app: App) -> None:
        self._copies = copies
        self._store = app.store()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self.rounds = 0

    def __enter__(self) -> "Reading":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        assert self.rounds

    def _read(self) -> None:
        log = self._copies.log
        while not self._over.is_set():
            for code, known in log.pastes.items():
                paste = self._store.get(code)
                if paste is None or paste.data != known.data:
                    log.wrong.append(f"paste {code} was read as {paste}")
            self.rounds += 1


def test_copies_follow_the_factor_up_and_down_beside_a_reader_of_everything(
    copies: CopiesWorld, app: App
) -> None:
    copies.create(app, MANY)
    copies.see_to_copies(app)
    with Reading(copies, app) as reading:
        for factor in (3, 1, 2):
            copies.set(replication_factor=factor)
            copies.see_to_copies(app)
            assert copies.copies() == {factor: len(MANY)}
            before = reading.rounds
            while reading.rounds < before + 2:
                pass
    assert copies.complaints(settled=True) == []
    copies.agree()


def test_the_last_good_copy_stays_whatever_the_others_seem_to_be(copies: CopiesWorld, app: App) -> None:
    copies.create(app, MANY)
    copies.set(replication_factor=3)
    copies.see_to_copies(app)
    for n, code in enumerate(MANY):
        rows = copies.sql(
            "select l.backend, l.object_key from reaper.object_locations l join pastes using (content_hash)"
            " where short_code = %s order by l.backend",
            code,
        )
        # Two of three are lost or cut, another two each time.
        for m, (backend, key) in enumerate(rows):
            if m != n % 3:
                if (n + m) % 2:
                    copies.backends[backend].drop(key)
                else:
                    spoil(copies.folder_of(backend), [key], lambda data: data[:-1])
    copies.set(replication_factor=1)
    for _ in range(6):
        copies.see_to_copies(app, rounds=1)
    copies.see_to_copies(app)
    assert copies.copies() == {1: len(MANY)}
    assert copies.complaints(settled=True) == []


def test_a_backend_that_does_not_answer_loses_nothing_and_keeps_nothing_from_others(
    copies: CopiesWorld, app: App
) -> None:
    copies.create(app, MANY)
    copies.set(replication_factor=3)
    copies.see_to_copies(app)
    for _ in range(5):
        copies.sql("select reaper.record_backend_failure('east', 'no answer')")
    copies.set(replication_factor=1)
    copies.serve(app, "replicator")
    copies.serve(app, "over_replication")
    counts = copies.copies()
    assert min(counts) >= 1
    assert copies.complaints() == []
    copies.sql("select reaper.record_backend_success('east')")
    for _ in range(3):
        copies.advance_clock("10 minutes")
        copies.see_to_copies(app, rounds=2)
    assert copies.copies() == {1: len(MANY)}
    copies.agree()


def test_a_copy_that_stays_and_has_another_size_than_the_application_says_is_not_called_corrupt(
    copies: CopiesWorld, app: App
) -> None:
    copies.backends["default"].store("their key", b"0123456789")
    copies.sql(
        "insert into content (content_hash, object_key, ref_count, size_bytes)"
        " values ('theirs', 'their key', 0, 10)"
    )
    assert copies.serve(app, "replicator").figures["copied"] == 1
    copies.backends["default"].store("their key", b"compressed by now")
    [(other,)] = copies.sql("select backend from reaper.object_locations where backend <> 'default'")
    copies.state(other, "draining")
    copies.set(replication_factor=1)
    copies.serve(app, "replicator")
    assert copies.serve(app, "over_replication").figures == {"removed": 0, "kept": 1, "gone": 0}
    assert copies.sql("select trouble from reaper.object_locations") == [(None,), (None,)]

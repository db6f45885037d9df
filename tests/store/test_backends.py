"""Two backends of which one is away: reads find another copy, writes another place, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reaper.dev.embedded import Valkey
from reaper.errors import CircuitOpen, ContentLost, Unreachable
from reaper.store.store import Store
from tests.support.s3_double.server import ScriptedS3
from tests.support.two_backends import TwoBackends, two_backends
from tests.support.watched_store import WatchedStore
from tests.support.world import DAY


@pytest.fixture
def world(dsn: str, valkey: Valkey, s3_double: ScriptedS3, scratch: Path) -> Iterator[TwoBackends]:
    """Two backends; the second has more room, so it is preferred."""
    with two_backends(dsn, valkey.url, s3_double, scratch, "default", "other") as world:
        world.sql("select reaper.set_quota('default', 1000000, 'for a test')")
        yield world


def copied(world: TwoBackends, content: str) -> None:
    """Write a copy of a content on the other of both backends, as a replicator would."""
    [(here, key)] = world.sql(
        "select backend, object_key from reaper.object_locations where content_hash = %s", content
    )
    there = "default" if here == "other" else "other"
    data = world.backends[here].contents()[key]
    world.backends[there].store(f"copy/{key}", data)
    world.sql(
        "insert into reaper.object_locations values (%s, %s, %s, %s, now())",
        *(content, there, f"copy/{key}", len(data)),
    )
    world.sql("select reaper_internal.add_bytes(%s, p_used => %s)", there, len(data))


@pytest.fixture
def everywhere(world: TwoBackends, store: Store) -> str:
    """The code of a paste with a copy on each backend."""
    stored = store.put(b"everywhere", DAY)
    copied(world, stored.content_hash)
    return stored.short_code


@pytest.mark.parametrize("away", ["default", "other"])
def test_while_one_backend_is_away_its_copies_are_read_from_the_other(
    world: TwoBackends, store: Store, everywhere: str, away: str
) -> None:
    world.cut(away)
    for _ in range(3):
        world.cache().flushall()
        paste = store.get(everywhere)
        assert paste is not None
        assert paste.data == b"everywhere"


def test_a_backend_that_stays_away_is_asked_no_more_and_again_when_its_circuit_is_closed(
    world: TwoBackends, opened: tuple[Store, dict[str, WatchedStore]], everywhere: str
) -> None:
    store, backends = opened
    world.cut("default")
    for _ in range(12):
        world.cache().flushall()
        assert store.get(everywhere) is not None
    assert world.value("select circuit from reaper.backends where name = 'default'") == "open"
    assert len(backends["default"].gets) == 5
    world.mend("default")
    world.sql("select reaper.record_backend_success('default')")
    world.cache().flushall()
    assert store.get(everywhere) is not None
    assert len(backends["default"].gets) == 6


def test_a_paste_whose_only_backend_is_away_is_unreachable_and_not_missing(
    world: TwoBackends, store: Store
) -> None:
    code = store.put(b"x", DAY).short_code
    world.cut("other")
    with pytest.raises(Unreachable):
        store.get(code)
    for _ in range(5):
        with pytest.raises(Unreachable):
            store.get(code)
    with pytest.raises(CircuitOpen):
        store.get(code)


def test_a_copy_that_is_missing_or_damaged_is_read_from_the_other(
    world: TwoBackends, opened: tuple[Store, dict[str, WatchedStore]], everywhere: str
) -> None:
    store, backends = opened
    first = world.value("select object_key from reaper.object_locations where backend = 'default'")
    second = world.value("select object_key from reaper.object_locations where backend = 'other'")
    backends["default"].put(first, b"damage", 6)
    paste = store.get(everywhere)
    assert paste is not None
    assert paste.data == b"everywhere"
    backends["default"].delete([first])
    world.cache().flushall()
    assert store.get(everywhere) is not None
    backends["other"].delete([second])
    world.cache().flushall()
    with pytest.raises(ContentLost):
        store.get(everywhere)


def test_a_put_finds_the_backend_that_answers(
    world: TwoBackends, opened: tuple[Store, dict[str, WatchedStore]]
) -> None:
    store, backends = opened
    world.cut("other")
    stored = store.put(b"x", DAY)
    assert (len(backends["other"].puts), len(backends["default"].puts)) == (5, 1)
    assert world.value("select circuit from reaper.backends where name = 'other'") == "open"
    assert store.get(stored.short_code) is not None
    store.put(b"y", DAY)
    assert len(backends["other"].puts) == 5


def test_a_put_that_no_backend_takes_is_refused_and_leaves_nothing(world: TwoBackends, store: Store) -> None:
    for name in world.backends:
        world.cut(name)
    for _ in range(3):
        with pytest.raises(Unreachable):
            store.put(b"x", DAY)
    assert world.sql("select * from reaper.put_intents") == []
    assert world.sql("select * from pastes") == []
    assert world.value("select sum(reserved_bytes) from reaper.backends") == 0


def test_a_backend_that_this_process_does_not_know_is_named(
    world: TwoBackends, store: Store, tmp_path: Path
) -> None:
    code = store.put(b"x", DAY).short_code
    alone = tmp_path / "alone.toml"
    alone.write_text(Path(world.variables["REAPER_CONFIG"]).read_text().partition("[backends.other]")[0])
    with world.opened(config=str(alone)) as (other, _):
        with pytest.raises(Exception, match="backend other is not configured here"):
            other.get(code)
        with pytest.raises(Exception, match="backend other is not configured here"):
            other.put(b"y", DAY)
    assert world.sql("select * from reaper.put_intents") == []


def test_a_backend_given_up_between_begin_and_upload_costs_a_writer_nothing(
    world: TwoBackends, opened: tuple[Store, dict[str, WatchedStore]]
) -> None:
    store, backends = opened

    def give_up(_: str) -> None:
        for _ in range(5):
            world.sql("select reaper.record_backend_failure('other', 'away')")

    backends["other"].before_put = give_up
    code = store.put(b"x", DAY).short_code
    assert len(backends["other"].puts) == 1
    assert world.value("select backend from reaper.get_paste(%s)", code) == "default"
    assert world.sql("select * from reaper.put_intents") == []


def test_a_store_whose_backends_are_all_given_up_says_so_and_leaves_no_intents(
    world: TwoBackends, opened: tuple[Store, dict[str, WatchedStore]]
) -> None:
    store, backends = opened
    for name in backends:
        for _ in range(5):
            world.sql("select reaper.record_backend_failure(%s, 'away')", name)
    with pytest.raises(CircuitOpen):
        store.put(b"x", DAY)
    assert len(backends["default"].puts) + len(backends["other"].puts) <= 2
    assert world.sql("select * from reaper.put_intents") == []

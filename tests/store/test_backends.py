"""Two backends of which one is away: reads find another copy, writes another place, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from moto.s3.models import s3_backends

from reaper.dev.embedded import Moto
from reaper.errors import CircuitOpen, ContentLost, Unreachable
from reaper.store.store import Store
from tests.support.store_world import DAY, Shop, Watched
from tests.support.tcp_wire import Wire, tcp
from tests.support.world import ACCOUNT


@pytest.fixture
def wires(moto: Moto) -> Iterator[dict[str, Wire]]:
    port = urlsplit(moto.endpoint_url).port or 80
    with Wire(tcp(port)) as first, Wire(tcp(port)) as second:
        yield {"default": first, "other": second}


@pytest.fixture
def opened(shop: Shop, wires: dict[str, Wire], tmp_path: Path) -> Iterator[tuple[Store, dict[str, Watched]]]:
    """A store with two backends; the second has more room, so it is preferred."""
    other = f"{shop.bucket}-other"
    s3_backends[ACCOUNT]["aws"].create_bucket(other, "us-east-1")
    shop.config = tmp_path / "reaper.toml"
    shop.config.write_text(
        "".join(
            f'[backends.{name}]\nbucket = "{bucket}"\nendpoint_url = "http://127.0.0.1:{wires[name].port}"\n'
            for name, bucket in (("default", shop.bucket), ("other", other))
        )
    )
    shop.sql("select reaper.register_backend('other', null)")
    shop.sql("select reaper.set_quota('default', 1000000, 'for a test')")
    with shop.opened() as opened:
        yield opened


def copied(shop: Shop, content: str) -> None:
    """Write a copy of a content on the other of both backends, as a replicator would."""
    [(backend, key)] = shop.sql(
        "select backend, object_key from reaper.object_locations where content_hash = %s", content
    )
    here, there = bucket_of(shop, backend), "default" if backend == "other" else "other"
    data = s3_backends[ACCOUNT]["aws"].buckets[here].keys[key].value
    s3_backends[ACCOUNT]["aws"].put_object(bucket_of(shop, there), f"copy/{key}", data)
    shop.sql(
        "insert into reaper.object_locations values (%s, %s, %s, %s, now())",
        *(content, there, f"copy/{key}", len(data)),
    )
    shop.sql("select reaper_internal.add_bytes(%s, p_used => %s)", there, len(data))


def bucket_of(shop: Shop, backend: str) -> str:
    return shop.bucket if backend == "default" else f"{shop.bucket}-{backend}"


def cut(wire: Wire) -> None:
    wire.cut = True
    wire.break_all()


@pytest.fixture
def everywhere(shop: Shop, store: Store) -> str:
    """The code of a paste with a copy on each backend."""
    stored = store.put(b"everywhere", DAY)
    copied(shop, stored.content_hash)
    return stored.short_code


@pytest.mark.parametrize("away", ["default", "other"])
def test_while_one_backend_is_away_its_copies_are_read_from_the_other(
    shop: Shop, store: Store, wires: dict[str, Wire], everywhere: str, away: str
) -> None:
    cut(wires[away])
    for _ in range(3):
        shop.cache().flushall()
        paste = store.get(everywhere)
        assert paste is not None
        assert paste.data == b"everywhere"


def test_a_backend_that_stays_away_is_asked_no_more_and_again_when_its_circuit_is_closed(
    shop: Shop, opened: tuple[Store, dict[str, Watched]], wires: dict[str, Wire], everywhere: str
) -> None:
    store, backends = opened
    cut(wires["default"])
    for _ in range(12):
        shop.cache().flushall()
        assert store.get(everywhere) is not None
    assert shop.value("select circuit from reaper.backends where name = 'default'") == "open"
    assert len(backends["default"].gets) == 5
    wires["default"].cut = False
    shop.sql("select reaper.record_backend_success('default')")
    shop.cache().flushall()
    assert store.get(everywhere) is not None
    assert len(backends["default"].gets) == 6


def test_a_paste_whose_only_backend_is_away_is_unreachable_and_not_missing(
    store: Store, wires: dict[str, Wire]
) -> None:
    code = store.put(b"x", DAY).short_code
    cut(wires["other"])
    with pytest.raises(Unreachable):
        store.get(code)
    for _ in range(5):
        with pytest.raises(Unreachable):
            store.get(code)
    with pytest.raises(CircuitOpen):
        store.get(code)


def test_a_copy_that_is_missing_or_damaged_is_read_from_the_other(
    shop: Shop, opened: tuple[Store, dict[str, Watched]], everywhere: str
) -> None:
    store, backends = opened
    first = shop.value("select object_key from reaper.object_locations where backend = 'default'")
    second = shop.value("select object_key from reaper.object_locations where backend = 'other'")
    backends["default"].put(first, b"damage", 6)
    paste = store.get(everywhere)
    assert paste is not None
    assert paste.data == b"everywhere"
    backends["default"].delete([first])
    shop.cache().flushall()
    assert store.get(everywhere) is not None
    backends["other"].delete([second])
    shop.cache().flushall()
    with pytest.raises(ContentLost):
        store.get(everywhere)


def test_a_put_finds_the_backend_that_answers(
    shop: Shop, opened: tuple[Store, dict[str, Watched]], wires: dict[str, Wire]
) -> None:
    store, backends = opened
    cut(wires["other"])
    stored = store.put(b"x", DAY)
    assert (len(backends["other"].puts), len(backends["default"].puts)) == (5, 1)
    assert shop.value("select circuit from reaper.backends where name = 'other'") == "open"
    assert store.get(stored.short_code) is not None
    store.put(b"y", DAY)
    assert len(backends["other"].puts) == 5


def test_a_put_that_no_backend_takes_is_refused_and_leaves_nothing(
    shop: Shop, store: Store, wires: dict[str, Wire]
) -> None:
    for wire in wires.values():
        cut(wire)
    for _ in range(3):
        with pytest.raises(Unreachable):
            store.put(b"x", DAY)
    assert shop.sql("select * from reaper.put_intents") == []
    assert shop.sql("select * from pastes") == []
    assert shop.value("select sum(reserved_bytes) from reaper.backends") == 0


def test_a_backend_that_this_process_does_not_know_is_named(shop: Shop, store: Store, tmp_path: Path) -> None:
    code = store.put(b"x", DAY).short_code
    alone = tmp_path / "alone.toml"
    assert shop.config is not None
    alone.write_text(shop.config.read_text().partition("[backends.other]")[0])
    with shop.opened(config=str(alone)) as (other, _):
        with pytest.raises(Exception, match="backend other is not configured here"):
            other.get(code)
        with pytest.raises(Exception, match="backend other is not configured here"):
            other.put(b"y", DAY)
    assert shop.sql("select * from reaper.put_intents") == []


def test_a_backend_given_up_between_begin_and_upload_costs_a_writer_nothing(
    shop: Shop, opened: tuple[Store, dict[str, Watched]]
) -> None:
    store, backends = opened

    def give_up(_: str) -> None:
        for _ in range(5):
            shop.sql("select reaper.record_backend_failure('other', 'away')")

    backends["other"].before_put = give_up
    code = store.put(b"x", DAY).short_code
    assert len(backends["other"].puts) == 1
    assert shop.value("select backend from reaper.get_paste(%s)", code) == "default"
    assert shop.sql("select * from reaper.put_intents") == []


def test_a_store_whose_backends_are_all_given_up_says_so_and_leaves_no_intents(
    shop: Shop, opened: tuple[Store, dict[str, Watched]]
) -> None:
    store, backends = opened
    for name in backends:
        for _ in range(5):
            shop.sql("select reaper.record_backend_failure(%s, 'away')", name)
    with pytest.raises(CircuitOpen):
        store.put(b"x", DAY)
    assert len(backends["default"].puts) + len(backends["other"].puts) <= 2
    assert shop.sql("select * from reaper.put_intents") == []

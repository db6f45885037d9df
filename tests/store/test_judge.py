"""The judge finds nothing in a sound system, and every kind of damage that it is there for."""

from collections.abc import Callable

import pytest
from moto.s3.models import s3_backends

from reaper.store.store import Store
from tests.support.judge import Log, complaints
from tests.support.store_world import DAY, Shop
from tests.support.world import ACCOUNT

Damage = Callable[[Shop], object]

pytestmark = pytest.mark.broken_on_purpose


def s3(shop: Shop, act: str, *arguments: object) -> None:
    getattr(s3_backends[ACCOUNT]["aws"], act)(shop.bucket, *arguments)


def the_key(shop: Shop) -> str:
    return str(shop.value("select object_key from content order by content_hash limit 1"))


DAMAGES: dict[str, Damage] = {
    "has lost": lambda shop: s3(shop, "delete_object", the_key(shop)),
    "bytes in": lambda shop: s3(shop, "put_object", the_key(shop), b"longer than it was"),
    "does not have its bytes": lambda shop: s3(shop, "put_object", the_key(shop), b"aliev"),
    "nobody knows": lambda shop: s3(shop, "put_object", "stray", b""),
    "should live": lambda shop: shop.sql("update pastes set expires_at = reaper.clock()"),
    "is over and can be read": lambda shop: shop.sql("update pastes set expires_at = null"),
    "the cache still has nobodys": lambda shop: shop.cache().set("paste:nobodys", "x"),
    "that are not its own": lambda shop: shop.cache().set("paste:one", 'reaper/1 ["h", null]\nother'),
    "not so: ref_count": lambda shop: shop.sql("update content set ref_count = 7"),
}
UNSETTLED: dict[str, Damage] = {
    "pastes are due": lambda shop: shop.sql("select reaper.delete_paste('spare')"),
    "batches are in flight": lambda shop: shop.sql(
        "select reaper.delete_paste('spare'); select reaper.claim_expired()"
    ),
    "puts are open": lambda shop: shop.sql("select reaper.begin_put('x', 'h', 1)"),
    "reserved": lambda shop: shop.sql("select reaper.begin_put('x', 'h', 1)"),
    "cache entries are owed": lambda shop: shop.sql("select reaper.delete_paste('spare')"),
    "is left over": lambda shop: s3(shop, "put_object", "stray", b""),
}


@pytest.fixture
def log(store: Store) -> Log:
    """One paste that lives and is cached, one that nobody remembers, and one that is over."""
    log = Log()
    for code, data in {"one": b"alive", "spare": b"spare", "over": b"over"}.items():
        stored = store.put(data, DAY, code)
        log.created(code, data, stored.expires_at)
    assert store.get("one")
    store.delete("over")
    log.ended("over")
    del log.pastes["spare"]
    return log


def test_a_sound_system_gives_no_reason_to_complain(shop: Shop, log: Log) -> None:
    assert complaints(shop, log) == []
    shop.drain()
    assert complaints(shop, log, settled=True) == []


@pytest.mark.parametrize("complaint", DAMAGES)
def test_damage_is_complained_of(shop: Shop, log: Log, complaint: str) -> None:
    DAMAGES[complaint](shop)
    assert any(complaint in said for said in complaints(shop, log))


@pytest.mark.parametrize("complaint", UNSETTLED)
def test_what_is_not_settled_is_complained_of(shop: Shop, log: Log, complaint: str) -> None:
    shop.drain()
    UNSETTLED[complaint](shop)
    assert any(complaint in said for said in complaints(shop, log, settled=True))


def test_reads_that_cannot_be_are_remembered(log: Log, shop: Shop) -> None:
    now = shop.value("select reaper.clock()")
    log.read("one", b"alive", now)
    log.read("over", None, now)
    assert log.wrong == []
    log.read("one", None, now)
    log.read("one", b"other", now)
    log.read("over", b"over", now)
    assert len(log.wrong) == 3


def test_of_a_paste_whose_answer_was_lost_only_its_bytes_are_known(shop: Shop, log: Log) -> None:
    log.doubt("one")
    log.doubt("never", b"came through")
    assert complaints(shop, log) == []
    DAMAGES["should live"](shop)
    assert complaints(shop, log) == []

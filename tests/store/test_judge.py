"""The judge finds nothing in a sound system, and every kind of damage that it is there for."""

from collections.abc import Callable

import pytest

from reaper.store.store import Store
from tests.support.judge import Log, complaints
from tests.support.world import DAY, World

Damage = Callable[[World], object]

pytestmark = pytest.mark.broken_on_purpose


def the_key(world: World) -> str:
    return str(world.value("select object_key from content order by content_hash limit 1"))


BEGUN_COPY = """
insert into reaper.copy_intents
    (intent_id, content_hash, purpose, source, source_key, destination, object_key, begun_at, lease,
     lease_until)
select gen_random_uuid(), 'h', 'replicate', 'default', 'k', 'default', 'l', now(), gen_random_uuid(), now()
"""
DAMAGES: dict[str, Damage] = {
    "has lost": lambda world: world.backends["default"].drop(the_key(world)),
    "bytes in": lambda world: world.backends["default"].store(the_key(world), b"longer than it was"),
    "does not have its bytes": lambda world: world.backends["default"].store(the_key(world), b"aliev"),
    "nobody knows": lambda world: world.backends["default"].store("stray", b""),
    "should live": lambda world: world.sql("update pastes set expires_at = reaper.clock()"),
    "is over and can be read": lambda world: world.sql("update pastes set expires_at = null"),
    "the cache still has nobodys": lambda world: world.cache().set("paste:nobodys", "x"),
    "that are not its own": lambda world: world.cache().set("paste:one", 'reaper/1 ["h", null]\nother'),
    "has no good copy": lambda world: world.sql(
        "update reaper.object_locations set trouble = 'corrupt', trouble_at = reaper.clock()"
    ),
    "not so: ref_count": lambda world: world.sql("update content set ref_count = 7"),
}
UNSETTLED: dict[str, Damage] = {
    "pastes are due": lambda world: world.sql("select reaper.delete_paste('spare')"),
    "batches are in flight": lambda world: world.sql(
        "select reaper.delete_paste('spare'); select reaper.claim_expired()"
    ),
    "puts are open": lambda world: world.sql("select reaper.begin_put('x', 'h', 1)"),
    "copies are under way": lambda world: world.sql(BEGUN_COPY),
    "copies are wanted": lambda world: world.sql(
        "insert into reaper.copy_wants values ('h', 1, 'few', now(), 0, null, now())"
    ),
    "copies are too many": lambda world: world.sql(
        "insert into reaper.copy_excess values ('h', now(), 0, null, now())"
    ),
    "reserved": lambda world: world.sql("select reaper.begin_put('x', 'h', 1)"),
    "cache entries are owed": lambda world: world.sql("select reaper.delete_paste('spare')"),
    "is left over": lambda world: world.backends["default"].store("stray", b""),
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


def test_a_sound_system_gives_no_reason_to_complain(world: World, log: Log) -> None:
    assert complaints(world, log) == []
    world.drain()
    assert complaints(world, log, settled=True) == []


@pytest.mark.slow(but=4)
@pytest.mark.parametrize("complaint", DAMAGES)
def test_damage_is_complained_of(world: World, log: Log, complaint: str) -> None:
    DAMAGES[complaint](world)
    assert any(complaint in said for said in complaints(world, log))


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("complaint", UNSETTLED)
def test_what_is_not_settled_is_complained_of(world: World, log: Log, complaint: str) -> None:
    world.drain()
    UNSETTLED[complaint](world)
    assert any(complaint in said for said in complaints(world, log, settled=True))


def test_reads_that_cannot_be_are_remembered(log: Log, world: World) -> None:
    now = world.value("select reaper.clock()")
    log.read("one", b"alive", now)
    log.read("over", None, now)
    assert log.wrong == []
    log.read("one", None, now)
    log.read("one", b"other", now)
    log.read("over", b"over", now)
    assert len(log.wrong) == 3


def test_of_a_paste_whose_answer_was_lost_only_its_bytes_are_known(world: World, log: Log) -> None:
    log.doubt("one")
    log.doubt("never", b"came through")
    assert complaints(world, log) == []
    DAMAGES["should live"](world)
    assert complaints(world, log) == []

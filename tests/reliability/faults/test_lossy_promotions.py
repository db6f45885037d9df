"""A standby is promoted that lost the last commits: what is promised then, and what is not."""

import threading
import time
from dataclasses import replace

import pytest

from reaper.errors import ContentLost
from reaper.expiry.wait_for_standby import NOT_THERE
from reaper.ops.verify_report import Report
from reaper.store.store import Store
from tests.support.faults.traffic import Traffic, content
from tests.support.faults.world import FaultWorld
from tests.support.ordeals import Ordeal
from tests.support.postgres_failover import Servers
from tests.support.waiting import wait_until
from tests.support.world import CLAIM_MODES, DAY

WAIT = "update reaper.settings set wait_for_standby = %s"
# An object that was stored on a server that is gone, before anybody else knew of it.
UNKNOWN = "nobody knows "
LET_GO = "update pastes set expires_at = reaper.clock() where content_hash = any (%s)"
WAITS_FOR_STANDBY = "select pid from pg_stat_activity where wait_event = 'SyncRep'"
END_WHO_WAITS = "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"


@pytest.fixture
def world(world: FaultWorld, servers: Servers) -> FaultWorld:
    """That of all tests of faults, with a standby behind it."""
    servers.add_standby()
    world.dsn = servers.dsn(world.dbname)
    return world


def verify(world: FaultWorld) -> Report:
    with world.app() as app:
        return app.verify()


def fill(world: FaultWorld, servers: Servers) -> None:
    """One paste that has expired, one that will be deleted, one that lives; the standby has them all."""
    with world.opened() as (store, _):
        store.put(content(0), DAY, "expired")
        store.put(content(1), None, "deleted")
        store.put(content(2), None, "alive")
    world.advance_clock("2 days")
    servers.catch_up()


def delete_one(world: FaultWorld) -> None:
    with world.opened() as (store, _):
        store.delete("deleted")


def is_readable(store: Store, code: str, number: int) -> bool:
    paste = store.get(code)
    return paste is not None and paste.data == content(number)


@pytest.mark.slow
def test_without_waiting_verify_names_what_the_promoted_server_lacks_and_then_it_is_mended(
    servers: Servers, world: FaultWorld
) -> None:
    fill(world, servers)
    servers.cut()
    delete_one(world)
    world.drain()
    assert len(world.keys()) == 1
    servers.fail_over()

    report = verify(world)
    # That of the deleted paste, which lives again, and that of the expired one, which hits nobody yet.
    assert {tuple(lost.examples): lost.live_pastes for lost in report.lost} == {("deleted",): 1, (): 0}
    assert report.counts == {"missing object": 2}
    lost = [lost.content_hash for lost in report.lost]
    with world.opened() as (store, _):
        assert is_readable(store, "alive", 2)
        # This is why nobody may write before.
        store.put(content(0), None, "too early")
        with pytest.raises(ContentLost):
            store.get("too early")

        world.sql(LET_GO, lost)
        world.drain()
        assert verify(world).clean
        store.put(content(0), None, "in time")
        assert is_readable(store, "in time", 0)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("claim_mode", ["mark", "direct"])
def test_objects_wait_until_the_standby_has_their_release_so_that_none_is_missed_after_a_failover(
    servers: Servers, world: FaultWorld, claim_mode: str
) -> None:
    world.set_claim_mode(claim_mode)
    world.sql(WAIT, "*")
    fill(world, servers)
    servers.cut()
    delete_one(world)
    world.drain()
    assert world.value("select count(*) from pastes") == 1
    assert world.sql("select distinct last_error, attempts, outages from reaper.cleanup_queue") == [
        (NOT_THERE.error, 0, 1)
    ]
    assert len(world.keys()) == 3
    servers.fail_over()

    assert verify(world).clean
    with world.opened() as (store, _):
        assert is_readable(store, "alive", 2)
        assert is_readable(store, "deleted", 1)
        store.put(content(0), None, "expired before")
        assert is_readable(store, "expired before", 0)
    servers.add_standby()
    world.dsn = servers.dsn(world.dbname)
    world.recover()
    assert world.complaints(settled=True) == []


def test_a_standby_that_is_back_lets_the_objects_go(servers: Servers, world: FaultWorld) -> None:
    world.sql(WAIT, "walreceiver, another")
    fill(world, servers)
    world.drain()
    assert len(world.keys()) == 3, "one of the two is not connected"
    world.patience = 30.0
    world.sql(WAIT, "walreceiver")
    world.advance_clock("5 minutes")
    world.drain()
    assert len(world.keys()) == 2
    delete_one(world)
    world.drain()
    assert len(world.keys()) == 1
    assert world.sql("select * from reaper.cleanup_queue") == []


def test_an_old_primary_that_lives_on_deletes_nothing_that_the_new_one_needs(
    servers: Servers, world: FaultWorld
) -> None:
    world.sql(WAIT, "*")
    fill(world, servers)
    assert servers.standby is not None
    servers.standby.promote()
    old = replace(world, dsn=servers.primary.dsn(world.dbname))
    new = replace(world, dsn=servers.standby.dsn(world.dbname))
    with new.opened() as (store, _):
        store.extend("expired", DAY)
        old.drain()
        assert old.value("select count(*) from pastes") == 2
        assert is_readable(store, "expired", 0)


def test_a_release_that_became_visible_before_the_synchronous_standby_had_it_deletes_nothing(
    servers: Servers, world: FaultWorld
) -> None:
    fill(world, servers)
    servers.primary.reload("synchronous_standby_names", "*")
    servers.cut()
    drain = threading.Thread(target=world.drain, daemon=True)
    drain.start()
    wait_until(lambda: world.sql(WAITS_FOR_STANDBY) != [])
    # Its drop is committed here, and nobody waits for it any more: the worker comes back and finds it done.
    world.sql(END_WHO_WAITS)
    wait_until(lambda: world.value("select count(*) from reaper.batches where state = 'RELEASED'") == 1)
    wait_until(lambda: world.sql(WAITS_FOR_STANDBY) != [])
    assert len(world.keys()) == 3
    servers.fail_over()
    assert verify(world).counts.get("missing object") is None
    drain.join()
    world.recover()
    assert world.complaints(settled=True) == []


def lose_the_last_commits(servers: Servers, world: FaultWorld, ordeal: Ordeal) -> Traffic:
    """Traffic goes on while the standby receives nothing, the primary dies, and the standby takes over."""
    traffic = Traffic(world, ordeal.chance.randrange(1_000_000))
    with traffic.flowing():
        traffic.work_goes_on()
        with traffic.creators_pausing():
            servers.catch_up()
            servers.cut()
            traffic.in_vain = True
        traffic.work_goes_on()
        time.sleep(ordeal.chance.uniform(0.0, 0.3))
        servers.fail_over()
        traffic.in_vain = False
        traffic.work_goes_on()
    return traffic


@pytest.mark.ordeal("lossy promotions", aim="50 promotions", share=2)
def test_no_promotion_makes_a_live_paste_unreadable_while_deletions_wait_for_the_standby(
    servers: Servers, world: FaultWorld, ordeal: Ordeal
) -> None:
    world.sql(WAIT, "*")
    for _ in ordeal.rounds(short=1):
        world.set_claim_mode(ordeal.chance.choice(CLAIM_MODES))
        traffic = lose_the_last_commits(servers, world, ordeal)
        complaints = world.complaints()
        orphans = [complaint for complaint in complaints if complaint.startswith(UNKNOWN)]
        assert [complaint for complaint in complaints if complaint not in orphans] == []
        assert verify(world).counts == ({"orphan object": len(orphans)} if orphans else {})
        world.backends["default"].drop(*[orphan.removeprefix(UNKNOWN).split()[0] for orphan in orphans])
        servers.add_standby()
        world.dsn = servers.dsn(world.dbname)
        world.recover()
        assert world.complaints(settled=True) == []
        world.forget()
        ordeal.survived("promotions")
        ordeal.survived("objects stored in vain", len(orphans))
        for what, times in traffic.seen.items():
            ordeal.survived(what, times)

"""A standby is promoted that lost the last commits: what is promised then, and what is not."""

import threading
import time
from dataclasses import replace

import pytest

from reaper.errors import ContentLost
from reaper.expiry.standby import NOT_THERE
from reaper.ops.verify import Report
from reaper.store.store import Store
from tests.support.faults.traffic import Traffic, content
from tests.support.faults.world import Ground
from tests.support.ordeals import Ordeal
from tests.support.postgres_failover import Servers, wait_until
from tests.support.store_world import DAY

WAIT = "update reaper.settings set wait_for_standby = %s"
# An object that was stored on a server that is gone, before anybody else knew of it.
UNKNOWN = "nobody knows "
LET_GO = "update pastes set expires_at = reaper.clock() where content_hash = any (%s)"
WAITS_FOR_STANDBY = "select pid from pg_stat_activity where wait_event = 'SyncRep'"
END_WHO_WAITS = "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"


@pytest.fixture
def ground(ground: Ground, servers: Servers) -> Ground:
    """The ground of all tests of faults, with a standby behind it."""
    servers.add_standby()
    ground.dsn = servers.dsn(ground.dbname)
    return ground


def verify(ground: Ground) -> Report:
    with ground.app() as app:
        return app.verify()


def fill(ground: Ground, servers: Servers) -> None:
    """One paste that has expired, one that will be deleted, one that lives; the standby has them all."""
    with ground.opened() as (store, _):
        store.put(content(0), DAY, "expired")
        store.put(content(1), None, "deleted")
        store.put(content(2), None, "alive")
    ground.advance_clock("2 days")
    servers.catch_up()


def delete_one(ground: Ground) -> None:
    with ground.opened() as (store, _):
        store.delete("deleted")


def is_readable(store: Store, code: str, number: int) -> bool:
    paste = store.get(code)
    return paste is not None and paste.data == content(number)


def test_without_waiting_verify_names_what_the_promoted_server_lacks_and_then_it_is_mended(
    servers: Servers, ground: Ground
) -> None:
    fill(ground, servers)
    servers.cut()
    delete_one(ground)
    ground.drain()
    assert len(ground.keys()) == 1
    servers.fail_over()

    report = verify(ground)
    # That of the deleted paste, which lives again, and that of the expired one, which hits nobody yet.
    assert {tuple(lost.examples): lost.live_pastes for lost in report.lost} == {("deleted",): 1, (): 0}
    assert report.counts == {"missing object": 2}
    lost = [lost.content_hash for lost in report.lost]
    with ground.opened() as (store, _):
        assert is_readable(store, "alive", 2)
        # This is why nobody may write before.
        store.put(content(0), None, "too early")
        with pytest.raises(ContentLost):
            store.get("too early")

        ground.sql(LET_GO, lost)
        ground.drain()
        assert verify(ground).clean
        store.put(content(0), None, "in time")
        assert is_readable(store, "in time", 0)


def test_objects_wait_until_the_standby_has_their_release_so_that_none_is_missed_after_a_failover(
    servers: Servers, ground: Ground
) -> None:
    ground.sql(WAIT, "*")
    fill(ground, servers)
    servers.cut()
    delete_one(ground)
    ground.drain()
    assert ground.value("select count(*) from pastes") == 1
    assert ground.sql("select distinct last_error, attempts, outages from reaper.cleanup_queue") == [
        (NOT_THERE.error, 0, 1)
    ]
    assert len(ground.keys()) == 3
    servers.fail_over()

    assert verify(ground).clean
    with ground.opened() as (store, _):
        assert is_readable(store, "alive", 2)
        assert is_readable(store, "deleted", 1)
        store.put(content(0), None, "expired before")
        assert is_readable(store, "expired before", 0)
    servers.add_standby()
    ground.dsn = servers.dsn(ground.dbname)
    ground.settle()
    assert ground.complaints(settled=True) == []


def test_a_standby_that_is_back_lets_the_objects_go(servers: Servers, ground: Ground) -> None:
    ground.sql(WAIT, "walreceiver, another")
    fill(ground, servers)
    ground.drain()
    assert len(ground.keys()) == 3, "one of the two is not connected"
    ground.patience = 30.0
    ground.sql(WAIT, "walreceiver")
    ground.advance_clock("5 minutes")
    ground.drain()
    assert len(ground.keys()) == 2
    delete_one(ground)
    ground.drain()
    assert len(ground.keys()) == 1
    assert ground.sql("select * from reaper.cleanup_queue") == []


def test_an_old_primary_that_lives_on_deletes_nothing_that_the_new_one_needs(
    servers: Servers, ground: Ground
) -> None:
    ground.sql(WAIT, "*")
    fill(ground, servers)
    assert servers.standby is not None
    servers.standby.promote()
    old = replace(ground, dsn=servers.primary.dsn(ground.dbname))
    new = replace(ground, dsn=servers.standby.dsn(ground.dbname))
    with new.opened() as (store, _):
        store.extend("expired", DAY)
        old.drain()
        assert old.value("select count(*) from pastes") == 2
        assert is_readable(store, "expired", 0)


def test_a_release_that_became_visible_before_the_synchronous_standby_had_it_deletes_nothing(
    servers: Servers, ground: Ground
) -> None:
    fill(ground, servers)
    servers.primary.reload("synchronous_standby_names", "*")
    servers.cut()
    drain = threading.Thread(target=ground.drain, daemon=True)
    drain.start()
    wait_until(lambda: ground.sql(WAITS_FOR_STANDBY) != [])
    # Its drop is committed here, and nobody waits for it any more: the worker comes back and finds it done.
    ground.sql(END_WHO_WAITS)
    wait_until(lambda: ground.value("select count(*) from reaper.batches where state = 'RELEASED'") == 1)
    wait_until(lambda: ground.sql(WAITS_FOR_STANDBY) != [])
    assert len(ground.keys()) == 3
    servers.fail_over()
    assert verify(ground).counts.get("missing object") is None
    drain.join()
    ground.settle()
    assert ground.complaints(settled=True) == []


def lose_the_last_commits(servers: Servers, ground: Ground, ordeal: Ordeal) -> Traffic:
    """Traffic goes on while the standby receives nothing, the primary dies, and the standby takes over."""
    traffic = Traffic(ground, ordeal.chance.randrange(1_000_000))
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


@pytest.mark.timeout(120)
@pytest.mark.ordeal("lossy promotions", aim="50 promotions", share=2)
def test_no_promotion_makes_a_live_paste_unreadable_while_deletions_wait_for_the_standby(
    servers: Servers, ground: Ground, ordeal: Ordeal
) -> None:
    ground.sql(WAIT, "*")
    for _ in ordeal.rounds(short=1):
        traffic = lose_the_last_commits(servers, ground, ordeal)
        complaints = ground.complaints()
        orphans = [complaint for complaint in complaints if complaint.startswith(UNKNOWN)]
        assert [complaint for complaint in complaints if complaint not in orphans] == []
        assert verify(ground).counts == ({"orphan object": len(orphans)} if orphans else {})
        ground.remove([orphan.removeprefix(UNKNOWN).split()[0] for orphan in orphans])
        servers.add_standby()
        ground.dsn = servers.dsn(ground.dbname)
        ground.settle()
        assert ground.complaints(settled=True) == []
        ground.forget()
        ordeal.survived("promotions")
        ordeal.survived("objects stored in vain", len(orphans))
        for what, times in traffic.seen.items():
            ordeal.survived(what, times)

"""await_standby: objects go when their release is where a promoted standby would find it, and not before."""

from uuid import uuid4

import pytest

from tests.support.paste_fixtures import refusals, refused, value

WAIT = "update reaper.settings set wait_for_standby = '*'"


@pytest.fixture
def batch(paste, claim):
    paste("a", content="a")
    return claim()


def test_where_nobody_is_waited_for_objects_go_at_once(db, me, batch, drop):
    drop(batch)
    assert not value(db, "select reaper.waits_for_standby()")
    assert me.call("await_standby", batch)[0][0] is None


def test_without_a_standby_that_is_waited_for_nothing_goes(db, me, batch, drop):
    db.execute(WAIT)
    drop(batch)
    assert value(db, "select reaper.waits_for_standby()")
    place = me.call("await_standby", batch)[0][0]
    assert place is not None
    # Asked again, it is the same place: the rest of the world writes on, and would never be caught up with.
    db.execute("create table something (else_ int)")
    assert value(db, "select reaper.await_standby(%s, %s)", batch, place) == place


@pytest.mark.parametrize("state", ["unknown", "claimed", "settled"])
def test_what_is_not_released_here_is_not_deleted(db, me, batch, drop, finish, state):
    token = uuid4() if state == "unknown" else batch
    if state == "settled":
        drop(batch)
        finish(batch, failed=[])
    before = refusals(db)
    with refused("RP001"):
        me.call("await_standby", token)
    assert refusals(db) == before + 1


def test_a_lease_is_asked_for_like_a_batch(db, me, batch, drop, finish):
    drop(batch)
    finish(batch, failed=None)
    lease = me.call("claim_cleanup")[0].lease
    assert me.call("await_standby", lease)[0][0] is None
    db.execute(WAIT)
    assert me.call("await_standby", lease)[0][0] is not None


@pytest.mark.parametrize("names", ["", "  ", ","])
def test_names_of_nobody_are_refused(db, names):
    with refused("23514"):
        db.execute("update reaper.settings set wait_for_standby = %s", [names])

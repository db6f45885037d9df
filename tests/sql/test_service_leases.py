"""The lease of a service: one worker runs it, a lost token changes nothing, a stranger's lock is none."""

import uuid

import psycopg
import pytest

from tests.support.paste_fixtures import Connection, record, refusals, refused, value

LOCK = "select pg_advisory_lock(1919246704, reaper.service_lock_key('sweep'))"
STATE = "select lease_token, lease_worker, lease_until from reaper.services where name = 'sweep'"


@pytest.fixture(autouse=True)
def _sweep(db: Connection) -> None:
    db.execute("select reaper.register_service('sweep', '15 seconds', 'does things')")


def lease(db: Connection, worker: str = "me") -> uuid.UUID | None:
    token: uuid.UUID | None = value(db, "select reaper.lease_service('sweep', %s)", worker)
    return token


def extend(db: Connection, token: uuid.UUID | None) -> bool:
    return bool(value(db, "select reaper.extend_service_lease('sweep', %s)", token))


def free(db: Connection, token: uuid.UUID | None) -> bool:
    return bool(value(db, "select reaper.return_service_lease('sweep', %s)", token))


def test_a_lease_is_had_by_one_until_it_is_returned(db, connect):
    other = connect()
    token = lease(db)
    assert token is not None
    assert lease(other, "other") is None
    assert free(db, token)
    assert lease(other, "other") is not None


def test_a_lease_expires_after_fifteen_seconds_unless_it_is_extended(db, connect, clock):
    clock.stop()
    token = lease(db)
    db.execute("select pg_advisory_unlock_all()")
    clock.advance("14 seconds")
    assert lease(connect(), "other") is None
    assert extend(db, token)
    clock.advance("14 seconds")
    assert lease(connect(), "other") is None
    clock.advance("1 second")
    assert lease(connect(), "other") is not None


def test_a_lost_token_changes_nothing(db, connect, clock):
    late = lease(db)
    db.execute("select pg_advisory_unlock_all()")
    clock.advance("15 seconds")
    holder = connect()
    now = lease(holder, "other")
    before = record(db, "select * from reaper.services where name = 'sweep'")
    counted = refusals(db)
    assert not extend(db, late)
    assert not free(db, late)
    with refused("RP001", "lease of service sweep is no longer held"):
        db.execute("select reaper.begin_run('sweep', 'me', %s)", [late])
    with refused("RP001"):
        db.execute("select reaper.finish_run('sweep', null, 'late', %s)", [late])
    assert record(db, "select * from reaper.services where name = 'sweep'") == before
    assert refusals(db) == counted + 2
    holder.execute("select reaper.finish_run('sweep', '{}', null, %s)", [now])


def test_an_expired_lease_that_no_other_worker_took_still_records_its_run(db, clock):
    token = lease(db)
    clock.advance("1 hour")
    db.execute("select reaper.finish_run('sweep', '{}', null, %s)", [token])
    assert extend(db, token)


def test_a_lease_from_before_the_clock_was_set_back_holds_nobody_off(db, connect, clock):
    lease(db)
    db.execute("select pg_advisory_unlock_all()")
    clock.advance("-1 hour")
    assert lease(connect(), "other") is not None


def test_a_worker_that_ends_returns_its_leases(db, connect):
    token = lease(db)
    db.execute("select pg_advisory_unlock_all()")
    db.execute("select reaper.retire_worker('me')")
    assert lease(connect(), "other") is not None
    assert not extend(db, token)


def test_the_session_lock_is_held_with_the_lease_and_returned_with_it(db, connect):
    other = connect()
    token = lease(db)
    assert value(other, LOCK.replace("pg_advisory", "pg_try_advisory")) is False
    free(db, token)
    assert value(other, LOCK.replace("pg_advisory", "pg_try_advisory")) is True


@pytest.mark.parametrize("role", ["reaper_worker", "reaper_ops"])
def test_a_lock_that_a_login_holds_which_may_run_services_counts_without_a_lease(db, dsn, role):
    db.execute(f"create role another_runner login in role {role}")
    try:
        with psycopg.connect(dsn, user="another_runner", autocommit=True) as runner:
            runner.execute(LOCK)
            assert lease(db) is None
            assert value(db, "select lease_token from reaper.services where name = 'sweep'") is None
            assert value(db, "select verdict from reaper.health") == "ok"
    finally:
        db.execute("drop role another_runner")


def test_an_operator_who_runs_a_service_by_hand_is_no_foreign_holder(db, dsn):
    db.execute("create role operator login in role reaper_ops")
    try:
        with psycopg.connect(dsn, user="operator", autocommit=True) as operator:
            assert lease(operator, "by hand") is not None
            assert value(db, "select reasons from reaper.health") == []
            assert lease(db) is None
    finally:
        db.execute("drop role operator")


@pytest.mark.parametrize("function", ["pg_advisory_lock", "pg_advisory_lock_shared"])
def test_a_lock_that_a_stranger_holds_does_not_count_and_is_reported(db, stranger, function):
    key = value(db, "select reaper.service_lock_key('sweep')")
    stranger.execute(f"select {function}(1919246704, %s)", [key])
    token = lease(db)
    assert token is not None
    [reason] = value(db, "select reasons from reaper.health")
    pid = stranger.info.backend_pid
    assert reason == (
        f"session {pid} (stranger) holds the advisory lock of service sweep without being a member of"
        " reaper_worker or reaper_ops; it runs on the lease alone."
        f" End the session: select pg_terminate_backend({pid});"
    )
    assert free(db, token)


def test_locks_of_a_stranger_are_one_reason_however_many(db, stranger):
    db.execute("select reaper.register_service('prune', '1 hour', 'does things')")
    for (key,) in db.execute("select service_key from reaper.services").fetchall():
        stranger.execute("select pg_advisory_lock(1919246704, %s)", [key])
    [reason] = value(db, "select reasons from reaper.health")
    assert "2 services (prune, sweep)" in reason


def test_locks_of_other_classes_and_other_databases_are_no_reason(db, stranger):
    stranger.execute("select pg_advisory_lock(1919246704), pg_advisory_lock(1, 1)")
    assert value(db, "select reasons from reaper.health") == []


def test_a_stranger_cannot_take_extend_or_return_a_lease(stranger):
    for call in (
        "lease_service('sweep', 'me')",
        "extend_service_lease('sweep', null)",
        "return_service_lease('sweep', null)",
    ):
        with refused("42501"):
            stranger.execute(f"select reaper.{call}")

"""clock: the only time there is, and who can move it."""

from datetime import timedelta

import pytest

from tests.support.paste_fixtures import refused, value

FAST = timedelta(minutes=1)


def lead(db):
    """How far reaper's clock is ahead of the server's."""
    return value(db, "select reaper.clock() - clock_timestamp()")


def test_it_is_the_servers_time(db):
    assert abs(lead(db)) < FAST


def test_it_goes_on_within_a_transaction(db):
    with db.transaction():
        first = value(db, "select reaper.clock()")
        assert value(db, "select reaper.clock()") > first


def test_tests_can_move_it_forward_and_back(db, clock):
    clock.advance("3 hours")
    assert abs(lead(db) - timedelta(hours=3)) < FAST
    clock.advance("-5 hours")
    assert abs(lead(db) + timedelta(hours=2)) < FAST


def test_an_offset_without_permission_moves_nothing(db):
    db.execute("update reaper.settings set clock_offset = '3 hours'")
    assert abs(lead(db)) < FAST


@pytest.mark.parametrize(
    "attempt",
    [
        "set reaper.clock_offset = '10 years'",
        "set reaper.clock = '2100-01-01'",
        "set reaper.clock_may_move = true",
        "set timezone = 'Pacific/Kiritimati'",
        "set search_path = mischief, public",
    ],
)
def test_no_setting_of_a_session_moves_it(db, attempt):
    db.execute("create schema mischief")
    db.execute(
        "create function mischief.clock_timestamp() returns timestamptz language sql as"
        " $$ select timestamptz '2100-01-01' $$"
    )
    db.execute(attempt)
    assert value(db, "select reaper.clock() - pg_catalog.clock_timestamp()") < FAST


def test_the_settings_have_one_row(db):
    with refused("23505"):
        db.execute("insert into reaper.settings default values")
    with refused("23514"):
        db.execute("insert into reaper.settings (only_row) values (false)")

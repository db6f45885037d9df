"""Cron follows the clock of settings.time_zone; an hour that it leaves out or shows twice runs once."""

from datetime import UTC, datetime

import pytest

from reaper.services.schedule_syntax import next_run
from tests.support.paste_fixtures import record, refused, value

ZONE = "update reaper.settings set time_zone = %s"
RUNS = {
    # Spring: 02:00 to 03:00 does not exist on March 29; autumn: it comes twice on October 25.
    ("0 0 * * *", "2026-03-28T12:00Z"): ["2026-03-28T23:00Z", "2026-03-29T22:00Z"],
    ("30 2 * * *", "2026-03-28T12:00Z"): ["2026-03-29T01:30Z", "2026-03-30T00:30Z"],
    ("30 2 * * *", "2026-10-24T12:00Z"): ["2026-10-25T01:30Z", "2026-10-26T01:30Z"],
    ("0 * * * *", "2026-03-28T23:30Z"): ["2026-03-29T00:00Z", "2026-03-29T01:00Z", "2026-03-29T02:00Z"],
    ("0 * * * *", "2026-10-24T22:30Z"): ["2026-10-24T23:00Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"],
}


def moment(text):
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(("schedule", "start"), RUNS)
def test_midnight_is_that_of_the_zone_and_each_hour_runs_once(db, schedule, start):
    db.execute(ZONE, ["Europe/Berlin"])
    now, found = moment(start), []
    for _ in RUNS[schedule, start]:
        local = value(db, "select %s at time zone time_zone from reaper.settings", now)
        upcoming = next_run(schedule, now, local_now=local)
        now = value(db, "select reaper.from_local_time(%s)", upcoming)
        found.append(now)
    assert found == [moment(text) for text in RUNS[schedule, start]]


@pytest.mark.parametrize("zone", ["Mars/Base", "Europe/Berlinn", "", "UTC+3", "<x>3"])
def test_a_zone_that_is_not_known_is_refused(db, zone):
    with pytest.raises(Exception, match=r"time.zone"):
        db.execute(ZONE, [zone])


def test_what_cron_planned_in_another_zone_is_planned_anew_unless_it_is_due(db):
    for name, schedule in {"night": "0 0 * * *", "due": "0 1 * * *", "often": "15 minutes"}.items():
        db.execute("select reaper.register_service(%s, %s, 'x')", [name, schedule])
        db.execute("select reaper.enqueue_run(%s, null, reaper.clock() + interval '1 hour')", [name])
    db.execute("update reaper.services set next_run_at = reaper.clock() where name = 'due'")
    db.execute(ZONE, ["Asia/Karachi"])
    found = db.execute("select name, next_run_at is null from reaper.sync_services() order by 1").fetchall()
    assert found == [("due", False), ("night", True)]
    due = record(db, "select now, local_now from reaper.sync_services() where name = 'night'")
    assert (due.local_now - due.now.astimezone(UTC).replace(tzinfo=None)).total_seconds() == 5 * 3600
    with refused("22023"):
        db.execute(ZONE, ["Nowhere/Land"])

"""When a service runs next, by the text that says so."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from reaper.errors import ConfigError
from reaper.services.schedule_syntax import next_run

NOW = datetime(2026, 3, 14, 23, 50, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 15, tzinfo=UTC)


@pytest.mark.parametrize("text", ["0 0 * * *", "@daily", "@midnight", "@hourly", "*/15 * * * *"])
def test_cron_names_the_next_time_of_the_calendar_without_jitter(text: str) -> None:
    soon = NOW + timedelta(minutes=6)
    assert next_run(text, soon) == next_run(text, soon, soon) == MIDNIGHT


def test_cron_is_utc_wherever_the_time_comes_from() -> None:
    assert next_run("0 0 * * *", NOW.astimezone(ZoneInfo("Asia/Karachi"))) == MIDNIGHT


def test_missed_runs_are_made_up_for_once() -> None:
    planned = MIDNIGHT - timedelta(days=4)
    assert next_run("0 0 * * *", NOW, planned) == MIDNIGHT
    assert next_run("1 hour", NOW, planned) > NOW
    assert next_run("1 hour", NOW, planned) - NOW <= timedelta(hours=1)


def test_an_interval_begins_anywhere_in_its_first_half() -> None:
    starts = {next_run("10 minutes", NOW, rng=random.Random(seed)) for seed in range(200)}
    assert len(starts) > 100
    assert all(NOW <= start <= NOW + timedelta(minutes=5) for start in starts)


def test_a_late_tick_delays_no_later_run() -> None:
    planned = NOW - timedelta(seconds=4)
    assert next_run("15 seconds", NOW, planned) == planned + timedelta(seconds=15)
    assert next_run("continuous", NOW, planned) == planned + timedelta(seconds=5)


def test_a_time_that_lies_ahead_is_never_the_answer_again() -> None:
    # The clock was set back after the run was planned.
    planned = NOW + timedelta(hours=1)
    assert next_run("15 minutes", NOW, planned) > planned


@pytest.mark.parametrize(
    "text",
    ["", "often", "61 * * * *", "* * * * * *", "0 seconds", "-1 hour", "1.5 hours", "0 0 31 2 *", "@reboot"],
)
def test_what_is_no_schedule_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        next_run(text, NOW)
    assert "15 minutes" in (refused.value.hint or "")

"""When a service runs next: cron, @hourly and the like, an interval, or `continuous`.

Cron is read on the clock of `reaper.settings.time_zone`; PostgreSQL, which knows the zones, says what that
clock shows and which moment a time on it is. An hour that the clock leaves out or shows twice runs once.

Pure: the time comes in from the database, so workers whose clocks differ plan alike.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from croniter import CroniterBadDateError, croniter

from reaper.errors import ConfigError

CONTINUOUS = "continuous"
# How often a tick looks; nothing runs more often.
TICK = timedelta(seconds=5)

_MACROS = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
_INTERVAL = re.compile(r"([1-9][0-9]{0,5}) (second|minute|hour|day)s?")
_HINT = "Write cron (0 0 * * *), @hourly or @daily, an interval (15 minutes), or continuous."


class Schedule(Protocol):
    """Answers when; never with a time that is not after `now`."""

    def first(self, now: datetime, rng: random.Random) -> datetime:
        """The first run of a service that was never planned."""

    def after(self, planned: datetime, now: datetime) -> datetime:
        """The run after the one that was planned for `planned`; runs that were missed are left out."""


@dataclass(frozen=True)
class Cron:
    """At these times of the calendar; a time without zone is one on the clock of settings.time_zone."""

    text: str

    def first(self, now: datetime, rng: random.Random) -> datetime:  # noqa: ARG002
        """The next time of the calendar, without jitter."""
        return self.after(now, now)

    def after(self, planned: datetime, now: datetime) -> datetime:  # noqa: ARG002
        """The next time of the calendar."""
        try:
            start = now.astimezone(UTC) if now.tzinfo else now
            found: datetime = croniter(self.text, start).get_next(datetime)
        except CroniterBadDateError:
            raise ConfigError(f"cron expression {self.text!r} never matches a date", _HINT) from None
        return found


@dataclass(frozen=True)
class Every:
    """Again and again after the same span."""

    span: timedelta

    def first(self, now: datetime, rng: random.Random) -> datetime:
        """Somewhere in the first half of the span, so that services which start together drift apart."""
        return now + self.span * rng.uniform(0, 0.5)

    def after(self, planned: datetime, now: datetime) -> datetime:
        """A multiple of the span after the planned time, so that a late tick delays no later run."""
        missed = max((now - planned) // self.span, 0)
        return planned + self.span * (missed + 1)


def parse(text: str) -> Schedule:
    """The schedule that a text means; ConfigError when it means none."""
    if text == CONTINUOUS:
        return Every(TICK)
    if match := _INTERVAL.fullmatch(text):
        return Every(timedelta(**{f"{match[2]}s": int(match[1])}))
    if text in _MACROS or (len(text.split(" ")) == 5 and croniter.is_valid(text)):
        return Cron(text)
    raise ConfigError(f"invalid schedule {text!r}", _HINT)


def next_run(
    text: str,
    now: datetime,
    planned: datetime | None = None,
    rng: random.Random | None = None,
    local_now: datetime | None = None,
) -> datetime:
    """When to run next, seen from `now`; `planned` is the time that has just come, None at the first time.

    With `local_now`, the same moment as a clock of settings.time_zone shows it, cron answers on that clock.
    """
    schedule = parse(text)
    if isinstance(schedule, Cron) and local_now is not None:
        return schedule.after(local_now, local_now)
    return schedule.first(now, rng or random.Random()) if planned is None else schedule.after(planned, now)

"""Now: what is due, how old, how fast it goes and how long it takes; the last 24 hours as a picture."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from reaper.ops.status import Status
from reaper.queries.overview import Minute
from reaper.web import charts
from reaper.web.section import OFTEN, Look, Section

_MINUTES = 24 * 60
_MINUTE = timedelta(minutes=1)


def ask(look: Look) -> Mapping[str, Any]:
    """Figures each time; history and lag, which cost more, less often."""
    slow = look.seldom("now", _seldom)
    return {**slow, "left": _time_left(look.status), "waits": _waits(look.status)}


def _seldom(look: Look) -> dict[str, Any]:
    minutes, lag = look.q.runs_by_minute(), look.q.expiry_lag()
    lags: deque[charts.Lag] = look.kept.setdefault("lags", deque(maxlen=_MINUTES))
    if not lags or look.now - lags[-1].at >= _MINUTE:
        lags.append(charts.Lag(look.now, lag.p50 or timedelta(), lag.p99 or timedelta()))
    midnight = look.now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    today = [minute for minute in minutes if minute.minute >= midnight]
    return {
        "lag": lag,
        "rows_today": sum(minute.rows_deleted for minute in today),
        "objects_today": sum(minute.objects_deleted for minute in today),
        "freed_today": sum(minute.bytes_freed for minute in today),
        "rows_chart": charts.rows_per_minute(_by_minute(minutes), look.now),
        "lag_chart": charts.lag(list(lags)),
        "plan": look.q.before_batch("drain"),
    }


def _by_minute(minutes: Sequence[Minute]) -> dict[datetime, int]:
    return {minute.minute: minute.rows_deleted for minute in minutes}


def _time_left(status: Status) -> timedelta | None:
    """At the speed of the last batches; None where nothing is due or no speed is known."""
    speed = status.speed.rows_per_second
    if not status.health.due_rows or not speed:
        return None
    return timedelta(seconds=float(status.health.due_rows / speed))


def _waits(status: Status) -> list[str]:
    """Why the drain does not go faster, as the workers tell it."""
    return sorted({worker.throttled for worker in status.workers if worker.alive and worker.throttled})


SECTION = Section("now", "Now", ask, every=OFTEN)

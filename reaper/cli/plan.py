"""`reaper plan` and `reaper drain --dry-run`: what a drain would do now."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import typer

from reaper.cli import formatting, options
from reaper.cli.database import connected
from reaper.cli.tables import show_fields
from reaper.config.units import format_size

if TYPE_CHECKING:
    from reaper.ops.reports import Forecast

# What one call of DeleteObjects takes.
_KEYS_PER_CALL = 1000


@dataclasses.dataclass(frozen=True)
class Plan:
    """A forecast with what it costs at one batch size."""

    forecast: Forecast
    batch_size: int

    @property
    def rows(self) -> int:
        """Rows that the drain would try to delete."""
        return max(self.forecast.rows_due - self.forecast.rows_blocked, 0)

    @property
    def batches(self) -> int:
        """How many claims that takes."""
        return math.ceil(self.rows / self.batch_size)

    @property
    def s3_calls(self) -> int:
        """At least so many: objects come in batches, and a batch's objects in calls of up to 1000."""
        most_per_call = min(self.batch_size, _KEYS_PER_CALL)
        return max(
            math.ceil(self.forecast.objects_freed / most_per_call),
            min(self.batches, self.forecast.objects_freed),
        )

    @property
    def redis_round_trips(self) -> int:
        """Lock, unlock and one pipeline for each batch."""
        return 3 * self.batches

    @property
    def seconds(self) -> float | None:
        """At the speed of the last runs; None when there was none."""
        speed = self.forecast.rows_per_second
        return float(self.rows / speed) if speed else None

    def as_dict(self) -> dict[str, object]:
        """For machines."""
        return {
            **dataclasses.asdict(self.forecast),
            "batch_size": self.batch_size,
            "batches": self.batches,
            "s3_calls": self.s3_calls,
            "redis_round_trips": self.redis_round_trips,
            "seconds": self.seconds,
        }


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("plan")(plan)


def plan(
    batch_size: options.BatchSize = None, as_json: options.Json = False, database_url: options.Dsn = None
) -> None:
    """Say what a drain would delete, free and cost now; change nothing.

    The same as `reaper drain --dry-run`. Bytes are those that would really go: content that a live paste
    names stays.
    """
    from reaper import config
    from reaper.ops.reports import Reports

    settings = config.load("database_url", "batch_size", database_url=database_url, batch_size=batch_size)
    with connected("plan", database_url) as connection:
        made = Plan(Reports(connection).plan(), settings.batch_size)
    if as_json:
        formatting.print_json(made.as_dict())
    else:
        show_fields(_lines(made))


def _lines(made: Plan) -> Iterator[tuple[str, str]]:
    forecast = made.forecast
    yield "rows", _rows(forecast)
    objects = formatting.count(forecast.objects_freed, "object")
    yield "objects", f"{objects} deleted, {format_size(forecast.bytes_freed)} freed"
    yield "kept", f"{formatting.count(forecast.objects_kept, 'content')}, because live pastes name them"
    yield "batches", f"{made.batches:,} of up to {formatting.count(made.batch_size, 'row')}"
    yield "calls", f"{made.s3_calls:,} to S3, {made.redis_round_trips:,} round trips to Redis"
    yield "time", _time(made)


def _rows(forecast: Forecast) -> str:
    blocked = f", of which {forecast.rows_blocked:,} are blocked for now" if forecast.rows_blocked else ""
    return (
        f"{formatting.count(forecast.rows_due, 'paste')} due{blocked}"
        if forecast.rows_due
        else "nothing is due"
    )


def _time(made: Plan) -> str:
    if made.seconds is None:
        return "unknown: no run yet"
    speed = f"{made.forecast.rows_per_second:,.0f} rows/s, as in the last runs"
    return f"about {formatting.age(timedelta(seconds=math.ceil(made.seconds)))} at {speed}"

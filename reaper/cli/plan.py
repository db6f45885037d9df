"""`reaper plan` and `reaper drain --dry-run`: what a drain would do now."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from datetime import timedelta

import typer

from reaper import config, db
from reaper.cli import options, words
from reaper.migrate import check_schema
from reaper.ops.reports import Forecast, Reports

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
    settings = config.load("database_url", "batch_size", database_url=database_url, batch_size=batch_size)
    with db.connect(settings.dsn, "reaper:plan") as connection:
        check_schema(connection)
        made = Plan(Reports(connection).plan(), settings.batch_size)
    if as_json:
        words.print_json(made.as_dict())
    else:
        words.table(_lines(made))


def _lines(made: Plan) -> Iterator[tuple[str, str]]:
    forecast = made.forecast
    yield "rows", _rows(forecast)
    yield (
        "objects",
        f"{words.count(forecast.objects_freed, 'object')} deleted, {words.size(forecast.bytes_freed)} freed",
    )
    yield "kept", f"{words.count(forecast.objects_kept, 'content')}, because live pastes name them"
    yield "batches", f"{made.batches:,} of up to {words.count(made.batch_size, 'row')}"
    yield "calls", f"{made.s3_calls:,} to S3, {made.redis_round_trips:,} round trips to Redis"
    yield "time", _time(made)


def _rows(forecast: Forecast) -> str:
    blocked = f", of which {forecast.rows_blocked:,} are blocked for now" if forecast.rows_blocked else ""
    return (
        f"{words.count(forecast.rows_due, 'paste')} due{blocked}" if forecast.rows_due else "nothing is due"
    )


def _time(made: Plan) -> str:
    if made.seconds is None:
        return "unknown: no run yet"
    speed = f"{made.forecast.rows_per_second:,.0f} rows/s, as in the last runs"
    return f"about {words.age(timedelta(seconds=math.ceil(made.seconds)))} at {speed}"

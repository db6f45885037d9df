"""`reaper plan` and `reaper drain --dry-run`: what a drain would do now."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import typer

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.tables import show_fields
from reaper.config.units import format_size

if TYPE_CHECKING:
    from reaper.ops.forecast import DrainPlan
    from reaper.queries.expiry import DrainForecast


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("plan")(plan)


def plan(
    batch_size: options.BatchSize = None, as_json: options.Json = False, database_url: options.Dsn = None
) -> None:
    """Show what a drain would delete now, and what that costs; change nothing.

    The same as `reaper drain --dry-run`. Bytes are those that are really freed: content that a live paste
    uses is kept.
    """
    from reaper import config
    from reaper.ops.forecast import DrainPlan

    settings = config.load("database_url", "batch_size", database_url=database_url, batch_size=batch_size)
    with asking("plan", database_url) as q:
        made = DrainPlan(q.plan_drain(), settings.batch_size)
    if as_json:
        formatting.print_json(made.as_dict())
    else:
        show_fields(_lines(made))


def _lines(made: DrainPlan) -> Iterator[tuple[str, str]]:
    forecast = made.forecast
    yield "rows", _rows(forecast)
    objects = formatting.count(forecast.objects_freed, "object")
    yield "objects", f"{objects} deleted, {format_size(forecast.bytes_freed)} freed"
    yield "kept", f"{formatting.count(forecast.objects_kept, 'content')}, because live pastes use them"
    yield "batches", f"{made.batches:,} of up to {formatting.count(made.batch_size, 'row')}"
    yield "calls", f"{made.s3_calls:,} to S3, {made.redis_round_trips:,} round trips to Redis"
    yield "time", _time(made)


def _rows(forecast: DrainForecast) -> str:
    blocked = f", of which {forecast.rows_blocked:,} are blocked for now" if forecast.rows_blocked else ""
    return (
        f"{formatting.count(forecast.rows_due, 'paste')} due{blocked}"
        if forecast.rows_due
        else "nothing is due"
    )


def _time(made: DrainPlan) -> str:
    if made.seconds is None:
        return "unknown: no run yet"
    speed = f"{made.forecast.rows_per_second:,.0f} rows/s, as in the last runs"
    return f"about {formatting.age(timedelta(seconds=math.ceil(made.seconds)))} at {speed}"

"""`reaper plan` and `reaper drain --dry-run`: what a drain would do now."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import typer

from reaper.cli import formatting, options
from reaper.cli.database_connection import asking
from reaper.cli.progress import phase_counts
from reaper.cli.tables import show_fields
from reaper.config.units import format_size

if TYPE_CHECKING:
    from reaper.ops.forecast import DrainPlan
    from reaper.queries import Queries
    from reaper.queries.expiry import DrainForecast

REFUSED = (
    "warning: a drain would be refused now (RP010) and delete nothing: too few objects were found under the"
    " object keys of {}; reaper doctor says which were looked for"
)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("plan")(plan)


def plan(
    batch_size: options.BatchSize = None,
    exact: options.Exact = False,
    as_json: options.Json = False,
    database_url: options.Dsn = None,
) -> None:
    """Show what a drain would delete now, and what that costs; change nothing.

    The same as `reaper drain --dry-run`. Up to 10,000 due rows are counted, more are estimated from the
    table's statistics and a sample, at once; --exact counts them all, page by page. Bytes are those that are
    really freed: content that a live paste uses is kept.
    """
    from reaper import config
    from reaper.ops.forecast import DrainPlan

    settings = config.load("database_url", database_url=database_url, batch_size=batch_size)
    with asking("plan", database_url) as q:
        told = q.before_batch("drain")
        size, pace = settings.batch_size or told.batch_size, settings.rows_per_second or told.rows_per_second
        made = DrainPlan(_forecast(q, exact, as_json), size, pace)
        binding = q.key_binding()
    if binding and binding.confirmed is False:
        typer.echo(REFUSED.format(binding.table), err=True)
    if as_json:
        formatting.print_json(made.as_dict())
    else:
        show_fields(_lines(made))


def _forecast(q: Queries, exact: bool, as_json: bool) -> DrainForecast:
    from reaper.ops.forecast import count_exactly

    if not exact:
        return q.estimate_drain()
    with phase_counts(hidden=as_json) as watch:
        return count_exactly(q, lambda rows: watch("due rows counted", rows))


def _lines(made: DrainPlan) -> Iterator[tuple[str, str]]:
    forecast = made.forecast
    yield "rows", _rows(forecast)
    yield "objects", f"{_count(forecast, forecast.objects_freed, 'object')} deleted, {_bytes(forecast)}"
    yield "kept", f"{_count(forecast, forecast.objects_kept, 'content')}, {_kept(forecast.objects_kept)}"
    yield "batches", _batches(made)
    yield "calls", f"{made.s3_calls:,} to S3, {made.redis_round_trips:,} round trips to Redis"
    yield "time", _time(made)
    if not forecast.exact:
        yield "", "estimated from statistics and a sample of the due rows; --exact counts them"


def _batches(made: DrainPlan) -> str:
    from reaper.expiry.rate import BATCH_SIZE

    rows = formatting.count(made.batch_size, "row")
    if made.batch_size == BATCH_SIZE and not made.pace:
        return f"at most {made.batches:,}: they begin with {rows} and grow while they are quick"
    return f"{made.batches:,} of up to {rows}"


def _rows(forecast: DrainForecast) -> str:
    if not forecast.rows_due:
        return "nothing is due"
    parts = [
        f"{number:,} {'is' if number == 1 else 'are'} {state}"
        for number, state in (
            (forecast.rows_blocked, "blocked for now"),
            (forecast.rows_in_progress, "in progress"),
        )
        if number
    ]
    of_which = f", of which {' and '.join(parts)}" if parts else ""
    return f"{_count(forecast, forecast.rows_due, 'paste')} due{of_which}"


def _bytes(forecast: DrainForecast) -> str:
    """What is freed; what has no recorded size is no zero."""
    unsized = forecast.objects_unsized
    if not unsized:
        about = "" if forecast.exact else "about "
        return f"{about}{format_size(forecast.bytes_freed)} freed"
    if unsized >= forecast.objects_freed:
        return "size unknown"
    unknown = f"the size of {_count(forecast, unsized, 'object')} is unknown"
    return f"{format_size(forecast.bytes_freed)} and more freed; {unknown}"


def _kept(contents: int) -> str:
    return f"because live or blocked pastes use {'it' if contents == 1 else 'them'}"


def _count(forecast: DrainForecast, number: int, noun: str) -> str:
    """A number as it was counted, or three digits of an estimate."""
    if forecast.exact or not number:
        return formatting.count(number, noun)
    digits = max(len(str(number)) - 3, 0)
    return f"about {formatting.count(round(number, -digits), noun)}"


def _time(made: DrainPlan) -> str:
    if made.seconds is None:
        return "unknown: no run yet"
    why = "the pace that is set" if made.speed == made.pace else "as in the last runs"
    speed = f"{made.speed:,.0f} rows/s, {why}"
    return f"about {formatting.age(timedelta(seconds=math.ceil(made.seconds)))} at {speed}"

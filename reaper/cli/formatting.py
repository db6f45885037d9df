"""Figures as people read them, and results as machines do."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import typer

from reaper.config.units import format_duration


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 row`, `1,234 rows`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def age(span: timedelta) -> str:
    """A span that has passed or is to pass, without fractions of a second: `3 h 12 min`."""
    return format_duration(timedelta(seconds=span // timedelta(seconds=1)))


def minute(moment: datetime) -> str:
    """`2026-01-31 23:59`."""
    return f"{moment:%Y-%m-%d %H:%M}"


def second(moment: datetime | None) -> str:
    """`2026-01-31 23:59:59`, or nothing."""
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else ""


def figures(done: Mapping[str, int]) -> str:
    """What a run did: `rows reset 3, batches adopted 1`."""
    listed = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in done.items())
    return listed or "nothing to do"


def print_json(value: object) -> None:
    """A result for machines."""
    typer.echo(json.dumps(value, default=plain, indent=2))


def plain(value: Any) -> Any:
    """What JSON has no word for, in words that it has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)

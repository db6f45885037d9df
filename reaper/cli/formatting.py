"""Numbers as people read them, and where they are printed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import typer
from rich.console import Console
from rich.filesize import decimal as file_size

_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def console() -> Console:
    """Colours for a person, plain lines when piped; lines are never broken."""
    return Console(soft_wrap=True, highlight=False)


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 row`, `1,234 rows`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(number: int) -> str:
    """Bytes in a fitting unit."""
    return file_size(number)


def age(span: timedelta) -> str:
    """The two largest units of a span: `3 h 12 min`."""
    left = max(int(span.total_seconds()), 0)
    parts: list[str] = []
    for unit, seconds in _UNITS:
        number, left = divmod(left, seconds)
        if number or parts or unit == "s":
            parts.append(f"{number} {unit}")
    return " ".join(part for part in parts[:2] if not part.startswith("0 ") or len(parts) == 1)


def print_json(value: object) -> None:
    """A result for machines."""
    typer.echo(json.dumps(value, default=_plain, indent=2))


def table(rows: Iterable[tuple[str, str]]) -> None:
    """Lines of a label and a text; a line without label goes on with the one before."""
    out = console()
    for label, text in rows:
        out.print(f"[bold]{label:<12}[/]{text}")


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)

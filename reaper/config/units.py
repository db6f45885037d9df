"""Sizes and durations, read and written as people write them: `500 MB`, `1.5 GiB`, `2 h`, `1 min 30 s`."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgtp]?)(i?)b|bytes?)?", re.IGNORECASE)
_POWERS = ("", "k", "m", "g", "t", "p")
_SIZE_UNITS = ("kB", "MB", "GB", "TB", "PB", "EB")
_PART = re.compile(
    r"(\d+(?:\.\d+)?)\s*(?:(ms)|(s|sec|seconds?)|(min|m|minutes?)|(h|hours?)|(d|days?))(?![a-z])\s*",
    re.IGNORECASE,
)
_SECONDS = re.compile(r"\d+(?:\.\d+)?")
# In the order of the groups of _PART.
_MILLISECONDS = (1, 1000, 60_000, 3_600_000, 86_400_000)
_DURATION_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))


def parse_size(text: str) -> int:
    """The bytes that a text means, 1 kB being 1000 and 1 KiB 1024; ValueError when it means none."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError("write a number and a unit: 800 MB, 500 GB, 2 TB, or 500 GiB in powers of 1024")
    unit = Decimal(1024 if match[3] else 1000) ** _POWERS.index((match[2] or "").lower())
    return round(Decimal(match[1]) * unit)


def format_size(number: int) -> str:
    """`1 byte`, `999 bytes`, `1.5 kB`, `500 GB`."""
    if number < 1000:
        return f"{number} {'byte' if number == 1 else 'bytes'}"
    value = Decimal(number)
    for unit in _SIZE_UNITS:
        value /= 1000
        # Not 1000: 999,950 would be written as 1000 kB.
        if value < Decimal("999.95") or unit == _SIZE_UNITS[-1]:
            break
    return f"{value:,.1f}".removesuffix(".0") + f" {unit}"


def parse_duration(text: str) -> timedelta:
    """The span that a text means, a bare number being seconds; ValueError when it means none."""
    text = text.strip()
    parts = list(_PART.finditer(text))
    if _SECONDS.fullmatch(text):
        milliseconds = Decimal(text) * 1000
    elif parts and "".join(part[0] for part in parts) == text:
        milliseconds = sum((_milliseconds(part) for part in parts), Decimal())
    else:
        raise ValueError("write a number and a unit: 500 ms, 30 s, 15 min, 2 h, 1 d")
    try:
        return timedelta(milliseconds=float(milliseconds))
    except OverflowError:
        raise ValueError("the duration is too long") from None


def _milliseconds(part: re.Match[str]) -> Decimal:
    unit = next(n for n, found in enumerate(part.groups()[1:]) if found)
    return Decimal(part[1]) * _MILLISECONDS[unit]


def format_duration(span: timedelta) -> str:
    """The two largest units of a span, the rest cut off: `3 h 12 min`, `1 d`, `100 ms`."""
    left = max(span // timedelta(milliseconds=1), 0)
    parts: list[tuple[int, str]] = []
    for unit, length in _DURATION_UNITS:
        number, left = divmod(left, length)
        if number or parts:
            parts.append((number, unit))
    return " ".join(f"{number} {unit}" for number, unit in parts[:2] if number) or "0 s"

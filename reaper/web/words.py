"""Figures and times as the page writes them: the filters of its templates."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from markupsafe import Markup

from reaper.config.units import format_duration, format_size

NEVER = "\N{EN DASH}"
# A mark and a word for each state: colour alone says nothing.
MARKS = {
    "ok": "●",
    "paused": "‖",
    "attention": "▲",
    "behind": "◆",
    "stalled": "■",
    "closed": "●",
    "open": "■",
    "half_open": "◆",
    "ours": "●",
    "other": "■",
    "not checked": "○",
    "active": "●",
    "readonly": "◆",
    "draining": "▼",
    "alive": "●",
    "silent": "■",
    "due": "◆",
    "waiting": "○",
    "off": "\N{MULTIPLICATION SIGN}",
    "unplanned": "○",
    "failed": "■",
    "enabled": "●",
    "disabled": "\N{MULTIPLICATION SIGN}",
    "warn": "▲",
    "fail": "■",
    "unknown": "○",
    "held": "■",
    "failing": "■",
    "nothing sent yet": "○",
    "missing": "■",
    "corrupt": "■",
    "braked": "■",
    "idle": "●",
    "listing": "◆",
    "settling": "◆",
}
_BAD = (
    *("stalled", "open", "other", "silent", "failed", "fail"),
    *("held", "failing", "missing", "corrupt", "braked"),
)
TONES = {
    **dict.fromkeys(_BAD, "bad"),
    **dict.fromkeys(("attention", "behind", "half_open", "readonly", "draining", "warn", "paused"), "warn"),
    **dict.fromkeys(
        ("off", "disabled", "not checked", "unknown", "waiting", "unplanned", "nothing sent yet"), "quiet"
    ),
}
_COUNTED = 100_000


def state(word: str) -> Markup:
    """A state as mark and word."""
    return Markup('<span class="state {}"><span aria-hidden="true">{}</span> {}</span>').format(
        TONES.get(word, "good"), MARKS.get(word, "○"), word.replace("_", " ")
    )


def number(value: Any) -> str:
    """`1,234`."""
    return NEVER if value is None else f"{value:,}"


def at_least(value: int) -> str:
    """A figure that is counted to 100,000."""
    return f"≥ {value:,}" if value >= _COUNTED else f"{value:,}"


def size(value: int | None) -> str:
    """`1.5 GB`."""
    return (
        NEVER
        if value is None
        else format_size(value)
        if value >= 0
        else f"\N{MINUS SIGN}{format_size(-value)}"
    )


def age(span: timedelta | None) -> str:
    """`3 h 12 min`."""
    return NEVER if span is None else format_duration(timedelta(seconds=span // timedelta(seconds=1)))


def moment(at: datetime | None) -> Markup:
    """A time, with the machine's way to write it behind."""
    if at is None:
        return Markup(NEVER)
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S}")


def figures(done: Any) -> str:
    """What a run did: `rows reset 3, batches adopted 1`."""
    told = [
        f"{name.replace('_', ' ')} {value:,}"
        if isinstance(value, int)
        else f"{name.replace('_', ' ')} {value}"
        for name, value in (done or {}).items()
    ]
    return ", ".join(told) or "nothing to do"


FILTERS = {f.__name__: f for f in (state, number, at_least, size, age, moment, figures)}

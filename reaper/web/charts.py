"""Pictures of figures, drawn as SVG by the server: nothing to load, and readable without a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from markupsafe import Markup

from reaper.config.units import format_duration, format_size

WIDTH, HEIGHT = 720, 110
_BOTTOM = HEIGHT - 18
_TOP = 22
_COLUMN = timedelta(minutes=10)
_COLUMNS = 144
_HOURS = (24, 18, 12, 6)


@dataclass(frozen=True)
class Lag:
    """For how long what was due at a moment had been due."""

    at: datetime
    p50: timedelta
    p99: timedelta


def rows_per_minute(minutes: Mapping[datetime, int], now: datetime) -> Markup:
    """The last 24 hours in columns of ten minutes."""
    columns = [0] * _COLUMNS
    for minute, rows in minutes.items():
        place = _COLUMNS - 1 - int((now - minute) / _COLUMN)
        if 0 <= place < _COLUMNS:
            columns[place] += rows
    speeds = [rows / (_COLUMN / timedelta(minutes=1)) for rows in columns]
    most = max(speeds)
    if not most:
        told = "No rows were deleted in the last 24 hours."
    else:
        told = (
            f"Rows deleted per minute over 24 hours: {sum(columns):,} in all, at most {most:,.0f} per minute."
        )
    step = WIDTH / _COLUMNS
    bars = [
        f'<rect x="{n * step:.1f}" y="{_y(speed, most):.1f}" width="{step - 1:.1f}"'
        f' height="{max(_BOTTOM - _y(speed, most), 1):.1f}"/>'
        for n, speed in enumerate(speeds)
        if speed
    ]
    return _picture("rows", told, f'<g class="bars">{"".join(bars)}</g>', f"{most:,.0f}/min" if most else "")


def lag(lags: Sequence[Lag]) -> Markup:
    """Median and 99th percentile since the page was first looked at."""
    if not lags:
        return Markup("")
    first, last = lags[0].at, lags[-1].at
    most = max(each.p99.total_seconds() for each in lags)
    p50, p99 = format_duration(lags[-1].p50), format_duration(lags[-1].p99)
    told = (
        f"Expiry lag now: median {p50}, 99th percentile {p99};"
        f" at most {format_duration(timedelta(seconds=most))} since {first:%H:%M %Z}."
    )
    span = max((last - first).total_seconds(), 1)

    def line(kind: str, seconds: Sequence[float]) -> str:
        points = [
            f"{(each.at - first).total_seconds() / span * WIDTH:.1f},{_y(value, most):.1f}"
            for each, value in zip(lags, seconds, strict=True)
        ]
        if len(points) == 1:
            height = points[0].partition(",")[2]
            points = [f"0,{height}", f"{WIDTH},{height}"]
        return f'<polyline class="{kind}" points="{" ".join(points)}"/>'

    drawn = line("p99", [each.p99.total_seconds() for each in lags]) + line(
        "p50", [each.p50.total_seconds() for each in lags]
    )
    return _picture("lag", told, drawn, format_duration(timedelta(seconds=most)) if most else "", hours=False)


def quota_bar(name: str, parts: tuple[int, int, int], quota: int) -> Markup:
    """What of a quota is used, queued for deletion and reserved."""
    shares = [max(part, 0) / quota * 100 for part in parts]
    left, drawn = 0.0, ""
    for kind, share in zip(("used", "orphan", "reserved"), shares, strict=True):
        width = min(share, 100 - left)
        drawn += f'<rect class="{kind}" x="{left:.2f}" y="0" width="{width:.2f}" height="6"/>'
        left += width
    told = f"{name}: {sum(shares):.0f} % of {format_size(quota)} in use"
    return Markup(
        '<svg class="quota" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="room" x="0" y="0" width="100" height="6"/>{}</svg>'
    ).format(told, Markup(drawn))


def _y(value: float, most: float) -> float:
    """Where a value is drawn."""
    return _BOTTOM - (value / most if most else 0) * (_BOTTOM - _TOP)


def _picture(name: str, told: str, drawn: str, scale: str, hours: bool = True) -> Markup:
    marks = "".join(
        f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_BOTTOM}"/>'
        f'<text x="{x + 3:.1f}" y="{HEIGHT - 4}">{hour} h ago</text>'
        for hour in _HOURS
        for x in [WIDTH * (1 - hour / 24)]
        if hours
    )
    head = Markup(
        '<svg class="chart {0}" viewBox="0 0 {1} {2}" role="img" aria-labelledby="{0}-told">'
    ).format(name, WIDTH, HEIGHT)
    title = Markup('<title id="{}-told">{}</title>').format(name, told)
    ground = Markup('<line class="ground" x1="0" x2="{0}" y1="{1}" y2="{1}"/>').format(WIDTH, _BOTTOM)
    words = Markup('<text class="scale" x="{}" y="13">{}</text></svg>').format(WIDTH, scale)
    return head + title + ground + Markup(marks) + Markup(drawn) + words

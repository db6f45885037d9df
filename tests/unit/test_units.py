"""Sizes and durations are read as people write them, and written as they would."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from reaper.config.units import format_duration, format_size, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("9223372036854775807", 2**63 - 1),
        ("10 B", 10),
        ("1 byte", 1),
        ("999 bytes", 999),
        ("800kB", 800_000),
        ("1.5 GB", 1_500_000_000),
        ("500 gb", 500 * 1000**3),
        ("2 TiB", 2 * 1024**4),
        ("1PB", 1000**5),
    ],
)
def test_sizes_are_written_with_a_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1 GB", "1 XB", "1 G", "1 kbytes", "ten"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write a number and a unit"):
        parse_size(text)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (1500, "1.5 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1 MB"),
        (500 * 1000**3, "500 GB"),
        (5 * 10**18, "5 EB"),
        (5 * 10**21, "5,000 EB"),
    ],
)
def test_a_size_is_shown_in_the_unit_that_fits(number: int, text: str) -> None:
    assert format_size(number) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30),
        ("0", 0),
        ("500 ms", 0.5),
        ("15min", 900),
        ("15 minutes", 900),
        ("1 m", 60),
        ("2 h", 7200),
        ("1.5h", 5400),
        ("1 hour 30 min", 5400),
        ("1d", 86400),
        ("2 Days", 172_800),
    ],
)
def test_durations_are_written_with_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "h", "-1 h", "1 h 30", "1 hm", "1 y", "soon", "1 h and 5 min"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write a number and a unit"):
        parse_duration(text)


def test_a_duration_beyond_all_calendars_is_refused() -> None:
    with pytest.raises(ValueError, match="too long"):
        parse_duration("9999999999999 d")


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(), "0 s"),
        (timedelta(seconds=-5), "0 s"),
        (timedelta(milliseconds=100), "100 ms"),
        (timedelta(seconds=90), "1 min 30 s"),
        (timedelta(hours=2), "2 h"),
        (timedelta(hours=3, minutes=12, seconds=59), "3 h 12 min"),
        (timedelta(days=1, minutes=5), "1 d"),
    ],
)
def test_a_duration_is_shown_in_its_two_largest_units(span: timedelta, text: str) -> None:
    assert format_duration(span) == text


@given(some.integers(0, 10**20))
def test_a_size_that_was_written_is_read_again_within_what_was_rounded(number: int) -> None:
    text = format_size(number).replace(",", "")
    if not text.endswith("EB"):
        assert parse_size(text) == pytest.approx(number, rel=0.05)


@given(some.timedeltas(timedelta(), timedelta(days=10_000)))
def test_a_duration_that_was_written_is_read_again_without_what_was_cut_off(span: timedelta) -> None:
    read = parse_duration(format_duration(span))
    assert read <= span
    assert format_duration(read) == format_duration(span)

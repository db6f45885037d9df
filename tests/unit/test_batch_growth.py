"""Batches grow while they are quick, and only where no size is fixed and no pace is kept."""

import threading

import pytest

from reaper.expiry.batch_growth import MOST_TIMES, SHORT, BatchGrowth
from reaper.expiry.rate import Rate


def rows_after(rate, *seconds):
    """How many rows the next batch has after batches that took so long."""
    growth = BatchGrowth()
    for each in seconds:
        growth.took(each)
    return rate.turn(threading.Event(), growth.times)


def test_the_first_batch_has_the_batch_size():
    assert rows_after(Rate()) == 1000


@pytest.mark.parametrize(
    ("seconds", "rows"), [((SHORT / 2,), 2000), ((0.0,), 5000), ((SHORT / 2, SHORT * 2), 1000)]
)
def test_batches_grow_while_they_are_quick_and_shrink_when_they_take_long(seconds, rows):
    assert rows_after(Rate(), *seconds) == rows


def test_after_a_long_batch_none_is_more_than_half_as_large():
    assert rows_after(Rate(), 0.0, SHORT * 1.1, 0.0, 0.0) == 2500


def test_a_batch_never_has_fewer_rows_than_the_batch_size():
    assert rows_after(Rate(), 60.0, 60.0) == 1000


def test_a_short_last_batch_does_not_make_the_next_larger_than_five_times_the_size():
    assert rows_after(Rate(), 0.0, 0.0, 0.0) == MOST_TIMES * 1000


def test_a_size_that_an_option_or_a_variable_says_is_kept():
    assert rows_after(Rate(batch_size=200), 0.0) == 200


def test_a_size_that_was_chosen_in_settings_is_kept():
    rate = Rate()
    rate.follow(2000, None)
    assert rows_after(rate, 0.0) == 2000


def test_a_pace_is_kept_however_quick_the_batches_are():
    assert rows_after(Rate(2000), 0.0) == 25

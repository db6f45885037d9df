"""A pace keeps batches apart, by their size; a stop ends the waiting."""

import threading

import pytest

from reaper.expiry import rate
from reaper.expiry.rate import Rate


class Time:
    """Passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Time()
    monkeypatch.setattr(rate, "time", clock)
    return clock


def begins(keeper, clock, batches, busy=0.0):
    """When so many batches begin and how many rows they have, each taking so long."""
    turns = []
    for _ in range(batches):
        rows = keeper.turn(threading.Event())
        turns.append((round(clock.now, 6), rows))
        clock.now += busy
    return turns


def test_without_a_number_nobody_waits(clock):
    assert begins(Rate(), clock, 3) == [(0, 1000)] * 3


def test_the_first_batch_begins_at_once_and_each_further_one_when_its_turn_has_come(clock):
    assert begins(Rate(1000), clock, 4) == [(0, 25), (0.025, 25), (0.05, 25), (0.075, 25)]


@pytest.mark.parametrize(
    ("rows_per_second", "most", "rows"),
    [(1, 1000, 25), (1, 10, 10), (2000, 1000, 25), (8000, 1000, 100), (100_000, 1000, 1000)],
)
def test_batches_are_small_but_not_tiny(clock, rows_per_second, most, rows):
    assert begins(Rate(rows_per_second, most), clock, 1) == [(0, rows)]


def test_batches_that_wait_for_a_backend_become_larger_so_that_the_pace_is_kept(clock):
    turns = begins(Rate(2000), clock, 101, busy=0.06)
    assert sum(rows for _, rows in turns) == pytest.approx(2000 * clock.now, rel=0.02)
    assert max(rows for _, rows in turns) == 120


def test_of_a_long_halt_only_a_second_is_made_up_for(clock):
    keeper = Rate(100)
    keeper.turn(threading.Event())
    clock.now = 60
    assert begins(keeper, clock, 2) == [(60, 125), (60.25, 25)]


def test_time_before_a_drain_is_not_made_up_for(clock):
    keeper = Rate(1000)
    clock.now = 60
    keeper.begin()
    assert begins(keeper, clock, 2) == [(60, 25), (60.025, 25)]


def test_who_begins_does_not_go_before_those_who_wait(clock):
    keeper = Rate(1000)
    keeper.turn(threading.Event())
    keeper.begin()
    assert begins(keeper, clock, 1) == [(0.025, 25)]


def test_a_stop_ends_the_waiting(clock):
    stop = threading.Event()
    stop.set()
    keeper = Rate(1)
    assert keeper.turn(stop) == 25
    assert keeper.turn(stop) == 0
    assert clock.now == 0


def test_a_turn_that_does_not_come_within_a_second_is_asked_for_again(clock):
    keeper = Rate(10)
    assert begins(keeper, clock, 4) == [(0, 25), (1, 0), (2, 0), (2.5, 25)]


def test_a_changed_pace_and_size_hold_from_the_next_batch_on(clock):
    keeper = Rate()
    keeper.follow(500, 1)
    assert begins(keeper, clock, 2) == [(0, 25), (1, 0)]
    keeper.follow(500, 1000)
    assert begins(keeper, clock, 2) == [(1, 25), (1.025, 25)]
    keeper.follow(70, None)
    assert begins(keeper, clock, 2) == [(1.025, 70)] * 2


def test_what_an_option_or_a_variable_says_is_not_changed_by_settings(clock):
    keeper = Rate(1000, 20)
    keeper.follow(500, 1)
    assert begins(keeper, clock, 2) == [(0, 20), (0.02, 20)]

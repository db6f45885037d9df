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


def begins(keeper, clock, batches, busy=0.0, most=1000):
    """When so many batches begin and how many rows they have, each taking so long."""
    turns = []
    for _ in range(batches):
        rows = keeper.turn(most, threading.Event())
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
    assert begins(Rate(rows_per_second), clock, 1, most=most) == [(0, rows)]


def test_batches_that_wait_for_a_backend_become_larger_so_that_the_pace_is_kept(clock):
    turns = begins(Rate(2000), clock, 101, busy=0.06)
    assert sum(rows for _, rows in turns) == pytest.approx(2000 * clock.now, rel=0.02)
    assert max(rows for _, rows in turns) == 120


def test_of_a_long_halt_only_a_second_is_made_up_for(clock):
    keeper = Rate(100)
    keeper.turn(1000, threading.Event())
    clock.now = 60
    assert begins(keeper, clock, 2) == [(60, 125), (60.25, 25)]


def test_time_before_a_drain_is_not_made_up_for(clock):
    keeper = Rate(1000)
    clock.now = 60
    keeper.begin()
    assert begins(keeper, clock, 2) == [(60, 25), (60.025, 25)]


def test_who_begins_does_not_go_before_those_who_wait(clock):
    keeper = Rate(1000)
    keeper.turn(1000, threading.Event())
    keeper.begin()
    assert begins(keeper, clock, 1) == [(0.025, 25)]


def test_a_stop_ends_the_waiting(clock):
    stop = threading.Event()
    stop.set()
    keeper = Rate(1)
    keeper.turn(1000, stop)
    keeper.turn(1000, stop)
    assert clock.now == 0

"""A pace keeps batches apart, by their size; a stop ends the waiting."""

import threading

import pytest

from reaper import pace
from reaper.pace import Pace


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
    monkeypatch.setattr(pace, "time", clock)
    return clock


def test_without_a_number_nobody_waits(clock):
    keeper = Pace()
    for _ in range(5):
        keeper.wait(1000, threading.Event())
    assert clock.now == 0


def test_the_first_batch_begins_at_once_and_each_further_one_when_its_turn_has_come(clock):
    keeper, begins = Pace(2000), []
    for rows in (1000, 500, 1000, 1000):
        keeper.wait(rows, threading.Event())
        begins.append(round(clock.now, 6))
    assert begins == [0, 0.5, 0.75, 1.25]


def test_time_that_nobody_used_is_not_made_up_for(clock):
    keeper = Pace(1000)
    keeper.wait(1000, threading.Event())
    clock.now = 100
    keeper.wait(1000, threading.Event())
    keeper.wait(1000, threading.Event())
    assert clock.now == pytest.approx(101)


def test_a_stop_ends_the_waiting(clock):
    stop = threading.Event()
    stop.set()
    keeper = Pace(1)
    keeper.wait(1000, stop)
    keeper.wait(1000, stop)
    assert clock.now == 0


@pytest.mark.parametrize(
    ("rows_per_second", "batch_size", "rows"),
    [
        (None, 1000, 1000),
        (1, 1000, 25),
        (1, 10, 10),
        (2000, 1000, 25),
        (8000, 1000, 100),
        (100_000, 1000, 1000),
    ],
)
def test_a_pace_is_kept_in_small_batches_but_not_in_tiny_ones(rows_per_second, batch_size, rows):
    assert Pace(rows_per_second).batch(batch_size) == rows

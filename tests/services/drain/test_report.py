"""What `reaper drain` says it did: each thing as what it is; and its bar, while a person watches."""

import io
import re
import threading
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from rich.console import Console
from rich.progress import Task

from reaper.cli.drain import report_lines
from reaper.cli.progress import SHOWN_AFTER, WaitColumn, drain_bar, drain_progress
from reaper.model import Circuit
from reaper.telemetry.events import Telemetry
from tests.support.s3_double.server import FaultRates, RandomFaults
from tests.support.waiting import wait_until
from tests.support.world import World

Populate = Callable[..., None]
REQUEUE = "select reaper.retry_dlq()"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def lines(world: World) -> list[str]:
    """What the command prints after a drain of a second."""
    with world.app() as app:
        return list(report_lines(app.drain(), seconds=1))


def test_objects_that_were_given_up_are_no_queued_ones_and_delivered_ones_are_told(
    world: World, populate: Populate
) -> None:
    populate(due=20, live=0, contents=20)
    world.s3.random_faults = RandomFaults(FaultRates(denied=lambda _: True))
    said = lines(world)
    assert said[0] == "20 pastes deleted in 1 batch (20 a second); 0 objects, 0 bytes freed"
    assert said[1:] == ["20 objects not deleted and given up, now in the DLQ: reaper dlq list"]
    world.s3.random_faults = None
    world.sql(REQUEUE)
    said = lines(world)
    assert said[0].startswith("0 pastes deleted in 0 batches (0 a second)")
    assert said[1:] == ["20 deletions that had failed before: done"]
    world.judge()


def test_objects_that_are_tried_again_are_queued(world: World, populate: Populate) -> None:
    populate(due=20, live=0, contents=20)
    world.s3.random_faults = RandomFaults(FaultRates(key_errors=1.0))
    said = lines(world)
    world.s3.random_faults = None
    assert said[1:] == ["20 objects not deleted now and queued: workers try again"]


def test_batches_of_others_are_told_apart(world: World, populate: Populate) -> None:
    populate(due=30, live=0, contents=30)
    world.sql("call reaper.drain(20)")
    said = lines(world)
    assert said[0].startswith("0 pastes deleted in 0 batches (0 a second); 0 objects")
    assert said[1].startswith(
        "2 batches of other workers finished, with 30 pastes deleted before; 30 objects, "
    )
    world.judge()


def test_unknown_sizes_are_no_zero_bytes(world: World, populate: Populate) -> None:
    populate(due=20, live=0, contents=20)
    world.sql("alter table content alter size_bytes drop not null")
    world.sql("update content set size_bytes = null")
    assert lines(world)[0].endswith("; 20 objects of unknown size")


@pytest.mark.parametrize("by_others", [False, True])
def test_the_bar_ends_at_100_percent(world: World, populate: Populate, by_others: bool) -> None:
    populate(due=50, live=0, contents=50)
    screen = io.StringIO()
    console = Console(force_terminal=True, width=200, file=screen)
    with world.app(batch_size=20) as app, drain_progress(app, console=console):
        if by_others:
            world.sql("call reaper.drain(20, 1)")
        app.drain()
    last = ESCAPES.sub("", screen.getvalue()).splitlines()[-1]
    assert "50 of 50 100%" in last
    assert "50 objects, 500 bytes freed" in last


def test_the_bar_names_the_pace_a_wait_and_an_open_circuit(world: World) -> None:
    with world.app(rows_per_second=1500) as app:
        column, task = WaitColumn(app), Task.__new__(Task)
        assert column.render(task).plain == "pace of 1,500 rows/s"
        app.telemetry.circuits([Circuit("east", "open", None, "no answer")])
        assert column.render(task).plain == "waiting: circuit open: east"


@pytest.mark.parametrize("reason", [None, "replica db-2.example.com is 12 s behind"])
@pytest.mark.parametrize("width", [60, 80, 100, 129, 130, 200])
def test_the_bar_is_one_line_at_any_width(world: World, width: int, reason: str | None) -> None:
    screen = io.StringIO()
    console = Console(force_terminal=True, width=width, file=screen)
    with world.app(rows_per_second=1500) as app, ExitStack() as waits:
        if reason:
            waits.enter_context(app.telemetry.waiting(reason))
            wait_until(lambda: app.telemetry.wait(SHOWN_AFTER) is not None)
        bar = drain_bar(console, app)
        freed = "1,234,567 objects, 449.3 GB freed"
        bar.add_task("draining", total=10_000_000, completed=1_000_000, rate="12,345 rows/s", freed=freed)
        console.print(bar.get_renderable())
    [line] = ESCAPES.sub("", screen.getvalue()).splitlines()
    assert len(line) <= width
    assert "1,000,000 of 10,000,000" in line
    assert ("waiting: " if reason else "pace of 1") in line
    if width >= 80:
        assert "draining" in line
        assert "12,345 rows/s" in line
        assert reason or "pace of 1,500" in line


def test_the_bar_shows_the_time_left_where_it_is_narrow_and_nothing_waits(world: World) -> None:
    screen = io.StringIO()
    console = Console(force_terminal=True, width=80, file=screen)
    with world.app() as app:
        bar = drain_bar(console, app)
        bar.add_task("draining", total=10, rate="", freed="")
        console.print(bar.get_renderable())
    assert "-:--:--" in screen.getvalue()


@pytest.mark.parametrize("longer_than", [0.0, 60.0])
def test_the_longest_wait_is_shown_once_it_lasts(longer_than: float) -> None:
    telemetry, begun, over = Telemetry(), threading.Event(), threading.Event()

    def wait() -> None:
        with telemetry.waiting("standby"):
            begun.set()
            over.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait()
    with telemetry.waiting("claim lock"):
        assert telemetry.wait(longer_than) == ("standby" if longer_than == 0 else None)
    over.set()
    thread.join()
    assert telemetry.wait() is None

"""Several things at once."""

from __future__ import annotations

import threading

import pytest

from reaper.concurrency import for_each


def test_all_run_at_the_same_time_and_each_has_its_result() -> None:
    meeting = threading.Barrier(3, timeout=30)

    def meet(name: str) -> str:
        meeting.wait()
        return name.upper()

    assert for_each("abc", meet) == {"a": "A", "b": "B", "c": "C"}


def test_one_thing_needs_no_thread_and_nothing_needs_none() -> None:
    assert for_each(["a"], lambda _: threading.current_thread()) == {"a": threading.current_thread()}
    assert for_each([], lambda _: 1 / 0) == {}


def test_an_error_waits_until_the_others_have_ended() -> None:
    failed, ended = threading.Event(), []

    def do(name: str) -> None:
        if name == "bad":
            failed.set()
            raise ZeroDivisionError
        assert failed.wait(30)
        ended.append(name)

    with pytest.raises(ZeroDivisionError):
        for_each(["bad", "good"], do)
    assert ended == ["good"]

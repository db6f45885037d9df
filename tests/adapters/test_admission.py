"""The gate that all requests of a process pass."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from reaper.storage.request_gate import AdmissionGate


def test_a_gate_counts_those_inside_and_remembers_the_most():
    gate = AdmissionGate(3)
    with gate:
        with gate:
            assert gate.in_flight == 2
        assert gate.in_flight == 1
    assert (gate.in_flight, gate.peak) == (0, 2)


def test_whoever_finds_the_gate_full_waits_until_somebody_leaves():
    gate, entered = AdmissionGate(1), threading.Event()

    def enter():
        with gate:
            entered.set()

    with ThreadPoolExecutor(1) as pool:
        with gate:
            waiting = pool.submit(enter)
            assert not entered.wait(0.05)
        waiting.result(10)
    assert gate.peak == 1


def test_a_request_that_fails_leaves_the_gate_too():
    gate = AdmissionGate(1)
    with pytest.raises(OSError, match="broken"), gate:
        raise OSError("broken")
    assert gate.in_flight == 0
    with gate:
        assert gate.in_flight == 1


def test_a_gate_that_lets_nobody_through_is_refused():
    with pytest.raises(ValueError, match="max_concurrent_requests must be at least 1"):
        AdmissionGate(0)

"""However the program ends, nothing of its services stays: no process, directory, socket or shared memory."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.embedded_program_run import started_at
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def test_a_normal_exit_leaves_nothing(program):
    running = program("exit")
    assert running.leftovers()
    assert running.let_go() == 0
    assert running.leftovers() == []


def test_an_exception_leaves_nothing(program):
    running = program("raise")
    assert running.let_go() == 1
    assert running.leftovers() == []


def test_services_that_nobody_stopped_end_with_the_interpreter(program):
    running = program("forget")
    assert running.let_go() == 0
    assert running.leftovers() == []


def test_ctrl_c_leaves_nothing(program):
    running = program("exit")
    running.signal_group(signal.SIGINT)
    assert running.let_go() == -signal.SIGINT
    assert running.leftovers() == []


def test_ctrl_c_does_not_reach_the_services(program):
    running = program("exit")
    groups = {os.getpgid(pid) for pid in running.services}
    assert os.getpgid(running.process.pid) not in groups


def test_a_terminated_parent_leaves_nothing(program):
    running = program("exit")
    running.process.terminate()
    running.wait_until_nothing_is_left()


def test_a_killed_parent_leaves_nothing(program):
    running = program("exit")
    running.process.kill()
    running.wait_until_nothing_is_left()


def test_a_killed_server_leaves_nothing_though_the_parent_lives(program):
    running = program("exit")
    os.kill(running.postmaster, signal.SIGKILL)
    wait_until(lambda: not any(path.exists() for path in running.directories))
    assert running.process.poll() is None
    assert running.segment not in Path("/proc/sysvipc/shm").read_text().split()


def test_a_killed_supervisor_takes_its_service_along_and_the_parent_cleans_up(program):
    running = program("exit")
    supervisor = int(Path(f"/proc/{running.postmaster}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: started_at(running.postmaster) != running.services[running.postmaster])
    running.let_go()
    assert running.leftovers() == []


def test_no_segment_is_ever_made_in_dev_shm(program):
    before = set(Path("/dev/shm").glob("PostgreSQL.*"))
    running = program("exit")
    maps = Path(f"/proc/{running.postmaster}/maps").read_text()
    assert "/dev/shm/PostgreSQL." not in maps
    assert before >= {path for path in Path("/dev/shm").glob("PostgreSQL.*") if path.name in maps}

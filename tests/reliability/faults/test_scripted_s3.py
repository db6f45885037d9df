"""The double itself: each fault does what its name says, as often as asked, and again with the same seed."""

import subprocess
import sys
import threading

import pytest

from reaper.errors import Unreachable
from reaper.storage.s3.store import S3Options
from tests.support.s3_double.server import FaultRates, RandomFaults, ScriptedS3
from tests.support.s3_fixtures import log_in
from tests.support.waiting import wait_until

KEYS = [f"{n:04d}" for n in range(1000)]
PATIENT = S3Options(attempts=1, read_timeout=30)
IMPATIENT = S3Options(attempts=1, read_timeout=2)


@pytest.fixture
def server(monkeypatch):
    log_in(monkeypatch, "any", "any")
    with ScriptedS3("bucket") as running:
        for key in KEYS:
            running.buckets.put("bucket", key, b"bytes of " + key.encode())
        yield running


@pytest.fixture
def s3(server, open_store):
    return ready(open_store("bucket", server.endpoint_url, options=PATIENT))


@pytest.fixture
def impatient(server, open_store):
    return ready(open_store("bucket", server.endpoint_url, options=IMPATIENT))


def ready(store):
    """It asked about versions in good weather, so that a test meets its own requests only."""
    store.check()
    return store


@pytest.fixture
def left(server):
    return lambda: server.buckets.keys("bucket")


def delete_each(s3, keys=KEYS):
    """A request for each key, so that there is much weather in little time."""
    return {key: why for key in keys for why in s3.delete([key]).values()}


def test_without_weather_it_is_a_store(s3, left):
    assert s3.delete(KEYS[:10]) == {}
    assert left() == set(KEYS[10:])


def test_a_busy_store_does_nothing(server, s3, left):
    server.random_faults = RandomFaults(FaultRates(busy=1))
    assert {why.error[:9] for why in s3.delete(KEYS).values()} == {"SlowDown:"}
    assert left() == set(KEYS)


def test_an_error_inside_a_200_does_nothing(server, s3, left):
    server.random_faults = RandomFaults(FaultRates(error_in_200=1))
    assert s3.delete(["0000"])["0000"].error.startswith("InternalError")
    assert "0000" in left()


def test_a_storm_comes_at_its_rate_and_passes(server, s3, left):
    server.random_faults = RandomFaults(FaultRates(busy=0.3), seed=7)
    failed = delete_each(s3, KEYS[:200])
    assert 30 < len(failed) < 90
    assert left() == {*failed, *KEYS[200:]}
    while failed:
        failed = delete_each(s3, failed)
    assert left() == set(KEYS[200:])


def fates(server, s3, seed, keys):
    server.random_faults = RandomFaults(FaultRates(busy=0.3, lost=0.1, key_errors=0.2), seed)
    return {key: [bool(s3.delete([key])) for _ in range(3)] for key in keys}


def test_the_same_seed_brings_the_same_weather_in_whatever_order_it_is_asked_for(server, s3):
    once = fates(server, s3, 7, KEYS[:60])
    assert fates(server, s3, 7, reversed(KEYS[:60])) == once
    assert fates(server, s3, 8, KEYS[:60]) != once


def test_errors_of_keys_leave_their_objects_and_no_others(server, s3, left):
    server.random_faults = RandomFaults(FaultRates(key_errors=0.1), seed=7)
    failed = s3.delete(KEYS)
    assert left() == failed.keys()
    assert 60 < len(failed) < 140
    assert {why.error for why in failed.values()} == {"InternalError: so it is"}


def test_denied_keys_stay_until_they_are_allowed(server, s3, left):
    server.random_faults = RandomFaults(FaultRates(denied=lambda key: key.endswith("00")))
    failed = s3.delete(KEYS)
    assert left() == failed.keys() == {key for key in KEYS if key.endswith("00")}
    assert all(why.permanent for why in failed.values())
    server.random_faults = None
    assert s3.delete(list(failed)) == {}
    assert left() == set()


def test_keys_that_a_reply_omits_may_be_gone_or_not(server, s3, left):
    server.random_faults = RandomFaults(FaultRates(omitted=0.2), seed=7)
    failed = s3.delete(KEYS)
    assert {why.error for why in failed.values()} == {"the reply does not mention the key"}
    assert left() < failed.keys()
    assert left()


def test_a_store_that_hangs_does_nothing_and_is_free_again_when_the_client_gives_up(server, impatient, left):
    server.random_faults = RandomFaults(FaultRates(hang=1))
    assert impatient.delete(["0000"])["0000"].error == "no answer in time"
    server.random_faults = None
    assert "0000" in left()
    wait_until(lambda: server.in_flight == 0)
    assert "0000" in left()


def test_a_late_success_comes_after_the_client_gave_up(server, impatient, left):
    server.random_faults = RandomFaults(FaultRates(late=1))
    assert impatient.delete(["0000"])["0000"].error == "no answer in time"
    wait_until(lambda: "0000" not in left())


def test_a_lost_reply_is_of_something_that_was_done(server, s3, left):
    server.random_faults = RandomFaults(FaultRates(lost=1))
    assert s3.delete(["0000"])["0000"].error == "the connection broke"
    assert "0000" not in left()
    with pytest.raises(Unreachable):
        s3.put("new", b"x", 1)
    assert "new" in left()


def test_an_answer_that_is_cut_is_of_something_that_was_done(server, s3, left):
    server.random_faults = RandomFaults(FaultRates(cut=1))
    assert s3.delete(["0000"]).keys() == {"0000"}
    assert "0000" not in left()


def test_what_the_weather_did_is_counted(server, s3):
    server.random_faults = RandomFaults(FaultRates(busy=0.5, key_errors=0.5), seed=7)
    failed = delete_each(s3, KEYS[:100])
    seen = server.random_faults.seen
    assert seen["busy"] + seen["fair"] == 100
    assert seen["busy"] + seen["key_errors"] == len(failed)


def test_a_judge_asks_in_good_weather(server, s3):
    server.random_faults = RandomFaults(FaultRates(busy=1))
    with server.calm():
        assert [found.key for found in s3.list()] == KEYS
    with pytest.raises(Unreachable):
        list(s3.list())


def test_leaving_the_server_frees_all_who_wait(monkeypatch, open_store):
    log_in(monkeypatch, "any", "any")
    with ScriptedS3() as server:
        server.random_faults = RandomFaults(FaultRates(hang=1))
        s3 = open_store("bucket", server.endpoint_url)
        waiting = threading.Thread(target=s3.delete, args=(["a"],))
        waiting.start()
        wait_until(lambda: server.in_flight == 1)
    waiting.join(30)
    assert not waiting.is_alive()


DELETE_SOME = """
import sys
from reaper.storage.s3.store import S3Options, S3Store
store = S3Store("bucket", sys.argv[1], S3Options(attempts=1))
wanted = sys.argv[2:]
while wanted:
    wanted = list(store.delete(wanted))
"""


def test_several_processes_share_it(server, left):
    server.random_faults = RandomFaults(FaultRates(busy=0.3, key_errors=0.1, lost=0.1), seed=7)
    workers = [
        subprocess.Popen([sys.executable, "-c", DELETE_SOME, server.endpoint_url, *KEYS[start:900:2]])
        for start in (0, 1)
    ]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    assert left() == set(KEYS[900:])

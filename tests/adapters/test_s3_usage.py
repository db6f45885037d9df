"""What is counted is what the server sees: every try of a request, and the bytes of bodies."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime

import pytest

from reaper.errors import ReaperError
from reaper.storage.copying import Copying, Expected
from reaper.storage.s3.store import S3Options, S3Store
from reaper.storage.usage_meter import DatabaseClock, Kind, UsageMeter
from tests.support.s3_double.random_faults import FaultRates, RandomFaults
from tests.support.s3_double.server import LOST, Reply, ScriptedS3, error, in_turn
from tests.support.s3_fixtures import log_in

MIB = 1 << 20
JANUARY, FEBRUARY = date(2026, 1, 1), date(2026, 2, 1)


@pytest.fixture
def server(monkeypatch):
    log_in(monkeypatch, "any", "any")
    with ScriptedS3() as running:
        yield running


@pytest.fixture
def meter():
    counting = UsageMeter()
    counting.learn(datetime(2026, 1, 15, tzinfo=UTC))
    return counting


def opened(server, meter, **options):
    return S3Store("bucket", server.endpoint_url, S3Options(**options), meter=meter.backend("bucket"))


def used(meter):
    """Requests, ingress and egress of all months."""
    rows = meter.rows()
    requests = sum(r.requests_read + r.requests_write + r.requests_list + r.requests_delete for r in rows)
    return requests, sum(r.ingress for r in rows), sum(r.egress for r in rows)


def test_every_kind_of_request_counts_as_what_it_does_to_the_byte(server, meter):
    s3 = opened(server, meter, page_size=1, multipart_threshold=5 * MIB, part_size=5 * MIB)
    s3.check()
    s3.put("large", bytes(6 * MIB), 6 * MIB)
    s3.put("small", b"x", 1)
    assert (s3.get("small"), s3.get("absent"), s3.digest("large").size) == (b"x", None, 6 * MIB)
    assert len(list(s3.list())) == 2
    assert s3.delete(["small", "bell\x07"]) == {}
    row = meter.rows()[0]
    assert (row.month, row.requests_write, row.requests_read, row.requests_delete) == (JANUARY, 5, 4, 2)
    assert used(meter) == server.used["bucket"]


def test_a_copy_counts_its_quick_requests_and_those_that_the_library_repeats(server, meter):
    with ScriptedS3() as other:
        here, there = opened(server, meter, attempts=3), opened(other, meter, attempts=3)

        def heard():
            both = zip(server.used["bucket"], other.used["bucket"], strict=True)
            return tuple(map(sum, both))

        def copy(key, size):
            begun = lambda _: None  # noqa: E731
            return Copying(here, key, there, f"of {key}", Expected(size, None), True, begun).run()

        for key, size in ("small", 10_000), ("large", 9 * MIB):
            here.put(key, bytes(size), size)
            before = used(meter)
            assert copy(key, size).size == size
            # What is read again to compare is egress too.
            assert used(meter)[1] - before[1] >= size
            assert used(meter)[2] - before[2] >= size
            # Of a large object the first piece is read; what was sent beyond it lies in buffers.
            assert used(meter)[:2] == heard()[:2]
            assert used(meter)[2] == heard()[2] if key == "small" else used(meter)[2] <= heard()[2]
        # What gets no answer, or another than the usual one, is asked by the library once more: both count.
        for busy in (lambda _: LOST), (lambda _: error(503, "SlowDown")):
            for script, kind in (server, "get_object"), (other, "put_object"), (other, "head_object"):
                script.scripts[kind] = in_turn(busy, lambda _: None)
                copy("small", 10_000)
                there.head("of small")
                assert used(meter)[:2] == heard()[:2]
        assert here.read("absent") is None
        assert used(meter)[0] == heard()[0]


def test_a_request_counts_as_often_as_it_was_sent_and_not_when_nobody_heard_it(server, meter, closed_port):
    s3 = opened(server, meter, attempts=3)
    busy = in_turn(lambda _: error(503, "SlowDown"), lambda _: LOST, lambda _: None)
    server.scripts["put_object"] = busy
    s3.put("a", b"abc", 3)
    assert (meter.rows()[0].requests_write, used(meter)) == (3, server.used["bucket"])
    before = used(meter)
    away = S3Store("b", f"http://127.0.0.1:{closed_port}", S3Options(attempts=1), meter=meter.backend("b"))
    with pytest.raises(Exception, match="answer"):
        away.put("a", b"abc", 3)
    assert used(meter) == before


@pytest.mark.slow
def test_an_answer_that_breaks_off_counts_with_the_bytes_that_came(server, meter):
    s3 = opened(server, meter, attempts=1)
    s3.put("a", bytes(MIB), MIB)
    server.scripts["get_object"] = lambda _: Reply(200, bytes(1000), {"Content-Length": "5000"})
    with pytest.raises(ReaperError):
        s3.get("a")
    assert used(meter)[0] == server.used["bucket"].requests
    assert used(meter)[2] <= server.used["bucket"].egress


@pytest.mark.slow
def test_a_faulty_server_is_counted_to_the_request_by_many_threads(server, meter):
    server.random_faults = RandomFaults(FaultRates(busy=0.2, key_errors=0.1, lost=0.05), seed=7)
    s3 = opened(server, meter, attempts=3)

    def work(n):
        try:
            s3.put(f"k{n}", bytes(n), n)
            s3.get(f"k{n}")
        except Exception:  # noqa: BLE001
            pass
        s3.delete([f"k{n}"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(150)))
    assert used(meter)[:2] == server.used["bucket"][:2]


def test_the_month_is_the_databases_and_that_in_which_the_request_ended():
    time = [100.0]
    clock = DatabaseClock(lambda: time[0])
    meter = UsageMeter(clock)
    meter.count("b", Kind.READ, 0, 1)
    assert meter.rows() == []
    meter.learn(datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC))
    assert [(row.month, row.egress) for row in meter.rows()] == [(JANUARY, 1)]
    time[0] += 1.9
    meter.count("b", Kind.READ, 0, 10)
    time[0] += 0.2
    meter.count("b", Kind.READ, 0, 100)
    assert [(row.month, row.egress) for row in meter.rows()] == [(JANUARY, 11), (FEBRUARY, 100)]
    time[0] += 60 * 86_400
    meter.count("b", Kind.READ, 0, 1000)
    meter.learn(datetime(2026, 4, 1, tzinfo=UTC))
    assert [(row.month.month, row.egress) for row in meter.rows()] == [(2, 100), (4, 1000)]


def test_counting_is_complete_however_many_threads_count():
    meter, begin = UsageMeter(), threading.Barrier(4)
    meter.learn(datetime(2026, 1, 15, tzinfo=UTC))

    def count():
        begin.wait()
        for _ in range(2000):
            meter.count("b", Kind.WRITE, 3, 0)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert used(meter) == (8000, 24_000, 0)

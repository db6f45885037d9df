"""Copies that go wrong on the way, and what a copy costs."""

import hashlib
import random
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reaper.errors import Unreachable
from reaper.ports import Reading
from reaper.storage.copier import LARGE_THREADS
from reaper.storage.copying import CORRUPT, ArrivedWrong, Copying, Expected, SourceFailed
from reaper.storage.s3 import transfers
from reaper.storage.s3.store import S3Options
from tests.support.s3_double.server import FaultRates, RandomFaults, Reply, ScriptedS3, error, in_turn
from tests.support.s3_fixtures import log_in

MIB = 1 << 20
ONCE = S3Options(attempts=1)
DATA = b"what is copied"


@pytest.fixture
def server(monkeypatch):
    log_in(monkeypatch, "any", "any")
    with ScriptedS3("one", "two") as running:
        running.buckets.put("one", "key", DATA)
        yield running


@pytest.fixture
def stores(server, open_store):
    """Two buckets of one server, of which reaper does not know that."""
    login = S3Options(attempts=1, login=("other", "other"))
    return open_store("one", server.endpoint_url, options=ONCE), open_store(
        "two", server.endpoint_url, options=login
    )


def copying(stores, data=DATA, verify=True):
    expected = Expected(len(data), hashlib.sha256(data).hexdigest())
    return Copying(stores[0], "key", stores[1], "d", expected, verify, lambda _: None)


def operations(server):
    return [asked.operation for asked in server.heard]


def test_a_small_object_costs_two_requests_where_the_store_compares_bytes(server, stores):
    copying(stores).run()
    server.heard.clear()
    assert copying(stores).run().verified
    assert operations(server) == ["get_object", "put_object"]


def answer_changed(asked):
    """What passes this line is changed."""
    if asked.key == "key":
        return Reply(200, b"WHAT IS COPIED")
    return None


def test_bytes_that_were_changed_on_the_line_once_are_read_again(server, stores):
    server.scripts["get_object"] = in_turn(answer_changed, lambda _: None)
    assert copying(stores).run().verified
    assert server.buckets.data("two", "d") == DATA


def test_a_source_that_is_wrong_twice_is_corrupt_and_nothing_is_written(server, stores):
    server.scripts["get_object"] = answer_changed
    with pytest.raises(SourceFailed, match="SHA-256") as caught:
        copying(stores).run()
    assert caught.value.trouble == CORRUPT
    assert server.buckets.keys("two") == set()


def test_a_source_that_breaks_or_is_busy_is_not_called_corrupt_and_not_blamed_on_the_destination(
    server, stores
):
    for fault in (FaultRates(cut=1), FaultRates(busy=1)):
        server.random_faults = RandomFaults(fault)
        with pytest.raises(SourceFailed) as caught:
            copying(stores).run()
        assert caught.value.trouble is None
    server.random_faults = None
    assert server.buckets.keys("two") == set()


def test_a_destination_that_is_busy_is_away(server, stores):
    server.scripts["put_object"] = lambda _: error(503, "SlowDown")
    with pytest.raises(Unreachable, match="SlowDown"):
        copying(stores).run()


def test_a_store_that_compares_nothing_is_read_and_wrong_bytes_are_found(server, stores, monkeypatch):
    monkeypatch.setattr("tests.support.s3_double.memory._is_whole", lambda *_: True)
    assert copying(stores).run().verified
    assert operations(server)[-1] == "get_object"
    assert server.buckets.keys("two") == {"d"}

    def changed(asked):
        return Reply(200, b"something else") if asked.key == "d" else None

    server.scripts["get_object"] = changed
    with pytest.raises(ArrivedWrong, match="not with 14 bytes"):
        copying(stores).run()
    assert not copying(stores, verify=False).run().verified


def test_what_the_store_keeps_as_checksum_is_compared_where_the_hash_says_nothing(server, stores):
    stores[0].write("key", Reading(3, iter([b"abc"])), print)
    server.buckets.buckets["one"].objects[b"key"].data = b"abd"
    with pytest.raises(SourceFailed, match="does not match the SHA-256") as caught:
        Copying(stores[0], "key", stores[1], "d", Expected(3, None), True, print).run()
    assert caught.value.trouble == CORRUPT


def test_one_server_copies_by_itself_and_what_it_cannot_copy_passes_through_here(server, open_store):
    stores = [open_store(name, server.endpoint_url, options=ONCE) for name in ("one", "two")]
    assert copying(stores, verify=False).run().sha256 is None
    assert [asked.operation for asked in server.heard] == ["head_object", "put_object"]
    server.scripts["put_object"] = in_turn(lambda _: error(403, "AccessDenied"), lambda _: None)
    assert copying(stores).run().sha256 == hashlib.sha256(DATA).hexdigest()


def test_a_copy_by_the_server_that_arrives_wrong_is_made_again_through_here(server, open_store):
    stores = [open_store(name, server.endpoint_url, options=ONCE) for name in ("one", "two")]
    server.buckets.put("one", "key", DATA.upper())
    with pytest.raises(SourceFailed, match="SHA-256"):
        copying(stores).run()


def resident(name):
    """What the kernel says of this process' memory."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)]
    return int(line.split()[1]) << 10


@pytest.mark.slow
def test_a_large_object_is_never_in_memory_as_a_whole(open_store, seaweedfs, monkeypatch, sized):
    megabytes = sized(200, 64)
    log_in(monkeypatch, seaweedfs.access_key, seaweedfs.secret_key)
    source = open_store("from", seaweedfs.endpoint_url)
    login = (seaweedfs.access_key, seaweedfs.secret_key)
    target = open_store("to-other", seaweedfs.endpoint_url, options=S3Options(login=login))
    for store in (source, target):
        store.create_bucket()
    piece, whole = random.Random(1).randbytes(MIB), hashlib.sha256()
    source.write("large", Reading(megabytes * MIB, (piece * 8 for _ in range(megabytes // 8))), print)
    for _ in range(megabytes):
        whole.update(piece)
    expected = Expected(megabytes * MIB, whole.hexdigest())
    tracemalloc.start()
    try:
        assert Copying(source, "large", target, "d", expected, True, print).run().verified
        assert tracemalloc.get_traced_memory()[1] < 4 * transfers.PIECE
    finally:
        tracemalloc.stop()
    # The same as the kernel sees it, of as many as are copied at once.
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    with ThreadPoolExecutor(LARGE_THREADS) as pool:
        runs = [
            Copying(source, "large", target, f"d{n}", expected, True, print) for n in range(LARGE_THREADS)
        ]
        assert all(copied.verified for copied in pool.map(Copying.run, runs))
    grown = resident("VmHWM") - before
    print(f"{LARGE_THREADS} objects of {megabytes} MiB at once: the process grew by {grown / MIB:.1f} MiB")
    assert grown < 64 * MIB

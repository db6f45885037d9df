"""Whose bucket is it? Nothing is deleted or stored where the marker names another installation."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from psycopg.conninfo import make_conninfo

from reaper.errors import ForeignBucket, ReaperError, Unreachable
from reaper.model import Failed
from reaper.storage.owned_store import OwnedStore
from reaper.storage.owner_marker import OWNER_KEY, Owner
from reaper.storage.ownership import HOUR, MOMENT, Ownership
from tests.support.captured_logs import capture_logs
from tests.support.folder_store import FolderStore
from tests.support.s3_double.served_bucket import ServedBucket
from tests.support.s3_double.server import error
from tests.support.two_backends import TwoBackends
from tests.support.waiting import wait_until
from tests.support.watched_store import WatchedStore
from tests.support.worker_world import InProcessWorker, WorkerWorld

STRANGER = Owner("00000000-0000-0000-0000-000000000007", "production", "7", "2026-01-31T12:00:00+00:00")
OWNER = "select owner from reaper.backends where name = 'default'"
COPIED = "update reaper.installation set database = 'production'"


@dataclass
class Bench:
    """One bucket, its marker, and a clock that a test turns."""

    world: WorkerWorld
    folder: FolderStore
    make: Callable[["Bench"], Ownership]
    now: float = 0.0
    # How often anybody has looked at the clock.
    looks: int = 0
    store: WatchedStore = field(init=False)
    ownership: Ownership = field(init=False)

    def __post_init__(self) -> None:
        self.store = WatchedStore(self.folder)
        self.ownership = self.make(self)

    def clock(self) -> float:
        self.looks += 1
        return self.now

    @property
    def owned(self) -> OwnedStore:
        return OwnedStore("default", self.store, self.ownership)

    def mark(self, owner: Owner = STRANGER) -> None:
        self.folder.store(OWNER_KEY, owner.encode())

    def marker(self) -> Owner:
        return Owner(**json.loads(self.folder.get(OWNER_KEY) or b""))


@pytest.fixture
def bench(world: WorkerWorld) -> Iterator[Bench]:
    with ExitStack() as opened:
        app = opened.enter_context(world.app())

        def make(bench: Bench) -> Ownership:
            session = app.session("test:0")
            return Ownership(session, {"default": bench.store}, app.telemetry, bench.clock)

        yield Bench(world, FolderStore(world.folder / "bucket"), make)


def mark(world: WorkerWorld, data: bytes | None = None, backend: str = "default") -> None:
    """Another installation was here first."""
    world.backends[backend].store(OWNER_KEY, STRANGER.encode() if data is None else data)


# The comparison.


def test_the_first_who_changes_anything_marks_the_bucket_and_the_marker_is_written_once(bench: Bench) -> None:
    assert bench.owned.delete(["a"]) == {}
    first = bench.folder.get(OWNER_KEY)
    me = bench.world.sql(
        "select installation_id::text, database, system_identifier::text from reaper.installation_identity()"
    )
    assert [(bench.marker().installation_id, bench.marker().database, bench.marker().system_identifier)] == me
    bench.now = 2 * HOUR
    assert bench.owned.delete(["b"]) == {}
    assert bench.folder.get(OWNER_KEY) == first
    assert bench.world.value(OWNER) == "ours"


def test_of_many_threads_one_compares(bench: Bench) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: bench.owned.delete([str(n)]), range(32))) == [{}] * 32
    # The marker was looked for, and read back.
    assert bench.store.gets == [OWNER_KEY, OWNER_KEY]


def test_a_process_compares_each_hour(bench: Bench) -> None:
    bench.owned.put("a", b"1", 1)
    bench.mark()
    bench.now = HOUR - 1
    bench.owned.put("b", b"1", 1)
    bench.now = HOUR
    with pytest.raises(ForeignBucket):
        bench.owned.put("c", b"1", 1)
    assert bench.folder.keys() == {"a", "b"}


def test_beside_another_installation_nothing_is_deleted_and_no_attempt_is_used_up(bench: Bench) -> None:
    bench.mark()
    bench.folder.store("a", b"1")
    failed = bench.owned.delete(["a", "b"])
    assert failed.keys() == {"a", "b"}
    assert all(why.outage and not why.permanent for why in failed.values())
    assert "database production" in failed["a"].error
    assert "reaper backend take-over default" in failed["a"].error
    assert bench.folder.keys() == {"a"}
    assert bench.marker() == STRANGER
    assert bench.world.value(OWNER) == "other"


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.put("b", b"1", 1),
        lambda store: store.create("b", b"1"),
        lambda store: store.probe(),
    ],
    ids=["put", "create", "probe"],
)
def test_beside_another_installation_nothing_is_stored(
    bench: Bench, change: Callable[[OwnedStore], object]
) -> None:
    bench.mark()
    with pytest.raises(ForeignBucket, match="bucket of backend default is not ours") as refused:
        change(bench.owned)
    assert refused.value.exit_code == 4
    assert bench.folder.keys() == set()


def test_what_only_reads_is_let_through_and_a_listing_has_no_marker(bench: Bench) -> None:
    bench.mark()
    bench.folder.store("a", b"1")
    assert bench.owned.get("a") == b"1"
    assert [found.key for found in bench.owned.list()] == ["a"]
    assert bench.owned.find(["a"]).keys() == {"a"}
    assert bench.owned.digest("a") is not None
    bench.owned.check()


def test_a_mismatch_is_looked_at_again_after_seconds_so_that_a_take_over_is_noticed(bench: Bench) -> None:
    bench.mark()
    bench.owned.delete(["a"])
    asked = bench.store.asked
    bench.now = MOMENT - 0.1
    assert bench.owned.delete(["a"]) != {}
    assert bench.store.asked == asked
    bench.folder.drop(OWNER_KEY)
    bench.now = MOMENT
    assert bench.owned.delete(["a"]) == {}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the marker .reaper/owner is empty"),
        (b"mine!", "the marker .reaper/owner names no owner: b'mine!'"),
        (b'{"installation_id": "x"}', "names no owner"),
    ],
)
def test_a_marker_that_names_no_owner_is_a_mismatch_that_says_so(
    bench: Bench, data: bytes, words: str
) -> None:
    bench.folder.store(OWNER_KEY, data)
    assert words in bench.owned.delete(["a"])["a"].error
    assert bench.folder.get(OWNER_KEY) == data


@pytest.mark.parametrize("name", ["installation_id", "database", "system_identifier"])
def test_each_of_the_three_values_must_be_ours(bench: Bench, name: str) -> None:
    bench.owned.delete(["a"])
    theirs = {**json.loads(bench.folder.get(OWNER_KEY) or b""), name: "7"}
    bench.mark(Owner(**theirs))
    bench.now = HOUR
    assert bench.owned.delete(["a"]) != {}


def test_a_copy_does_not_mark_a_bucket_without_marker(bench: Bench) -> None:
    bench.world.sql(COPIED)
    error_text = bench.owned.delete(["a"])["a"].error
    assert "there is no marker .reaper/owner, and this database is a copy, or was moved" in error_text
    assert "recorded as production on system" in error_text
    assert bench.folder.get(OWNER_KEY) is None


def test_a_copy_uses_the_bucket_that_is_marked_as_its_own(bench: Bench) -> None:
    bench.owned.delete(["a"])
    bench.world.sql(COPIED)
    bench.now = HOUR
    assert bench.owned.delete(["a"]) == {}


def test_a_clone_with_a_new_identity_is_refused(bench: Bench) -> None:
    bench.owned.delete(["a"])
    bench.world.sql("select reaper.renew_installation('a clone of the disks')")
    bench.now = HOUR
    assert bench.owned.delete(["a"]) != {}


# Stores that are away, slow, or lie.


def test_a_store_that_is_away_is_an_outage_and_no_mismatch(bench: Bench) -> None:
    bench.store.error = Unreachable("no answer")
    assert bench.owned.delete(["a"]) == {"a": Failed("no answer", outage=True)}
    with pytest.raises(Unreachable):
        bench.owned.put("a", b"1", 1)
    assert bench.world.value(OWNER) == "not checked"
    assert bench.world.value("select verdict from reaper.health") == "ok"
    bench.store.error = None
    assert bench.owned.delete(["a"]) == {}


def test_a_store_that_is_away_after_an_hour_deletes_nothing(bench: Bench) -> None:
    bench.owned.delete(["a"])
    bench.store.error = Unreachable("no answer")
    bench.now = HOUR
    assert bench.owned.delete(["a"])["a"].outage
    assert bench.world.value(OWNER) == "ours"


def test_those_who_wait_for_a_slow_comparison_share_its_failure(bench: Bench) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(_: str) -> None:
        begun.set()
        assert go.wait(10)
        bench.now += 1
        raise Unreachable("no answer in time")

    bench.store.before_get = slow
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(bench.owned.delete, ["a"])
        assert begun.wait(10)
        others = [pool.submit(bench.owned.delete, [str(n)]) for n in range(3)]
        wait_until(lambda: bench.looks == 4)
        go.set()
        assert first.result()["a"].outage
        assert all(next(iter(other.result().values())).outage for other in others)
    assert bench.store.gets == [OWNER_KEY]


def test_a_store_that_does_not_show_what_was_written_is_no_proof(bench: Bench) -> None:
    bench.store.get = lambda _: None  # type: ignore[method-assign]
    assert "does not show the marker" in bench.owned.delete(["a"])["a"].error
    assert bench.world.value(OWNER) == "not checked"


def test_who_was_quicker_owns_the_bucket_because_what_is_read_back_decides(bench: Bench) -> None:
    def lying(_key: str, _body: bytes) -> bool:
        bench.mark()
        return True

    bench.store.create = lying  # type: ignore[method-assign]
    assert bench.owned.delete(["a"]) != {}
    assert bench.marker() == STRANGER


def test_without_postgresql_nothing_is_deleted_before_the_first_comparison(bench: Bench) -> None:
    def away(_: object) -> None:
        raise Unreachable("PostgreSQL does not answer")

    bench.ownership._session.call = away  # type: ignore[method-assign, assignment]
    assert bench.owned.delete(["a"])["a"] == Failed("PostgreSQL does not answer", outage=True)
    assert bench.folder.get(OWNER_KEY) is None


# Drains, workers and writers.


def test_a_drain_is_refused_before_its_first_claim(world: WorkerWorld) -> None:
    world.populate(due=20, live=10, contents=15)
    mark(world)
    before = world.keys()
    with pytest.raises(ForeignBucket, match="database production"):
        world.drain()
    assert world.keys() == before
    assert world.value("select count(*) from pastes where deletion_status <> 'NOT_EXPIRED'") == 0
    assert world.value("select count(*) from pastes") == 30
    assert world.value("select count(*) from reaper.cleanup_queue") == 0


def test_a_drain_from_psql_touches_the_database_only_and_is_let_through(world: WorkerWorld) -> None:
    world.populate(due=20, live=10, contents=15)
    mark(world)
    before = world.keys()
    world.sql("call reaper.drain()")
    assert world.value("select reaper.count_due()") == 0
    world.watchdog()
    assert world.keys() == before
    assert world.value("select count(*) from reaper.in_flight") == 0
    queued = world.sql("select attempts, last_error from reaper.cleanup_queue")
    assert queued
    assert {attempts for attempts, _ in queued} == {0}
    assert all("not ours" in text for _, text in queued)


def test_owed_deletions_of_a_copy_stay_owed_and_are_done_after_a_take_over(world: WorkerWorld) -> None:
    world.populate(due=20, live=10, contents=15)
    mark(world)
    world.sql("call reaper.drain()")
    world.watchdog()
    for _ in range(3):
        world.advance_clock("1 hour")
        with world.app() as app:
            app.retries.delete_objects(app.session("test:0").call, app.stop)
    assert {row[0] for row in world.sql("select attempts from reaper.cleanup_queue")} == {0}
    with world.app() as app:
        app.ownership.take_over("default", str(STRANGER), "it is ours")
    world.advance_clock("1 day")
    world.drain()
    world.judge()


def test_a_drain_that_finds_out_half_way_claims_no_more(world: WorkerWorld) -> None:
    world.populate(due=50, live=10, contents=40)
    with world.app(batch_size=10) as app:
        app.ownership.require("default")
        mark(world)

        # The first batch took an hour.
        hours = iter([app.ownership._verdicts.clear])
        app.telemetry.watch(lambda _: next(hours, int)())
        with pytest.raises(ForeignBucket):
            app.drain()
    assert world.value("select count(*) from pastes") > 10
    assert world.sql("select * from reaper.check_invariants()") == []


def test_a_workers_drain_fails_with_the_reason(world: WorkerWorld, in_process: InProcessWorker) -> None:
    world.populate(due=20, live=10, contents=15)
    mark(world)
    with pytest.raises(ForeignBucket):
        in_process.run_service("drain")
    last_error = world.value("select last_error from reaper.schedule where name = 'drain'")
    assert "bucket of backend default is not ours" in last_error
    assert "reaper backend take-over default" in last_error
    assert world.value("select reaper.count_due()") == 20


def test_a_store_that_is_away_refuses_no_drain(world: WorkerWorld) -> None:
    world.populate(due=20, live=10, contents=15)
    mark(world)
    world.s3.scripts["get_object"] = lambda _: error(503, "SlowDown")
    before = world.keys()
    world.drain()
    assert world.value("select reaper.count_due()") == 0
    assert world.keys() == before
    assert {row[0] for row in world.sql("select attempts from reaper.cleanup_queue")} == {0}


def test_a_probe_closes_the_circuit_for_readers_and_the_bucket_is_still_not_ours(world: WorkerWorld) -> None:
    mark(world)
    with world.app() as app, pytest.raises(ForeignBucket):
        app.bucket_guard.compare()
    world.sql("select reaper.record_backend_failure('default', 'no answer') from generate_series(1, 5)")
    world.advance_clock("1 hour")
    with world.in_process_worker() as in_process:
        in_process.run_service("breaker_watchdog")
    assert world.value("select circuit from reaper.backends") == "closed"
    assert world.value(OWNER) == "other"
    assert world.value("select verdict from reaper.health") == "attention"


def test_a_worker_finds_out_when_it_starts_and_says_so_once(world: WorkerWorld) -> None:
    mark(world)
    with capture_logs() as lines, world.app() as app:
        app.check()
        app.stores["default"].delete(["a"])
        app.check()
    said = [line for line in lines if "another installation" in line["event"]]
    assert [(line["backend"], line["fix"]) for line in said] == [
        ("default", "reaper backend take-over default --reason …")
    ]


def test_a_paste_is_not_stored_beside_another_installation_and_nothing_is_left_of_the_put(
    world: WorkerWorld,
) -> None:
    mark(world)
    with world.opened() as (store, _), pytest.raises(ForeignBucket, match="is not ours"):
        store.put(b"data", timedelta(days=1))
    assert world.keys() == set()
    assert world.sql("select * from reaper.put_intents") == []
    assert world.sql("select * from reaper.cleanup_queue") == []


def test_an_application_with_no_other_role_compares_and_records(world: WorkerWorld) -> None:
    world.sql("create role paste_writer login in role reaper_app")
    try:
        with world.opened(database_url=make_conninfo(world.dsn, user="paste_writer")) as (store, _):
            store.put(b"data", timedelta(days=1))
        assert world.value(OWNER) == "ours"
        mark(world)
        with (
            world.opened(database_url=make_conninfo(world.dsn, user="paste_writer")) as (store, _),
            pytest.raises(ForeignBucket),
        ):
            store.put(b"other", timedelta(days=1))
        assert world.value(OWNER) == "other"
    finally:
        world.sql("drop role paste_writer")


def test_a_paste_is_stored_on_the_backend_that_is_ours(pair: TwoBackends) -> None:
    mark(pair, backend="default")
    with pair.opened() as (store, _):
        for n in range(5):
            store.put(str(n).encode(), timedelta(days=1))
    assert pair.keys("default") == set()
    assert len(pair.keys("cold")) == 5


def test_pastes_are_read_from_a_bucket_of_another_installation(world: WorkerWorld) -> None:
    with world.opened() as (store, _):
        code = store.put(b"data", timedelta(days=1)).short_code
    mark(world)
    with world.opened() as (store, _):
        paste = store.get(code)
    assert paste is not None
    assert paste.data == b"data"


def test_a_drain_deletes_on_the_backends_that_are_ours(pair: TwoBackends) -> None:
    pair.fill("default", 5)
    pair.fill("cold", 5)
    mark(pair, backend="cold")
    pair.advance_clock("2 hours")
    pair.drain()
    assert pair.keys("default") == set()
    assert len(pair.keys("cold")) == 5
    assert {row[0] for row in pair.sql("select attempts from reaper.cleanup_queue")} == {0}


def test_a_drain_is_refused_where_the_default_backend_is_not_ours(pair: TwoBackends) -> None:
    mark(pair, backend="default")
    with pytest.raises(ForeignBucket, match="backend default"):
        pair.drain()


def test_a_backend_that_is_not_configured_here_is_not_taken_over(world: WorkerWorld) -> None:
    with world.app() as app, pytest.raises(ReaperError, match="backend nowhere is not configured here"):
        app.ownership.take_over("nowhere", "", "for a test")
    assert world.sql("select * from reaper.audit") == []


def test_starting_marks_the_bucket(world: WorkerWorld) -> None:
    bucket = world.backends["default"]
    assert isinstance(bucket, ServedBucket)
    with world.app() as app:
        app.check()
    assert json.loads(bucket.get(OWNER_KEY) or b"")["database"] == world.value("select current_database()")
    assert world.value(OWNER) == "ours"

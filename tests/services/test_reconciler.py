"""Buckets and database, compared both ways: what is missing, what no row names, what must not be touched."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import count, islice
from typing import Any

import psycopg
import pytest

from reaper.dev.embedded import Postgres
from reaper.errors import ReaperError, Unreachable
from reaper.model import StoredObject
from reaper.ports import ObjectStore, Reading
from reaper.services import reconciler
from tests.support import service_ticks
from tests.support.two_backends import TwoBackends
from tests.support.waiting import wait_until
from tests.support.worker_world import InProcessWorker, WorkerWorld

DAY = "1 day 1 minute"
HASH = hashlib.sha256(b"named by its hash").hexdigest()
# Where a walk meets the world.
WALKED = {
    *("objects.list", "objects.find", "expected_objects", "known_objects", "record_own_objects"),
    *("record_listed", "suspects_due", "suspect_missing", "retire_untracked", "finish_untracked"),
}
# An application that has stored bytes under their hash inserts both rows.
PLAIN = """
with new as (
    insert into content (content_hash, ref_count, size_bytes) values (%s, 1, %s) returning content_hash
)
insert into pastes (short_code, content_hash) select %s, content_hash from new
"""
CALM = "nothing is under way"
FOREIGN = ("backups/dump.sql", "zz.txt", "a file with spaces", "00", "ffff")


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of seven objects, so that a pass has many."""
    monkeypatch.setattr(reconciler, "PAGE", 7)


@pytest.fixture
def stocked(
    world: WorkerWorld,
    in_process: InProcessWorker,  # noqa: ARG001  registers the services
    small_pages: None,  # noqa: ARG001
    populate: Callable[..., None],
) -> WorkerWorld:
    """Two hundred contents with their objects."""
    populate(due=0, live=200, contents=2000, cached=False)
    world.sql("select reaper.enable_service('reconciler')")
    return world


def run(world: WorkerWorld, in_process: InProcessWorker) -> dict[str, int]:
    """A pass, and its figures."""
    in_process.run_service("reconciler")
    figures, error, *_ = world.result("reconciler")
    assert error is None
    return dict(figures)


def sighted(world: WorkerWorld) -> set[str]:
    return {row[0] for row in world.sql("select object_key from reaper.sightings")}


def troubled(world: WorkerWorld) -> set[str]:
    return {
        row[0]
        for row in world.sql("select object_key from reaper.object_locations where trouble = 'missing'")
    }


def leaked(world: WorkerWorld, number: int = 3) -> list[str]:
    """Objects of ours whose rows are gone, as after a restore."""
    keys = [f"{n:02x}/{n:02x}{'0' * 62}/{n:032x}" for n in range(number)]
    world.put(keys)
    return keys


def swept(world: WorkerWorld, in_process: InProcessWorker) -> None:
    """What is retired is deleted, or free again, once no transaction on the server is older."""

    def is_swept() -> bool:
        in_process.run_service("cleanup_queue")
        return not world.sql("select 1 from reaper.sightings where retired_at is not null")

    wait_until(is_swept, "open transactions have ended")


def two_days(world: WorkerWorld, in_process: InProcessWorker) -> dict[str, int]:
    """Today's pass, and tomorrow's, of which the figures are."""
    run(world, in_process)
    world.advance_clock(DAY)
    return run(world, in_process)


def test_what_is_unknown_missing_or_written_down_is_counted_exactly(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    before = world.value("select count(*) from reaper.object_locations")
    lost = sorted(world.keys())[5:200:40]
    world.backends["default"].drop(*lost)
    unknown = {*leaked(world), *FOREIGN, HASH}
    world.put([*FOREIGN, HASH])
    # The scrubber has missed one, and would look again later.
    world.sql(
        "insert into reaper.suspects select 'default', %s, content_hash, reaper.clock(), 'infinity', null"
        " from content where object_key = %s",
        *(lost[0], lost[0]),
    )
    held = world.value("select object_key from reaper.begin_put('new', repeat('a', 64), 10, null)")
    world.put([held])
    figures = run(world, in_process)
    assert figures["listed"] == 200 - len(lost) + len(unknown) + 1
    assert (figures["expected"], figures["missing"], figures["unknown"]) == (200, len(lost), len(unknown))
    assert figures["recorded"] == 200 - len(lost) - before
    assert sighted(world) == unknown
    assert troubled(world) == set(lost) if before else troubled(world) <= set(lost)
    assert world.value("select count(*) from reaper.suspects") == 0
    view = "select phase, listed, missing, unknown, untracked_objects from reaper.integrity"
    assert world.sql(view) == [("idle", figures["listed"], len(lost), len(unknown), len(unknown))]
    assert world.sql("select * from reaper.check_invariants()") == []
    # What is gone or known by the next pass is a sighting no longer.
    world.backends["default"].drop("zz.txt")
    run(world, in_process)
    assert sighted(world) == unknown - {"zz.txt"}


def test_what_a_scrub_suspected_a_moment_ago_is_recorded_by_the_pass_that_misses_it_too(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    run(world, in_process)
    content_hash, lost = world.sql(
        "select content_hash, object_key from reaper.object_locations order by object_key limit 1"
    )[0]
    world.backends["default"].drop(lost)
    world.sql("select reaper.suspect_missing(%s, 'default', %s)", content_hash, lost)
    assert run(world, in_process)["missing"] == 1
    assert troubled(world) == {lost}
    assert world.sql("select * from reaper.suspects") == []


def test_untracked_objects_are_deleted_a_day_later_through_the_queue_and_only_where_that_is_set(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    keys = world.keys()
    world.put([*FOREIGN, HASH])
    leaked(world)
    assert two_days(world, in_process)["retired"] == 0
    world.sql("select reaper.set_untracked('default', 'delete')")
    world.put(["late"])
    figures = run(world, in_process)
    assert figures["retired"] == 3 + len(FOREIGN) + 1
    swept(world, in_process)
    assert world.keys() == keys | {"late"}
    assert world.sql("select * from reaper.retired_keys") == []
    assert world.sql("select * from reaper.check_invariants()") == []


def test_a_name_that_a_writer_took_before_it_was_retired_is_left_and_may_be_used_again(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    world.put([HASH, "other"])
    two_days(world, in_process)
    insert = "insert into content (content_hash, ref_count) values (%s, 1)"
    with psycopg.connect(world.dsn) as writer:
        writer.execute(insert, [HASH])
        world.sql("select reaper.set_untracked('default', 'delete')")
        assert run(world, in_process)["retired"] == 2
        in_process.run_service("cleanup_queue")
        assert world.sql("select * from reaper.cleanup_queue") == []
        # Who comes after the retirement is told.
        with psycopg.connect(world.dsn) as late, pytest.raises(psycopg.Error, match="queued for deletion"):
            late.execute("insert into content (content_hash, object_key) values ('h', 'other')")
        writer.execute("insert into pastes (short_code, content_hash) values ('new', %s)", [HASH])
    swept(world, in_process)
    left = world.keys()
    assert (HASH in left, "other" in left) == (True, False)
    assert world.sql("select * from reaper.retired_keys") == []
    assert world.sql("select * from reaper.sightings") == []


def test_a_deletion_waits_for_the_open_transactions_of_all_databases(
    stocked: WorkerWorld, in_process: InProcessWorker, server: Postgres
) -> None:
    world = stocked
    world.put(["zz.txt"])
    two_days(world, in_process)
    world.sql("select reaper.set_untracked('default', 'delete')")
    with psycopg.connect(server.dsn()) as other:
        other.execute("select pg_current_xact_id()")
        assert run(world, in_process)["retired"] == 1
        for _ in range(2):
            in_process.run_service("cleanup_queue")
        assert world.keys() & {"zz.txt"}
    swept(world, in_process)
    assert not world.keys() & {"zz.txt"}


def test_only_bytes_that_their_key_names_are_imported(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    body = b"named by its hash"
    own = f"{HASH[:2]}/{HASH}/{'1' * 32}"
    for key, data in {HASH: b"other bytes", own: body, "f" * 64: body, "zz.txt": body}.items():
        world.backends["default"].store(key, data)
    world.sql("select reaper.set_untracked('default', 'import')")
    figures = two_days(world, in_process)
    assert (figures["imported"], figures["refused"]) == (1, 3)
    query = "select object_key, ref_count, size_bytes from content where content_hash = %s"
    assert world.sql(query, HASH) == [(own, 0, len(body))]
    assert sighted(world) == {HASH, "f" * 64, "zz.txt"}
    assert world.sql("select * from reaper.check_invariants()") == []
    world.sql("update reaper.settings set content_digest = 'unknown'")
    with pytest.raises(psycopg.Error, match="not known that content hashes are SHA-256"):
        world.sql("select reaper.set_untracked('default', 'import')")


@pytest.mark.parametrize("emptied", [True, False], ids=["empty", "mostly missing"])
def test_the_wrong_bucket_stops_the_pass_and_changes_nothing(
    stocked: WorkerWorld, in_process: InProcessWorker, emptied: bool
) -> None:
    world = stocked
    keys = sorted(world.keys())
    world.backends["default"].drop(*(keys if emptied else keys[:150]))
    before = world.sql("select * from reaper.object_locations order by 1")
    with pytest.raises(reconciler.Braked, match="are missing, more than"):
        in_process.run_service("reconciler")
    assert troubled(world) == set()
    assert world.sql("select * from reaper.suspects") == []
    assert [row[:5] for row in before] == [
        row[:5] for row in world.sql("select * from reaper.object_locations order by 1")
    ] or not before
    assert world.value("select phase from reaper.integrity") == "braked"
    # When the right bucket is back, the next pass goes through.
    world.put(keys)
    assert run(world, in_process)["missing"] == 0


class HalfListing:
    """A store whose listing ends before its objects do, with an error or without a word."""

    def __init__(self, store: ObjectStore, number: int, error: ReaperError | None) -> None:
        self.store = store
        self.number = number
        self.error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def list(self, after: str = "") -> Iterator[StoredObject]:
        yield from islice(self.store.list(after), self.number)
        if self.error:
            raise self.error


def rows(world: WorkerWorld) -> list[Any]:
    return world.sql("select content_hash, object_key, trouble from reaper.object_locations order by 1")


@pytest.mark.parametrize("number", [0, 100])
def test_a_listing_that_ends_too_early_makes_nothing_missing(stocked: WorkerWorld, number: int) -> None:
    world = stocked
    before = rows(world)
    with world.in_process_worker(wrap_store=lambda _, store: HalfListing(store, number, None)) as in_process:
        if number:
            assert run(world, in_process)["missing"] == 0
        else:
            with pytest.raises(reconciler.Braked, match="the bucket is empty, 200 objects should be there"):
                in_process.run_service("reconciler")
    assert troubled(world) == set()
    assert world.sql("select * from reaper.suspects") == []
    assert rows(world) == before or number


def test_a_listing_that_breaks_ends_the_run_and_the_pass_goes_on_behind_it(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    unknown = set(leaked(world))
    error = ReaperError("the listing broke")
    with (
        world.in_process_worker(wrap_store=lambda _, store: HalfListing(store, 100, error)) as broken,
        pytest.raises(ReaperError, match="the listing broke"),
    ):
        broken.run_service("reconciler")
    assert world.sql("select phase, listed from reaper.integrity") == [("listing", 98)]
    assert troubled(world) == set()
    assert run(world, in_process)["listed"] == 203 - 98
    assert sighted(world) == unknown
    assert world.sql("select phase, listed, missing from reaper.integrity") == [("idle", 203, 0)]


def test_a_backend_that_is_away_keeps_no_other_from_being_compared_again(pair: TwoBackends) -> None:
    pair.fill("default", 5)
    pair.fill("cold", 5)
    pair.sql("update reaper.settings set circuit_failures = 1")
    pair.cut("cold")
    finished = "select began_at from reaper.reconciliations where backend = 'default' and phase = 'idle'"
    ends = []
    with pair.in_process_worker() as in_process:
        pair.sql("select reaper.enable_service('reconciler')")
        for _ in range(2):
            with pytest.raises(Unreachable):
                in_process.run_service("reconciler")
            ends.append(pair.value(finished))
            pair.advance_clock(DAY)
        assert ends[0] < ends[1]
        pair.mend("cold")
        pair.sql("select reaper.record_backend_success('cold')")
        in_process.run_service("reconciler")
        # The pass over it ends first, then all begin anew.
        in_process.run_service("reconciler")
    assert pair.sql("select phase, listed from reaper.integrity") == [("idle", 5), ("idle", 5)]


class CountedReads:
    """A store that counts how often each object is read, and gives some to nobody."""

    def __init__(self, store: ObjectStore, reads: Counter[str]) -> None:
        self.store = store
        self.reads = reads

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def read(self, key: str) -> Reading | None:
        self.reads[key] += 1
        if key == "e" * 64:
            raise ReaperError("it is in an archive")
        return self.store.read(key)


def test_an_import_that_is_interrupted_reads_nothing_twice_and_what_cannot_be_read_ends_nothing(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    world.put([letter * 64 for letter in "bcdef"])
    world.backends["default"].store(HASH, b"named by its hash")
    two_days(world, in_process)
    world.sql("select reaper.set_untracked('default', 'import')")
    reads: Counter[str] = Counter()
    with world.app(wrap_store=lambda _, store: CountedReads(store, reads)) as app:
        context = service_ticks.context(app, "walker:0")
        figures: Counter[str] = Counter()
        more = True
        while more:
            tick = reconciler.tick(replace(context, stop=StopSoon(4)))
            figures.update(tick.figures)
            more = tick.more
    assert (figures["imported"], figures["refused"]) == (1, 5)
    assert set(reads.values()) == {1}


class Beside:
    """Whatever a walk asks, before that others go one step further."""

    def __init__(self, steps: Iterator[object]) -> None:
        self.steps = steps

    def __call__(self, point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        if point in WALKED:
            next(self.steps)
        return call(*arguments)


def life(world: WorkerWorld) -> Generator[object, None, None]:
    """Puts, releases, drains and plain writers with open transactions, a step at a time, without end."""
    with world.app() as app, psycopg.connect(world.dsn) as writer:
        store = app.store()
        for number in count():
            data = b"plain %d" % number
            named = hashlib.sha256(data).hexdigest()
            yield store.put(b"put %d" % number, timedelta(days=30), f"put-{number}")
            yield world.backends["default"].store(named, data)
            yield writer.execute(PLAIN, [named, len(data), f"plain-{number}"])
            yield store.delete(f"put-{number}")
            yield writer.commit()
            yield app.drain()
            if number % 2:
                yield world.sql("select reaper.delete_paste(%s)", f"plain-{number}")
            app.drain()
            yield CALM


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("action", ["report", "import", "delete"])
def test_what_comes_and_goes_beside_a_walk_is_never_missing_deleted_or_imported(
    stocked: WorkerWorld, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = stocked
    monkeypatch.setattr(reconciler, "PAGE", 40)
    world.sql("select reaper.set_untracked('default', %s)", action)
    steps = life(world)
    with world.app(around=Beside(steps)) as app:
        context = service_ticks.context(app, "walker:0")
        for _ in range(3):
            tick = reconciler.tick(context)
            assert not tick.more
            assert (tick.figures["queued"], tick.figures["imported"], tick.figures["retired"]) == (0, 0, 0)
            world.advance_clock(DAY)
    while next(steps) is not CALM:
        pass
    steps.close()
    assert troubled(world) == set()
    world.judge()


def test_an_object_that_an_open_transaction_names_is_not_imported_and_ends_no_pass(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    body = b"named by its hash"
    world.backends["default"].store(HASH, body)
    two_days(world, in_process)
    world.sql("select reaper.set_untracked('default', 'import')")
    world.sql("alter function reaper.import_object(text, text, text, bigint) set lock_timeout = '20ms'")
    with psycopg.connect(world.dsn) as writer:
        writer.execute(PLAIN, [HASH, len(body), "plain"])
        assert run(world, in_process)["refused"] == 1
    assert run(world, in_process)["unknown"] == 0
    assert world.sql("select ref_count from content where content_hash = %s", HASH) == [(1,)]
    assert world.sql("select * from reaper.check_invariants()") == []


class StopSoon:
    """Lets a run take so many looks at it, then ends it."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def is_set(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def test_a_pass_that_is_interrupted_after_any_window_goes_on_where_it_was(stocked: WorkerWorld) -> None:
    world = stocked
    unknown = set(leaked(world))
    windows = 0
    with world.app() as app:
        context = service_ticks.context(app, "walker:0")
        while reconciler.tick(replace(context, stop=StopSoon(4))).more:
            windows += 1
    assert windows >= 200 // 7 // 4
    assert sighted(world) == unknown
    assert world.sql("select phase, listed, expected from reaper.integrity") == [("idle", 203, 200)]
    assert world.value("select last_result ->> 'listed' from reaper.integrity") == "203"


class Death(Exception):
    """A process ends here."""


class DiesOften:
    """Ends a walk before a window is recorded, then after that, so that each is met by a new process."""

    def __init__(self) -> None:
        self.windows = 0

    def __call__(self, point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        if point != "record_listed":
            return call(*arguments)
        self.windows += 1
        if self.windows % 2:
            raise Death
        call(*arguments)
        raise Death


def test_a_walk_that_dies_before_and_after_every_window_ends_exactly(
    stocked: WorkerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = stocked
    monkeypatch.setattr(reconciler, "PAGE", 20)
    unknown = set(leaked(world))
    around = DiesOften()
    with world.app(around=around) as app:
        context = service_ticks.context(app, "walker:0")
        while True:
            try:
                if not reconciler.tick(context).more:
                    break
            except Death:
                continue
    assert around.windows == 2 * (203 // 20 + 1)
    assert sighted(world) == unknown
    assert world.sql("select phase, listed, expected, missing from reaper.integrity") == [
        ("idle", 203, 200, 0)
    ]


def test_a_process_that_slept_while_another_went_on_changes_nothing(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    listed = "select reaper.record_listed('default', %s, '', null, 0, 0, '{}', '{}', '{}', '{}')"
    begun: Any = world.value("select pass from reaper.begin_reconciliation('{default}')")
    run(world, in_process)
    with pytest.raises(psycopg.Error, match="has gone on without this process"):
        world.sql(listed, begun)


@pytest.mark.slow
def test_an_operator_compares_counts_and_deletes_while_the_service_is_off(
    stocked: WorkerWorld, in_process: InProcessWorker
) -> None:
    world = stocked
    world.sql("select reaper.disable_service('reconciler')")
    keys = world.keys()
    orphans = {*leaked(world), "zz.txt", HASH}
    world.put(["zz.txt", HASH])
    planned = world.command("reconcile", "--plan", "--json")
    assert planned.returncode == 1, planned.stderr
    assert json.loads(planned.stdout)["unknown"] == len(orphans)
    assert sighted(world) == set()
    assert world.command("reconcile", "--backend", "default").returncode == 1
    assert sighted(world) == orphans
    world.sql("select reaper.pause('reconciler', '1 hour', 'for a test')")
    assert world.command("reconcile").returncode == 1
    assert sighted(world) == orphans
    world.sql("select reaper.resume('reconciler')")
    young = world.command("orphans", "delete", "--backend", "default", "--older-than", "7d", "--yes")
    assert "nothing to delete" in young.stdout
    world.advance_clock("8 days")
    assert world.command("reconcile").returncode == 1
    counted = world.command("verify", "--plan-orphans", "--json")
    shapes = {each["shape"]: each["old_objects"] for each in json.loads(counted.stdout)}
    assert shapes == {"reaper's own": 3, "hash": 1, "other": 1}
    assert world.command("orphans", "delete", "--backend", "default", "--older-than", "1h").returncode == 2
    done = world.command("orphans", "delete", "--backend", "default", "--older-than", "7d", "--yes")
    assert "5 objects queued for deletion, 0 in use by now, 0 wait" in done.stdout
    in_process.run_service("cleanup_queue")
    assert world.keys() == keys
    one = world.value("select min(content_hash) from content")
    world.sql("update reaper.settings set content_digest = 'unknown'")
    [copy] = json.loads(world.command("scrub", one, "--json").stdout)
    assert (copy["outcome"], "bytes were not compared" in copy["detail"]) == ("good", True)
    world.sql("update reaper.settings set content_digest = 'sha256'")
    scrubbed = world.command("scrub", one, "--json")
    assert [copy["outcome"] for copy in json.loads(scrubbed.stdout)] == ["corrupt"]
    assert world.command("scrub", "nothing").returncode == 4
    nowhere = world.command("orphans", "delete", "--backend", "nowhere", "--yes")
    assert (nowhere.returncode, "there is no backend nowhere" in nowhere.stderr) == (4, True)

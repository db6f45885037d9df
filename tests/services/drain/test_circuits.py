"""A backend that does not answer is left alone by all processes, and the others never notice."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from reaper.db.connection import connect as connect_to
from reaper.db.reconnecting_session import Session
from reaper.db.retry import RetryPolicy
from reaper.errors import CircuitOpen, ConfigError, Unreachable
from reaper.model import Failed
from reaper.queries import Queries
from reaper.storage.circuit_breaker import Circuits, GuardedStore
from reaper.telemetry.events import Telemetry
from tests.support.captured_logs import capture_logs
from tests.support.folder_store import FolderStore
from tests.support.paste_fixtures import value
from tests.support.watched_store import WatchedStore

AWAY = Failed("no connection", outage=True)
OPEN_IT = 5


class Time:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def process(dsn: str, time: Time) -> Iterator[Callable[[], Circuits]]:
    """The circuits as another process sees them."""
    sessions: list[Session] = []

    def start() -> Circuits:
        sessions.append(
            Session(lambda: connect_to(dsn, "reaper:circuits:0"), Queries, retry=RetryPolicy(patience=0.0))
        )
        return Circuits(sessions[-1], Telemetry(), time)

    yield start
    for session in sessions:
        session.close()


@pytest.fixture
def circuits(process: Callable[[], Circuits]) -> Circuits:
    return process()


@pytest.fixture
def inner(scratch: Path) -> WatchedStore:
    return WatchedStore(FolderStore(scratch))


@pytest.fixture
def store(inner: WatchedStore, circuits: Circuits) -> GuardedStore:
    return GuardedStore("cold", inner, circuits)


def open_circuit(circuits: Circuits, backend: str = "cold") -> None:
    for _ in range(OPEN_IT):
        circuits.failed(backend, "no connection")


def test_a_backend_that_is_away_is_asked_five_times_and_then_left_alone(
    store: GuardedStore, inner: WatchedStore, db: Any
) -> None:
    away = {"a": AWAY, "b": AWAY}
    inner.on_delete = lambda _: away
    for _ in range(OPEN_IT):
        assert store.delete(["a", "b"]) == away
    with capture_logs() as logs:
        left = store.delete(["a", "b"])
    assert left == dict.fromkeys(["a", "b"], Failed("circuit is open", outage=True))
    assert inner.asked == OPEN_IT
    assert [(line["event"], line["backend"]) for line in logs] == [("circuit opened", "cold")]
    assert value(db, "select last_error from reaper.circuits where backend = 'cold'") == "no connection"


@pytest.mark.parametrize(
    "left",
    [
        {"a": Failed("AccessDenied: no", permanent=True)},
        {"a": Failed("InternalError: sorry")},
        {"a": Failed("SlowDown: later", outage=True)},
        {},
    ],
)
def test_an_answer_for_one_key_is_an_answer(
    store: GuardedStore, inner: WatchedStore, circuits: Circuits, left: Mapping[str, Failed]
) -> None:
    for _ in range(2):
        for _ in range(OPEN_IT - 1):
            circuits.failed("cold", "no connection")
        inner.on_delete = lambda _: left
        store.delete(["a", "b"])
    assert not circuits.is_open("cold")


def test_a_key_that_is_named_twice_counts_once(
    store: GuardedStore, inner: WatchedStore, circuits: Circuits
) -> None:
    inner.on_delete = lambda _: {"a": AWAY}
    for _ in range(OPEN_IT):
        store.delete(["a", "a"])
    assert circuits.is_open("cold")


def test_what_one_process_found_out_another_knows_a_second_later(
    process: Callable[[], Circuits], time: Time
) -> None:
    one, other = process(), process()
    assert not other.is_open("cold")
    open_circuit(one)
    assert one.is_open("cold")
    assert not other.is_open("cold")
    time.now += 1
    assert other.is_open("cold")
    assert not other.is_open("default")


def test_that_a_backend_is_back_is_known_to_all_at_once(process: Callable[[], Circuits]) -> None:
    one, other = process(), process()
    open_circuit(one)
    assert other.is_open("cold")
    one.succeeded("cold")
    assert not other.is_open("cold")


def test_failures_of_all_processes_count_together(process: Callable[[], Circuits]) -> None:
    one, other = process(), process()
    for _ in range(OPEN_IT - 1):
        one.failed("cold", "no connection")
    other.failed("cold", "no connection")
    assert other.is_open("cold")


def test_failures_that_are_far_apart_do_not_add_up(process: Callable[[], Circuits], time: Time) -> None:
    one, other = process(), process()
    for _ in range(3 * OPEN_IT):
        one.failed("cold", "a hiccup")
        time.now += 60
        other.succeeded("cold")
    assert not one.is_open("cold")


def test_a_late_answer_closes_the_circuit(circuits: Circuits) -> None:
    open_circuit(circuits)
    assert circuits.is_open("cold")
    with capture_logs() as logs:
        circuits.succeeded("cold")
        assert not circuits.is_open("cold")
    assert [line["event"] for line in logs] == ["circuit closed"]


class Told:
    """A session that only notes which backend answered, or did not."""

    def __init__(self) -> None:
        self.successes: list[str] = []

    def call(self, ask: Callable[[Any], object]) -> object:
        return ask(self)

    def record_backend_success(self, backend: str) -> None:
        self.successes.append(backend)

    def record_backend_failure(self, *_: str) -> bool:
        return False


def test_a_success_is_no_question_to_postgresql_each_time(time: Time) -> None:
    session = Told()
    circuits, told = Circuits(cast("Session", session), Telemetry(), time), session.successes
    for _ in range(100):
        circuits.succeeded("cold")
        circuits.succeeded("default")
    assert told == ["cold", "default"]
    time.now += 1
    circuits.succeeded("cold")
    assert told == ["cold", "default", "cold"]
    circuits.failed("cold", "no connection")
    circuits.succeeded("cold")
    assert len(told) == 4


CALLS: list[Callable[[GuardedStore], Any]] = [
    lambda store: list(store.list()),
    lambda store: store.find(["a"]),
    lambda store: store.put("a", b"", 0),
    lambda store: store.get("a"),
    lambda store: store.digest("a"),
]


@pytest.mark.parametrize("call", CALLS)
def test_every_request_counts_and_is_spared(
    store: GuardedStore, inner: WatchedStore, circuits: Circuits, call: Callable[[GuardedStore], Any]
) -> None:
    call(store)
    inner.error = Unreachable("the S3 store does not answer")
    for _ in range(OPEN_IT):
        with pytest.raises(Unreachable):
            call(store)
    asked = inner.asked
    with pytest.raises(CircuitOpen, match="circuit of backend cold is open"):
        call(store)
    assert inner.asked == asked
    circuits.succeeded("cold")
    inner.error = None
    call(store)


@pytest.mark.parametrize("call", CALLS)
def test_a_refusal_opens_no_circuit_and_resets_none(
    store: GuardedStore, inner: WatchedStore, circuits: Circuits, db: Any, call: Callable[[GuardedStore], Any]
) -> None:
    circuits.failed("cold", "no connection")
    inner.error = ConfigError("the credentials may not use the bucket")
    for _ in range(OPEN_IT):
        with pytest.raises(ConfigError):
            call(store)
    assert value(db, "select failures from reaper.circuits") == 1


def test_who_wants_to_know_is_let_through(
    store: GuardedStore, inner: WatchedStore, circuits: Circuits
) -> None:
    open_circuit(circuits)
    store.check()
    store.probe()
    assert (inner.asked, store.notes, repr(store)) == (2, inner.notes, repr(inner))
    assert circuits.is_open("cold")


def test_without_postgresql_every_backend_is_tried(inner: WatchedStore, time: Time) -> None:
    nowhere = Session(
        lambda: connect_to("postgresql://nobody@127.0.0.1:1/nothing", "x"),
        Queries,
        retry=RetryPolicy(patience=0.0),
    )
    store = GuardedStore("cold", inner, Circuits(nowhere, Telemetry(), time))
    inner.store.put("a", b"a", 1)
    inner.on_delete = lambda _: {"a": AWAY}
    with capture_logs() as logs:
        for _ in range(2 * OPEN_IT):
            assert store.get("a") == b"a"
            assert store.delete(["a"]) == {"a": AWAY}
    assert [line["event"] for line in logs] == ["circuit states unknown, every backend is tried"]

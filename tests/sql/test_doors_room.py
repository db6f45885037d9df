"""Where new bytes go: backends take what their quota allows, never more, not even for an instant."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import psycopg
import pytest

from tests.support.paste_fixtures import Connection, column, refused, value
from tests.support.writer_fixtures import Bytes, Writer, accounts, intents, owed, truth

WRITERS = 16
BRIM = 10


@pytest.fixture
def backends(db: Connection) -> Callable[..., None]:
    """Registers backends with their quotas; `default` is the application's own unless it is named."""

    def register(**quotas: int | None) -> None:
        for name, quota in quotas.items():
            db.execute("select reaper.register_backend(%s)", [name])
            db.execute("select reaper.set_quota(%s, %s, 'test')", [name, quota])
        if "default" not in quotas:
            db.execute("select reaper.set_backend_state('default', 'readonly', 'test')")

    return register


def away(writer: Writer, backend: str) -> None:
    for _ in range(5):
        writer.call("record_backend_failure", backend, "away")


def places(db: Connection) -> list[str]:
    """Where the puts under way go, in the order in which they began."""
    return column(db, "select backend from reaper.put_intents order by begun_at")


def test_bytes_go_where_most_room_is(writer, backends):
    backends(small=100, large=1000)
    assert writer.begin("a", "a", 600).backend == "large"
    assert writer.begin("b", "b", 350).backend == "large"
    assert writer.begin("c", "c", 10).backend == "small"
    assert writer.begin("d", "d", 40).backend == "small"


def test_a_backend_without_quota_has_the_most_room(writer, backends):
    backends(large=10**15, endless=None)
    assert writer.begin("a", "a", 1).backend == "endless"


def test_names_break_ties(writer, backends):
    backends(b=100, a=100, c=100)
    assert writer.begin("a", "a", 1).backend == "a"
    assert writer.begin("b", "b", 1).backend == "b"
    assert writer.begin("c", "c", 1).backend == "c"


def test_bytes_owed_and_reserved_take_room_as_those_in_use_do(db, writer, backends):
    backends(only=30)
    writer.put("a", "a")
    aborted = writer.begin("b", "b")
    writer.abort(aborted.intent_id)
    writer.begin("c", "c")
    assert accounts(db, "only") == truth(db, "only") == Bytes(used=10, orphan=10, reserved=10)
    with refused("RP008", "no backend has room for 1 bytes") as caught:
        writer.begin("d", "d", 1)
    assert "reaper.backends" in caught.value.diag.message_hint
    assert writer.begin("e", "e", 0).backend == "only"


def test_a_full_backend_is_passed_over(writer, backends):
    backends(east=100, west=99)
    assert writer.begin("a", "a", 95).backend == "east"
    assert writer.begin("b", "b", 10).backend == "west"
    with refused("RP008"):
        writer.begin("c", "c", 90)


def test_a_readonly_backend_gets_nothing_new(db, writer, backends):
    backends(east=None, west=10)
    db.execute("select reaper.set_backend_state('east', 'readonly', 'test')")
    assert writer.begin("a", "a").backend == "west"
    with refused("RP008"):
        writer.begin("b", "b")


def test_backends_that_answer_come_first_and_others_are_better_than_none(writer, backends):
    backends(east=1000, west=10)
    away(writer, "east")
    assert writer.begin("a", "a").backend == "west"
    assert writer.begin("b", "b").backend == "east"


def test_a_quota_that_was_lowered_below_what_lies_there_takes_nothing_new(db, writer, backends):
    backends(only=100)
    writer.put("a", "a", 50)
    db.execute("select reaper.set_quota('only', 20, 'test')")
    with refused("RP008"):
        writer.begin("b", "b", 1)


def test_content_that_is_there_is_put_on_a_full_store_too(db, writer, backends):
    backends(only=10)
    writer.put("a", "h")
    intent = writer.begin("b", "h")
    assert (intent.upload_required, intent.backend) == (False, "only")
    assert accounts(db, "only") == truth(db, "only") == Bytes(used=10)
    assert not writer.commit(intent.intent_id, uploaded=False).stored
    assert accounts(db, "only") == truth(db, "only") == Bytes(used=10)


def test_and_on_a_store_where_every_backend_is_readonly(db, writer, backends):
    backends(only=None)
    writer.put("a", "h")
    db.execute("select reaper.set_backend_state('only', 'readonly', 'test')")
    intent = writer.begin("b", "h")
    assert not writer.commit(intent.intent_id, uploaded=False).stored


def test_a_put_that_is_given_up_on_a_full_store_overdraws_no_account(db, writer, backends):
    backends(only=10)
    writer.put("a", "h")
    intent = writer.begin("b", "h")
    writer.abort(intent.intent_id)
    assert [(entry.object_key, entry.size_bytes) for entry in owed(db)] == [(intent.object_key, None)]
    assert accounts(db, "only") == truth(db, "only") == Bytes(used=10)


def test_room_that_is_reserved_for_known_content_is_given_back(db, writer, backends):
    backends(only=20)
    writer.put("a", "h")
    intent = writer.begin("b", "h")
    assert accounts(db, "only") == Bytes(used=10, reserved=10)
    writer.commit(intent.intent_id, uploaded=False)
    assert accounts(db, "only") == Bytes(used=10)


def test_who_waits_for_a_backend_sees_what_was_reserved_meanwhile(db, writers, backends, waits):
    backends(only=15)
    first, second = writers(autocommit=False), writers()
    first.begin("a", "a")
    failed: list[Any] = []

    def begin() -> None:
        with refused("RP008") as caught:
            second.begin("b", "b")
        failed.append(caught)

    thread = threading.Thread(target=begin)
    thread.start()
    waits(second.connection)
    first.connection.commit()
    thread.join()
    assert len(failed) == 1
    assert intents(db) == {"a"}


def test_who_finds_a_backend_full_after_waiting_holds_nothing_while_it_waits_for_the_next(
    db, writers, backends, waits
):
    """Two who went on from one backend to the other while holding the first would wait in a circle."""
    backends(east=15, west=14)
    first, second, third = writers(autocommit=False), writers(), writers()
    first.begin("a", "a", 15)
    threads = [threading.Thread(target=second.begin, args=("b", "b", 14))]
    threads[0].start()
    waits(second.connection)
    holder = writers(autocommit=False)
    holder.connection.execute("select from reaper.backend_list where name = 'west' for update")
    first.connection.commit()
    waits(second.connection)
    # East is free again although the second writer, who found it full, still waits for west.
    third.connection.execute("select from reaper.backend_list where name = 'east' for update nowait")
    holder.connection.rollback()
    threads[0].join()
    assert places(db) == ["east", "west"]


def test_a_backend_that_is_held_for_long_keeps_nobody_waiting_for_ever(writer, writers, backends):
    backends(only=100)
    writers(autocommit=False).begin("a", "a")
    with refused("55P03"):
        writer.begin("b", "b")


def test_a_quota_that_was_lifted_while_a_writer_waited_is_no_obstacle(db, writers, backends, waits):
    backends(only=15)
    first, second = writers(autocommit=False), writers()
    first.connection.execute("select reaper.set_quota('only', null, 'test')")
    thread = threading.Thread(target=second.begin)
    thread.start()
    waits(second.connection)
    first.connection.commit()
    thread.join()
    assert places(db) == ["only"]


def test_long_accounts_are_folded_by_who_holds_the_backend_anyway(db, writer, backends):
    backends(only=1000)
    db.execute(
        "insert into reaper.byte_deltas (backend, used_bytes)"
        " select 'only', n % 2 * 2 - 1 from generate_series(1, 600) as n"
    )
    writer.begin("a", "a")
    assert value(db, "select count(*) from reaper.byte_deltas where backend = 'only'") <= 2
    assert accounts(db, "only") == Bytes(reserved=10)


@contextmanager
def watched(db: Connection, look: Connection, backend: str, quota: int) -> Iterator[dict[str, int]]:
    """Looks at the sums, by the view and by the rows themselves, in one snapshot, until the block ends."""
    seen = {"looks": 0}
    problems: list[str] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            with look.transaction():
                look.execute("set transaction isolation level repeatable read")
                view, rows = accounts(look, backend), truth(look, backend)
            seen["looks"] += 1
            if view != rows or sum(view) > quota:
                problems.append(f"{view} by the view, {rows} by the rows, of {quota}")

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()
    assert problems == []
    assert accounts(db, backend) == truth(db, backend)


def put_until_full(app: Writer, codes: Iterator[tuple[str, str]], ends: list[str | None]) -> None:
    """Put what comes; every fifth is given up. Notes why it ended."""
    for n, (code, content) in enumerate(codes):
        try:
            intent = app.begin(code, content, 10)
        except psycopg.Error as error:
            ends.append(error.sqlstate)
            return
        if n % 5 == 4:
            app.abort(intent.intent_id, False)
        else:
            app.commit(intent.intent_id, intent.upload_required)


def hover_at_the_brim(app: Writer, number: int, ends: list[str | None]) -> None:
    """Reserve and give back, over and over; each reservation is looked at before it is committed."""
    for n in range(60):
        try:
            with app.connection.transaction():
                intent = app.begin(f"{number}-{n}", f"{number}-{n}", 10)
                assert truth(app.connection, "only").reserved <= BRIM
        except psycopg.Error as error:
            ends.append(error.sqlstate)
        else:
            ends.append(None)
            app.abort(intent.intent_id, False)


def all_at_once(*tasks: Callable[[], None]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_sixteen_writers_never_overcommit_a_quota_and_use_it_fully(db, writers, connect, backends):
    """Each puts until there is no room; every third content is at the same time somebody else's too."""
    quota, ends = 4000, []
    backends(only=quota)

    def task(number: int) -> Callable[[], None]:
        things = ((f"{number}-{n}", f"shared {n}" if n % 3 == 0 else f"{number}-{n}") for n in range(1000))
        return partial(put_until_full, writers(), things, ends)

    with watched(db, connect(), "only", quota) as seen:
        all_at_once(*map(task, range(WRITERS)))
    assert ends == ["RP008"] * WRITERS
    assert sum(accounts(db, "only")) == quota, "room was left although writers were refused"
    assert accounts(db, "only").orphan > 0, "no two ever stored the same content at the same time"
    assert seen["looks"] > 10


def test_sixteen_writers_who_want_the_last_bytes_again_and_again_never_overcommit_them(
    db, writers, connect, backends
):
    ends: list[str | None] = []
    backends(only=BRIM)
    with watched(db, connect(), "only", BRIM):
        all_at_once(*(partial(hover_at_the_brim, writers(), number, ends) for number in range(WRITERS)))
    assert set(ends) == {None, "RP008"}
    assert len(ends) == WRITERS * 60
    assert accounts(db, "only") == Bytes()


def test_sixteen_writers_fill_three_backends_to_the_last_byte(db, writers, connect, backends):
    quotas, ends = {"east": 300, "north": 500, "west": 400}, []
    backends(**quotas)

    def task(number: int) -> Callable[[], None]:
        things = ((f"{number}-{n}", f"{number}-{n}") for n in range(1000))
        return partial(put_until_full, writers(), things, ends)

    with ExitStack() as watching:
        for name, quota in quotas.items():
            watching.enter_context(watched(db, connect(), name, quota))
        all_at_once(*map(task, range(WRITERS)))
    assert ends == ["RP008"] * WRITERS
    assert {name: accounts(db, name) for name in quotas} == {n: Bytes(used=q) for n, q in quotas.items()}

"""PostgreSQL's answers are lost and content comes and goes in the middle of a put: nothing is lost."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reaper.errors import IntentGone, Unreachable
from reaper.store.store import Store
from tests.support.replaced_parts import instead_of
from tests.support.tcp_proxy import Fault, Proxy, before_postgres
from tests.support.watched_store import WatchedStore
from tests.support.world import DAY, World

Queries = dict[str, Callable[..., Any]]


@pytest.fixture
def way(world: World) -> Iterator[tuple[Proxy, str]]:
    """Between the store and PostgreSQL; the test's own questions go past it."""
    with before_postgres(world.dsn) as way:
        yield way


@pytest.fixture
def proxy(way: tuple[Proxy, str]) -> Proxy:
    return way[0]


@pytest.fixture
def queries() -> Queries:
    """What is done instead of a query, which is the first of its arguments."""
    return {}


@pytest.fixture
def opened(
    world: World, way: tuple[Proxy, str], queries: Queries, open_world: Callable[..., Any]
) -> Iterator[tuple[Store, dict[str, WatchedStore]]]:
    with open_world(world, database_url=way[1], around=instead_of(queries)) as opened:
        yield opened


def pastes(world: World) -> list[str]:
    return [row[0] for row in world.sql("select short_code from pastes order by 1")]


@pytest.mark.slow(but=4)
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("code", [None, "mine"])
def test_a_commit_whose_answer_is_lost_is_found_to_have_succeeded(
    world: World, proxy: Proxy, store: Store, code: str | None, times: int
) -> None:
    proxy.add(Fault("lost answer", word="commit_put", times=times))
    stored = store.put(b"x", DAY, code)
    assert proxy.met == times
    assert pastes(world) == [stored.short_code]
    assert store.get(stored.short_code) is not None
    assert world.sql("select * from reaper.put_intents") == []
    world.judge()


def test_a_commit_that_never_arrived_is_made_again(world: World, proxy: Proxy, store: Store) -> None:
    proxy.add(Fault("lost question", word="commit_put", times=2))
    stored = store.put(b"x", DAY)
    assert pastes(world) == [stored.short_code]
    world.judge()


def test_a_commit_that_is_answered_by_nobody_is_looked_for_and_found(
    world: World, proxy: Proxy, store: Store
) -> None:
    proxy.add(Fault("lost answer", word="commit_put"))
    proxy.add(Fault("lost question", word="select * from reaper.commit_put", times=2))
    stored = store.put(b"x", DAY)
    assert pastes(world) == [stored.short_code]
    world.judge()


def test_who_cannot_find_out_whether_its_commit_came_through_is_not_told_that_another_has_its_code(
    world: World, proxy: Proxy, store: Store
) -> None:
    proxy.add(Fault("lost answer", word="commit_put"))
    proxy.add(Fault("lost question", word="get_paste", times=3))
    with pytest.raises(Unreachable):
        store.put(b"x", DAY, "mine")
    assert pastes(world) == ["mine"]


def test_a_commit_that_was_lost_for_good_leaves_nothing(world: World, proxy: Proxy, store: Store) -> None:
    proxy.add(Fault("lost question", word="commit_put", times=3))
    with pytest.raises(Unreachable):
        store.put(b"x", DAY)
    assert pastes(world) == []
    assert world.sql("select * from reaper.put_intents") == []
    world.settle()
    assert world.keys() == set()


def test_an_intent_whose_answer_is_lost_is_begun_again_and_the_first_is_resolved_later(
    world: World, proxy: Proxy, store: Store
) -> None:
    proxy.add(Fault("lost answer", word="begin_put"))
    stored = store.put(b"x", DAY)
    assert pastes(world) == [stored.short_code]
    assert world.value("select count(*) from reaper.put_intents") == 1


def test_reads_deletes_and_extensions_survive_a_lost_answer(world: World, proxy: Proxy, store: Store) -> None:
    code = store.put(b"x", DAY).short_code
    proxy.add(Fault("lost answer", word="get_paste", times=2))
    assert store.get(code) is not None
    proxy.add(Fault("lost answer", word="extend_paste", times=2))
    assert store.extend(code, 2 * DAY)
    proxy.add(Fault("lost answer", word="delete_paste", times=2))
    store.delete(code)
    assert proxy.met == 6
    assert store.get(code) is None
    world.drain()
    world.judge()


@pytest.mark.slow(but=1)
def test_connections_that_broke_while_nobody_used_them_are_not_noticed(
    world: World, proxy: Proxy, store: Store
) -> None:
    code = store.put(b"x", DAY).short_code
    for _ in range(3):
        proxy.break_all()
        world.cache().flushall()
        assert store.get(code) is not None


def test_connections_that_the_server_ended_are_replaced(world: World, store: Store) -> None:
    code = store.put(b"x", DAY).short_code
    world.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'reaper:store:0'"
    )
    world.cache().flushall()
    assert store.get(code) is not None


@pytest.mark.slow(but=1)
def test_a_database_that_is_away_is_said_to_be_away_and_used_again_when_it_is_back(
    world: World, proxy: Proxy, store: Store
) -> None:
    cached, other = store.put(b"x", DAY).short_code, store.put(b"y", DAY).short_code
    assert store.get(cached)
    proxy.cut()
    with pytest.raises(Unreachable):
        store.get(other)
    assert store.get(cached) is not None, "it needs no database"
    proxy.mend()
    assert store.get(other) is not None
    world.judge()


def test_content_that_goes_between_begin_and_commit_is_uploaded_after_all(
    world: World, store: Store, backend: WatchedStore, queries: Queries
) -> None:
    store.put(b"same", DAY)
    begun = after_begin(queries, lambda: gone(world))
    stored = store.put(b"same", DAY)
    assert begun == [False]
    assert len(backend.puts) == 2
    assert len(world.keys()) == 1
    assert store.get(stored.short_code) is not None
    world.settle()


def test_content_that_comes_between_begin_and_commit_makes_our_bytes_spare(
    world: World, store: Store, backend: WatchedStore
) -> None:
    def somebody_else(_: str) -> None:
        backend.before_put = lambda _: None
        store.put(b"same", 9 * DAY)

    backend.before_put = somebody_else
    stored = store.put(b"same", 9 * DAY)
    assert len(backend.puts) == 2
    assert world.value("select ref_count from content") == 2
    world.settle()
    assert len(world.keys()) == 1
    assert store.get(stored.short_code) is not None


def test_an_intent_that_is_taken_away_is_begun_again(
    world: World, store: Store, backend: WatchedStore
) -> None:
    def dropped(_: str) -> None:
        backend.before_put = lambda _: None
        world.sql("select reaper.abort_put(intent_id) from reaper.put_intents")

    backend.before_put = dropped
    stored = store.put(b"x", DAY)
    assert len(backend.puts) == 2
    assert pastes(world) == [stored.short_code]
    world.settle()
    assert world.keys() == {backend.puts[1]}


def test_an_upload_that_comes_long_after_its_intent_was_ended_leaves_no_bytes(
    world: World, store: Store, backend: WatchedStore
) -> None:
    def slept(_: str) -> None:
        backend.before_put = lambda _: None
        world.sql("select reaper.abort_put(intent_id, false) from reaper.put_intents")

    backend.before_put = slept
    stored = store.put(b"x", DAY)
    assert len(world.keys()) == 2
    world.settle()
    assert world.keys() == {backend.puts[1]}
    assert pastes(world) == [stored.short_code]


def test_an_intent_that_is_taken_away_again_and_again_is_given_up(
    world: World, store: Store, backend: WatchedStore
) -> None:
    abort = "select reaper.abort_put(intent_id) from reaper.put_intents"
    backend.before_put = lambda _: world.sql(abort)
    with pytest.raises(IntentGone):
        store.put(b"x", DAY)
    assert pastes(world) == []
    world.settle()
    assert world.keys() == set()


def test_what_somebody_committed_on_the_writers_behalf_is_the_writers(
    world: World, store: Store, backend: WatchedStore
) -> None:
    commit = "select c.* from reaper.put_intents i, reaper.commit_put(i.intent_id, true) as c"
    backend.after_put = lambda _: world.sql(commit)
    stored = store.put(b"x", DAY)
    assert pastes(world) == [stored.short_code]
    world.judge()


def test_a_full_store_whose_content_goes_begins_again(
    world: World, store: Store, backend: WatchedStore, queries: Queries
) -> None:
    store.put(b"same", DAY)
    world.sql("select reaper.set_quota('default', 4, 'for a test')")

    def gone_and_room_again() -> None:
        gone(world)
        world.sql("select reaper.set_quota('default', 100, 'for a test')")

    after_begin(queries, gone_and_room_again)
    stored = store.put(b"same", DAY)
    assert store.get(stored.short_code) is not None
    assert len(backend.puts) == 2
    world.settle()


# An interrupt in a task ends the whole event loop: what a task that is cancelled leaves is in test_cancelled.
@pytest.mark.parametrize("open_world", ["Store"], indirect=True)
def test_a_put_that_is_interrupted_leaves_nothing(world: World, store: Store, backend: WatchedStore) -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    backend.before_put = interrupted
    with pytest.raises(KeyboardInterrupt):
        store.put(b"x", DAY)
    assert world.sql("select * from reaper.put_intents") == []
    world.settle()


def gone(world: World) -> None:
    """All pastes so far expire and their content is collected."""
    world.sql("update pastes set expires_at = reaper.clock()")
    world.drain()


def after_begin(queries: Queries, act: Callable[[], None]) -> list[bool]:
    """Act once, right after the next intent; what it said about uploads is noted."""
    begun: list[bool] = []

    def begin(call: Callable[..., Any], *arguments: object) -> Any:
        intent = call(*arguments)
        if not begun:
            begun.append(intent.upload_required)
            act()
        return intent

    queries["begin_put"] = begin
    return begun

"""PostgreSQL's answers are lost and content comes and goes in the middle of a put: nothing is lost."""

from collections.abc import Callable, Iterator

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from reaper.errors import IntentGone, Unreachable
from reaper.queries import Queries
from reaper.store.store import Store
from tests.support.store_world import DAY, Shop, Watched
from tests.support.tcp_wire import Wire, unix


@pytest.fixture
def wire(shop: Shop) -> Iterator[Wire]:
    """Between the store and PostgreSQL; the test's own questions go past it."""
    parts = conninfo_to_dict(shop.dsn)
    with Wire(unix(f"{parts['host']}/.s.PGSQL.{parts.get('port', 5432)}")) as wire:
        yield wire


@pytest.fixture
def opened(shop: Shop, wire: Wire) -> Iterator[tuple[Store, dict[str, Watched]]]:
    through = make_conninfo(
        shop.dsn, host="127.0.0.1", port=wire.port, sslmode="disable", gssencmode="disable"
    )
    with shop.opened(database_url=through) as opened:
        yield opened


def pastes(shop: Shop) -> list[str]:
    return [row[0] for row in shop.sql("select short_code from pastes order by 1")]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("code", [None, "mine"])
def test_a_commit_whose_answer_is_lost_is_found_to_have_succeeded(
    shop: Shop, wire: Wire, store: Store, code: str | None, times: int
) -> None:
    wire.lose_answer("commit_put", times)
    stored = store.put(b"x", DAY, code)
    assert wire.lost == times
    assert pastes(shop) == [stored.short_code]
    assert store.get(stored.short_code) is not None
    assert shop.sql("select * from reaper.put_intents") == []
    shop.judge()


def test_a_commit_that_never_arrived_is_made_again(shop: Shop, wire: Wire, store: Store) -> None:
    wire.lose_question("commit_put", 2)
    stored = store.put(b"x", DAY)
    assert pastes(shop) == [stored.short_code]
    shop.judge()


def test_a_commit_that_is_answered_by_nobody_is_looked_for_and_found(
    shop: Shop, wire: Wire, store: Store
) -> None:
    wire.lose_answer("commit_put", 1)
    wire.lose_question("select * from reaper.commit_put", 2)
    stored = store.put(b"x", DAY)
    assert pastes(shop) == [stored.short_code]
    shop.judge()


def test_who_cannot_find_out_whether_its_commit_came_through_is_not_told_that_another_has_its_code(
    shop: Shop, wire: Wire, store: Store
) -> None:
    wire.lose_answer("commit_put", 1)
    wire.lose_question("get_paste", 3)
    with pytest.raises(Unreachable):
        store.put(b"x", DAY, "mine")
    assert pastes(shop) == ["mine"]


def test_a_commit_that_was_lost_for_good_leaves_nothing(shop: Shop, wire: Wire, store: Store) -> None:
    wire.lose_question("commit_put", 3)
    with pytest.raises(Unreachable):
        store.put(b"x", DAY)
    assert pastes(shop) == []
    assert shop.sql("select * from reaper.put_intents") == []
    shop.settle()
    assert shop.keys() == set()


def test_an_intent_whose_answer_is_lost_is_begun_again_and_the_first_is_resolved_later(
    shop: Shop, wire: Wire, store: Store
) -> None:
    wire.lose_answer("begin_put")
    stored = store.put(b"x", DAY)
    assert pastes(shop) == [stored.short_code]
    assert shop.value("select count(*) from reaper.put_intents") == 1


def test_reads_deletes_and_extensions_survive_a_lost_answer(shop: Shop, wire: Wire, store: Store) -> None:
    code = store.put(b"x", DAY).short_code
    wire.lose_answer("get_paste", 2)
    assert store.get(code) is not None
    wire.lose_answer("extend_paste", 2)
    assert store.extend(code, 2 * DAY)
    wire.lose_answer("delete_paste", 2)
    store.delete(code)
    assert wire.lost == 6
    assert store.get(code) is None
    shop.drain()
    shop.judge()


def test_connections_that_broke_while_nobody_used_them_are_not_noticed(
    shop: Shop, wire: Wire, store: Store
) -> None:
    code = store.put(b"x", DAY).short_code
    for _ in range(3):
        wire.break_all()
        shop.cache().flushall()
        assert store.get(code) is not None


def test_connections_that_the_server_ended_are_replaced(shop: Shop, store: Store) -> None:
    code = store.put(b"x", DAY).short_code
    shop.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'reaper:store:0'"
    )
    shop.cache().flushall()
    assert store.get(code) is not None


def test_a_database_that_is_away_is_said_to_be_away_and_used_again_when_it_is_back(
    shop: Shop, wire: Wire, store: Store
) -> None:
    cached, other = store.put(b"x", DAY).short_code, store.put(b"y", DAY).short_code
    assert store.get(cached)
    wire.cut = True
    wire.break_all()
    with pytest.raises(Unreachable):
        store.get(other)
    assert store.get(cached) is not None, "it needs no database"
    wire.cut = False
    assert store.get(other) is not None
    shop.judge()


def test_content_that_goes_between_begin_and_commit_is_uploaded_after_all(
    shop: Shop, store: Store, backend: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(b"same", DAY)
    begun = after_begin(monkeypatch, lambda: gone(shop))
    stored = store.put(b"same", DAY)
    assert begun == [False]
    assert len(backend.puts) == 2
    assert len(shop.keys()) == 1
    assert store.get(stored.short_code) is not None
    shop.settle()


def test_content_that_comes_between_begin_and_commit_makes_our_bytes_spare(
    shop: Shop, store: Store, backend: Watched
) -> None:
    def somebody_else(_: str) -> None:
        backend.before_put = lambda _: None
        store.put(b"same", 9 * DAY)

    backend.before_put = somebody_else
    stored = store.put(b"same", 9 * DAY)
    assert len(backend.puts) == 2
    assert shop.value("select ref_count from content") == 2
    shop.settle()
    assert len(shop.keys()) == 1
    assert store.get(stored.short_code) is not None


def test_an_intent_that_is_taken_away_is_begun_again(shop: Shop, store: Store, backend: Watched) -> None:
    def dropped(_: str) -> None:
        backend.before_put = lambda _: None
        shop.sql("select reaper.abort_put(intent_id) from reaper.put_intents")

    backend.before_put = dropped
    stored = store.put(b"x", DAY)
    assert len(backend.puts) == 2
    assert pastes(shop) == [stored.short_code]
    shop.settle()
    assert shop.keys() == {backend.puts[1]}


def test_an_upload_that_comes_long_after_its_intent_was_ended_leaves_no_bytes(
    shop: Shop, store: Store, backend: Watched
) -> None:
    def slept(_: str) -> None:
        backend.before_put = lambda _: None
        shop.sql("select reaper.abort_put(intent_id, false) from reaper.put_intents")

    backend.before_put = slept
    stored = store.put(b"x", DAY)
    assert len(shop.keys()) == 2
    shop.settle()
    assert shop.keys() == {backend.puts[1]}
    assert pastes(shop) == [stored.short_code]


def test_an_intent_that_is_taken_away_again_and_again_is_given_up(
    shop: Shop, store: Store, backend: Watched
) -> None:
    backend.before_put = lambda _: (
        shop.sql("select reaper.abort_put(intent_id) from reaper.put_intents") and None
    )
    with pytest.raises(IntentGone):
        store.put(b"x", DAY)
    assert pastes(shop) == []
    shop.settle()
    assert shop.keys() == set()


def test_what_somebody_committed_on_the_writers_behalf_is_the_writers(
    shop: Shop, store: Store, backend: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = type(backend.store).put

    def put_and_resolved(self: object, key: str, body: object, size: int) -> None:
        real(self, key, body, size)  # type: ignore[arg-type]
        shop.sql("select c.* from reaper.put_intents i, reaper.commit_put(i.intent_id, true) as c")

    monkeypatch.setattr(type(backend.store), "put", put_and_resolved)
    stored = store.put(b"x", DAY)
    assert pastes(shop) == [stored.short_code]
    shop.judge()


def test_a_full_store_whose_content_goes_begins_again(
    shop: Shop, store: Store, backend: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(b"same", DAY)
    shop.sql("select reaper.set_quota('default', 4, 'for a test')")

    def gone_and_room_again() -> None:
        gone(shop)
        shop.sql("select reaper.set_quota('default', 100, 'for a test')")

    after_begin(monkeypatch, gone_and_room_again)
    stored = store.put(b"same", DAY)
    assert store.get(stored.short_code) is not None
    assert len(backend.puts) == 2
    shop.settle()


def test_a_put_that_is_interrupted_leaves_nothing(shop: Shop, store: Store, backend: Watched) -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    backend.before_put = interrupted
    with pytest.raises(KeyboardInterrupt):
        store.put(b"x", DAY)
    assert shop.sql("select * from reaper.put_intents") == []
    shop.settle()


def gone(shop: Shop) -> None:
    """All pastes so far expire and their content is collected."""
    shop.sql("update pastes set expires_at = reaper.clock()")
    shop.drain()


def after_begin(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> list[bool]:
    """Act once, right after the next intent; what it said about uploads is noted."""
    begun: list[bool] = []
    real = Queries.begin_put

    def begin(self: Queries, *arguments: object) -> object:
        intent = real(self, *arguments)  # type: ignore[arg-type]
        if not begun:
            begun.append(intent.upload_required)
            act()
        return intent

    monkeypatch.setattr(Queries, "begin_put", begin)
    return begun

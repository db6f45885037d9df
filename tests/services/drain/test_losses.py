"""The database is lost, content is held, figures are kept: what a drain meets besides Redis and S3."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psycopg
import pytest

from reaper.db.reconnecting_session import Session
from reaper.errors import DatabaseError, Unreachable
from reaper.queries import Queries
from tests.support.world import World

Populate = Callable[..., None]
T = TypeVar("T")

END = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
 where application_name like 'reaper:%' and datname = current_database() and pid <> pg_backend_pid()
"""


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("claim_mode", ["mark", "direct"])
def test_a_drain_whose_connections_are_cut_again_and_again_comes_to_its_end(
    world: World, populate: Populate, claim_mode: str
) -> None:
    world.set_claim_mode(claim_mode)
    populate(due=1_500, live=300, contents=1_000)
    cut, batches, done = 0, 5, threading.Event()

    def cutter() -> None:
        nonlocal cut, batches
        with psycopg.connect(world.dsn, autocommit=True) as connection:
            while not done.is_set():
                runs = connection.execute("select count(*) from reaper.runs").fetchone()
                if runs and runs[0] >= batches:
                    ended = connection.execute(END).fetchone()
                    cut, batches = cut + (ended[0] if ended else 0), runs[0] + 10
                done.wait(0.01)

    thread = threading.Thread(target=cutter)
    thread.start()
    try:
        world.drain(workers=2, batch_size=50)
    finally:
        done.set()
        thread.join()
    assert cut > 0
    world.watchdog()
    world.drain()
    world.judge()
    assert world.value("select sum(rows_deleted) from reaper.runs") == 1_500


@pytest.mark.parametrize(
    ("claim_mode", "function"),
    [("mark", "drop_batch(uuid)"), ("direct", "reap_batch(integer, text, timestamptz, text)")],
)
def test_held_content_keeps_only_its_own_pastes_back(
    world: World, populate: Populate, claim_mode: str, function: str
) -> None:
    world.set_claim_mode(claim_mode)
    populate(due=300, live=0, contents=300)
    world.sql(f"alter function reaper.{function} set lock_timeout = '50ms'")
    with psycopg.connect(world.dsn) as holder:
        holder.execute(
            "select from content where content_hash in"
            " (select content_hash from pastes order by expires_at limit 5) for update"
        )
        world.drain(batch_size=50)
        assert world.value("select reaper.count_due()") == 5
    world.drain()
    world.judge()


def test_a_batch_that_cannot_be_finished_keeps_nobody_from_draining_and_is_complained_of(
    world: World, populate: Populate
) -> None:
    populate(due=40, live=0, contents=40)
    world.sql("call reaper.drain(20, 1)")
    world.sql(
        "create function refuse() returns trigger language plpgsql as"
        " $$ begin raise exception 'no history today'; end $$"
    )
    world.sql(
        "create trigger refuse before insert on reaper.runs for each row"
        " when (new.worker is not null and new.rows_claimed = 20) execute function refuse()"
    )
    with pytest.raises(DatabaseError, match="no history today"):
        world.drain(batch_size=10)
    assert world.value("select reaper.count_due()") == 0
    world.sql("drop trigger refuse on reaper.runs")
    world.drain()
    world.judge()


class Refused(Session[Queries]):
    """A session whose connection is refused, from the first or from some later call on."""

    def __init__(self, granted: int) -> None:
        super().__init__(lambda: None, Queries)  # type: ignore[arg-type,return-value]
        self.granted = granted

    def call(self, ask: Callable[[Queries], T]) -> T:
        self.granted -= 1
        if self.granted < 0:
            raise Unreachable("too many connections")
        return ask(None)  # type: ignore[arg-type]


def test_who_cannot_settle_batches_claims_none(world: World, populate: Populate) -> None:
    populate(due=40, live=0, contents=40)
    with pytest.raises(Unreachable, match="too many connections"):
        world.drain(batch_size=10, parts={"settle_session": Refused(granted=0)})
    assert world.value("select reaper.count_due()") == 40
    assert world.value("select count(*) from reaper.batches") == 0


@pytest.mark.parametrize("claim_mode", ["mark", "direct"])
def test_batches_that_could_not_be_settled_are_known_to_nobody_and_adopted(
    world: World, populate: Populate, claim_mode: str
) -> None:
    world.set_claim_mode(claim_mode)
    populate(due=40, live=0, contents=40)
    # To be opened by adopt and by drain.
    with world.app(batch_size=10, parts={"settle_session": Refused(granted=2)}) as app:
        with pytest.raises(Unreachable, match="too many connections"):
            app.drain()
        assert world.value("select count(*) from reaper.batches where state = 'RELEASED'") > 0
        assert app.held.known() == []
        # As the next connection of this process does.
        with app.open_session("other") as session:
            session.call(lambda q: q.return_unknown_batches(app.worker, app.held.known()))
        assert world.value("select count(*) from reaper.batches where worker is not null") == 0
    world.drain()
    world.judge()


def test_the_documented_metrics_are_written(world: World, populate: Populate, tmp_path: Path) -> None:
    populate(due=30, live=0, contents=30)
    with world.app() as app:
        with app.telemetry.written_to(tmp_path / "reaper.prom"):
            app.drain()
        written = (tmp_path / "reaper.prom").read_text()
    documented = Path("docs/operations.md").read_text()
    assert "reaper_rows_deleted_total 30.0" in written
    assert "reaper_objects_deleted_total 30.0" in written
    names = {
        line.split()[2]
        for line in written.splitlines()
        if line.startswith("# TYPE") and "_created" not in line
    }
    assert {name for name in names if f"`{name}" not in documented} == set()

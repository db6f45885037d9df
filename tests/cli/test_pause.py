"""A pause holds for commands, too: they say who paused it, why and until when; --despite-pause goes on."""

import pytest

from reaper.telemetry.events import Telemetry
from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection, Pastes, value

PAUSE = "select reaper.pause('drain', '1 hour', 'the month is closing')"


@pytest.fixture
def due(db: Connection, paste: Pastes) -> Connection:
    """Ten pastes that are due, and a drain in the schedule."""
    db.execute("select reaper.register_service('drain', '0 0 * * *', 'deletes')")
    paste.many("p", 10)
    return db


def test_a_paused_drain_is_refused(run: Run, due: Connection) -> None:
    due.execute(PAUSE)
    done = run("drain")
    assert done.code == 1
    assert "drain is paused until" in done.complaint[0]
    assert f"by {value(due, 'select session_user')}: the month is closing" in done.complaint[0]
    assert "reaper service resume drain" in done.complaint[1]
    assert "--despite-pause" in done.complaint[1]
    assert value(due, "select reaper.count_due()") == 10


def test_a_paused_drain_drains_when_one_means_it(run: Run, due: Connection) -> None:
    due.execute(PAUSE)
    assert run("drain", "--despite-pause").code == 0
    assert value(due, "select reaper.count_due()") == 0


def test_a_drain_that_is_switched_off_drains_by_hand(run: Run, due: Connection) -> None:
    due.execute("select reaper.disable_service('drain')")
    assert run("drain").code == 0
    assert value(due, "select reaper.count_due()") == 0


@pytest.fixture
def pauses_after_a_batch(due: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator pauses the drain when its first batch is settled."""
    finished = Telemetry.finished

    def pause(self: Telemetry, *arguments: object) -> None:
        due.execute(PAUSE)
        finished(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Telemetry, "finished", pause)


@pytest.mark.usefixtures("pauses_after_a_batch")
def test_a_pause_that_begins_meanwhile_ends_a_drain_which_says_what_it_did(run: Run, due: Connection) -> None:
    done = run("drain", "--batch-size", "2", "--workers", "1")
    assert done.code == 1
    assert " pastes deleted in " in done.out
    assert "drain stopped before its next batch: drain is paused until" in done.complaint[0]
    assert 0 < value(due, "select reaper.count_due()") < 10
    assert value(due, "select count(*) from reaper.in_flight") == 0


@pytest.mark.usefixtures("pauses_after_a_batch")
def test_a_pause_ends_a_run_here_as_well(run: Run, due: Connection) -> None:
    due.execute("update reaper.settings set batch_size = 2")
    done = run("service", "run", "drain", "--here", "--json").json
    assert done["more"] is True
    assert 0 < value(due, "select reaper.count_due()") < 10


@pytest.mark.usefixtures("pauses_after_a_batch")
def test_the_pause_stands_in_the_json(run: Run) -> None:
    done = run("drain", "--batch-size", "2", "--workers", "1", "--json")
    assert done.code == 1
    assert "drain is paused until" in done.json["paused"]


def test_a_paused_policy_is_refused(run: Run, db: Connection) -> None:
    db.execute("create table public.notes (id int primary key, at timestamptz not null)")
    db.execute("create index on public.notes (at)")
    db.execute("grant select, delete, update (at) on public.notes to reaper_owner")
    db.execute("insert into public.notes select i, now() - interval '2 days' from generate_series(1, 3) i")
    db.execute("select reaper.add_retention_policy('notes', 'public.notes', 'at', '1 day')")
    db.execute("select reaper.enable_policy('notes')")
    assert run("service", "pause", "policy:notes", "--reason", "an audit").code == 0
    done = run("policy", "run", "notes", "--all")
    assert done.code == 1
    assert "policy:notes is paused until" in done.complaint[0]
    assert "an audit" in done.complaint[0]
    assert "--despite-pause" in done.complaint[1]
    assert value(db, "select count(*) from notes") == 3
    done = run("policy", "run", "notes", "--limit", "2", "--despite-pause")
    assert (done.code, done.out.splitlines()[0]) == (0, "2 rows deleted in 1 batch")


def test_a_paused_watchdog_is_refused(run: Run, db: Connection) -> None:
    assert run("watchdog", "--once").code == 0
    db.execute("select reaper.pause('watchdog', '1 hour', 'for a look')")
    done = run("watchdog", "--once")
    assert (done.code, "watchdog is paused until" in done.complaint[0]) == (1, True)
    assert run("watchdog", "--once", "--despite-pause").code == 0


@pytest.mark.usefixtures("pauses_after_a_batch")
def test_a_pause_ends_a_drain_among_the_batches_that_it_adopts(run: Run, due: Connection) -> None:
    due.execute("call reaper.drain(2)")
    done = run("drain", "--workers", "1")
    assert done.code == 1
    assert "drain stopped before its next batch: drain is paused until" in done.complaint[0]
    assert value(due, "select count(*) from reaper.in_flight") == 4


OWED_OBJECT = """
insert into reaper.cleanup_queue (backend, object_key, queued_at, next_attempt)
values ('default', 'owed', reaper.clock(), reaper.clock())
"""
OWED_ENTRY = """
insert into reaper.invalidations (short_code, queued_at, next_attempt)
values ('owed', reaper.clock(), reaper.clock())
"""


@pytest.mark.parametrize(
    ("service", "table", "owed"),
    [
        ("cleanup_queue", "reaper.cleanup_queue", OWED_OBJECT),
        ("invalidations", "reaper.invalidations", OWED_ENTRY),
    ],
)
def test_a_drain_leaves_the_retries_of_a_paused_service_alone(
    run: Run, due: Connection, service: str, table: str, owed: str
) -> None:
    due.execute("select reaper.register_service(%s, '1 minute', 'retries')", [service])
    due.execute("select reaper.pause(%s, '1 hour', 'an audit')", [service])
    due.execute(owed)
    assert run("drain").code == 0
    assert value(due, "select reaper.count_due()") == 0
    assert value(due, f"select count(*) from {table}") == 1
    assert run("drain", "--despite-pause").code == 0
    assert value(due, f"select count(*) from {table}") == 0


def test_a_drain_by_hand_retries_for_a_service_that_is_off(run: Run, due: Connection) -> None:
    due.execute("select reaper.register_service('cleanup_queue', '1 minute', 'retries')")
    due.execute("select reaper.disable_service('cleanup_queue')")
    due.execute(OWED_OBJECT)
    assert run("drain").code == 0
    assert value(due, "select count(*) from reaper.cleanup_queue") == 0

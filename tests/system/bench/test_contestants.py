"""Everybody who takes part does what they promise, or the judge says so."""

import pytest

from reaper.db.connection import connect
from reaper.dev.bench import entries
from reaper.dev.bench.arena import Arena
from reaper.dev.bench.contestant import Contestant, Needs, Work
from reaper.dev.bench.contestants.floor import Floor
from reaper.dev.bench.contestants.jobs import JobPerPaste
from reaper.dev.bench.contestants.lanes import Lanes
from reaper.dev.bench.contestants.procedure import DrainProcedure
from reaper.dev.bench.contestants.requeue import RequeueLoop
from reaper.dev.bench.contestants.row_by_row import RowByRow
from reaper.dev.bench.contestants.seeds import Seeds
from reaper.dev.bench.judge import Judge
from reaper.dev.bench.place import Place
from reaper.dev.bench.team import TeamError, assembled
from reaper.dev.bench.tournament import Tournament
from reaper.dev.bench.workload import Workload
from tests.support.bench_runs import TINY

WHOLE = [
    Floor(),
    DrainProcedure(),
    RequeueLoop(),
    Lanes(),
    Lanes(outside=True, lanes=2),
    Seeds(sample=None),
    Seeds(outside=True, sample=None),
]


def execute(place: Place, statement: str) -> None:
    with connect(place.dsn, "test") as connection:
        connection.execute(statement)


def run_here(arena: Arena, contestant: Contestant) -> tuple[Work, list[str]]:
    """What it did and what is wrong with that, in this process and without a clock."""
    with arena.copy(TINY, contestant.needs) as place:
        with contestant.ready(place) as go:
            work = go()
        return work, Judge(arena.s3).problems(contestant, place, work.rows)


@pytest.fixture(autouse=True)
def credentials_of_this_test_only(monkeypatch: pytest.MonkeyPatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "unset")


@pytest.mark.parametrize("contestant", WHOLE, ids=lambda contestant: contestant.name)
def test_all_due_rows_go_and_nothing_else(arena: Arena, contestant: Contestant):
    work, problems = run_here(arena, contestant)
    assert problems == []
    assert work.rows == TINY.due == 300


@pytest.mark.parametrize(
    "contestant", [RowByRow(40), JobPerPaste(40)], ids=lambda contestant: contestant.name
)
def test_a_sample_is_a_part_of_the_same_work(arena: Arena, contestant: Contestant):
    work, problems = run_here(arena, contestant)
    assert problems == []
    assert work.rows == 40


def test_a_drain_that_ends_with_its_time_leaves_no_half_batch(arena: Arena):
    assert run_here(arena, Lanes(seconds=0.0)) == (Work(0), [])


def test_reaper_tells_how_long_its_claims_took(arena: Arena):
    work, _ = run_here(arena, Lanes())
    assert work.claims
    assert all(step.seconds > 0 for step in work.claims)
    assert {"claim", "drop", "finish"} <= set(dict(work.steps))


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("select", "rows are still due"),
        ("delete from public.pastes where expires_at > now()", "live pastes are gone"),
        ("update public.content set ref_count = ref_count + 1", "reference counts are wrong"),
        ("update public.pastes set deletion_status = 'DELETION_IN_PROGRESS'", "rows are still marked"),
        (
            "insert into public.content (content_hash) values ('nobody')",
            "contents that nobody names are left",
        ),
        ("select * from reaper.claim_expired(10)", "1 batches are left"),
    ],
)
def test_the_judge_sees_what_is_wrong(arena: Arena, damage: str, complaint: str):
    with arena.copy(TINY) as place:
        execute(place, damage)
        problems = Judge(arena.s3).problems(Floor(), place, TINY.due)
    assert any(complaint in problem for problem in problems)


def test_the_judge_looks_into_bucket_and_cache(arena: Arena):
    with arena.copy(TINY, Needs.EVERYTHING) as place:
        with Floor().ready(place) as go:
            go()
        problems = Judge(arena.s3).problems(Lanes(outside=True), place, TINY.due)
    assert any("objects for" in problem for problem in problems)
    assert any("cache entries of deleted pastes" in problem for problem in problems)


def test_a_contestant_that_fails_is_heard(arena: Arena):
    with arena.copy(TINY) as place:
        execute(place, "alter table public.pastes rename to vanished")
        with assembled(Floor(), 1, place) as team, pytest.raises(TeamError, match="floor: UndefinedTable"):
            team.go()


def test_work_of_several_processes_is_that_of_all(tournament: Tournament):
    run = tournament.run(Workload("five batches", 10_000), entries.DATABASE[2])
    assert run.problems == ()
    assert run.rows == 5000
    assert run.rate > 0
    assert run.client_cpu > 0
    assert run.cost.wal_bytes > 0
    assert run.cost.updates >= 5000

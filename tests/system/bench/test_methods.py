"""Every method does what it promises, or the check says so."""

import json

import pytest
import redis

from reaper.cache.redis.key_names import OURS
from reaper.db.connection import connect
from reaper.dev.bench import variants, webhook_cost
from reaper.dev.bench.correctness_check import CorrectnessCheck
from reaper.dev.bench.method import Method, Needs, Work
from reaper.dev.bench.methods.delete_limit_loop import DeleteLimitLoop
from reaper.dev.bench.methods.drain_procedure import DrainProcedure
from reaper.dev.bench.methods.drop_partition import DropPartition
from reaper.dev.bench.methods.giant_transaction import GiantTransaction
from reaper.dev.bench.methods.hand_written_worker import HandWrittenWorker
from reaper.dev.bench.methods.job_per_paste import JobPerPaste
from reaper.dev.bench.methods.plain_sql_client import PlainSqlClient
from reaper.dev.bench.methods.reaper_drain import ReaperDrain, other_way
from reaper.dev.bench.methods.review_queue import ReviewQueue
from reaper.dev.bench.methods.row_by_row import RowByRow
from reaper.dev.bench.runner import Runner
from reaper.dev.bench.server_addresses import Addresses
from reaper.dev.bench.servers import Servers
from reaper.dev.bench.worker_processes import WorkerProcessError, started_processes
from reaper.dev.bench.workload import Workload
from tests.support.bench_runs import TINY

WHOLE = [
    GiantTransaction(),
    DrainProcedure(),
    DeleteLimitLoop(),
    DropPartition(),
    PlainSqlClient(),
    ReviewQueue(sample=None),
    ReaperDrain(),
    ReaperDrain(outside=True, lanes=2),
    HandWrittenWorker(sample=None),
    HandWrittenWorker(outside=True, sample=None),
]
DIRECT = [
    ReaperDrain(direct=True),
    ReaperDrain(direct=True, outside=True, lanes=2),
    PlainSqlClient(direct=True),
]


def execute(addresses: Addresses, statement: str) -> None:
    with connect(addresses.dsn, "test") as connection:
        connection.execute(statement)


def run_here(servers: Servers, method: Method) -> tuple[Work, list[str]]:
    """What it did and what is wrong with that, in this process and without a clock."""
    with servers.copy(TINY, method.needs) as addresses:
        with method.ready(addresses) as go:
            work = go()
        return work, CorrectnessCheck(servers.s3).problems(method, addresses, work.rows)


@pytest.fixture(autouse=True)
def credentials_of_this_test_only(monkeypatch: pytest.MonkeyPatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "unset")


@pytest.mark.slow(but=5)
@pytest.mark.parametrize("method", WHOLE, ids=lambda method: method.name)
def test_all_due_rows_go_and_nothing_else(servers: Servers, method: Method):
    work, problems = run_here(servers, method)
    assert problems == []
    assert work.rows == TINY.due == 300


@pytest.mark.parametrize("method", DIRECT, ids=lambda method: method.name)
def test_with_direct_release_too_all_due_rows_go_and_nothing_else(servers: Servers, method: Method):
    work, problems = run_here(servers, method)
    assert problems == []
    assert work.rows == TINY.due
    assert work.problems == ()


@pytest.mark.parametrize(
    "method", [RowByRow(40), JobPerPaste(40), ReviewQueue(40)], ids=lambda method: method.name
)
def test_a_sample_is_a_part_of_the_same_work(servers: Servers, method: Method):
    work, problems = run_here(servers, method)
    assert problems == []
    assert work.rows == 40


def test_a_drain_that_ends_with_its_time_leaves_no_half_batch(servers: Servers):
    assert run_here(servers, ReaperDrain(seconds=0.0)) == (Work(0), [])


def test_reaper_tells_how_long_its_claims_took(servers: Servers):
    work, _ = run_here(servers, ReaperDrain())
    assert work.claims
    assert all(step.seconds > 0 for step in work.claims)
    assert {"claim", "drop", "finish"} <= set(dict(work.steps))


def test_with_direct_release_it_tells_how_long_claim_and_release_took(servers: Servers):
    work, _ = run_here(servers, ReaperDrain(direct=True))
    assert work.claims
    assert {"reap", "finish"} <= set(dict(work.steps))
    assert "claim" not in dict(work.steps)


@pytest.mark.parametrize(
    ("direct", "step", "complaint"),
    [
        (True, "reap", ()),
        (False, "claim", ()),
        (True, "claim", ("rows were marked, not released directly",)),
        (False, "reap", ("rows were released directly, not marked",)),
    ],
)
def test_a_drain_that_went_the_other_way_is_told(direct: bool, step: str, complaint: tuple[str, ...]):
    assert other_way(direct, {step: 1.0, "finish": 1.0}) == complaint


def test_a_review_queue_counts_nothing_but_leaves_no_unused_content(servers: Servers):
    method = ReviewQueue(sample=None)
    with servers.copy(TINY) as addresses:
        execute(addresses, "delete from public.pastes where expires_at <= now()")
        problems = CorrectnessCheck(servers.s3).problems(method, addresses, TINY.due)
    assert [problem.partition(" ")[2] for problem in problems] == ["contents without a paste are left"]


def test_bare_hashes_are_released_like_random_keys(servers: Servers):
    method, bare = ReaperDrain(), Workload("tiny and bare", 600, bare_keys=True)
    with servers.copy(bare) as addresses:
        with method.ready(addresses) as go:
            assert go().rows == bare.due
        assert CorrectnessCheck(servers.s3).problems(method, addresses, bare.due) == []


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("select", "rows are still due"),
        ("delete from public.pastes where expires_at > now()", "live pastes are gone"),
        ("update public.content set ref_count = ref_count + 1", "reference counts are wrong"),
        ("update public.pastes set deletion_status = 'DELETION_IN_PROGRESS'", "rows are still marked"),
        (
            "insert into public.content (content_hash) values ('nobody')",
            "contents without a paste are left",
        ),
        ("select * from reaper.claim_expired(10)", "1 batches are left"),
    ],
)
def test_the_check_sees_what_is_wrong(servers: Servers, damage: str, complaint: str):
    with servers.copy(TINY) as addresses:
        execute(addresses, damage)
        problems = CorrectnessCheck(servers.s3).problems(GiantTransaction(), addresses, TINY.due)
    assert any(complaint in problem for problem in problems)


def test_the_check_looks_into_bucket_and_cache(servers: Servers):
    with servers.copy(TINY, Needs.EVERYTHING) as addresses:
        with GiantTransaction().ready(addresses) as go:
            go()
        problems = CorrectnessCheck(servers.s3).problems(ReaperDrain(outside=True), addresses, TINY.due)
    assert any("objects for" in problem for problem in problems)
    assert any("cache entries of deleted pastes" in problem for problem in problems)


def test_what_reaper_keeps_in_the_cache_for_itself_is_no_entry_of_a_paste(servers: Servers):
    with servers.copy(TINY, Needs.EVERYTHING) as addresses:
        assert addresses.cache_url is not None
        with redis.Redis.from_url(addresses.cache_url) as cache:
            cache.set(f"{OURS}usage:someone", "1")
        with ReaperDrain(outside=True).ready(addresses) as go:
            go()
        assert CorrectnessCheck(servers.s3).problems(ReaperDrain(outside=True), addresses, TINY.due) == []


def test_the_error_of_a_method_that_fails_is_told(servers: Servers):
    with servers.copy(TINY) as addresses:
        execute(addresses, "alter table public.pastes rename to vanished")
        with (
            started_processes(GiantTransaction(), 1, addresses) as processes,
            pytest.raises(WorkerProcessError, match="floor: UndefinedTable"),
        ):
            processes.go()


def test_plain_clients_share_the_work(runner: Runner):
    run = runner.run(Workload("five batches", 10_000), variants.CLIENTS[2])
    assert (run.problems, run.rows) == ((), 5000)


def test_work_of_several_processes_is_that_of_all(runner: Runner):
    run = runner.run(Workload("five batches", 10_000), variants.MARK[2])
    assert run.problems == ()
    assert run.rows == 5000
    assert run.rate > 0
    assert run.client_cpu > 0
    assert run.cost.wal_bytes > 0
    assert run.cost.updates >= 5000


def test_what_events_cost_is_measured_beside_a_drain_that_tells_none(runner: Runner):
    cost = webhook_cost.measure(runner, TINY, rounds=1)
    assert cost.problems == []
    assert [part.typical.rows for part in (cost.floor, cost.no_look, cost.none, cost.everything)] == [300] * 4
    assert json.loads(cost.as_json())["ratio"] > 0

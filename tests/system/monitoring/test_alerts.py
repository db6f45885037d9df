"""Alerts of the whole stack: what a process exports while something is wrong makes them fire, and resolve."""

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from reaper.app import App
from reaper.telemetry.state_gauges import GAUGES
from reaper.worker.options import WorkerOptions
from tests.support.forked_processes import ended
from tests.support.ports import free_port
from tests.support.waiting import wait_until
from tests.support.worker_world import WorkerWorld
from tests.support.world import World

RULES = Path(__file__).parents[3] / "deploy/prometheus"
# In minutes: longer than any rule waits.
PHASE = 40
FIRING = 'count by (alertname) (ALERTS{alertstate="firing", alertname=~"%s"})'
TROUBLE = """
select reaper.register_service('prune', '1 hour', ''), reaper.register_service('scrubber', '1 hour', '');
insert into content (content_hash, ref_count) values ('h', 1), ('bad', 1);
insert into pastes (short_code, content_hash, expires_at, deletion_status)
values ('late', 'h', reaper.clock() - interval '30 hours', default);
insert into reaper.cleanup_dlq
       (queue_id, backend, object_key, attempts, cause, last_error, queued_at, buried_at)
values (1, 'default', 'k', 10, 'AccessDenied', 'AccessDenied: no', now(), now());
select reaper.record_backend_failure('default', 'no answer') from generate_series(1, 5);
insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)
values ('bad', 'default', 'bad', 10, now());
select reaper.report_copy('bad', 'default', 'bad', 'corrupt', 'another SHA-256');
select reaper_internal.add_bytes('default', 90);
select reaper.set_quota('default', 100, 'small');
select reaper.set_limit('default', 'monthly_requests', 1000, 'why');
select reaper.record_nearly_full();
select reaper.begin_run('prune', 'me'), reaper.finish_run('prune', '{}');
select reaper.finish_run('scrubber', null, 'why') from generate_series(1, 3);
"""
WELL = """
select reaper.report_copy('bad', 'default', 'bad', null);
delete from pastes; delete from content; delete from reaper.cleanup_dlq; delete from reaper.object_locations;
select reaper.record_backend_success('default');
select reaper.set_quota('default', 1000, 'large');
select reaper.record_nearly_full();
select reaper.finish_run('scrubber', '{}');
select reaper.heartbeat('me');
update reaper.state_snapshot set taken_at = '-infinity';
"""
HIRED = """
select reaper.heartbeat('me');
update reaper.services set last_started_at = reaper.clock(), waiting_since = null;
update reaper.state_snapshot set taken_at = '-infinity';
"""
IN_TIME = """
delete from pastes where short_code = 'late';
select reaper.heartbeat('me');
update reaper.state_snapshot set taken_at = '-infinity';
"""
TROUBLES = (
    *("ReaperBadCopies", "ReaperCircuitOpen", "ReaperDeadLetters", "ReaperNearlyFull"),
    "ReaperServiceFailing",
)

Scrape = dict[str, float]


def scrape(app: App) -> Scrape:
    """What Prometheus gets of this process, with a snapshot of now."""
    app.state_watch().look()
    return by_series(generate_latest(app.telemetry.registry).decode())


def by_series(text: str) -> Scrape:
    """What a process exports."""
    return {
        f"{s.name}{{{', '.join(f'{k}={json.dumps(v)}' for k, v in s.labels.items())}}}": s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
    }


def series(*phases: Scrape) -> Iterator[dict[str, str]]:
    """Each phase for its time, as promtool reads it."""
    for name in sorted(set().union(*phases)):
        parts = [f"{phase[name]}x{PHASE - 1}" if name in phase else f"_x{PHASE}" for phase in phases]
        yield {"series": name, "values": " ".join(parts)}


def firing(minute: int, alerts: Iterable[str], among: str) -> dict[str, object]:
    samples = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in sorted(alerts)]
    return {"expr": FIRING % among, "eval_time": f"{minute}m", "exp_samples": samples}


@pytest.fixture
def require_alerts(promtool: str, tmp_path: Path) -> Callable[..., None]:
    """Fails unless these alerts, and of `among` no others, fire at the end of each phase."""

    def require(*phases: tuple[Scrape, Iterable[str]], among: str = ".*") -> None:
        ends = [firing((n + 1) * PHASE - 2, alerts, among) for n, (_, alerts) in enumerate(phases)]
        test = {
            "interval": "1m",
            "input_series": list(series(*(scraped for scraped, _ in phases))),
            "promql_expr_test": ends,
        }
        rules = {"rule_files": [str(RULES / "rules.yml")], "evaluation_interval": "1m", "tests": [test]}
        path = tmp_path / "alerts.yml"
        path.write_text(json.dumps(rules))
        command = [promtool, "test", "rules", path.name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    return require


def test_the_rules_are_valid_and_pass_their_own_tests(promtool: str) -> None:
    for command in (("check", "rules", "rules.yml"), ("test", "rules", "rules_test.yml")):
        done = subprocess.run([promtool, *command], cwd=RULES, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_wrong_fires_and_what_is_well_again_resolves(
    world: World, require_alerts: Callable[..., None]
) -> None:
    with world.app() as app:
        blind = by_series(generate_latest(app.telemetry.registry).decode())
        world.sql(TROUBLE)
        wrong = scrape(app)
        names = {name.partition("{")[0] for name in wrong}
        assert {f"reaper_{gauge}" for gauge in GAUGES} - names == set(), (
            "a gauge that PostgreSQL does not give"
        )
        world.sql(HIRED)
        behind = scrape(app)
        world.sql(IN_TIME)
        attention = scrape(app)
        world.sql(WELL)
        well = scrape(app)
    require_alerts(
        (wrong, [*TROUBLES, "ReaperStalled", "ReaperWorkerGone"]),
        (behind, [*TROUBLES, "ReaperBehind"]),
        (attention, [*TROUBLES, "ReaperAttention"]),
        (well, []),
        (blind, ["ReaperSnapshotOld", "ReaperWorkerGone"]),
        (well, []),
    )


def test_a_worker_that_is_killed_is_missed_by_its_scrapes_and_by_the_database(
    workers: WorkerWorld, require_alerts: Callable[..., None]
) -> None:
    port = free_port()
    worker = workers.serving([], WorkerOptions(health_port=port))

    def exported() -> str:
        with suppress(URLError, ConnectionError), urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            return str(answer.read().decode())
        return ""

    wait_until(
        lambda: "reaper_workers_alive 1.0" in exported(), "a worker is alive", workers.said, pause=0.05
    )
    alive = by_series(exported())
    worker.kill()
    ended(worker)
    killed = by_series(exported())
    # What a command with --metrics-file says, later.
    workers.advance_clock("2 minutes")
    with workers.app() as app:
        silent = scrape(app)
        workers.sql("select reaper.heartbeat('another', p_takes_jobs => true)")
        workers.sql("update reaper.state_snapshot set taken_at = '-infinity'")
        replaced = scrape(app)
    assert (killed, silent["reaper_workers_alive{}"]) == ({}, 0)
    gone = ["ReaperWorkerGone"]
    require_alerts(
        (alive, []), (killed, gone), (alive, []), (silent, gone), (replaced, []), among="ReaperWorkerGone"
    )

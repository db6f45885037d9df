"""Alerts of the whole stack: what a process exports while something is wrong makes them fire, and resolve."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from reaper.app import App
from reaper.telemetry.state_gauges import GAUGES
from tests.support.world import World

RULES = Path(__file__).parents[3] / "deploy/prometheus"
# In minutes: longer than any rule waits.
PHASE = 40
FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'
TROUBLE = """
select reaper.register_service('prune', '1 hour', '');
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
"""
WELL = """
select reaper.report_copy('bad', 'default', 'bad', null);
delete from pastes; delete from content; delete from reaper.cleanup_dlq; delete from reaper.object_locations;
select reaper.record_backend_success('default');
select reaper.set_quota('default', 1000, 'large');
select reaper.record_nearly_full();
select reaper.heartbeat('me');
update reaper.state_snapshot set taken_at = '-infinity';
"""
HIRED = """
select reaper.heartbeat('me');
update reaper.services set last_started_at = reaper.clock(), waiting_since = null;
update reaper.state_snapshot set taken_at = '-infinity';
"""
TROUBLES = ("ReaperBadCopies", "ReaperCircuitOpen", "ReaperDeadLetters", "ReaperNearlyFull")

Scrape = dict[str, float]


def scrape(app: App) -> Scrape:
    """What Prometheus gets of this process, by series."""
    app.state_watch().look()
    text = generate_latest(app.telemetry.registry).decode()
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


def firing(minute: int, alerts: tuple[str, ...]) -> dict[str, object]:
    samples = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in alerts]
    return {"expr": FIRING, "eval_time": f"{minute}m", "exp_samples": samples}


def test_the_rules_are_valid_and_pass_their_own_tests(promtool: str) -> None:
    for command in (("check", "rules", "rules.yml"), ("test", "rules", "rules_test.yml")):
        done = subprocess.run([promtool, *command], cwd=RULES, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_wrong_fires_and_what_is_well_again_resolves(
    world: World, promtool: str, tmp_path: Path
) -> None:
    with world.app() as app:
        world.sql(TROUBLE)
        wrong = scrape(app)
        names = {name.partition("{")[0] for name in wrong}
        assert {f"reaper_{gauge}" for gauge in GAUGES} - names == set(), (
            "a gauge that PostgreSQL does not give"
        )
        world.sql(HIRED)
        behind = scrape(app)
        world.sql(WELL)
        well = scrape(app)
    expected = ((*TROUBLES, "ReaperStalled", "ReaperWorkerGone"), (*TROUBLES, "ReaperBehind"), ())
    test = {
        "rule_files": [str(RULES / "rules.yml")],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": list(series(wrong, behind, well)),
                "promql_expr_test": [
                    firing((n + 1) * PHASE - 2, alerts) for n, alerts in enumerate(expected)
                ],
            }
        ],
    }
    path = tmp_path / "alerts.yml"
    path.write_text(json.dumps(test))
    done = subprocess.run(
        [promtool, "test", "rules", path.name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr

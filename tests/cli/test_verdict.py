"""`reaper status`, its JSON, the view reaper.health and /ready agree, on each line of the truth table."""

import http.client
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from prometheus_client import CollectorRegistry

from reaper.ops import connection
from reaper.queries import Queries
from reaper.worker.health import UNKNOWN, HealthServer, ProcessHealth
from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection, record
from tests.support.verdict_cases import CASES, Case, Scene

EXIT = {"ok": 0, "paused": 0, "attention": 1, "behind": 1, "stalled": 3}


@contextmanager
def health_port(q: Queries) -> Iterator[int]:
    """The health port of a worker that takes jobs and beats."""
    health = ProcessHealth(lambda: 0.0, q.health)
    health.taking_jobs = True
    with HealthServer(0, health, CollectorRegistry()) as server:
        yield server.port or 0


def ask(port: int, method: str = "GET", path: str = "/ready") -> tuple[int, str]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        client.request(method, path)
        answer = client.getresponse()
        return answer.status, answer.read().decode()
    finally:
        client.close()


@pytest.mark.slow(but=6)
@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_status_its_json_the_view_and_ready_agree(
    bare_run: Run, db: Connection, dsn: str, case: Case
) -> None:
    case.arrange(Scene(db))
    view = record(db, "select verdict, reasons from reaper.health")
    text = bare_run("status", REAPER_DATABASE_URL=dsn)
    machine = bare_run("status", "--json", REAPER_DATABASE_URL=dsn)
    with connection.asking(dsn, "test") as q, health_port(q) as port:
        code, body = ask(port)
    assert view.verdict == case.verdict
    assert text.out.startswith(f"● {view.verdict} ")
    assert [line.strip() for line in text.out.split("\n\n")[0].splitlines()[1:]] == view.reasons
    assert (machine.json["verdict"], machine.json["reasons"]) == (view.verdict, view.reasons)
    assert body.splitlines() == [view.verdict, *view.reasons]
    assert (text.code, machine.code) == (EXIT[view.verdict], EXIT[view.verdict])
    assert code == (503 if view.verdict == "stalled" else 200)


def test_head_is_answered_like_get_without_a_body(dsn: str) -> None:
    with connection.asking(dsn, "test") as q, health_port(q) as port:
        for path, code in {"/live": 200, "/ready": 200, "/metrics": 200, "/else": 404}.items():
            assert ask(port, "HEAD", path) == (code, "")
            assert ask(port, "GET", path)[0] == code


def test_the_health_port_asks_the_database_once_for_many_probes_and_bears_its_absence(dsn: str) -> None:
    from reaper.errors import Unreachable

    answers: list[object] = []

    def asked() -> object:
        answers.append(None)
        raise Unreachable("PostgreSQL does not answer")

    health = ProcessHealth(lambda: 0.0, asked)  # type: ignore[arg-type]
    health.taking_jobs = True
    assert [health.ready() for _ in range(5)] == [(True, UNKNOWN)] * 5
    assert len(answers) == 1
    with connection.asking(dsn, "test") as q:
        fresh = ProcessHealth(lambda: 61.0, q.health)
        fresh.taking_jobs = True
        assert fresh.ready() == (False, "no heartbeat reached PostgreSQL for 60 s")


@pytest.mark.parametrize("address", ["localhost", "0.0.0.0", "::1"])
def test_the_health_port_listens_where_it_is_told(address: str) -> None:
    health = ProcessHealth(lambda: 0.0, lambda: pytest.fail("not asked"))
    with HealthServer(0, health, CollectorRegistry(), address) as server:
        client = http.client.HTTPConnection("::1" if ":" in address else "127.0.0.1", server.port, timeout=10)
        client.request("GET", "/live")
        assert client.getresponse().read() == b"ok\n"
        client.close()


def test_watch_prints_a_line_every_two_seconds_until_ctrl_c(db: Connection, dsn: str) -> None:
    Scene(db)
    command = [sys.executable, "-m", "reaper", "status", "--watch", "--database-url", dsn]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first, second = process.stdout.readline(), process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert first.endswith("ok, 0 due rows\n")
    assert second.endswith("ok, 0 due rows\n")
    assert (process.returncode, err) == (0, "")


def test_watch_and_json_exclude_each_other(bare_run: Run, dsn: str) -> None:
    assert bare_run("status", "--watch", "--json", REAPER_DATABASE_URL=dsn).code == 2

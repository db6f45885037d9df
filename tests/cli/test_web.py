"""`reaper web`: a process that says where it is, serves the page, and ends when it is told to."""

import os
import signal
import subprocess
import sys

import httpx

from tests.cli.conftest import Run


def test_it_says_where_it_is_and_ends_when_told_to(dsn: str):
    environment = {**os.environ, "REAPER_DATABASE_URL": dsn}
    command = [sys.executable, "-m", "reaper", "web", "--port", "0"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        # The socket listens already when the address is told.
        assert "Needs you" in httpx.get(url, timeout=60).text
        with httpx.stream("GET", f"{url}live", timeout=60) as live:
            assert next(live.iter_lines()).startswith("retry")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) in (0, -signal.SIGTERM)


def test_it_is_refused_where_others_could_reach_it_without_a_password(bare_run: Run, dsn: str):
    outcome = bare_run("web", "--address", "0.0.0.0", "--port", "0", "--database-url", dsn)
    assert outcome.code == 4
    assert "REAPER_WEB_PASSWORD is not set" in outcome.complaint[0]
    assert (
        bare_run("web", "--address", "no.such.host.invalid", "--port", "0", "--database-url", dsn).code == 4
    )
    assert bare_run("web", "--port", "0", "--database-url", "postgresql://127.0.0.1:1/none").code == 5

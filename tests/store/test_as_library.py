"""As a library reaper writes nothing to the terminal: what it has to say goes to the standard `logging`."""

import os
import subprocess
import sys

from tests.support.world import World

APPLICATION = """
import logging
from datetime import timedelta

logging.basicConfig(format="%(name)s|%(levelname)s|%(message)s")
import reaper

with reaper.open_store() as store:
    stored = store.put(b"hello", expires_in=timedelta(days=1))
    assert store.get(stored.short_code).data == b"hello"
    assert store.delete(stored.short_code)
"""


def run(world: World, program: str) -> subprocess.CompletedProcess[str]:
    clean = {n: v for n, v in os.environ.items() if not n.startswith(("REAPER_", "AWS_"))}
    away = {"REAPER_REDIS_URL": "redis://127.0.0.1:1"}
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**clean, **world.variables, **away},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_store_without_its_redis_prints_nothing_and_logs_under_its_name(world: World) -> None:
    done = run(world, APPLICATION)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    [line] = [line for line in done.stderr.splitlines() if line.startswith("reaper|")]
    assert line.startswith("reaper|WARNING|redis unreachable, work continues without it: worker=")
    assert "version=" in line
    assert "error=127.0.0.1:1: no connection" in line


def test_an_application_that_configures_no_logging_finds_nothing_on_its_output(world: World) -> None:
    quiet = APPLICATION.replace('logging.basicConfig(format="%(name)s|%(levelname)s|%(message)s")', "")
    done = run(world, quiet)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr

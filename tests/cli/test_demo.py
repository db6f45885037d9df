"""The README's first command."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_demo_ends_well_and_keeps_every_promise():
    clean = {
        n: v
        for n, v in os.environ.items()
        if not n.startswith(("REAPER_S3", "REAPER_REDIS", "REAPER_DATABASE"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "reaper", "demo"],
        env=clean,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for promise in (
        "killed: ",
        "adopted and finished",
        "invariants",
        "database, bucket and cache agree",
    ):
        assert promise in done.stdout

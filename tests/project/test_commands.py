"""The commands that people are told of are the ones that are run."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST_COMMAND = "python3 run.py test"


def lines(name):
    return [line.strip().removeprefix("$ ") for line in (ROOT / name).read_text().splitlines()]


def test_the_readmes_test_command_is_what_ci_runs():
    assert TEST_COMMAND in lines("README.md")
    assert TEST_COMMAND in lines(".ci/run")


def test_every_target_of_the_makefile_is_listed_by_make():
    text = (ROOT / "Makefile").read_text()
    declared = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split())
    explained = set(re.findall(r"^([a-z]+):.*## ", text, re.MULTILINE))
    assert declared == explained


def test_the_lock_names_no_package_index():
    assert "://" not in (ROOT / "requirements.lock").read_text()


@pytest.mark.parametrize("name", ["run.py", ".ci/run"])
def test_the_scripts_can_be_executed(name):
    assert (ROOT / name).stat().st_mode & 0o111


def test_ci_stops_at_the_first_failure():
    subprocess.run(["bash", "-n", ROOT / ".ci/run"], check=True)
    assert "set -euo pipefail" in lines(".ci/run")

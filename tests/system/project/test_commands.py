"""The commands that people are told of are the ones that are run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import run
from tests.support import scorecard

ROOT = Path(__file__).parents[3]
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


@pytest.mark.slow
def test_the_page_of_a_torture_is_not_taken_for_a_place_with_tests(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"{scorecard.BEGIN}\n{scorecard.END}\n")
    command = [sys.executable, "-m", "pytest", *run.ORDEALS, "--ignore=tests", "--page", str(page)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, done.stderr
    assert "MINUTES=30" in page.read_text()

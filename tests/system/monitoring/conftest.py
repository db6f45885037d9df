"""What only the tests of rules and board need."""

import shutil

import pytest


@pytest.fixture(scope="session")
def promtool() -> str:
    """The program of Prometheus that checks rules; without it the test is skipped."""
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is missing: install Debian's package prometheus")
    return found

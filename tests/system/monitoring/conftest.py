"""What only the tests of rules and board need."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.folder_store import FolderStore
from tests.support.worker_world import WorkerWorld


@pytest.fixture(scope="session")
def promtool() -> str:
    """The program of Prometheus that checks rules; without it the test is skipped."""
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is missing: install Debian's package prometheus")
    return found


@pytest.fixture
def workers(dsn: str, scratch: Path) -> Iterator[WorkerWorld]:
    """A world whose workers are processes; without a cache."""
    with WorkerWorld(dsn, "", {"default": FolderStore(scratch / "objects")}, scratch) as world:
        yield world

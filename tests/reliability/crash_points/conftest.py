"""A ward for each test: a database, two folders for objects, and an empty Valkey."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reaper.dev.embedded import Valkey
from tests.services.drain.conftest import valkey  # noqa: F401
from tests.support.crash_points.jobs import JOBS, Passage
from tests.support.crash_points.world import Ward
from tests.support.races.world import folder


@pytest.fixture
def ward(dsn: str, valkey: Valkey) -> Iterator[Ward]:  # noqa: F811
    with folder() as path, Ward(dsn, valkey.url, "http://127.0.0.1:1", "none", folder=Path(path)) as ward:
        yield ward


@pytest.fixture(scope="session")
def known_passages() -> dict[str, Passage]:
    return {}


@pytest.fixture
def passages(ward: Ward, known_passages: dict[str, Passage]) -> dict[str, Passage]:
    """Which way every job goes, found out once."""
    if not known_passages:
        known_passages.update({job: ward.rehearse(job) for job in JOBS})
    return known_passages

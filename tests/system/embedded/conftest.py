from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.embedded_program_run import Program


@pytest.fixture
def program() -> Iterator[Callable[..., Program]]:
    """Starts programs, and ends those that the test did not end."""
    started: list[Program] = []

    def start(*arguments: Any, **options: Any) -> Program:
        started.append(Program(*arguments, **options))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()

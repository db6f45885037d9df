from collections.abc import Callable

import pytest

from tests.support.paste_fixtures import Connection
from tests.support.programs.model import Model


@pytest.fixture
def model(db: Connection, connect: Callable[..., Connection]) -> Model:
    """A database for many programs."""
    model = Model(db, connect(autocommit=False))
    model.prepare()
    return model

"""The operators' page, served to clients and browsers; one browser for each module."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from psycopg.conninfo import make_conninfo

from reaper import config
from tests.support.browser import opened_browser
from tests.support.paste_fixtures import Connection
from tests.support.replaced_parts import make_app
from tests.support.served_page import ServedPage, served

Serve = Callable[..., ServedPage]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for the tests of a module; while it runs, Playwright's event loop runs in this thread."""
    with opened_browser() as running:
        yield running


@pytest.fixture(scope="session")
def screenshots(request: pytest.FixtureRequest) -> Path | None:
    """Where pictures of the page go, if they are wanted."""
    folder = request.config.getoption("screenshots")
    return Path(folder) if folder else None


@pytest.fixture
def asked() -> Counter[str]:
    """How often the page put which question to PostgreSQL."""
    return Counter()


@pytest.fixture
def serve(db: Connection, dsn: str, asked: Counter[str]) -> Iterator[Serve]:
    """Serves the page of the test's database; with `role`, with the rights of that role of ours."""
    logins: list[str] = []

    def counted(point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        asked[point] += 1
        return call(*arguments)

    with ExitStack() as opened:

        def start(role: str | None = None, **given: Any) -> ServedPage:
            address = dsn
            if role:
                login = f"page_of_{role}"
                db.execute(f"create role {login} login in role {role}")
                logins.append(login)
                address = make_conninfo(dsn, user=login)
            settings = config.load_all("database_url", database_url=address, **given)
            return opened.enter_context(served(make_app(settings, around=counted)))

        yield start
    for login in logins:
        db.execute(f"drop owned by {login}")
        db.execute(f"drop role {login}")

"""The operators' page under its real server, on a thread, and small ways to speak to it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from typing import Any

import httpx

from reaper.app import App
from reaper.web import server
from reaper.web.board import Board
from tests.support.waiting import wait_until

TOKEN = re.compile(r'name="token" value="(\w+)"')
HIDDEN = re.compile(r'<input type="hidden" name="([\w-]+)" value="([^"]*)">')


@dataclass
class ServedPage:
    """Where it is, and a browser without a screen."""

    url: str
    board: Board
    browser: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.browser = httpx.Client(base_url=self.url, timeout=60)

    def get(self, path: str, **more: Any) -> httpx.Response:
        """A page."""
        return self.browser.get(path, **more)

    def token(self, path: str = "/doctor") -> str:
        """What a form of this page sends back."""
        found = TOKEN.search(self.get(path).text)
        assert found, path
        return found[1]

    def post(self, path: str, fields: Mapping[str, str], **headers: str) -> httpx.Response:
        """A form, as a browser sends it from a page of this address."""
        return self.browser.post(path, data=dict(fields), headers={"Origin": self.url, **headers})

    def order(self, path: str, **written: str) -> httpx.Response:
        """Look at what an order would do, then give it."""
        shown = self.get(path)
        assert shown.status_code == 200, shown.text
        hidden = {name: unescape(value) for name, value in HIDDEN.findall(shown.text)}
        return self.post(path.partition("?")[0], {**hidden, **written})


@contextmanager
def served(app: App, address: str = "127.0.0.1") -> Iterator[ServedPage]:
    """The page of this App, on a port of its own."""
    with app, server.listen(address, 0) as listening:
        made, page = server.make_server(app, address)
        thread = threading.Thread(target=made.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        wait_until(lambda: made.started, "the page is served")
        shown = ServedPage(f"http://127.0.0.1:{listening.getsockname()[1]}", page.board)
        try:
            yield shown
        finally:
            shown.browser.close()
            made.should_exit = True
            thread.join(30)
            page.close()

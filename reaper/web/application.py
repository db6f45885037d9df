"""Puts the page together: settings, sessions, board, templates, routes, and the guard around all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from reaper import config
from reaper.app import App
from reaper.web.board import Board
from reaper.web.forms import Questions
from reaper.web.guard import Guard
from reaper.web.order_pages import OrderPages
from reaper.web.pages import Pages
from reaper.web.rendering import Renderer
from reaper.web.sections import ALL
from reaper.web.sessions import Password, Sessions
from reaper.web.static_files import serve


class Page:
    """The ASGI application; `close` ends its thread and its connection."""

    def __init__(
        self, app: App, hosts: Collection[str] = (), password: str | None = None, secret: bytes | None = None
    ) -> None:
        sessions, known = Sessions(secret), Password(password)
        self.board = Board(app.impatient_session("web:0"), ALL)
        questions = Questions(app)
        renderer = Renderer(ALL, sessions)
        pages = Pages(app, questions, self.board, renderer, sessions, known)
        orders = OrderPages(app, questions, self.board, renderer, sessions)
        inner = Starlette(
            routes=[
                Route("/", pages.index),
                Route("/live", pages.live),
                Route("/why", pages.why),
                Route("/plan", pages.plan),
                Route("/policy/{name}", pages.policy),
                Route("/lifecycle/{name}", pages.rule),
                Route("/audit", pages.audit),
                Route("/doctor", pages.doctor, methods=["GET", "POST"]),
                Route("/order/{name}", orders.order, methods=["GET", "POST"]),
                Route("/login", pages.login, methods=["GET", "POST"]),
                Route("/logout", pages.logout, methods=["POST"]),
                Route("/static/{name}", serve),
            ],
            exception_handlers=pages.handlers(),
            lifespan=self._lifespan,
        )
        self._inner = Guard(inner, sessions, hosts, asks_password=known.is_asked)
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI servers call it."""
        await self._inner(scope, receive, send)

    def end_streams(self) -> None:
        """End the live updates, which would otherwise keep a server from stopping."""
        self._pages.ending.set()

    def close(self) -> None:
        """Ask PostgreSQL no more."""
        self.end_streams()
        self.board.close()

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        yield
        self.close()


def app(
    settings: config.Settings | None = None,
    *,
    hosts: Collection[str] = (),
    password: str | None = None,
    secret: bytes | None = None,
) -> Page:
    """The page as an ASGI application, to mount behind a login of one's own.

    Whoever reaches it may do what the database login may do: without a password it must be mounted behind
    something that asks who it is. `hosts` are the names under which it is reached; addresses and localhost
    need not be named. Processes that share one page share a `secret` of 32 random bytes.
    """
    return Page(App(settings or config.load_all("database_url")), hosts, password, secret)

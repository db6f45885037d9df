"""What a browser sends back, and work that would keep other requests waiting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import TypeVar
from urllib.parse import parse_qsl

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request

from reaper.app import App
from reaper.db.reconnecting_session import Session
from reaper.errors import Unreachable
from reaper.queries import Queries
from reaper.web.sessions import Sessions

T = TypeVar("T")
FIELDS = 30


async def form(request: Request, sessions: Sessions) -> Mapping[str, str]:
    """The fields of a form of ours; any other is refused."""
    try:
        body = (await request.body()).decode()
        fields = dict(parse_qsl(body, keep_blank_values=True, max_num_fields=FIELDS))
    except ValueError:
        raise HTTPException(400, "this is no form of this page") from None
    if not sessions.is_token(request.scope["reaper.session"], fields.pop("token", "")):
        raise HTTPException(403, "this form is too old, or was not sent by this page: go back and reload")
    return {name: without_nul(value) for name, value in fields.items()}


def without_nul(text: str) -> str:
    """PostgreSQL has no text with this character."""
    return text.replace("\0", "")


class Threads:
    """Runs what waits for a database, so many at a time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """The result; what comes when all are busy waits."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._limit)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


class Questions:
    """Puts the questions of single pages to PostgreSQL, over a few connections that stay open."""

    def __init__(self, app: App, connections: int = 4) -> None:
        self._threads = Threads(connections)
        self._free: SimpleQueue[Session[Queries]] = SimpleQueue()
        for number in range(connections):
            self._free.put(app.impatient_session(f"web:{number + 1}", custom_plans=True))

    async def ask(self, question: Callable[[Queries], T]) -> T:
        """The answer; a connection that has broken meanwhile is replaced."""
        return await self._threads.run(lambda: self._ask(question))

    def _ask(self, question: Callable[[Queries], T]) -> T:
        session = self._free.get()
        try:
            return self._twice(session, question)
        finally:
            self._free.put(session)

    def _twice(self, session: Session[Queries], question: Callable[[Queries], T]) -> T:
        try:
            return session.call(question)
        except Unreachable:
            # It may have been closed while nothing was asked.
            return session.call(question)

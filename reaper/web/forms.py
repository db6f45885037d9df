"""What a browser sends back, and work that would keep other requests waiting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import parse_qsl

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request

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
    # PostgreSQL has no text with this character.
    return {name: value.replace("\0", "") for name, value in fields.items()}


class Threads:
    """Runs what waits for a database, so many at a time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """The result; whoever comes when all are busy waits."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._limit)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

"""A paste service on reaper, to copy from: FastAPI in front, `reaper.AsyncStore` behind.

    POST /?life=1h          the bytes of a paste; answers with its address
    GET /CODE               the bytes, until they expire
    DELETE /CODE            not readable any more
    GET /healthz            for a load balancer

    uvicorn --factory examples.pastebin.app:make_app       with REAPER_* variables
    python3 run.py example                                 with servers of its own

Who knows a code may read and delete its paste: a service of your own asks who is there. The store keeps no
count of references, no paste is read after its end, and `reaper worker` deletes what has expired.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from html import escape
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel

import reaper
from reaper import AsyncStore, BadArgument, CodeTaken, NoRoom, ReaperError, Unreachable

LOG = logging.getLogger("pastebin")
LARGEST = 10 << 20
LIVES = {
    # For tests and demonstrations.
    "2s": timedelta(seconds=2),
    "10m": timedelta(minutes=10),
    "1h": timedelta(hours=1),
    "1d": timedelta(days=1),
    "30d": timedelta(days=30),
}
Life = Annotated[str, Query(pattern=f"^({'|'.join(LIVES)})$", description=f"one of {', '.join(LIVES)}")]
# How an error of the store is told to a browser; the first that fits.
STATUS: dict[type[ReaperError], int] = {BadArgument: 422, CodeTaken: 409, NoRoom: 507, Unreachable: 503}
HEADERS = {
    # What strangers wrote is text, whatever it looks like.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
PAGE = """<!doctype html><html lang="en"><title>pastes</title><style>
body { font: 1em sans-serif; margin: 2em auto; max-width: 40em }
pre { background: #8882; overflow: auto; padding: 1em }
</style><h1>pastes</h1>
<p>Store something for an hour:</p><pre>curl --data-binary @file '%(here)s?life=1h'</pre>
<p>and read it:</p><pre>curl %(here)sCODE</pre></html>"""


class Created(BaseModel):
    """A paste that was stored."""

    code: str
    url: str
    size: int
    expires_at: datetime | None


def make_app(**settings: Any) -> FastAPI:
    """The service; `settings` are those of reaper and go before REAPER_* variables."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with reaper.open_async_store(**settings) as store:
            app.state.store = store
            yield

    app = FastAPI(title="pastes", lifespan=lifespan)
    app.add_exception_handler(ReaperError, told)
    app.get("/", response_class=HTMLResponse)(page)
    app.get("/healthz")(healthz)
    app.post("/", status_code=201)(create)
    app.get("/{code}", name="read", response_class=Response)(read)
    app.delete("/{code}", status_code=204)(delete)
    return app


async def told(_: Request, error: Exception) -> Response:
    """What went wrong, without a word about servers."""
    status = next((s for kind, s in STATUS.items() if isinstance(error, kind)), 500)
    if status not in (STATUS[BadArgument], STATUS[CodeTaken]):
        LOG.warning("%s: %s", type(error).__name__, error)
    later = {"Retry-After": "5"} if status == STATUS[Unreachable] else {}
    detail = str(error) if status in (STATUS[BadArgument], STATUS[CodeTaken]) else "try again later"
    return JSONResponse({"detail": detail}, status, later)


def opened_store(request: Request) -> AsyncStore:
    """The store of this process."""
    store: AsyncStore = request.app.state.store
    return store


Pastes = Annotated[AsyncStore, Depends(opened_store)]


async def page(request: Request) -> HTMLResponse:
    """How to use it."""
    return HTMLResponse(PAGE % {"here": escape(str(request.url_for("page")))}, headers=HEADERS)


async def healthz() -> dict[str, str]:
    """This process takes requests; whether the database answers is another question."""
    return {"status": "ok"}


async def create(request: Request, store: Pastes, life: Life = "1d") -> Created:
    """Store the body as it comes; larger ones wait on disk and not in memory."""
    stored = await store.put(no_more_than(LARGEST, request.stream()), LIVES[life])
    return Created(
        code=stored.short_code,
        url=str(request.url_for("read", code=stored.short_code)),
        size=stored.size_bytes,
        expires_at=stored.expires_at,
    )


async def read(code: str, store: Pastes) -> Response:
    """The bytes. Nobody on the way may keep them: they would outlive their end."""
    paste = await store.get(code)
    if paste is None:
        raise HTTPException(404, "there is no such paste, or it has expired")
    headers = {**HEADERS, "Cache-Control": "no-store"}
    return Response(paste.data, media_type="text/plain; charset=utf-8", headers=headers)


async def delete(code: str, store: Pastes) -> Response:
    """Unreadable at once."""
    if not await store.delete(code):
        raise HTTPException(404, "there is no such paste, or it has expired")
    return Response(status_code=204)


async def no_more_than(limit: int, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces of a stream, whatever its Content-Length says."""
    size = 0
    async for piece in pieces:
        size += len(piece)
        if size > limit:
            raise HTTPException(413, f"a paste has at most {limit:,} bytes")
        yield piece

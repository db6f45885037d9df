"""The pages that only show: the board, live; a story, a plan, the audit, the doctor; and the login."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse

from reaper.app import App
from reaper.app.examination import examine
from reaper.errors import ReaperError, Unreachable
from reaper.ops.forecast import DrainPlan
from reaper.ops.why import story
from reaper.queries import Queries
from reaper.queries.checks import Diagnosis
from reaper.queries.lifecycle import LifecycleForecast
from reaper.queries.retention import PolicyForecast
from reaper.web.board import Board
from reaper.web.forms import Questions, Threads, form, without_nul
from reaper.web.guard import cookie_header
from reaper.web.rendering import Renderer, given
from reaper.web.sessions import Password, Session, Sessions

T = TypeVar("T")
# With live updates, at a time.
TABS = 200
AUDIT_PAGE = 100
# An examination loads the release's code beside the database's: not more often than this.
EXAMINED = 10.0
_PULSE, _TICK = 15.0, 0.25


@dataclass(frozen=True)
class Examined:
    """What the doctor found, and when."""

    at: datetime
    found: list[Diagnosis]


class Pages:
    """One method for each page."""

    def __init__(
        self,
        app: App,
        questions: Questions,
        board: Board,
        renderer: Renderer,
        sessions: Sessions,
        password: Password,
    ) -> None:
        self._app = app
        self._questions = questions
        self._board = board
        self._renderer = renderer
        self._sessions = sessions
        self._password = password
        self._looking, self._examiner = Threads(TABS), Threads(1)
        self._examining = threading.Lock()
        self._examined_at = float("-inf")
        self._tabs = 0
        self.ending = threading.Event()

    async def index(self, request: Request) -> Response:
        """The board."""
        snapshot = await self._looking.run(self._board.look)
        root = request.scope.get("root_path", "")
        fragments = await self._looking.run(lambda: self._renderer.fragments(snapshot, root))
        said = self._sessions.unseal(request.query_params.get("said", ""))
        return self._renderer.page(
            request,
            "board.html",
            fragments=fragments,
            said=said,
            snapshot=snapshot,
            has_login=self._password.is_asked,
            is_still="still" in request.query_params,
        )

    async def live(self, request: Request) -> Response:
        """The fragments of the board, as they change."""
        if self._tabs >= TABS:
            return PlainTextResponse("too many tabs are open\n", 503, {"Retry-After": "30"})
        events = self._events(request.scope.get("root_path", ""), request.scope["reaper.session"])
        return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def _events(self, root: str, session: Session) -> AsyncIterator[str]:
        self._tabs += 1
        try:
            sent: dict[str, str] = {}
            number, spoke = 0, time.monotonic()
            yield "retry: 2000\n\n"
            while not self.ending.is_set() and self._sessions.lasts(session):
                snapshot = self._board.current()
                if snapshot.number != number:
                    number, spoke = snapshot.number, time.monotonic()
                    made = await self._looking.run(partial(self._renderer.fragments, snapshot, root))
                    changed = {name: text for name, text in made.items() if sent.get(name) != text}
                    sent = dict(made)
                    yield f"data: {json.dumps(changed)}\n\n"
                elif time.monotonic() - spoke > _PULSE:
                    spoke = time.monotonic()
                    yield ": still here\n\n"
                await anyio.sleep(_TICK)
        finally:
            self._tabs -= 1

    async def why(self, request: Request) -> Response:
        """The story of a paste or a content."""
        subject = given(request).get("subject", "").strip()
        if not subject:
            return self._renderer.page(request, "why.html", subject="", told=[], objects=[], problem=None)

        def ask(q: Queries) -> tuple[Any, Any]:
            return story(q, subject), q.objects_of_subject(subject)

        try:
            events, objects = await self._questions.ask(ask)
        except Unreachable:
            raise
        except ReaperError as error:
            shown: Mapping[str, Any] = {"told": [], "objects": [], "problem": error}
            return self._renderer.page(request, "why.html", 404, subject=subject, **shown)
        told = [(what, list(each)) for what, each in groupby(events, lambda event: event.subject)]
        return self._renderer.page(
            request, "why.html", subject=subject, told=told, objects=objects, problem=None
        )

    async def plan(self, request: Request) -> Response:
        """What a drain would do now."""

        def ask(q: Queries) -> DrainPlan:
            told = q.before_batch("drain")
            return DrainPlan(q.estimate_drain(), told.batch_size, told.rows_per_second)

        made = await self._questions.ask(ask)
        left = None if made.seconds is None else timedelta(seconds=math.ceil(made.seconds))
        return self._renderer.page(request, "plan.html", plan=made, forecast=made.forecast, left=left)

    async def policy(self, request: Request) -> Response:
        """What a policy would delete now."""
        name = without_nul(request.path_params["name"])
        forecast: PolicyForecast = await self._questions.ask(lambda q: q.plan_policy(name))
        return self._renderer.page(request, "policy.html", name=name, forecast=forecast)

    async def rule(self, request: Request) -> Response:
        """What a lifecycle rule would delete now."""
        name = without_nul(request.path_params["name"])
        forecast: LifecycleForecast = await self._questions.ask(lambda q: q.plan_lifecycle_rule(name))
        return self._renderer.page(request, "rule.html", name=name, forecast=forecast)

    async def audit(self, request: Request) -> Response:
        """Who changed what, page by page."""
        text = request.query_params.get("before", "")
        before = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
        entries = await self._questions.ask(lambda q: q.audit(before, AUDIT_PAGE + 1))
        older = entries[AUDIT_PAGE - 1].audit_id if len(entries) > AUDIT_PAGE else None
        shown = {"entries": entries[:AUDIT_PAGE], "older": older, "before": before}
        return self._renderer.page(request, "audit.html", **shown)

    async def doctor(self, request: Request) -> Response:
        """The last examination; a new one where that is asked for."""
        if request.method == "POST":
            await form(request, self._sessions)
            await self._examiner.run(self._examine)
            return RedirectResponse(f"{request.scope.get('root_path', '')}/doctor", 303)
        return self._renderer.page(request, "doctor.html", examined=self._board.kept("doctor"))

    def _examine(self) -> None:
        with self._examining:
            if time.monotonic() - self._examined_at < EXAMINED:
                return
            # Looking for objects would record what was found, which is no matter of looking at a page.
            found = list(examine(self._app, look_for_objects=False))
            self._board.keep("doctor", Examined(datetime.now(UTC), found))
            self._board.refresh()
            self._examined_at = time.monotonic()

    async def login(self, request: Request) -> Response:
        """Ask for the password."""
        if request.method != "POST":
            return self._renderer.page(request, "login.html", problem=None)
        peer = request.client.host if request.client else ""
        if wait := self._password.wait(peer):
            seconds = str(math.ceil(wait))
            answer = self._renderer.page(
                request, "login.html", 429, problem=f"too many tries; wait {seconds} s"
            )
            answer.headers["Retry-After"] = seconds
            return answer
        fields = await form(request, self._sessions)
        if not self._password.is_right(fields.get("password", "")):
            return self._renderer.page(request, "login.html", 403, problem="this is not the password")
        self._password.forgive(peer)
        known = self._sessions.write(self._sessions.begin(is_known=True))
        headers = {"Set-Cookie": cookie_header(request.scope, known)}
        return RedirectResponse(f"{request.scope.get('root_path', '')}/", 303, headers)

    async def logout(self, request: Request) -> Response:
        """Forget that the password was given."""
        await form(request, self._sessions)
        self._sessions.end(request.scope["reaper.session"])
        fresh = self._sessions.write(self._sessions.begin(is_known=False))
        headers = {"Set-Cookie": cookie_header(request.scope, fresh)}
        return RedirectResponse(f"{request.scope.get('root_path', '')}/login", 303, headers)

    def handlers(self) -> dict[Any, Callable[[Request, Exception], Any]]:
        """What is shown where something went wrong that we foresaw."""

        async def refused(request: Request, error: Exception) -> Response:
            assert isinstance(error, HTTPException)
            shown = {"title": str(error.status_code), "problem": error.detail, "hint": None}
            return self._renderer.page(request, "error.html", error.status_code, **shown)

        async def failed(request: Request, error: Exception) -> Response:
            assert isinstance(error, ReaperError)
            status = 503 if isinstance(error, Unreachable) else 400
            title = "The database does not answer" if status == 503 else "PostgreSQL refused"
            shown = {"title": title, "problem": error.message, "hint": error.hint}
            return self._renderer.page(request, "error.html", status, **shown)

        async def broken(request: Request, error: Exception) -> Response:
            logging.getLogger(__name__).error("page failed: path=%s", request.url.path, exc_info=error)
            shown = {
                "title": "This page failed",
                "problem": "The log of reaper web has the error.",
                "hint": None,
            }
            return self._renderer.page(request, "error.html", 500, **shown)

        return {HTTPException: refused, ReaperError: failed, Exception: broken}

"""Orders: first a page that says what would be done, to how many rows, and asks why; then the order."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from reaper.app import App
from reaper.errors import ReaperError, Unreachable
from reaper.ops.orders import ORDERS, Order
from reaper.web.board import Board
from reaper.web.forms import Questions, Threads, form
from reaper.web.rendering import Renderer, given
from reaper.web.sessions import Sessions

LONGEST_REASON = 500
AT_A_TIME = 4


class OrderPages:
    """Both pages of every order."""

    def __init__(
        self, app: App, questions: Questions, board: Board, renderer: Renderer, sessions: Sessions
    ) -> None:
        self._app = app
        self._questions = questions
        self._board = board
        self._renderer = renderer
        self._sessions = sessions
        self._threads = Threads(AT_A_TIME)

    async def order(self, request: Request) -> Response:
        """Show what it would do, or do it."""
        order = ORDERS.get(request.path_params["name"])
        if order is None:
            raise HTTPException(404, "there is no such order")
        fields = await form(request, self._sessions) if request.method == "POST" else given(request)
        snapshot = await self._threads.run(self._board.look)
        if order.function not in snapshot.rights:
            raise HTTPException(
                403, f"the database login of this page may not call reaper.{order.function}()"
            )
        if request.method == "POST":
            return await self._carry_out(request, order, fields)
        return await self._show(request, order, fields)

    async def _carry_out(self, request: Request, order: Order, fields: Mapping[str, str]) -> Response:
        reason = " ".join(fields.get("reason", "").split())
        if not reason or len(reason) > LONGEST_REASON:
            problem = f"Give a reason, of up to {LONGEST_REASON} characters: it is kept in the audit."
            return await self._show(request, order, fields, 400, problem)

        def work() -> str:
            # A connection whose commits are durable, unlike those that only look.
            with self._app.asking("web") as q:
                return order.carry_out(q, fields, reason)

        try:
            done = await self._threads.run(work)
        except Unreachable:
            raise
        except ReaperError as error:
            problem = f"{error.message}. {error.hint or ''}"
            return await self._show(request, order, fields, 409, problem)
        await self._threads.run(self._board.refresh)
        said = urlencode({"said": self._sessions.seal(f"{done[:1].upper()}{done[1:]}.")})
        return RedirectResponse(f"{request.scope.get('root_path', '')}/?{said}", 303)

    async def _show(
        self,
        request: Request,
        order: Order,
        fields: Mapping[str, str],
        status: int = 200,
        problem: str | None = None,
    ) -> Response:
        preview = await self._questions.ask(lambda q: order.preview(q, fields))
        written = {choice.name for choice in order.choices} | {"reason"}
        hidden = {**{name: value for name, value in fields.items() if name not in written}, **preview.given}
        return self._renderer.page(
            request,
            "order.html",
            status,
            order=order,
            preview=preview,
            hidden=hidden,
            fields=fields,
            subject=_subject(fields),
            problem=problem,
            longest=LONGEST_REASON,
        )


def _subject(fields: Mapping[str, str]) -> str:
    named = [fields[name] for name in ("name", "backend", "cause", "code") if fields.get(name)]
    return " · ".join(named)

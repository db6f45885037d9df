"""What every request passes first: host, origin, session, size; and the headers of every answer."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reaper.web.sessions import COOKIE, Sessions

# A form is small; one that arrives slowly is not waited for.
LARGEST = 16_384
SLOWEST = 10.0
# Without the password: the form that asks for it, and what it looks like.
OPEN = ("/login", "/static/")
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Around the application."""

    def __init__(
        self,
        app: ASGIApp,
        sessions: Sessions,
        hosts: Collection[str],
        asks_password: bool,
        slowest: float = SLOWEST,
    ) -> None:
        self._app = app
        self._sessions = sessions
        self._hosts = {host.lower().rstrip(".") for host in hosts} | {"localhost"}
        self._asks_password = asks_password
        self._slowest = slowest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or let through with a session."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._guard(scope, receive, send)

    async def _guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        session = self._sessions.read(cookie_parser(headers.get("cookie", "")).get(COOKIE))
        is_new = session is None
        session = session or self._sessions.begin(is_known=False)
        scope["reaper.session"] = session
        cookie = None
        if is_new and not self._asks_password:
            cookie = self._sessions.write(session)
        answer = self._refusal(scope, headers) or self._login(scope, session.is_known)
        if answer is None and is_new and _path(scope) == "/login":
            cookie = self._sessions.write(session)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                out = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    out[name] = value
                out.setdefault("Cache-Control", "no-store")
                if cookie and "set-cookie" not in out:
                    out.append("Set-Cookie", cookie_header(scope, cookie))
            await send(message)

        bounded = receive
        if answer is None and scope["method"] == "POST":
            answer, bounded = await self._read(receive)
        await (answer or self._app)(scope, bounded, guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("this method is not allowed\n", 405, {"Allow": "GET, HEAD, POST"})
        host = headers.get("host", "")
        if not self._is_ours(host) or len(headers.getlist("host")) != 1:
            return PlainTextResponse("this host name is not served; see REAPER_WEB_HOSTS\n", 400)
        if scope["method"] == "POST" and urlsplit(headers.get("origin", "")).netloc.lower() != host.lower():
            return PlainTextResponse("this form was not sent by a page of this address\n", 403)
        return None

    def _is_ours(self, host: str) -> bool:
        """Names that are told; addresses always: a name that leads elsewhere tomorrow is never an address."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _login(self, scope: Scope, is_known: bool) -> Response | None:
        path = _path(scope)
        if not self._asks_password or is_known or path.startswith(OPEN):
            return None
        if path == "/live":
            return PlainTextResponse("log in\n", 401)
        return RedirectResponse(f"{scope.get('root_path', '')}/login", 303)

    async def _read(self, receive: Receive) -> tuple[Response | None, Receive]:
        """All of the body, if it is small and comes soon."""
        try:
            body = await asyncio.wait_for(_body(receive), self._slowest)
        except TimeoutError:
            return PlainTextResponse("the form came too slowly\n", 408, {"Connection": "close"}), receive
        if body is None:
            return PlainTextResponse("the form is too large\n", 413, {"Connection": "close"}), receive

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        return None, again


async def _body(receive: Receive) -> bytes | None:
    read: bytes = b""
    while True:
        message = await receive()
        read += message.get("body", b"")
        if len(read) > LARGEST:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return read


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")) or "/"


def cookie_header(scope: Scope, value: str) -> str:
    """How a cookie is set: not for scripts, not for other sites, and not past TLS where there is TLS."""
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    path = scope.get("root_path", "") or "/"
    return f"{COOKIE}={value}; Path={path}; HttpOnly; SameSite=Strict{secure}"

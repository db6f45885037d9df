"""`reaper web`: the page in a process of its own, under uvicorn."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from reaper.app import App
from reaper.config import Settings
from reaper.errors import ConfigError
from reaper.web.application import Page

# Seconds for the head of a request, and for what is under way when the process is asked to end.
HEAD, GRACE = 10.0, 5
# Connections at a time; more are told to come later.
CONNECTIONS = 500


class ImpatientProtocol(H11Protocol):
    """Ends a connection on which no request came in time, as one does that sends a letter each minute.

    The same time is given to every further request, and to the rest of a form that was answered already.
    """

    _silence: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Give it some seconds."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Letters give no further time; the whole head of a request ends the waiting."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """From now on the next request is waited for."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """It ended by itself."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _watch(self) -> None:
        # The type says that there always is a request.
        cycle = getattr(self, "cycle", None)
        if cycle is not None and not cycle.response_complete:
            self._stop_waiting()
        elif self._silence is None:
            self._silence = self.loop.call_later(HEAD, self._end)

    def _stop_waiting(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _end(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


class Server(uvicorn.Server):
    """Ends the live updates first, which would keep it from stopping."""

    def __init__(self, config: uvicorn.Config, page: Page) -> None:
        super().__init__(config)
        self._page = page

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop within seconds."""
        self._page.end_streams()
        await super().shutdown(sockets)


def is_loopback(address: str) -> bool:
    """Whether only this host reaches it."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def password_of(settings: Settings, address: str) -> str | None:
    """The password that is asked for; beyond this host there must be one."""
    password = settings.web_password.get_secret_value() if settings.web_password else None
    if password is None and not is_loopback(address):
        raise ConfigError(
            f"{address} can be reached from other hosts, and REAPER_WEB_PASSWORD is not set",
            "Set it, listen on 127.0.0.1, or mount reaper.web.app() behind a login of your own.",
        )
    return password


def hosts_of(settings: Settings, address: str) -> list[str]:
    """The names by which the page may be asked."""
    named = _listed(settings.web_hosts)
    return [*named, address, socket.gethostname(), socket.getfqdn()] if not is_loopback(address) else named


def proxies_of(settings: Settings) -> list[str]:
    """Who is believed when it says for whom it asks, and whether that is over TLS; nobody unless named."""
    try:
        return [str(ipaddress.ip_network(each)) for each in _listed(settings.web_proxies)]
    except ValueError as error:
        raise ConfigError(
            f"REAPER_WEB_PROXIES: {error}",
            "Write addresses or networks of your proxies, separated by commas: 127.0.0.1, 10.1.0.0/16",
        ) from None


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def listen(address: str, port: int) -> socket.socket:
    """The socket, or what to do about it."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, protocol)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(place)
        opened.listen(128)
        return opened
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {address}, port {port}: {error.strerror}",
            "Choose another --port, or an address of this host as --address.",
        ) from None


def make_server(app: App, address: str, **given: Any) -> tuple[Server, Page]:
    """The server and its page; `given` goes to uvicorn."""
    page = Page(app, hosts_of(app.settings, address), password_of(app.settings, address))
    proxies = proxies_of(app.settings)
    options: dict[str, Any] = {
        "http": ImpatientProtocol,
        "ws": "none",
        "loop": "asyncio",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": bool(proxies),
        "forwarded_allow_ips": proxies,
        "limit_concurrency": CONNECTIONS,
        "timeout_keep_alive": 10,
        "timeout_graceful_shutdown": GRACE,
    }
    return Server(uvicorn.Config(page, **{**options, **given}), page), page

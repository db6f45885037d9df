"""Webhooks over HTTP: one POST, no redirects, no proxies, and no longer than half a minute with all of it."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from http.client import HTTPException
from socket import SHUT_RDWR, gaierror

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NameResolutionError, NewConnectionError
from urllib3.util.ssl_match_hostname import CertificateError

from reaper.errors import DeliveryHeld
from reaper.model import Answer, Endpoint, Event, Request
from reaper.notifications import cloud_event
from reaper.notifications.address_guard import NoAddress, Resolve, Target, addresses_of, resolved, target_of
from reaper.notifications.signing import signed
from reaper.version import installed_version


@dataclass(frozen=True)
class Limits:
    """How long and how much."""

    # Seconds: to connect, between two pieces of an answer, and for all of an attempt.
    connect: float = 5.0
    read: float = 15.0
    total: float = 30.0
    # How many addresses of a name are tried.
    addresses: int = 3
    # Bytes.
    request: int = 1 << 20
    answer: int = 16 << 10
    # How long a connection is used again, in seconds; then the name is resolved and judged anew.
    kept: float = 60.0


GONE = 410
TOO_MANY = 429
# The endpoint, or what stands before it, is in trouble.
_TROUBLE = frozenset({TOO_MANY, 502, 503, 504})


@dataclass(frozen=True)
class _Kept:
    connection: HTTPConnection
    made_at: float


class HttpWebhooks:
    """Sends events; threads share it, and connections are kept for the next event of the same endpoint."""

    def __init__(
        self,
        variables: Mapping[str, str | None],
        allow_private: bool = False,
        *,
        resolve: Resolve = resolved,
        limits: Limits | None = None,
        tls: ssl.SSLContext | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._variables = variables
        self._allow_private = allow_private
        self._resolve = resolve
        self._limits = limits or Limits()
        self._tls = tls
        self._now = now
        self._guard = threading.Lock()
        self._kept: dict[str, _Kept] = {}

    def request(self, endpoint: Endpoint, event: Event) -> Request:
        """What `send` would send now."""
        body = cloud_event.as_json(event)
        target = target_of(endpoint.url)
        headers = {
            "Host": target.host_header,
            "Content-Type": cloud_event.CONTENT_TYPE,
            "User-Agent": f"reaper/{installed_version()}",
            "Accept-Encoding": "identity",
            **signed(endpoint, self._variables, str(event.event_id), self._now(), body),
        }
        return Request(endpoint.url, headers, body)

    def send(self, endpoint: Endpoint, event: Event) -> Answer:
        """One attempt; a connection that had been kept and turns out to be closed does not count as one."""
        target = target_of(endpoint.url)
        request = self.request(endpoint, event)
        if len(request.body) > self._limits.request:
            return Answer(error=f"the event has {len(request.body)} bytes, over {self._limits.request}")
        until = time.monotonic() + self._limits.total
        kept = self._take(endpoint.url)
        if kept is not None:
            answer = self._post(kept, target, request, until, is_kept=True)
            if answer is not None:
                return answer
        try:
            opened = self._open(target, until)
        except DeliveryHeld:
            raise
        except (NoAddress, OSError, HTTPError, CertificateError) as error:
            return Answer(error=_words(error, target, self._limits), outage=True)
        answer = self._post(opened, target, request, until, is_kept=False)
        assert answer is not None
        return answer

    def close(self) -> None:
        """Close the connections that are kept."""
        with self._guard:
            kept, self._kept = self._kept, {}
        for each in kept.values():
            each.connection.close()

    def _take(self, url: str) -> _Kept | None:
        with self._guard:
            kept = self._kept.pop(url, None)
        if kept is not None and time.monotonic() - kept.made_at >= self._limits.kept:
            kept.connection.close()
            return None
        return kept

    def _keep(self, url: str, kept: _Kept) -> None:
        with self._guard:
            other = self._kept.pop(url, None)
            self._kept[url] = kept
        if other is not None:
            other.connection.close()

    def _open(self, target: Target, until: float) -> _Kept:
        """Connect to an address that was judged; the next one if it does not answer and there is time."""
        addresses = addresses_of(target, self._allow_private, self._resolve)[: self._limits.addresses]
        for place, address in enumerate(addresses):
            connection = self._connection(target, address)
            try:
                with _deadline(connection, until):
                    connection.connect()
            except (OSError, HTTPError, CertificateError):
                connection.close()
                if place + 1 == len(addresses) or time.monotonic() >= until:
                    raise
                continue
            return _Kept(connection, time.monotonic())
        raise NoAddress(f"{target.host} has no address")

    def _connection(self, target: Target, address: str) -> HTTPConnection:
        timeout = self._limits.connect
        if not target.secure:
            return HTTPConnection(address, target.port, timeout=timeout)
        return HTTPSConnection(
            address,
            target.port,
            timeout=timeout,
            ssl_context=self._context,
            server_hostname=target.host,
            assert_hostname=target.host,
        )

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._tls or ssl.create_default_context()

    def _post(
        self, kept: _Kept, target: Target, request: Request, until: float, is_kept: bool
    ) -> Answer | None:
        """The answer; None where a kept connection was closed by the other side before it gave one."""
        connection = kept.connection
        # urllib3 sets it anew for each answer.
        connection.timeout = self._limits.read
        try:
            with _deadline(connection, until) as deadline:
                connection.request(
                    "POST",
                    target.path,
                    body=request.body,
                    headers=request.headers,
                    preload_content=False,
                    decode_content=False,
                )
                _hide_path(connection)
                response = connection.getresponse()
                if deadline.is_over:
                    # The end of the line was taken for the end of the headers.
                    raise TimeoutError
                body = response.read(self._limits.answer + 1)
        except (OSError, HTTPError, HTTPException, ValueError) as error:
            connection.close()
            if is_kept and isinstance(error, ConnectionError | HTTPException) and not deadline.is_over:
                return None
            late = f"no answer within {self._limits.total:g} s"
            return Answer(
                error=late if deadline.is_over else _words(error, target, self._limits), outage=True
            )
        if len(body) <= self._limits.answer and connection.is_connected and not deadline.is_over:
            self._keep(request.url, kept)
        else:
            response.close()
            connection.close()
        headers = {name.lower(): value for name, value in response.headers.items()}
        return self._judged(response.status, response.reason or "", headers, body[: self._limits.answer])

    def _judged(self, status: int, reason: str, headers: dict[str, str], body: bytes) -> Answer:
        """What an HTTP status means for the event."""
        if 200 <= status < 300:
            return Answer(status, headers=headers, body=body)
        text = f"the endpoint answered {status} {_printable(reason)}".rstrip()
        if 300 <= status < 400:
            text += "; redirects are not followed"
        return Answer(
            status,
            text,
            outage=300 <= status < 400 or status in _TROUBLE,
            gone=status == GONE,
            retry_after=self._retry_after(headers.get("retry-after", "")),
            headers=headers,
            body=body,
        )

    def _retry_after(self, text: str) -> float:
        """Seconds, or a date; anything else is no wish."""
        if text.strip().isdecimal():
            return float(min(int(text.strip()[:9]), 1 << 30))
        # A date may lie where none can be reckoned with.
        with suppress(ValueError, TypeError, OverflowError):
            return max(0.0, (parsedate_to_datetime(text).astimezone(UTC) - self._now()).total_seconds())
        return 0.0


@dataclass
class _Deadline:
    is_over: bool = False


@contextmanager
def _deadline(connection: HTTPConnection, until: float) -> Iterator[_Deadline]:
    """Cut the connection when the time is over, however it spends it: a byte now and then is no answer."""
    deadline = _Deadline()

    def end() -> None:
        deadline.is_over = True
        sock = connection.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(SHUT_RDWR)

    timer = threading.Timer(max(0.0, until - time.monotonic()), end)
    timer.daemon = True
    timer.start()
    try:
        yield deadline
    finally:
        timer.cancel()


def _hide_path(connection: HTTPConnection) -> None:
    """The path may be a secret, and urllib3 logs it beside headers that it cannot read."""
    options = connection._response_options  # noqa: SLF001
    if options is not None:
        connection._response_options = options._replace(request_url="/")  # noqa: SLF001


def _words(error: Exception, target: Target, limits: Limits) -> str:
    """What went wrong, without the address's path and without what libraries say of their objects."""
    if isinstance(error, NoAddress):
        return str(error)
    if isinstance(error, NameResolutionError | gaierror):
        return f"{target.host} has no address"
    # A kind of ConnectTimeoutError in urllib3.
    if isinstance(error, NewConnectionError):
        cause = error.__cause__
        return f"no connection to {target.origin}: {getattr(cause, 'strerror', None) or 'refused'}"
    if isinstance(error, ConnectTimeoutError):
        return f"{target.origin} did not answer within {limits.connect:g} s"
    if isinstance(error, TimeoutError):
        return f"{target.origin} did not answer within {limits.read:g} s"
    if isinstance(error, CertificateError):
        return f"{target.origin}: TLS failed: {error}"
    if isinstance(error, ssl.SSLError):
        return f"{target.origin}: TLS failed: {getattr(error, 'verify_message', '') or error.reason}"
    return f"no answer from {target.origin}: {getattr(error, 'strerror', None) or type(error).__name__}"


def _printable(text: str) -> str:
    return "".join(character for character in text[:100] if character.isprintable())

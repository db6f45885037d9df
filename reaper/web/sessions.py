"""Who sits at a browser: a signed cookie, and a token that only pages of ours know."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

COOKIE = "reaper_session"
LIFETIME = 12 * 3600


@dataclass(frozen=True)
class Session:
    """A browser; whether it has given the password."""

    number: str
    began: int
    is_known: bool


class Sessions:
    """Makes and reads cookies, which nobody else can make.

    Kept are only those that a person has logged out of, which takes the password: nothing can be flooded.
    """

    ENDED = 10_000

    def __init__(self, secret: bytes | None = None, now: Callable[[], float] = time.time) -> None:
        self._secret = secret or secrets.token_bytes(32)
        self._now = now
        self._ended: OrderedDict[str, None] = OrderedDict()

    def begin(self, is_known: bool) -> Session:
        """A new one; with each login, so that a planted cookie is worth nothing."""
        return Session(secrets.token_urlsafe(18), int(self._now()), is_known)

    def write(self, session: Session) -> str:
        """As a cookie has it."""
        text = f"{session.number}.{session.began}.{int(session.is_known)}"
        return f"{text}.{self._sign('session', text)}"

    def read(self, cookie: str | None) -> Session | None:
        """None where it is not ours, or too old."""
        text, _, signature = (cookie or "").rpartition(".")
        if not text or not _same(signature, self._sign("session", text)):
            return None
        number, began, known = text.split(".")
        session = Session(number, int(began), known == "1")
        return session if self.lasts(session) else None

    def lasts(self, session: Session) -> bool:
        """Whether it has not ended: twelve hours, or a person has logged out."""
        return self._now() - session.began <= LIFETIME and session.number not in self._ended

    def end(self, session: Session) -> None:
        """Its cookie is worth nothing any more, whoever has a copy."""
        if session.is_known:
            self._ended[session.number] = None
        while len(self._ended) > self.ENDED:
            self._ended.popitem(last=False)

    def token(self, session: Session) -> str:
        """What a form of ours sends back; another site cannot read it."""
        return self._sign("form", session.number)

    def is_token(self, session: Session, token: str) -> bool:
        """Whether a form of ours was sent."""
        return _same(token, self.token(session))

    def seal(self, text: str) -> str:
        """A text that comes back through the browser unchanged."""
        return f"{self._sign('text', text)}{text}"

    def unseal(self, sealed: str) -> str | None:
        """The text, if it is the one that was sealed here."""
        signature, text = sealed[:64], sealed[64:]
        return text if _same(signature, self._sign("text", text)) else None

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._secret, f"{purpose}\0{text}".encode(), hashlib.sha256).hexdigest()


class Password:
    """Compares in constant time, and seldom: who guesses has a few tries, then one every ten seconds."""

    TRIES, EVERY, PEERS = 5, 10.0, 1000

    def __init__(self, password: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._digest = None if password is None else _digest(password)
        self._clock = clock
        # Of each address: the tries that are left, and when that was so.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    @property
    def is_asked(self) -> bool:
        """Whether there is one."""
        return self._digest is not None

    def wait(self, peer: str) -> float:
        """Seconds until this address may try again; 0 = now. A try is counted."""
        now, peer = self._clock(), _house(peer)
        left, since = self._left.pop(peer, (float(self.TRIES), now))
        left = min(self.TRIES, left + (now - since) / self.EVERY)
        allowed = left >= 1
        self._left[peer] = (left - 1 if allowed else left, now)
        while len(self._left) > self.PEERS:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) * self.EVERY

    def is_right(self, given: str) -> bool:
        """Whether it is the one."""
        return self._digest is not None and hmac.compare_digest(_digest(given), self._digest)

    def forgive(self, peer: str) -> None:
        """After the right one, the wrong ones before do not count."""
        self._left.pop(_house(peer), None)


def _house(peer: str) -> str:
    """Whose address it is: with IPv6, one house has as many as it likes, and all count as one."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if not isinstance(address, ipaddress.IPv6Address):
        return peer
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


def _digest(text: str) -> bytes:
    """Of one length, so that comparing does not tell how long the password is."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _same(a: str, b: str) -> bool:
    return hmac.compare_digest(a.encode("utf-8", "surrogatepass"), b.encode())

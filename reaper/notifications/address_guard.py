"""Which addresses events may be sent to: a webhook must not be a way into the network that reaper runs in.

A name is resolved once; all its addresses are judged, and the connection goes to one that was judged.
Addresses inside others (IPv4-mapped, IPv4-compatible, NAT64, 6to4) are unwrapped first.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import urlsplit

from reaper.errors import DeliveryHeld

Address = IPv4Address | IPv6Address
# The addresses of a host; raises OSError where there are none.
Resolve = Callable[[str, int], list[str]]

LONGEST_URL = 2000
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
# Unicast addresses of the internet; what lies outside is ours, nobody's, or wraps an IPv4 address.
_PUBLIC_V6 = IPv6Network("2000::/3")
_PREFIX_OF_NAT64 = IPv6Network("64:ff9b::/96")
_IPV4_COMPATIBLE = IPv6Network("::/96")
# What REAPER_ALLOW_PRIVATE_WEBHOOKS opens; link-local stays closed, because there clouds serve their keys.
_PRIVATE_V4 = [
    IPv4Network(n) for n in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "100.64.0.0/10")
]
_PRIVATE_V6 = [IPv6Network(n) for n in ("fc00::/7", "::1/128")]
# Where clouds serve keys and secrets outside of link-local addresses.
_METADATA = {
    ipaddress.ip_address(a) for a in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16")
}
_OPEN = "To reach endpoints in your own network set REAPER_ALLOW_PRIVATE_WEBHOOKS=true where events are sent."


@dataclass(frozen=True)
class Target:
    """Where to connect, and what to say there."""

    secure: bool
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        """As a person reads it in a log line: without the path, which may be a secret."""
        scheme = "https" if self.secure else "http"
        return f"{scheme}://{self.host_header}"

    @property
    def host_header(self) -> str:
        """The value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


def target_of(url: str) -> Target:
    """The parts of a webhook's address; what is no plain http or https address is refused, and not quoted."""
    problem = _problem_of(url)
    if problem:
        raise DeliveryHeld(f"the URL of the webhook {problem}", "Remove it and add it with another address.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), 0
    host = (parts.hostname or "").rstrip(".")
    if not _HOST.fullmatch(host) or port == 0:
        raise DeliveryHeld(
            "the URL of the webhook names no host, or no port", "Remove it and add it with another address."
        )
    secure = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(secure, host, port or (443 if secure else 80), path)


def _problem_of(url: str) -> str | None:
    if len(url) > LONGEST_URL:
        return f"is longer than {LONGEST_URL} characters"
    if not all("!" <= character <= "~" for character in url):
        return "contains spaces, control characters or letters outside of ASCII"
    if not url.startswith(("https://", "http://")):
        return "does not begin with https:// or http://"
    if "@" in url.split("/", 3)[2].partition("?")[0].partition("#")[0]:
        return "contains a user name or password"
    if "\\" in url or "#" in url:
        return "contains # or a backslash"
    return None


def addresses_of(target: Target, allow_private: bool, resolve: Resolve) -> list[str]:
    """The addresses to connect to; refused if one of them is not allowed, or the name has none."""
    try:
        found = resolve(target.host, target.port)
    except (OSError, UnicodeError) as error:
        raise NoAddress(f"{target.host} has no address: {_words(error)}") from None
    for text in found:
        address = ipaddress.ip_address(text)
        kind = refused(address, allow_private)
        if kind:
            raise DeliveryHeld(f"{target.host} has the address {text}, which is {kind}", _hint(address))
        if not target.secure and is_public(address):
            raise DeliveryHeld(
                f"{target.host} is on the internet, where events are sent by https:// only",
                "Remove the webhook and add it with an https:// address.",
            )
    return found


class NoAddress(Exception):
    """A name cannot be resolved now: a failed attempt, since it may be the endpoint that is gone."""


def resolved(host: str, port: int) -> list[str]:
    """What the system's resolver says, each address once."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: Address) -> bool:
    """Whether the address, and every address inside it, is one of the internet."""
    return all(_is_public(each) for each in _unwrapped(address))


def refused(address: Address, allow_private: bool) -> str | None:
    """What is wrong with an address; None where it may be connected to."""
    for each in _unwrapped(address):
        if each in _METADATA:
            return "a metadata service"
        if not _is_public(each) and not (allow_private and _is_private(each)):
            return _kind_of(each)
    return None


def _unwrapped(address: Address) -> Iterator[Address]:
    """The addresses that decide: the IPv4 one that an IPv6 one stands for, or both."""
    if isinstance(address, IPv4Address):
        yield address
    elif address.ipv4_mapped:
        yield address.ipv4_mapped
    elif address in _PREFIX_OF_NAT64 or (address in _IPV4_COMPATIBLE and int(address) > 0xFFFF):
        yield IPv4Address(int(address) & 0xFFFFFFFF)
    else:
        yield address
        if address.sixtofour:
            yield address.sixtofour


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and address not in _PUBLIC_V6:
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _is_private(address: Address) -> bool:
    return any(address in net for net in _PRIVATE_V4) or any(address in net for net in _PRIVATE_V6)


def _kind_of(address: Address) -> str:
    kinds = {
        "loopback": address.is_loopback,
        "link-local": address.is_link_local,
        "multicast": address.is_multicast,
        "unspecified": address.is_unspecified,
        "private": _is_private(address),
    }
    return next((kind for kind, is_so in kinds.items() if is_so), "reserved")


def _hint(address: Address) -> str:
    return _OPEN if all(_is_private(each) for each in _unwrapped(address)) else "No setting allows it."


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__

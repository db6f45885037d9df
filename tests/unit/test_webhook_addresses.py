"""Which addresses events may go to: nothing in our own network, however it is written."""

import ipaddress
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest

from reaper.errors import DeliveryHeld
from reaper.model import Endpoint, Event
from reaper.notifications.address_guard import addresses_of, is_public, refused, resolved, target_of
from reaper.notifications.sender import HttpWebhooks
from tests.support.webhook_endpoint import Said, WebhookEndpoint, always

EVENT = Event(UUID(int=1), UUID(int=2), "webhook.test", None, {}, datetime.now(UTC))

PUBLIC = [
    "93.184.215.14",
    "8.8.8.8",
    "2606:2800:21f::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]
PRIVATE = {
    "10.1.2.3": "private",
    "172.16.0.1": "private",
    "192.168.1.1": "private",
    "100.64.0.1": "private",
    "127.0.0.1": "loopback",
    "127.8.9.10": "loopback",
    "::1": "loopback",
    "fd12:3456::1": "private",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:10.0.0.1": "private",
    "::127.0.0.1": "loopback",
    "64:ff9b::7f00:1": "loopback",
    "64:ff9b::a00:1": "private",
    "2002:7f00:1::1": "loopback",
    "2002:a00:1::1": "private",
}
NEVER = {
    "169.254.169.254": "link-local",
    "fe80::1": "link-local",
    "::ffff:169.254.169.254": "link-local",
    "64:ff9b::a9fe:a9fe": "link-local",
    "2002:a9fe:a9fe::1": "link-local",
    "fd00:ec2::254": "a metadata service",
    "100.100.100.200": "a metadata service",
    "168.63.129.16": "a metadata service",
    "0.0.0.0": "unspecified",
    "::": "unspecified",
    "224.0.0.1": "multicast",
    "ff02::1": "multicast",
    "255.255.255.255": "reserved",
    "240.0.0.1": "reserved",
    "192.0.2.1": "reserved",
    "198.18.0.1": "reserved",
    "2001:db8::1": "reserved",
    "2001:0:7f00:1::1": "reserved",
    "fec0::1": "reserved",
    "64:ff9b:1::1": "reserved",
    "4000::1": "reserved",
}


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_internet_are_allowed(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))
    assert refused(ipaddress.ip_address(address), allow_private=False) is None


@pytest.mark.parametrize("address", PRIVATE)
def test_our_own_network_is_opened_by_a_setting_only(address: str) -> None:
    assert refused(ipaddress.ip_address(address), allow_private=False) == PRIVATE[address]
    allowed = refused(ipaddress.ip_address(address), allow_private=True)
    # A tunnel's own address is none of ours, whatever it leads to.
    assert allowed is None


@pytest.mark.parametrize("address", NEVER)
def test_what_no_setting_opens(address: str) -> None:
    for allow_private in (False, True):
        assert refused(ipaddress.ip_address(address), allow_private) == NEVER[address]


@pytest.mark.parametrize("private", ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "::ffff:192.168.0.1"])
def test_a_name_with_one_bad_address_among_good_ones_is_refused(private: str) -> None:
    target = target_of("https://hooks.example.com/")
    with pytest.raises(DeliveryHeld, match=r"hooks.example.com has the address") as refusal:
        addresses_of(target, False, lambda _host, _port: ["93.184.215.14", private])
    assert private in refusal.value.message
    assert "REAPER_ALLOW_PRIVATE_WEBHOOKS" in (refusal.value.hint or "") or private == "169.254.169.254"


def test_plain_http_leaves_only_for_our_own_network() -> None:
    target = target_of("http://hooks.example.com/")
    with pytest.raises(DeliveryHeld, match="by https:// only"):
        addresses_of(target, True, lambda _host, _port: ["93.184.215.14"])
    assert addresses_of(target, True, lambda _host, _port: ["10.0.0.1"]) == ["10.0.0.1"]


# Digits as a resolver of the C library reads them.
@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "localhost", "[::1]", "127.0.0.1."]
)
def test_odd_spellings_of_loopback_are_refused(host: str) -> None:
    target = target_of(f"https://{host}/hooks")
    with pytest.raises(DeliveryHeld, match=r"which is (loopback|unspecified)"):
        addresses_of(target, False, resolved)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("ftp://example.com/", "does not begin with"),
        ("file:///etc/passwd", "does not begin with"),
        ("gopher://example.com/", "does not begin with"),
        ("HTTPS://example.com/", "does not begin with"),
        ("//example.com/", "does not begin with"),
        ("https://user:topsecret@example.com/", "user name or password"),
        ("https://topsecret@example.com", "user name or password"),
        ("https://example.com\\@topsecret.org/", "user name or password"),
        ("https://example.com\\topsecret/", "backslash"),
        ("https://example.com/#topsecret", "backslash"),
        ("https://example.com/\r\nX-Injected: topsecret", "control characters"),
        ("https://example.com/a b", "spaces"),
        ("https://exämple.com/", "outside of ASCII"),
        ("https://１２７.0.0.1/", "outside of ASCII"),  # noqa: RUF001
        ("https://example.com:0/", "no port"),
        ("https://example.com:99999/", "no port"),
        ("https://example.com:port/", "no port"),
        ("https:///path", "no host"),
        ("https://[::1/", "no host"),
        ("https://[fe80::1%25eth0]/", "no host"),
        ("https://a..b%00.example.com/", "no host"),
        ("https://example.com/" + "a" * 2000, "longer than"),
    ],
)
def test_an_address_that_is_no_plain_one_is_refused_and_not_quoted(url: str, problem: str) -> None:
    with pytest.raises(DeliveryHeld, match=problem) as refusal:
        target_of(url)
    assert "topsecret" not in f"{refusal.value.message} {refusal.value.hint}"


@pytest.fixture
def inside() -> Iterator[WebhookEndpoint]:
    """Something in our own network that must not be reached."""
    with WebhookEndpoint() as running:
        yield running


def test_a_name_that_changes_between_look_and_connect_is_connected_to_where_it_was_judged(
    inside: WebhookEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    connected: list[str] = []
    ask = socket.getaddrinfo

    def rebinding(host: str, port: int, *rest: object, **more: object) -> object:
        asked.append(host)
        if host != "rebind.example.com":
            return ask(host, port, *rest, **more)  # type: ignore[arg-type]
        first = asked.count(host) == 1
        address = "93.184.215.14" if first else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def connect(_: socket.socket, address: tuple[str, int]) -> None:
        connected.append(address[0])
        raise TimeoutError

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr(socket.socket, "connect", connect)
    sender = HttpWebhooks({})
    endpoint = Endpoint(f"https://rebind.example.com:{inside.port}/")
    answer = sender.send(endpoint, EVENT)
    assert answer.outage
    assert connected == ["93.184.215.14"]
    with pytest.raises(DeliveryHeld, match=r"has the address 127\.0\.0\.1, which is loopback"):
        sender.send(endpoint, EVENT)
    assert (asked.count("rebind.example.com"), connected, inside.heard) == (2, ["93.184.215.14"], [])


def test_a_redirect_into_our_own_network_is_not_followed(inside: WebhookEndpoint) -> None:
    with WebhookEndpoint(always(Said(302, {"location": inside.url()}))) as outside:
        sender = HttpWebhooks({}, allow_private=True)
        assert "redirects are not followed" in (sender.send(Endpoint(outside.url()), EVENT).error or "")
        sender.close()
    assert inside.heard == []

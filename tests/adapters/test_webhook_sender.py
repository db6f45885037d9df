"""Events over HTTP: signed, sent once, and never to an address that was not judged."""

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from reaper.errors import DeliveryHeld
from reaper.model import Endpoint, Event
from reaper.notifications.sender import HttpWebhooks, Limits
from reaper.notifications.signing import signed
from tests.support.ports import closed_port
from tests.support.webhook_endpoint import NEW_SECRET, SECRET, Heard, Said, WebhookEndpoint, always, in_turn

EVENT = Event(
    source=UUID(int=1),
    event_id=UUID(int=2),
    type="circuit.opened",
    subject="east",
    data={"backend": "east", "error": "it said “no”", "retry_at": None},
    occurred_at=datetime(2026, 3, 1, 2, 0, 5, 123456, tzinfo=UTC),
)
VARIABLES = {"OLD": SECRET, "NEW": NEW_SECRET}
QUICK = Limits(connect=2, read=0.3, total=0.6)


@pytest.fixture
def endpoint() -> Iterator[WebhookEndpoint]:
    with WebhookEndpoint() as running:
        yield running


@pytest.fixture
def sender() -> Iterator[HttpWebhooks]:
    sender = HttpWebhooks(VARIABLES, allow_private=True, limits=QUICK)
    yield sender
    sender.close()


def test_an_event_is_a_cloud_event_that_the_reference_library_proves(
    endpoint: WebhookEndpoint, sender: HttpWebhooks
) -> None:
    where = Endpoint(endpoint.url(path="/hooks?team=a"), "OLD")
    assert [sender.send(where, EVENT).error for _ in range(2)] == [None, None]
    first, second = endpoint.heard
    assert first.path == "/hooks?team=a"
    assert first.headers["host"] == f"127.0.0.1:{endpoint.port}"
    assert first.headers["content-type"] == "application/cloudevents+json"
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == str(EVENT.event_id)
    assert first.body == second.body
    assert first.verified() == {
        "specversion": "1.0",
        "id": str(EVENT.event_id),
        "source": f"urn:uuid:{EVENT.source}",
        "type": "io.reaper.circuit.opened",
        "subject": "east",
        "time": "2026-03-01T02:00:05.123456Z",
        "datacontenttype": "application/json",
        "data": EVENT.data,
    }
    assert endpoint.connections == 1


def test_while_two_secrets_live_either_proves_an_event(
    endpoint: WebhookEndpoint, sender: HttpWebhooks
) -> None:
    sender.send(Endpoint(endpoint.url(), "NEW", "OLD"), EVENT)
    [heard] = endpoint.heard
    assert heard.verified(SECRET) == heard.verified(NEW_SECRET)
    assert len(heard.headers["webhook-signature"].split()) == 2
    sender.send(Endpoint(endpoint.url()), EVENT)
    assert "webhook-signature" not in endpoint.heard[-1].headers


def test_a_signature_is_of_the_very_bytes_that_are_sent(
    endpoint: WebhookEndpoint, sender: HttpWebhooks
) -> None:
    sender.send(Endpoint(endpoint.url(), "OLD"), EVENT)
    [heard] = endpoint.heard
    for body in (heard.body + b" ", heard.body.replace(b"east", b"west")):
        with pytest.raises(Exception, match="No matching signature"):
            Heard(heard.path, heard.headers, body).verified()
    with pytest.raises(Exception, match="No matching signature"):
        heard.verified(NEW_SECRET)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MISSING", None, "MISSING is not set here"),
        ("EMPTY", "", "EMPTY is not set here"),
        ("ODD", "whsec_ä", "ODD holds no base64"),
        ("SHORT", "whsec_c2hvcnQ=", "not 24 to 64 bytes long"),
        ("AWS_SECRET_ACCESS_KEY", SECRET, "may not be used"),
        ("reaper_database_url", SECRET, "may not be used"),
    ],
)
def test_without_a_secret_nothing_is_sent_and_no_value_is_told(
    endpoint: WebhookEndpoint, name: str, value: str | None, said: str
) -> None:
    sender = HttpWebhooks({name: value}, allow_private=True)
    with pytest.raises(DeliveryHeld, match=said) as refusal:
        sender.send(Endpoint(endpoint.url(), name), EVENT)
    assert not value or value not in f"{refusal.value.message} {refusal.value.hint}"
    assert endpoint.heard == []


@pytest.mark.parametrize(
    ("said", "error", "outage", "gone"),
    [
        (Said(200), None, False, False),
        (Said(202, body=b"thank you"), None, False, False),
        (Said(400), "the endpoint answered 400 Bad Request", False, False),
        (Said(410), "the endpoint answered 410 Gone", False, True),
        (Said(500), "the endpoint answered 500 Internal Server Error", False, False),
        (Said(503), "the endpoint answered 503 Service Unavailable", True, False),
        (
            Said(307, {"location": "/elsewhere"}),
            "307 Temporary Redirect; redirects are not followed",
            True,
            False,
        ),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Said) else "",
)
def test_what_an_answer_means(
    endpoint: WebhookEndpoint, sender: HttpWebhooks, said: Said, error: str | None, outage: bool, gone: bool
) -> None:
    endpoint.script = always(said)
    answer = sender.send(Endpoint(endpoint.url()), EVENT)
    assert (answer.status, answer.outage, answer.gone) == (said.status, outage, gone)
    assert answer.error is None if error is None else error in (answer.error or "")
    assert answer.body == said.body
    assert [heard.path for heard in endpoint.heard] == ["/hooks/reaper"]


def test_an_endpoint_says_when_it_wants_to_be_asked_again(
    endpoint: WebhookEndpoint, sender: HttpWebhooks
) -> None:
    later = format_datetime(datetime.fromtimestamp(time.time() + 3600, UTC), usegmt=True)
    never = (
        "Fri, 31 Dec 9999 23:59:59 -1200",
        "Thu, 01 Jan 99999999999 00:00:00 GMT",
        f"1 Jan 2026 00:00 +{10**20}",
    )
    wishes = ("120", later, "soon", "-5", *never)
    endpoint.script = in_turn(*(Said(429, {"retry-after": text}) for text in wishes))
    pauses = [sender.send(Endpoint(endpoint.url()), EVENT).retry_after for _ in wishes]
    assert pauses[0] == 120
    assert 3500 < pauses[1] <= 3600
    assert set(pauses[2:]) == {0}


def test_trouble_on_the_line_is_told_without_the_path(
    endpoint: WebhookEndpoint, sender: HttpWebhooks
) -> None:
    def said(url: str) -> str:
        answer = sender.send(Endpoint(url), EVENT)
        assert answer.outage
        assert answer.status is None
        assert "token" not in (answer.error or "")
        return answer.error or ""

    path = "/token?token=token"
    with closed_port() as port:
        assert said(f"http://127.0.0.1:{port}{path}") == (
            f"no connection to http://127.0.0.1:{port}: Connection refused"
        )
    assert said(f"http://no-such-host.invalid{path}").startswith("no-such-host.invalid has no address")
    endpoint.script = always(None)
    assert "no answer from" in said(endpoint.url(path=path))
    endpoint.script = always(Said(after=60))
    assert "did not answer within 0.3 s" in said(endpoint.url(path=path))
    endpoint.script = always(Said(200, drip=0.1, endless_header=True))
    began = time.monotonic()
    assert said(endpoint.url(path=path)) == "no answer within 0.6 s"
    assert time.monotonic() - began < 5
    # What it says decides, not how long it goes on about it.
    endpoint.script = always(Said(200, body=b"x" * 100, drip=0.1))
    assert sender.send(Endpoint(endpoint.url()), EVENT).error is None
    assert time.monotonic() - began < 10


def test_the_http_library_logs_no_path(
    endpoint: WebhookEndpoint, sender: HttpWebhooks, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.script = always(Said(200, {"x-odd": "a header\r\nwithout a colon"}))
    sender.send(Endpoint(endpoint.url(path="/xyzzy")), EVENT)
    assert "Failed to parse headers" in caplog.text
    assert "xyzzy" not in caplog.text


def test_an_attempt_has_its_time_once_however_many_addresses_a_name_has() -> None:
    addresses = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    with socket.create_server(("", 0)) as silent:
        sender = HttpWebhooks(
            {}, True, resolve=lambda _host, _port: addresses, limits=Limits(connect=0.4, total=0.5)
        )
        began = time.monotonic()
        url = f"https://hooks.example.com:{silent.getsockname()[1]}/"
        assert sender.send(Endpoint(url), EVENT).outage
        assert time.monotonic() - began < 1


def test_an_endless_answer_is_cut_off(endpoint: WebhookEndpoint, sender: HttpWebhooks) -> None:
    endpoint.script = always(Said(200, body=b"x" * (1 << 20)))
    answers = [sender.send(Endpoint(endpoint.url()), EVENT) for _ in range(2)]
    assert [len(answer.body) for answer in answers] == [16 << 10] * 2
    assert endpoint.connections == 2


def test_a_kept_connection_that_the_other_side_closed_costs_no_attempt(
    endpoint: WebhookEndpoint, sender: HttpWebhooks
) -> None:
    endpoint.script = in_turn(Said(), None, Said())
    assert [sender.send(Endpoint(endpoint.url()), EVENT).error for _ in range(2)] == [None, None]
    assert endpoint.connections == 2


def test_no_proxy_is_asked(
    endpoint: WebhookEndpoint, sender: HttpWebhooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closed_port() as port:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        monkeypatch.delenv("no_proxy", raising=False)
        assert sender.send(Endpoint(endpoint.url()), EVENT).error is None


def test_a_slow_endpoint_delays_no_other_thread(endpoint: WebhookEndpoint) -> None:
    sender = HttpWebhooks(VARIABLES, allow_private=True)
    with WebhookEndpoint(always(Said(after=60))) as slow:
        waiting = threading.Thread(target=sender.send, args=(Endpoint(slow.url()), EVENT), daemon=True)
        waiting.start()
        assert all(sender.send(Endpoint(endpoint.url()), EVENT).error is None for _ in range(100))
        assert waiting.is_alive()
        slow.closing.set()
        waiting.join()
    sender.close()


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for hooks.example.com, and its key."""
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=hooks.example.com", "-addext", "subjectAltName=DNS:hooks.example.com",
         "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


def test_the_certificate_is_that_of_the_name_though_the_address_is_connected_to(
    certificate: tuple[Path, Path],
) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(*certificate)
    trusting = ssl.create_default_context(cafile=str(certificate[0]))
    with WebhookEndpoint(tls=serving) as endpoint:

        def send(host: str, tls: ssl.SSLContext | None) -> str | None:
            sender = HttpWebhooks({}, allow_private=True, resolve=lambda _host, _port: ["127.0.0.1"], tls=tls)
            try:
                return sender.send(Endpoint(endpoint.url(host)), EVENT).error
            finally:
                sender.close()

        assert send("hooks.example.com", trusting) is None
        assert endpoint.heard[0].headers["host"] == f"hooks.example.com:{endpoint.port}"
        assert "TLS failed" in (send("hooks.example.com", None) or "")
        assert "other.example.com" in (send("other.example.com", trusting) or "")
        assert len(endpoint.heard) == 1


def test_a_signature_over_other_bytes_than_are_sent_is_found_out(
    endpoint: WebhookEndpoint, sender: HttpWebhooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reaper.notifications import sender as module

    def over_others(*arguments: Any) -> dict[str, str]:
        return signed(*arguments[:-1], arguments[-1] + b"\n")

    monkeypatch.setattr(module, "signed", over_others)
    sender.send(Endpoint(endpoint.url(), "OLD"), EVENT)
    with pytest.raises(Exception, match="No matching signature"):
        endpoint.heard[0].verified()

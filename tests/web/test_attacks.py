"""What a hostile page, client or text may try: refused, nothing changed, and others are served meanwhile."""

import re
import socket
import time
from html import unescape

import httpx
import pytest

from reaper.config import load_all
from reaper.errors import ConfigError
from reaper.ops.orders import ORDERS
from reaper.web import server
from reaper.web.sessions import Password, Sessions
from tests.conftest import Sized
from tests.support.page_scenes import make_sick, register_services
from tests.support.paste_fixtures import Connection, value
from tests.web.conftest import Serve

SCRIPT = "<script>alert('x')</script><img src=x onerror=alert(1)>\"'"
# What others than operators may write into what the page shows.
TOLD = (
    *(("services", "last_error"), ("workers", "throttled"), ("circuits", "last_error")),
    *(("copy_wants", "last_error"), ("reconciliations", "brake_reason"), ("webhooks", "last_error")),
    *(("backend_owners", "detail"), ("blocked", "message"), ("cleanup_dlq", "last_error")),
)
DEAD = """
insert into reaper.cleanup_dlq (
    queue_id, backend, object_key, attempts, cause, last_error, queued_at, buried_at)
values (1, %s, %s, 1, %s, %s, reaper.clock(), reaper.clock())
"""


WHOLE = b"GET /static/mark.svg HTTP/1.1\r\nHost: localhost\r\n\r\n"
# Its form is still to come when it is answered.
REFUSED = b"POST /doctor HTTP/1.1\r\nHost: elsewhere\r\nContent-Length: 999999\r\n\r\n"


def has_ended(connection: socket.socket) -> bool:
    """Sends a letter more; whether the server has ended the connection."""
    try:
        connection.sendall(b"x")
        connection.settimeout(0.2)
        ended = connection.recv(1000)[:20] in (b"", b"HTTP/1.1 400 Bad Req")
    except TimeoutError:
        return False
    except OSError:
        ended = True
    if ended:
        connection.close()
    return ended


def run_fields(token: str) -> dict[str, str]:
    return {"token": token, "name": "prune", "span": "1 h", "reason": "x"}


def test_forms_of_other_origins_hosts_and_sessions_are_refused(db: Connection, serve: Serve):
    register_services(db)
    page = serve("reaper_ops")
    token = page.token()
    assert page.post("/order/pause", run_fields("0" * 64)).status_code == 403
    assert page.post("/order/pause", {**run_fields(token), "token": ""}).status_code == 403
    assert page.post("/order/pause", run_fields("\N{SNOWMAN}")).status_code == 403
    assert (
        page.post("/order/pause", run_fields(token), Cookie="reaper_session=made.up.1.0").status_code == 403
    )
    for origin in ("https://evil.example", "null", "", f"{page.url}.evil.example", "http://localhost:1"):
        assert page.post("/order/pause", run_fields(token), Origin=origin).status_code == 403, origin
    without = page.browser.post("/order/pause", data=run_fields(token))
    assert without.status_code == 403
    with httpx.Client(base_url=page.url) as other:
        # The token of one browser is worth nothing in another.
        other.get("/")
        answer = other.post("/order/pause", data=run_fields(token), headers={"Origin": page.url})
        assert answer.status_code == 403
        for host in ("evil.example", "127.0.0.1.evil.example", "", "[::1", "a@b:c", "localhost.evil.example"):
            assert other.get("/", headers={"Host": host}).status_code == 400, host
        for host in ("localhost:1234", "127.0.0.1", "[::1]:8086"):
            assert other.get("/", headers={"Host": host}).status_code == 200, host
        for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
            assert other.request(method, "/").status_code == 405
        assert other.get("/order/pause", params=run_fields(token)).status_code == 200
    assert value(db, "select count(*) from reaper.audit") == 0
    token = page.token()
    assert page.post("/order/pause", {"token": token, "reason": "y" * 20_000}).status_code == 413
    assert page.post("/order/pause", {**run_fields(token), "name": "no\0such"}).status_code == 400
    for path in ("/order/pause?name=no%00such", "/policy/no%00such", "/lifecycle/%00"):
        assert page.get(path).status_code == 400, path
    for name in ORDERS:
        # An order about nothing; for some, that is about everything.
        answer = page.post(
            f"/order/{name}", {"token": token, "reason": "x", "span": "1 h", "state": "active"}
        )
        assert answer.status_code in (303, 400), name
    audited = value(db, "select count(*) from reaper.audit")
    assert page.post("/order/pause", run_fields(token)).status_code == 303
    assert value(db, "select count(*) from reaper.audit") == audited + 1


def test_every_answer_carries_the_headers_and_no_path_leads_out(serve: Serve):
    page = serve()
    paths = ("/", "/doctor", "/static/page.css", "/static/page.js", "/nowhere", "/order/nothing", "/login")
    for path in paths:
        headers = page.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "server" not in headers
    fresh = httpx.get(page.url)
    assert re.search(r"HttpOnly; SameSite=Strict", fresh.headers["set-cookie"])
    assert fresh.headers["cache-control"] == "no-store"
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=|javascript:", fresh.text)
    for path in (
        "/static/../application.py",
        "/static/%2e%2e%2fapplication.py",
        "/static/..%5csessions.py",
        "/static//etc/passwd",
    ):
        answer = page.get(path)
        assert answer.status_code == 404
        assert "import" not in answer.text


def test_hostile_texts_are_shown_as_texts(db: Connection, serve: Serve):
    make_sick(db)
    for table, column in TOLD:
        db.execute(f"update reaper.{table} set {column} = %s where {column} is not null", [SCRIPT])
    db.execute(
        "insert into content (content_hash, object_key, ref_count, size_bytes) values (%s, %s, 1, 10)",
        [SCRIPT] * 2,
    )
    db.execute(
        "insert into pastes (short_code, content_hash, expires_at) values (%s, %s, reaper.clock())",
        [SCRIPT] * 2,
    )
    db.execute(
        "insert into reaper.blocked values (%s, 'P0001', %s, 1, reaper.clock(), reaper.clock() + '1 h')",
        [SCRIPT] * 2,
    )
    db.execute(
        DEAD,
        [SCRIPT] * 4,
    )
    db.execute("select reaper.pause('prune', '1 h', %s)", [SCRIPT])
    page = serve()
    hostile = {"subject": SCRIPT}
    for path, parameters in (
        *(
            ("/", {}),
            ("/", {"said": SCRIPT}),
            ("/why", hostile),
            ("/audit", {}),
            ("/audit", {"before": SCRIPT}),
        ),
        *(("/order/unblock", {"code": SCRIPT}), ("/order/retry", {"backend": SCRIPT, "cause": SCRIPT})),
        *(
            ("/order/run", {"name": SCRIPT}),
            (f"/policy/{SCRIPT}", {}),
            ("/order/pause", {"name": "prune", SCRIPT: SCRIPT}),
        ),
    ):
        text = page.get(path, params=parameters).text
        assert "<script>alert" not in text, path
        assert "<img" not in text, path
    board = page.get("/").text
    assert unescape(board).count("alert('x')") > 20
    assert page.order("/order/pause?name=prune", reason=SCRIPT, span=SCRIPT).status_code == 409
    with page.browser.stream("GET", "/live") as live:
        line = next(line for line in live.iter_lines() if line.startswith("data:"))
        assert "<script>alert" not in line
    assert (
        page.order("/order/unblock?" + httpx.QueryParams(code=SCRIPT).__str__(), reason=SCRIPT).status_code
        == 303
    )


def test_wrong_passwords_are_few_and_the_right_one_opens_the_page(db: Connection, serve: Serve, sized: Sized):
    register_services(db)
    page = serve("reaper_ops", web_password="correct horse")
    for path in ("/", "/audit", "/order/run?name=drain", "/doctor"):
        assert page.get(path).headers["location"] == "/login"
    assert page.get("/live").status_code == 401
    assert page.get("/static/page.css").status_code == 200
    assert page.post("/order/run", {"name": "drain", "reason": "x"}).headers["location"] == "/login"
    token = page.token("/login")
    assert page.post("/login", {"password": "correct horse"}).status_code == 403
    answers = [
        page.post("/login", {"token": token, "password": f"guess {n}"}).status_code
        for n in range(sized(10_000, 200))
    ]
    assert set(answers) == {403, 429}
    assert answers.count(403) <= Password.TRIES + 60
    assert page.post("/login", {"token": token, "password": "correct horse"}).status_code == 429
    assert value(db, "select count(*) from reaper.audit") == 0

    # A proxy is believed only where it is named; who asks through it has tries of its own, and TLS is TLS.
    for named, expected in (("", 429), ("127.0.0.1, 10.1.0.0/16", 403)):
        believed = serve(web_password="correct horse", web_proxies=named)
        token = believed.token("/login")
        for peer in ("203.0.113.9", "203.0.113.10"):
            said = {"X-Forwarded-For": f"192.0.2.1, {peer}, 10.1.2.3", "X-Forwarded-Proto": "https"}
            for _ in range(Password.TRIES):
                answer = believed.post("/login", {"token": token, "password": "guess"}, **said)
        assert answer.status_code == expected
        fresh = httpx.get(f"{believed.url}/login", headers=said)
        assert ("; Secure" in fresh.headers["set-cookie"]) is bool(named)

    clock = [0.0]
    password = Password("correct horse", lambda: clock[0])
    waits = [password.wait("a") for _ in range(10_000)]
    assert sum(wait == 0 for wait in waits) == Password.TRIES
    assert password.wait("b") == 0
    assert password.wait("::ffff:192.0.2.1") == password.wait("::ffff:192.0.2.2") == 0
    neighbours = [password.wait(f"2001:db8:1:2::{n:x}") == 0 for n in range(1, 100)]
    assert sum(neighbours) == Password.TRIES
    clock[0] += Password.EVERY
    assert [password.wait("a") == 0, password.wait("a") == 0] == [True, False]
    assert [password.is_right(text) for text in ("", "correct", "correct horse", "\udcff")] == [
        False,
        False,
        True,
        False,
    ]

    fresh = serve(web_password="correct horse")
    token = fresh.token("/login")
    known = fresh.post("/login", {"token": token, "password": "correct horse"})
    assert known.headers["location"] == "/"
    assert fresh.get("/").status_code == 200
    cookie = {"Cookie": f"reaper_session={fresh.browser.cookies['reaper_session']}"}
    assert httpx.get(fresh.url, headers=cookie).status_code == 200
    assert fresh.post("/logout", {"token": fresh.token()}).headers["location"] == "/login"
    assert fresh.get("/").headers["location"] == "/login"
    # Nor does a copy of the cookie open it any more.
    assert httpx.get(fresh.url, headers=cookie).headers["location"] == "/login"


def test_a_session_is_ours_alone_and_ends():
    now = [1e9]
    sessions = Sessions(now=lambda: now[0])
    known = sessions.write(sessions.begin(is_known=True))
    assert sessions.read(known).is_known
    for forged in (
        known[:-1] + "0",
        known.replace(".1.", ".0.", 1),
        "",
        "a.b.c",
        known + "x",
        "....",
        Sessions().write(sessions.begin(True)),
    ):
        assert forged == known or sessions.read(forged) is None
    now[0] += 13 * 3600
    assert sessions.read(known) is None


def test_an_address_that_others_reach_needs_a_password():
    settings = load_all(database_url="postgresql:///x")
    for address in ("0.0.0.0", "::", "192.0.2.1", "pages.example"):
        with pytest.raises(ConfigError, match="REAPER_WEB_PASSWORD"):
            server.password_of(settings, address)
    for address in ("127.0.0.1", "::1", "localhost", "127.9.9.9"):
        assert server.password_of(settings, address) is None
    told = load_all(database_url="postgresql:///x", web_password="p", web_hosts="a.example, b.example")
    assert server.password_of(told, "0.0.0.0") == "p"
    assert server.hosts_of(told, "0.0.0.0")[:2] == ["a.example", "b.example"]
    for wrong in ("*", "proxy.example", "10.1.0.1/16"):
        with pytest.raises(ConfigError, match="REAPER_WEB_PROXIES"):
            server.proxies_of(load_all(database_url="postgresql:///x", web_proxies=wrong))


@pytest.mark.slow
@pytest.mark.parametrize("first", [b"", WHOLE, REFUSED], ids=["at once", "after a page", "after a refusal"])
def test_slow_clients_keep_nobody_waiting(serve: Serve, monkeypatch: pytest.MonkeyPatch, first: bytes):
    """A letter now and then gives no further time, neither before the first answer nor after it."""
    monkeypatch.setattr(server, "HEAD", 2.0)
    page = serve()
    host, port = page.url.removeprefix("http://").split(":")
    slow = [socket.create_connection((host, int(port))) for _ in range(20)]
    for n, connection in enumerate(slow):
        connection.settimeout(30)
        if first:
            connection.sendall(first)
            assert connection.recv(1000)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: " if n % 2 else b"POST /doctor HTTP/1.1\r\n")
    began = time.monotonic()
    assert page.get("/").status_code == 200
    assert time.monotonic() - began < server.HEAD
    while slow:
        assert time.monotonic() - began < 15
        slow = [connection for connection in slow if not has_ended(connection)]

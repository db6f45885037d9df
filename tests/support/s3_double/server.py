"""An S3 server that keeps objects in memory and misbehaves as it is told, for any number of processes.

Told nothing, it is a plain S3 store without versions and signatures; the contract suite runs on it too, so
that it stays honest. It remembers every request in `heard`, and there are two ways to tell it something.

A script answers instead of the store: it returns a Reply, None to leave the answer to the store, or LOST,
upon which the store does what was asked and the connection breaks.

    server.script = in_turn(all_deleted, lambda asked: error(503, "SlowDown"))  # for requests to delete
    server.scripts["put_object"] = server.hang                                  # for any other operation

Random faults are for long runs, with probabilities and a seed (tests/support/s3_double/random_faults.py).

    server.random_faults = RandomFaults(FaultRates(busy=0.3, key_errors=0.05, lost=0.01), seed=7)

It runs in threads of the process that made it. Workers in other processes use `endpoint_url`; a judge in
this one looks at `buckets` without asking over the line, or asks in a `calm()`. `in_flight` and `peak` count
requests as the server sees them. Leaving it frees all who wait.
"""

import contextlib
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self
from xml.etree import ElementTree

from tests.support.s3_double.memory import (
    LOST,
    Buckets,
    Reply,
    Request,
    all_deleted,
    deleted,
    error,
    refused,
    result,
)
from tests.support.s3_double.random_faults import Answer, FaultRates, RandomFaults

__all__ = [
    "LOST",
    "FaultRates",
    "RandomFaults",
    "Reply",
    "Request",
    "ScriptedS3",
    "all_deleted",
    "deleted",
    "error",
    "in_turn",
    "refused",
    "result",
]

FOREVER = 60
Script = Callable[[Request], Reply | None]


def in_turn(*scripts: Script) -> Script:
    """The first request meets the first script, and so on; the last one stays."""
    left = list(scripts)
    return lambda asked: (left.pop(0) if len(left) > 1 else left[0])(asked)


class Used(NamedTuple):
    """What a bucket was used for: requests that came whole, and the bytes of bodies that came and went."""

    requests: int = 0
    ingress: int = 0
    egress: int = 0


class ScriptedS3:
    """The running server; script, scripts and random_faults may be changed at any time."""

    def __init__(self, *buckets: str) -> None:
        self.buckets = Buckets(*buckets)
        self.script: Script = lambda _: None
        self.scripts: dict[str, Script] = {}
        self.random_faults: RandomFaults | None = None
        self.heard: list[Request] = []
        self.released = threading.Event()
        self.in_flight = self.peak = 0
        self.used: dict[str, Used] = {}
        self._counting = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.port: int = self._server.server_port
        self.endpoint_url = f"http://127.0.0.1:{self.port}"

    def hang(self, _asked: Request) -> Reply:
        """No answer before the test is over."""
        self.released.wait(FOREVER)
        return Reply(None)

    @property
    def asked(self) -> list[Request]:
        """The requests to delete."""
        return [asked for asked in self.heard if asked.deletes]

    @property
    def sizes(self) -> list[int]:
        """How many keys each request to delete named."""
        return [len(asked.keys) for asked in self.asked]

    @contextlib.contextmanager
    def calm(self) -> Iterator[None]:
        """No faults for a while, for a judge who asks over the line."""
        faults, self.random_faults = self.random_faults, None
        try:
            yield
        finally:
            self.random_faults = faults

    def answer(self, asked: Request, body: bytes) -> Answer:
        """What a request gets: of a script first, then of chance, then of plain S3."""
        self.heard.append(asked)
        script = self.script if asked.deletes else self.scripts.get(asked.operation)
        reply = script(asked) if script else None
        if reply is not None:
            if reply.done:
                self.buckets.answer(asked, body)
            return Answer(reply)
        if self.random_faults is not None:
            return self.random_faults.over(asked, lambda wanted: self.buckets.answer(wanted, body))
        return Answer(self.buckets.answer(asked, body))

    def count(self, bucket: str, requests: int = 0, ingress: int = 0, egress: int = 0) -> None:
        """Something was received or sent."""
        with self._counting:
            used = self.used.get(bucket, Used())
            self.used[bucket] = Used(used.requests + requests, used.ingress + ingress, used.egress + egress)

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """One more request under way."""
        with self._counting:
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
        try:
            yield
        finally:
            with self._counting:
                self.in_flight -= 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    # Whole workers knock at once.
    request_queue_size = 256

    def __init__(self, scripted: ScriptedS3) -> None:
        self.scripted = scripted
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that are killed or lose patience are the point of it all; anything else is a mistake."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    # Head and body in one packet, or each answer waits for the client's delayed acknowledgement.
    wbufsize = -1

    def serve(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        with self.server.scripted.counted():
            body = self.rfile.read(length)
            if len(body) < length:
                self.hang_up()
            else:
                self.bucket = self.path.partition("?")[0].split("/")[1]
                self.server.scripted.count(self.bucket, requests=1, ingress=length)
                self.act(self.understand(body))

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve  # noqa: N815

    def handle_expect_100(self) -> bool:
        """The client waits a second for this before it sends its body."""
        agreed = super().handle_expect_100()
        self.wfile.flush()
        return agreed

    def understand(self, body: bytes) -> Answer:
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            asked = Request.read(self.command, self.path, headers, body)
        except ElementTree.ParseError:
            return Answer(error(400, "MalformedXML"))
        return self.server.scripted.answer(asked, body)

    def act(self, answer: Answer) -> None:
        if answer.when_alone is not None:
            self.wait_until_alone()
            self.server.scripted.released.wait(answer.late_by)
            answer.when_alone()
        if answer.reply is None or answer.reply.status is None:
            self.hang_up()
        else:
            self.send(answer.reply.status, answer.reply, answer.breaks_off)

    def send(self, status: int, reply: Reply, breaks_off: bool) -> None:
        if breaks_off and not reply.sent:
            self.hang_up()
            return
        self.send_response(status)
        for name, value in {"Content-Length": str(len(reply.sent)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            sent = reply.sent[: len(reply.sent) // 2] if breaks_off else reply.sent
            self.server.scripted.count(self.bucket, egress=len(sent))
            self.wfile.write(sent)
        if breaks_off:
            self.wfile.flush()
            self.hang_up()

    def hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def wait_until_alone(self) -> None:
        """Nothing comes from a client that waits for its answer, but the end when it gives up."""
        while not self.server.scripted.released.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0.05)
            if readable:
                return

    def log_message(self, *_: object) -> None:
        pass

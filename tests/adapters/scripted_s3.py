"""An S3 server that answers requests to delete as a test tells it to, and remembers what it was asked."""

import dataclasses
import re
import socket
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import unquote, urlsplit
from xml.sax.saxutils import escape, unescape

FOREVER = 60


@dataclasses.dataclass(frozen=True)
class Asked:
    """A request to delete; how many keys it names, and how it was sent."""

    method: str
    keys: tuple[str, ...]
    headers: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Reply:
    """What goes back; no status means that the connection is reset."""

    status: int | None
    body: str = ""


Script = Callable[[Asked], Reply]


def deleted(*keys: str) -> str:
    return "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)


def refused(key: str, code: str, message: str = "so it is") -> str:
    return f"<Error><Key>{escape(key)}</Key><Code>{code}</Code><Message>{message}</Message></Error>"


def result(*parts: str) -> Reply:
    return Reply(200, f"<DeleteResult>{''.join(parts)}</DeleteResult>")


def error(status: int, code: str, message: str = "so it is") -> Reply:
    return Reply(status, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>")


def all_deleted(asked: Asked) -> Reply:
    return Reply(204) if asked.method == "DELETE" else result(deleted(*asked.keys))


def in_turn(*scripts: Script) -> Script:
    """The first request meets the first script, and so on; the last one stays."""
    left = list(scripts)
    return lambda asked: (left.pop(0) if len(left) > 1 else left[0])(asked)


class ScriptedS3:
    """The running server; `script` may be changed at any time."""

    def __init__(self) -> None:
        self.script: Script = all_deleted
        self.versioning = Reply(200, "<VersioningConfiguration/>")
        self.asked: list[Asked] = []
        self.released = threading.Event()
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body in one packet, or each answer waits for the client's delayed acknowledgement.
            wbufsize = -1

            def do_GET(self) -> None:
                self.answer(scripted.versioning)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.ask([unescape(key) for key in re.findall("<Key>(.*?)</Key>", body)])

            def do_DELETE(self) -> None:
                self.ask([unquote(urlsplit(self.path).path).split("/", 2)[2]])

            def ask(self, keys: Sequence[str]) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, tuple(keys), headers)
                scripted.asked.append(asked)
                self.answer(scripted.script(asked))

            def answer(self, reply: Reply) -> None:
                if reply.status is None:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(reply.status)
                self.send_header("Content-Length", str(len(reply.body.encode())))
                self.end_headers()
                self.wfile.write(reply.body.encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.endpoint_url = f"http://127.0.0.1:{self._server.server_port}"

    def hang(self, _asked: Asked) -> Reply:
        """No answer before the test is over."""
        self.released.wait(FOREVER)
        return Reply(None)

    @property
    def sizes(self) -> list[int]:
        """How many keys each request named."""
        return [len(asked.keys) for asked in self.asked]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

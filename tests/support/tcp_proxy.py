"""A proxy before PostgreSQL or Redis that spoils one question, or the answer to it, and is well otherwise.

    with Proxy(unix(path), postgres_questions) as proxy:
        proxy.fault = Fault("lost answer", nth=7)     # the seventh question from now on, of all connections
        ...
        proxy.heal()

Questions are told apart by the protocol: PostgreSQL's ends with a Query or a Sync message, and its answer
with ReadyForQuery, when all is done and committed. Redis' comes in one piece.
"""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tests.support.tcp_wire import READY, Dial

# Closed with this, a connection is reset instead of ended.
AT_ONCE = struct.pack("ii", 1, 0)
# How often a server that is gone is asked for before it is back.
REFUSALS = 3
DELAY = 0.02

Questions = Callable[[], Callable[[bytes], list[bytes]]]


def postgres_questions() -> Callable[[bytes], list[bytes]]:
    """Cuts what a client of PostgreSQL sends into questions; the first one has no type."""
    rest, begun, asked = b"", False, b""

    def cut(heard: bytes) -> list[bytes]:
        nonlocal rest, begun, asked
        rest += heard
        questions = []
        while len(rest) >= 5:
            head = 1 if begun else 0
            length = head + int.from_bytes(rest[head : head + 4], "big")
            if len(rest) < length:
                break
            message, rest = rest[:length], rest[length:]
            asked += message
            if not begun or message[:1] in b"QSX":
                questions.append(asked)
                asked = b""
            begun = True
        return questions

    return cut


def redis_questions() -> Callable[[bytes], list[bytes]]:
    """What a client of Redis sends at once is one question."""
    return lambda heard: [heard]


@dataclass(frozen=True)
class Fault:
    """What happens to the nth question.

    lost question    the connection ends before the server hears it
    half a question  the server hears the first half
    lost answer      the server does what was asked, and nobody hears of it
    half an answer   the client hears the first half
    reset            the connection is reset while the server is at work
    stalled answer   the answer comes when all is well again
    late answer      the answer takes its time
    gone             the connection ends, and the next few are refused
    black hole       nothing is heard of any question any more, nor of any new connection
    """

    kind: str
    nth: int


KINDS = (
    *("lost question", "half a question", "lost answer", "half an answer"),
    *("reset", "stalled answer", "late answer", "gone"),
)


@dataclass
class Connection:
    """Two sockets, and what is to become of the answer that is under way."""

    near: socket.socket
    far: socket.socket
    fate: str = ""
    ended: threading.Event = field(default_factory=threading.Event)

    def end(self, at_once: bool = False) -> None:
        """Close both sides."""
        self.ended.set()
        for end in (self.near, self.far):
            with contextlib.suppress(OSError):
                if at_once:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                else:
                    # Closing alone does not wake a thread that reads from it.
                    end.shutdown(socket.SHUT_RDWR)
                end.close()


class Proxy:
    """Listens on a port of its own; `asked` counts questions, `met` says whether the fault has happened."""

    def __init__(self, dial: Dial, questions: Questions) -> None:
        self._dial = dial
        self._questions = questions
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._guard = threading.Lock()
        self._well = threading.Event()
        self._well.set()
        self._refusals = 0
        self._swallows = False
        self._connections: list[Connection] = []
        self._fault: Fault | None = None
        self.asked = 0
        self.met = False
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def fault(self) -> Fault | None:
        """What is to happen."""
        return self._fault

    @fault.setter
    def fault(self, fault: Fault | None) -> None:
        with self._guard:
            self._fault, self.asked, self.met = fault, 0, False

    def heal(self) -> None:
        """From now on all is well; connections that were spoilt are ended, and what was held back is sent."""
        with self._guard:
            self._fault, self._refusals, self._swallows = None, 0, False
            swallowed = [c for c in self._connections if c.fate == "black hole"]
        self._well.set()
        for connection in swallowed:
            connection.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.heal()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()
        for connection in self._connections:
            connection.end()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._serve(near)

    def _serve(self, near: socket.socket) -> None:
        with self._guard:
            refused = self._refusals > 0
            self._refusals -= refused
        if refused:
            near.close()
            return
        try:
            connection = Connection(near, self._dial())
        except OSError:
            near.close()
            return
        connection.fate = "black hole" if self._swallows else ""
        with self._guard:
            self._connections.append(connection)
        for pump in (self._ask, self._answer):
            threading.Thread(target=pump, args=(connection,), daemon=True).start()

    def _ask(self, connection: Connection) -> None:
        cut = self._questions()
        with contextlib.suppress(OSError):
            while heard := connection.near.recv(1 << 16):
                for question in cut(heard):
                    self._pass_on(connection, question)
        connection.end()

    def _pass_on(self, connection: Connection, question: bytes) -> None:
        kind = self._fate() or connection.fate
        match kind:
            case "lost question":
                connection.end()
            case "half a question":
                connection.far.sendall(question[: len(question) // 2])
                connection.end()
            case "black hole":
                connection.fate = kind
            case "gone":
                connection.end()
            case _:
                connection.fate = kind
                connection.far.sendall(question)
                if kind == "reset":
                    connection.end(at_once=True)

    def _fate(self) -> str:
        """What becomes of the question that has just been heard."""
        with self._guard:
            self.asked += 1
            if self._fault is None or self.asked != self._fault.nth:
                return ""
            self.met = True
            kind = self._fault.kind
            if kind == "stalled answer":
                self._well.clear()
            self._refusals = REFUSALS if kind == "gone" else 0
            self._swallows = kind == "black hole"
            return kind

    def _answer(self, connection: Connection) -> None:
        with contextlib.suppress(OSError):
            for said in _heard(connection.far):
                if not self._hear(connection, said):
                    break
        connection.end()

    def _hear(self, connection: Connection, said: bytes) -> bool:
        """Pass an answer on; whether to go on."""
        match connection.fate:
            case "lost answer":
                # For Redis one piece is the answer; PostgreSQL says when it has done all.
                return self._questions is postgres_questions and not said.endswith(READY)
            case "half an answer":
                connection.near.sendall(said[: len(said) // 2])
                return False
            case "black hole":
                return True
            case "stalled answer":
                self._well.wait()
            case "late answer":
                time.sleep(DELAY)
        connection.fate = ""
        connection.near.sendall(said)
        return True


def _heard(end: socket.socket) -> Iterator[bytes]:
    while said := end.recv(1 << 16):
        yield said

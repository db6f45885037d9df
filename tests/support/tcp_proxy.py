"""A proxy before a server that spoils single questions, or the answers to them, and is well otherwise.

    with Proxy(unix(path), postgres_questions) as proxy:
        proxy.fault = Fault("lost answer", nth=7)     # the seventh question from now on, of all connections
        proxy.add(Fault("lost question", word="commit_put", times=2))   # and two with this word in them
        ...
        proxy.heal()
        proxy.cut()                                   # nobody is there, until it is mended

Questions are told apart by the protocol: PostgreSQL's ends with a Query or a Sync message, and its answer
with ReadyForQuery, when all is done and committed. Those of Redis and S3 come in one piece.
"""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

# ReadyForQuery: PostgreSQL has done all that it was asked, and committed.
READY = b"Z\x00\x00\x00\x05I"
# Closed with this, a connection is reset instead of ended.
AT_ONCE = struct.pack("ii", 1, 0)
# How often a server that is gone is asked for before it is back.
REFUSALS = 3
DELAY = 0.02

Dial = Callable[[], socket.socket]
Questions = Callable[[], Callable[[bytes], list[bytes]]]


def unix(path: str) -> Dial:
    """A connection to the socket of that path."""

    def dial() -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        return connection

    return dial


def tcp(port: int) -> Dial:
    """A connection to that port of this machine."""
    return lambda: socket.create_connection(("127.0.0.1", port))


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


def pieces() -> Callable[[bytes], list[bytes]]:
    """What a client sends at once is one question."""
    return lambda heard: [heard]


@dataclass(frozen=True)
class Fault:
    """What happens to the nth question, of those with a word in them if one is named, and to some after it.

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
    nth: int = 1
    word: str = ""
    times: int = 1

    def strikes(self, number: int) -> bool:
        """Whether it is the turn of this question, of those that it is about."""
        return self.nth <= number < self.nth + self.times


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
        for side in (self.near, self.far):
            with contextlib.suppress(OSError):
                if at_once:
                    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                else:
                    # Closing alone does not wake a thread that reads from it.
                    side.shutdown(socket.SHUT_RDWR)
            side.close()


class Proxy:
    """Listens on a port of its own; `asked` counts questions, `met` those that a fault has happened to."""

    def __init__(self, dial: Dial, questions: Questions = pieces) -> None:
        self._dial = dial
        self._questions = questions
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._guard = threading.Lock()
        self._well = threading.Event()
        self._well.set()
        self._is_cut = False
        self._refusals = 0
        self._swallows = False
        self._connections: list[Connection] = []
        # Each with the number of questions so far that it is about.
        self._faults: dict[Fault, int] = {}
        self.asked = 0
        self.met = 0
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def fault(self) -> Fault | None:
        """What is to happen."""
        return next(iter(self._faults), None)

    @fault.setter
    def fault(self, fault: Fault | None) -> None:
        """This and nothing else, and counting begins anew."""
        with self._guard:
            self._faults, self.asked, self.met = ({fault: 0} if fault else {}), 0, 0

    def add(self, fault: Fault) -> None:
        """This too; where two meet, the one that was added first happens, and the other has not seen it."""
        with self._guard:
            self._faults[fault] = 0

    def cut(self) -> None:
        """From now on nobody answers."""
        self._is_cut = True
        self.break_all()

    def mend(self) -> None:
        """Who connects from now on is answered."""
        self._is_cut = False

    def break_all(self) -> None:
        """Break all connections."""
        with self._guard:
            broken, self._connections = self._connections, []
        for connection in broken:
            connection.end()

    def heal(self) -> None:
        """From now on all is well; connections that were spoilt are ended, and what was held back is sent."""
        with self._guard:
            self._faults, self._refusals, self._swallows = {}, 0, False
            swallowed = [c for c in self._connections if c.fate == "black hole"]
        self._well.set()
        for connection in swallowed:
            connection.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.heal()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()
        self.break_all()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._serve(near)

    def _serve(self, near: socket.socket) -> None:
        with self._guard:
            refused = self._is_cut or self._refusals > 0
            self._refusals = max(0, self._refusals - 1)
        try:
            far = None if refused else self._dial()
        except OSError:
            far = None
        if far is None:
            near.close()
            return
        connection = Connection(near, far, "black hole" if self._swallows else "")
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
        kind = self._fate(question) or connection.fate
        match kind:
            case "lost question" | "gone":
                connection.end()
            case "half a question":
                connection.far.sendall(question[: len(question) // 2])
                connection.end()
            case "black hole":
                connection.fate = kind
            case _:
                connection.fate = kind
                connection.far.sendall(question)
                if kind == "reset":
                    connection.end(at_once=True)

    def _fate(self, question: bytes) -> str:
        """What becomes of the question that has just been heard."""
        with self._guard:
            self.asked += 1
            struck = next(filter(self._strikes(question), self._faults), None)
            if struck is None:
                return ""
            self.met += 1
            if struck.kind == "stalled answer":
                self._well.clear()
            self._refusals = REFUSALS if struck.kind == "gone" else 0
            self._swallows = struck.kind == "black hole"
            return struck.kind

    def _strikes(self, question: bytes) -> Callable[[Fault], bool]:
        """Whether a fault happens to a question; one that it is about is counted."""

        def strikes(fault: Fault) -> bool:
            if fault.word.encode() not in question:
                return False
            self._faults[fault] += 1
            return fault.strikes(self._faults[fault])

        return strikes

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
                # Elsewhere one piece is the answer; PostgreSQL says when it has done all.
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


@contextlib.contextmanager
def before_postgres(dsn: str) -> Iterator[tuple[Proxy, str]]:
    """A proxy before a server that listens on a socket of this machine, and the address through it."""
    parts = conninfo_to_dict(dsn)
    path = f"{parts['host']}/.s.PGSQL.{parts.get('port', 5432)}"
    with Proxy(unix(path), postgres_questions) as proxy:
        plain = {"sslmode": "disable", "gssencmode": "disable"}
        yield proxy, make_conninfo(dsn, host="127.0.0.1", port=proxy.port, **plain)


def _heard(end: socket.socket) -> Iterator[bytes]:
    while said := end.recv(1 << 16):
        yield said

"""A wire to a server that can be cut: whole, before a question arrives, or before its answer does."""

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

# ReadyForQuery: PostgreSQL has done all that it was asked, and committed.
READY = b"Z\x00\x00\x00\x05I"
Dial = Callable[[], socket.socket]


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


class Wire:
    """Listens on a port of its own and passes on what it hears, both ways, until it is told otherwise."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._guard = threading.Lock()
        self._open: set[socket.socket] = set()
        self._lost_answers: dict[bytes, int] = {}
        self._lost_questions: dict[bytes, int] = {}
        self.lost = 0
        self.cut = False
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def lose_answer(self, word: str, times: int = 1) -> None:
        """The server does what a question with this word asks for, and nobody hears of it."""
        self._lost_answers[word.encode()] = times

    def lose_question(self, word: str, times: int = 1) -> None:
        """A question with this word breaks the connection before the server sees it."""
        self._lost_questions[word.encode()] = times

    def break_all(self) -> None:
        """Break all connections."""
        with self._guard:
            broken, self._open = self._open, set()
        for connection in broken:
            _end(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _end(self._listening)
        self.break_all()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                if self.cut:
                    _end(near)
                else:
                    self._pass_on(near)

    def _pass_on(self, near: socket.socket) -> None:
        try:
            far = self._dial()
        except OSError:
            _end(near)
            return
        with self._guard:
            self._open |= {near, far}
        deaf = threading.Event()
        pumps = [
            threading.Thread(target=self._questions, args=(near, far, deaf), daemon=True),
            threading.Thread(target=self._answers, args=(near, far, deaf), daemon=True),
        ]
        self._threads += pumps
        for pump in pumps:
            pump.start()

    def _questions(self, near: socket.socket, far: socket.socket, deaf: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while heard := near.recv(1 << 16):
                if self._takes(self._lost_questions, heard):
                    break
                if self._takes(self._lost_answers, heard):
                    deaf.set()
                far.sendall(heard)
        self._hang_up(near, far)

    def _answers(self, near: socket.socket, far: socket.socket, deaf: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while said := far.recv(1 << 16):
                if not deaf.is_set():
                    near.sendall(said)
                elif said.endswith(READY):
                    break
        self._hang_up(near, far)

    def _takes(self, words: dict[bytes, int], heard: bytes) -> bool:
        with self._guard:
            for word, left in words.items():
                if left and word in heard:
                    words[word] -= 1
                    self.lost += 1
                    return True
        return False

    def _hang_up(self, *connections: socket.socket) -> None:
        with self._guard:
            self._open -= set(connections)
        for connection in connections:
            _end(connection)


def _end(connection: socket.socket) -> None:
    # Closing alone does not wake a thread that reads from it.
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()

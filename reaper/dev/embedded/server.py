"""What all embedded servers share: made means started, a context manager, stopped once and for all."""

import socket
from abc import ABC, abstractmethod
from types import TracebackType
from typing import ClassVar, Self

from reaper.dev.embedded.errors import EmbeddedError
from reaper.dev.embedded.supervised_process import LaunchPlan, SupervisedProcess

ATTEMPTS = 5
PORT_TAKEN = "address already in use"


class Server(ABC):
    """A running server; a context manager, or `start` it and `stop` it."""

    @classmethod
    def start(cls) -> Self:
        """Start a server and return when it answers."""
        return cls()

    @abstractmethod
    def stop(self) -> None:
        """Shut down and remove everything; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class ServerProcess(Server):
    """A server in a process of its own, which ends with this one."""

    name: ClassVar[str]
    ready_timeout: ClassVar[float] = 30.0

    def __init__(self) -> None:
        self._process = self._start_with_retries()

    def log(self) -> str:
        """The end of what the server wrote."""
        return self._process.log()

    def stop(self) -> None:
        """Shut down and remove everything; a second call does nothing."""
        self._process.stop()
        self._remove_strays()

    @abstractmethod
    def _choose_addresses(self) -> None:
        """Choose the directories and ports of the next attempt."""

    @abstractmethod
    def _launch_plan(self) -> LaunchPlan:
        """How to get from nothing to a server at these addresses, and back."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether the server is there, and ours: another one may have our port."""

    def _set_up(self) -> None:
        """What is to be done once it answers."""

    def _remove_strays(self) -> None:
        """Remove what the program leaves outside of its directories."""

    def _start_with_retries(self) -> SupervisedProcess:
        """Try again when a port is taken after it was found free and before the server binds it."""
        for attempt in range(1, ATTEMPTS + 1):
            self._choose_addresses()
            try:
                return self._start_process()
            except EmbeddedError as error:
                if attempt == ATTEMPTS or PORT_TAKEN not in str(error).lower():
                    raise
        raise AssertionError("unreachable")

    def _start_process(self) -> SupervisedProcess:
        process = SupervisedProcess(self.name, self._launch_plan())
        try:
            process.wait_until(self._answers, self.ready_timeout)
            self._set_up()
        except BaseException:
            process.stop()
            self._remove_strays()
            raise
        return process


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether nothing listens on the port."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True

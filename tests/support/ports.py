"""Ports of this machine on which nobody is."""

import contextlib
import socket
from collections.abc import Iterator


def free_port() -> int:
    """A port that was free a moment ago."""
    with closed_port() as port:
        return port


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port on which nobody listens, for as long as the block runs."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


@contextlib.contextmanager
def deaf_port() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield int(listening.getsockname()[1])

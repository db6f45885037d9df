"""A private S3 server: moto, in a thread of this process, so that it ends with it."""

import logging
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from reaper.dev.embedded.errors import EmbeddedError


class Moto:
    """A running server with its objects in memory; a context manager, or `start` it and `stop` it."""

    def __init__(self) -> None:
        try:
            from moto.server import ThreadedMotoServer
        except ImportError as error:
            raise EmbeddedError("no moto was found; pip install 'reaper[embedded]' brings it") from error
        _list_while_keys_go()
        # One line per request is of no use to anybody.
        logging.getLogger("werkzeug").setLevel(logging.WARNING)
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        self._running = True
        host, port = self._server.get_host_and_port()
        self.endpoint_url = f"http://{host}:{port}"

    @classmethod
    def start(cls) -> Self:
        """Start a server and return when it listens."""
        return cls()

    def stop(self) -> None:
        """Stop listening; a second call does nothing."""
        if self._running:
            self._running = False
            self._server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _list_while_keys_go() -> None:
    """A listing of moto walks over a copy of the keys, but fails when one of them is deleted meanwhile."""
    from moto.s3.utils import _VersionedKeyStore

    def items(store: dict[str, list[Any]]) -> Iterator[tuple[str, Any]]:
        for key, versions in dict(store).items():
            if versions:
                yield key, versions[-1]

    _VersionedKeyStore.items = items  # type: ignore[assignment]

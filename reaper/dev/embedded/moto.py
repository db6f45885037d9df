"""A private S3 server: moto, in a thread of this process, so that it ends with it."""

import logging
from collections.abc import Iterator
from typing import Any

from reaper.dev.embedded.binaries import HOW_TO_INSTALL
from reaper.dev.embedded.errors import EmbeddedError
from reaper.dev.embedded.server import Server


class Moto(Server):
    """A running server with its objects in memory."""

    def __init__(self) -> None:
        try:
            from moto.server import ThreadedMotoServer
        except ImportError as error:
            raise EmbeddedError(f"no moto was found; {HOW_TO_INSTALL}") from error
        _list_while_keys_go()
        # One line per request would flood the output.
        logging.getLogger("werkzeug").setLevel(logging.WARNING)
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        self._running = True
        host, port = self._server.get_host_and_port()
        self.endpoint_url = f"http://{host}:{port}"

    def stop(self) -> None:
        """Stop listening; a second call does nothing."""
        if self._running:
            self._running = False
            self._server.stop()


def _list_while_keys_go() -> None:
    """A listing of moto walks over a copy of the keys, but fails when one of them is deleted meanwhile."""
    from moto.s3.utils import _VersionedKeyStore

    def items(store: dict[str, list[Any]]) -> Iterator[tuple[str, Any]]:
        for key, versions in dict(store).items():
            if versions:
                yield key, versions[-1]

    _VersionedKeyStore.items = items  # type: ignore[assignment]

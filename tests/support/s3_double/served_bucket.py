"""One bucket of the S3 double as a test sees it: past the line, while its store may be behind a proxy."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from reaper.storage.owner_marker import is_own
from tests.support.s3_double.server import ScriptedS3
from tests.support.tcp_proxy import Proxy, tcp


@dataclass
class ServedBucket:
    """What lies in a bucket of a running server, and how reaper reaches it."""

    server: ScriptedS3
    name: str
    proxy: Proxy | None = None

    @property
    def endpoint_url(self) -> str:
        """Where reaper asks."""
        return f"http://127.0.0.1:{self.proxy.port}" if self.proxy else self.server.endpoint_url

    def keys(self) -> set[str]:
        """What really lies in it but what is reaper's own."""
        return {key for key in self.server.buckets.keys(self.name) if not is_own(key)}

    def contents(self) -> dict[str, bytes]:
        """What really lies in it but what is reaper's own, with its bytes."""
        found = self.server.buckets.contents(self.name)
        return {key: data for key, data in found.items() if not is_own(key)}

    def get(self, key: str) -> bytes | None:
        """The bytes of an object, reaper's own or not."""
        return self.server.buckets.data(self.name, key)

    def store(self, key: str, data: bytes) -> None:
        """Put an object there."""
        self.server.buckets.put(self.name, key, data)

    def drop(self, *keys: str) -> None:
        """Take objects away."""
        for key in keys:
            self.server.buckets.drop(self.name, key)


@contextlib.contextmanager
def buckets_behind_proxies(server: ScriptedS3, *backends: str) -> Iterator[dict[str, ServedBucket]]:
    """A bucket for each backend, of which each can be cut off alone."""
    with contextlib.ExitStack() as open_proxies:
        buckets = {}
        for name in backends:
            proxy = open_proxies.enter_context(Proxy(tcp(server.port)))
            server.buckets.add(f"of-{name}")
            buckets[name] = ServedBucket(server, f"of-{name}", proxy)
        yield buckets

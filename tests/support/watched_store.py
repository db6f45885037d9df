"""An ObjectStore around another that remembers what it was asked, and lets a test interfere."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from reaper.model import Failed, OpenUpload, StoredDigest, StoredHead, StoredObject, UploadedParts
from reaper.ports import Address, Begun, ObjectStore, Reading

Hook = Callable[[str], object]


def nothing(_: str) -> None:
    """Do nothing with the key."""


@dataclass
class WatchedStore:
    """`asked` counts requests; `on_delete` answers deletions instead of the store, `error` ends all else."""

    store: ObjectStore
    puts: list[str] = field(default_factory=list)
    gets: list[str] = field(default_factory=list)
    before_put: Hook = nothing
    after_put: Hook = nothing
    before_get: Hook = nothing
    on_delete: Callable[[Sequence[str]], Mapping[str, Failed]] | None = None
    error: Exception | None = None
    asked: int = 0

    def put(self, key: str, body: BinaryIO | bytes, size: int, begun: Begun | None = None) -> None:
        self._ask()
        self.puts.append(key)
        self.before_put(key)
        self.store.put(key, body, size, begun)
        self.after_put(key)

    def create(self, key: str, body: bytes) -> bool:
        self._ask()
        return self.store.create(key, body)

    def get(self, key: str) -> bytes | None:
        self._ask()
        self.gets.append(key)
        self.before_get(key)
        return self.store.get(key)

    def delete(self, keys: Sequence[str]) -> Mapping[str, Failed]:
        self.asked += 1
        return (self.on_delete or self.store.delete)(keys)

    def list(self, after: str = "") -> Iterator[StoredObject]:
        self._ask()
        yield from self.store.list(after)

    def find(self, keys: Sequence[str]) -> Mapping[str, StoredObject]:
        self._ask()
        return self.store.find(keys)

    def digest(self, key: str) -> StoredDigest | None:
        self._ask()
        return self.store.digest(key)

    def read(self, key: str) -> Reading | None:
        self._ask()
        self.gets.append(key)
        self.before_get(key)
        return self.store.read(key)

    def write(self, key: str, reading: Reading, begun: Begun) -> bool:
        self._ask()
        self.puts.append(key)
        self.before_put(key)
        compared = self.store.write(key, reading, begun)
        self.after_put(key)
        return compared

    def copy(self, source: Address, source_key: str, key: str, size: int, begun: Begun) -> None:
        self._ask()
        self.puts.append(key)
        self.before_put(key)
        self.store.copy(source, source_key, key, size, begun)
        self.after_put(key)

    def head(self, key: str) -> StoredHead | None:
        self._ask()
        return self.store.head(key)

    @property
    def address(self) -> Address:
        return self.store.address

    def probe(self) -> None:
        self._ask()
        self.store.probe()

    def check(self) -> None:
        self._ask()
        self.store.check()

    def uploads(self) -> Iterator[OpenUpload]:
        self._ask()
        yield from self.store.uploads()

    def parts(self, upload: OpenUpload) -> UploadedParts | None:
        self._ask()
        return self.store.parts(upload)

    def abort(self, upload: OpenUpload) -> None:
        self._ask()
        self.store.abort(upload)

    @property
    def notes(self) -> Sequence[str]:
        return self.store.notes

    def _ask(self) -> None:
        self.asked += 1
        if self.error:
            raise self.error

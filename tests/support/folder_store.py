"""The one double of the ObjectStore port: a folder, which processes share without a server between them."""

import contextlib
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, unquote

from reaper.errors import ReaperError
from reaper.model import Failed, OpenUpload, StoredDigest, StoredHead, StoredObject, UploadedParts
from reaper.ports import Address, Begun, Reading
from reaper.storage.owner_marker import is_own

# No key begins so: quoted keys have no such character.
UNDER_WAY = "~"
UPLOAD = "~upload:"
BARE = "~bare"
COPIES = "~copies"
# Pieces are small here, so that a small object has several.
PIECE = 4096


class FolderStore:
    """As in S3 an object is there whole or not at all, and an absent one can be deleted."""

    notes: Sequence[str] = ()

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        # Known to all processes by a file beside the objects.
        self._is_bare = (root / BARE).exists()

    def put(self, key: str, body: BinaryIO | bytes, size: int, begun: Begun | None = None) -> None:
        data = body if isinstance(body, bytes) else body.read()
        assert len(data) == size
        if begun and size > PIECE:
            begun(secrets.token_hex(8))
        coming = self.root / f"{UNDER_WAY}{secrets.token_hex(8)}"
        coming.write_bytes(data)
        os.replace(coming, self._place(key))

    def create(self, key: str, body: bytes) -> bool:
        coming = self.root / f"{UNDER_WAY}{secrets.token_hex(8)}"
        coming.write_bytes(body)
        try:
            os.link(coming, self._place(key))
        except FileExistsError:
            return False
        finally:
            coming.unlink()
        return True

    def get(self, key: str) -> bytes | None:
        try:
            return self._place(key).read_bytes()
        except FileNotFoundError:
            return None

    def delete(self, keys: Sequence[str]) -> Mapping[str, Failed]:
        for key in keys:
            with contextlib.suppress(FileNotFoundError):
                self._place(key).unlink()
        return {}

    def list(self, after: str = "") -> Iterator[StoredObject]:
        for key in sorted(self._all_keys()):
            if key > after:
                yield StoredObject(key, self._place(key).stat().st_size)

    def find(self, keys: Sequence[str]) -> Mapping[str, StoredObject]:
        there = {key: self._place(key) for key in keys}
        return {key: StoredObject(key, at.stat().st_size) for key, at in there.items() if at.exists()}

    def digest(self, key: str) -> StoredDigest | None:
        data = self.get(key)
        return None if data is None else StoredDigest(len(data), sha256(data).hexdigest())

    def read(self, key: str) -> Reading | None:
        data = self.get(key)
        if data is None:
            return None
        return Reading(len(data), (data[at : at + PIECE] for at in range(0, len(data), PIECE)))

    def write(self, key: str, reading: Reading, begun: Begun) -> bool:
        if reading.size > PIECE:
            begun(f"upload of {key}")
        self.put(key, b"".join(reading.pieces), reading.size)
        return False

    def copy(self, source: Address, source_key: str, key: str, size: int, begun: Begun) -> None:
        data = FolderStore(Path(source.bucket)).get(source_key)
        if data is None:
            raise ReaperError(f"{source_key} is not there")
        if size > PIECE:
            begun(f"upload of {key}")
        self.put(key, data, len(data))

    def head(self, key: str) -> StoredHead | None:
        found = self.find([key]).get(key)
        return found and StoredHead(found.size)

    @property
    def address(self) -> Address:
        server = str(self.root.parent) if (self.root / COPIES).exists() else None
        return Address(server, str(self.root))

    def copy_by_itself(self, copies: bool = True) -> None:
        """From now on, be of one server with the other folders beside it that do, in all processes."""
        (self.root / COPIES).touch() if copies else (self.root / COPIES).unlink(missing_ok=True)

    def probe(self) -> None:
        """It works."""

    def check(self) -> None:
        """It is there."""

    def uploads(self) -> Iterator[OpenUpload]:
        """A file for each, beside the objects, as old as its last part."""
        for name in sorted(os.listdir(self.root)):
            if name.startswith(UPLOAD):
                _, upload_id, key = name.split(":", 2)
                yield OpenUpload(unquote(key), upload_id, self._written(name))

    def parts(self, upload: OpenUpload) -> UploadedParts | None:
        name = f"{UPLOAD}{upload.upload_id}:{quote(upload.key, safe='')}"
        try:
            return UploadedParts(1, (self.root / name).stat().st_size, self._written(name))
        except FileNotFoundError:
            return None

    def abort(self, upload: OpenUpload) -> None:
        (self.root / f"{UPLOAD}{upload.upload_id}:{quote(upload.key, safe='')}").unlink(missing_ok=True)

    def leave_upload(self, key: str, data: bytes, age: float) -> None:
        """Leave an upload of one part that nobody ends, so many seconds old."""
        name = self.root / f"{UPLOAD}{secrets.token_hex(8)}:{quote(key, safe='')}"
        name.write_bytes(data)
        os.utime(name, (time.time() - age,) * 2)

    def _written(self, name: str) -> datetime:
        return datetime.fromtimestamp((self.root / name).stat().st_mtime, UTC)

    def keys(self) -> set[str]:
        """Everything that lies in it but what is reaper's own."""
        return {key for key in self._all_keys() if not is_own(key)}

    def _all_keys(self) -> set[str]:
        return {unquote(name) for name in os.listdir(self.root) if not name.startswith(UNDER_WAY)}

    def contents(self) -> dict[str, bytes]:
        """Everything that lies in it but what is reaper's own, with its bytes."""
        return {key: self._place(key).read_bytes() for key in self.keys()}

    def store(self, key: str, data: bytes) -> None:
        """Put an object there."""
        self.put(key, data, len(data))

    def drop(self, *keys: str) -> None:
        """Take objects away."""
        self.delete(keys)

    def forget_names(self) -> None:
        """Call objects by their hash alone, from the next FolderStore on, as no store of reaper does."""
        (self.root / BARE).touch()

    def _place(self, key: str) -> Path:
        return self.root / quote(key.split("/")[1] if self._is_bare and not is_own(key) else key, safe="")


@contextlib.contextmanager
def folder_in_memory() -> Iterator[Path]:
    """A folder that is gone after the block; in memory, where there is a place for it."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="reaper-test-", dir=place) as path:
        yield Path(path)

"""Where an embedded service may put its files."""

import os
import secrets
import shutil
import stat
import tempfile
from pathlib import Path

DIRECTORY_VARIABLE = "REAPER_EMBEDDED_DIR"
MEMORY_DIRECTORY = Path("/dev/shm")
MEMORY_BYTES_NEEDED = 1_000_000_000
SOCKET_PATH_LIMIT = 100


def unused_path(parent: Path) -> Path:
    """A directory to be that no other process uses: the supervisor makes it, and fails if it exists."""
    return parent / f"reaper-{secrets.token_hex(6)}"


def scratch_directory() -> Path:
    """Where small files go: `REAPER_EMBEDDED_DIR` if set, else the temporary directory."""
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    temporary = Path(chosen or tempfile.gettempdir()).resolve()
    # Root's services run as another user, who may not get into a private TMPDIR.
    private = os.geteuid() == 0 and not open_to_all(temporary)
    return Path("/tmp") if private and not chosen else temporary


def data_directory() -> Path:
    """Where data goes: memory when there is enough of it, unless `REAPER_EMBEDDED_DIR` names a place."""
    if DIRECTORY_VARIABLE not in os.environ and _has_room_in_memory():
        return MEMORY_DIRECTORY
    return scratch_directory()


def socket_directory() -> Path:
    """Where sockets go: a socket's path must fit into 107 bytes, which rules a deep directory out."""
    scratch = scratch_directory()
    short_enough = len(os.fsencode(scratch)) + len("/reaper-0123456789ab/.s.PGSQL.5432") <= SOCKET_PATH_LIMIT
    return scratch if short_enough else Path("/tmp")


def open_to_all(path: Path) -> bool:
    """Whether any user of the machine can pass through this directory and everything above it."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents))


def _has_room_in_memory() -> bool:
    return (
        MEMORY_DIRECTORY.is_dir()
        and os.access(MEMORY_DIRECTORY, os.W_OK | os.X_OK)
        and shutil.disk_usage(MEMORY_DIRECTORY).free > MEMORY_BYTES_NEEDED
    )

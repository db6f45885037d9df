"""Expiry and garbage collection for content-addressed storage, with PostgreSQL in charge.

    from datetime import timedelta
    import reaper

    with reaper.open_store() as store:
        stored = store.put(b"hello", expires_in=timedelta(days=7))
        paste = store.get(stored.short_code)

`open_store` and `Store` are what an application uses, `open_async_store` and `AsyncStore` one on asyncio;
every error is a `ReaperError`, see `reaper.errors`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reaper.app import open_async_store, open_store
    from reaper.errors import (
        BadArgument,
        BytesNeeded,
        CircuitOpen,
        ClaimLost,
        CodeTaken,
        ConfigError,
        ContentLost,
        DatabaseError,
        ForeignBucket,
        IntentGone,
        KeyRetired,
        NoRoom,
        ReaperError,
        SchemaTooOld,
        Unreachable,
        UploadFailed,
        WrongIsolation,
    )
    from reaper.model import Paste, Stored
    from reaper.store.async_store import AsyncStore
    from reaper.store.store import Store

    __version__: str

_MODULES = {
    "open_store": "reaper.app",
    "open_async_store": "reaper.app",
    "AsyncStore": "reaper.store.async_store",
    "Store": "reaper.store.store",
    "Paste": "reaper.model",
    "Stored": "reaper.model",
}
__all__ = [
    "AsyncStore",
    "BadArgument",
    "BytesNeeded",
    "CircuitOpen",
    "ClaimLost",
    "CodeTaken",
    "ConfigError",
    "ContentLost",
    "DatabaseError",
    "ForeignBucket",
    "IntentGone",
    "KeyRetired",
    "NoRoom",
    "Paste",
    "ReaperError",
    "SchemaTooOld",
    "Store",
    "Stored",
    "Unreachable",
    "UploadFailed",
    "WrongIsolation",
    "__version__",
    "open_async_store",
    "open_store",
]


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: `reaper.__version__` does not wait for boto3."""
    if name == "__version__":
        return import_module("reaper.version").installed_version()
    if name not in __all__:
        raise AttributeError(f"module 'reaper' has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, "reaper.errors")), name)


def __dir__() -> list[str]:
    return sorted(__all__)

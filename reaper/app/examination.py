"""All that the doctor looks at: the database, then the buckets and the cache that are configured here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from reaper.ops.doctor import (
    Doctor,
    examine_cache,
    examine_owner,
    examine_session,
    examine_store,
    unlooked,
    warn,
)

if TYPE_CHECKING:
    from reaper.app.app import App
    from reaper.queries import Ask
    from reaper.queries.checks import Diagnosis


def examine(app: App, *, probe: bool = False, look_for_objects: bool = True) -> Iterator[Diagnosis]:
    """Each check as it ends. Looking for the objects of adopted tables records whether they were found."""
    yield from examine_session(app.settings.dsn)
    look = _look_of(app) if look_for_objects else unlooked
    with app.connect("doctor") as connection:
        yield from Doctor.of_release(connection, list(app.settings.backends), look).examine()
    if not app.settings.backends:
        yield warn(
            "bucket",
            "no bucket is configured here",
            "A drain needs one: set REAPER_S3_BUCKET, or write reaper.toml.",
        )
    else:
        for name, store in app.stores.items():
            yield from examine_store(name, store, probe)
            yield from examine_owner(name, app.ownership)
    if app.settings.redis_url is None:
        yield warn("cache", "no cache is configured here", "If pastes are cached, set REAPER_REDIS_URL.")
    else:
        yield from examine_cache(app.cache)


def _look_of(app: App) -> Callable[[Ask], object]:
    """How to look for the objects; past the circuits, because a person wants to know."""
    from reaper.expiry.key_check import KeyCheck

    return KeyCheck(app.buckets, app.telemetry).look if app.settings.backends else unlooked

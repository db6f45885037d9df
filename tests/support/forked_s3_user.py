"""A process that uses a bucket and tells what it used, until it is killed or has done enough."""

import uuid
from pathlib import Path
from random import Random

import reaper.cache.redis.usage_board  # noqa: F401  loaded before the fork
from tests.support import botocore_preload
from tests.support.captured_logs import silence_logs
from tests.support.process_faults import FaultPlan, ProcessFault
from tests.support.wiring import Wiring

# Before the fork, for all who are forked.
botocore_preload.read()


def main(wiring: Wiring, identity: str, requests: int, seed: int, fault: ProcessFault | None) -> None:
    """Put, read, list and delete; tell now and then, and at the end unless killed before."""
    silence_logs()
    chance = Random(seed)
    with wiring.app(around=FaultPlan((fault,) if fault else ())) as app:
        store = app.buckets["default"]
        Path(identity).write_text(str(app.meter.process))
        for n in range(requests):
            data = bytes(chance.randrange(1, 3000))
            store.put(f"k{n % 7}", data, len(data))
            store.get(f"k{n % 7}")
            if chance.random() < 0.2:
                list(store.list())
            if chance.random() < 0.3:
                store.delete([f"k{n % 7}", "none"])
            if chance.random() < 0.15:
                app.usage.tell()
            elif chance.random() < 0.3:
                app.usage.publish()


def process_of(identity: Path) -> uuid.UUID | None:
    """Whom a process calls itself in its reports; None where it was killed before it could say."""
    return uuid.UUID(identity.read_text()) if identity.exists() and identity.read_text() else None

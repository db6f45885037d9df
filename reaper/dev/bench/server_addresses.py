"""Where a method finds its fresh copy of everything: database, cache and bucket."""

from __future__ import annotations

from dataclasses import dataclass

from reaper.dev.bench.workload import Workload


@dataclass(frozen=True)
class Bucket:
    """A bucket that holds the objects of all contents."""

    name: str
    endpoint_url: str
    access_key: str
    secret_key: str


@dataclass(frozen=True)
class Addresses:
    """The addresses of one round; cache and bucket only for those who use them."""

    dsn: str
    workload: Workload
    cache_url: str | None = None
    bucket: Bucket | None = None

"""The command line as a person meets it, run in this process, on servers that the tests share."""

import itertools
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
import redis
from psycopg.conninfo import make_conninfo

from reaper.cli import main
from reaper.dev.embedded import Moto, Valkey
from tests.support.paste_fixtures import Connection

_numbers = itertools.count(1)
AWS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def complaint(self) -> list[str]:
        """The lines on stderr: one that says what is wrong, and at most one that says what to do."""
        lines = self.err.splitlines()
        assert 1 <= len(lines) <= 2, self.err
        assert lines[0].startswith("reaper: ")
        assert "Traceback" not in self.err
        return lines


Run = Callable[..., Outcome]


@pytest.fixture(scope="session")
def moto() -> Iterator[Moto]:
    with Moto.start() as running:
        yield running


@pytest.fixture(scope="session")
def valkey() -> Iterator[Valkey]:
    with Valkey.start() as running:
        yield running


@pytest.fixture(scope="session")
def buckets(moto: Moto) -> Iterator[Any]:
    """The other side's own way to the server; making one takes longer than most tests."""
    resource = boto3.session.Session(**AWS).resource("s3", endpoint_url=moto.endpoint_url)
    yield resource
    resource.meta.client.close()


@pytest.fixture
def bucket(buckets: Any) -> Any:
    """A bucket of boto3 that only this test uses."""
    made = buckets.Bucket(f"cli-{next(_numbers)}")
    made.create()
    return made


@pytest.fixture
def entries(valkey: Valkey) -> Iterator[Any]:
    """The cache, empty."""
    with redis.Redis.from_url(valkey.url, decode_responses=True) as client:
        client.flushall()
        yield client


@pytest.fixture
def worker_dsn(db: Connection, dsn: str) -> Iterator[str]:
    """The address of the test's database for a login that is a worker and nothing else."""
    db.execute("create role cli_worker login in role reaper_worker")
    yield make_conninfo(dsn, user="cli_worker")
    db.execute("drop role cli_worker")


@pytest.fixture
def bare_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Run]:
    """Runs a command in an empty folder, with the variables that are given and no others."""
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("REAPER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")
    for name, value in {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, **variables: str) -> Outcome:
        capsys.readouterr()
        with monkeypatch.context() as patched:
            for name, value in variables.items():
                patched.setenv(name, value)
            patched.setattr(sys, "argv", ["reaper", *arguments])
            with pytest.raises(SystemExit) as ended:
                main()
        return Outcome(int(ended.value.code or 0), *capsys.readouterr())

    yield run
    for number, handler in signals.items():
        signal.signal(number, handler)


@pytest.fixture
def run(
    bare_run: Run,
    dsn: str,
    bucket: Any,
    entries: Any,  # noqa: ARG001  emptied
    valkey: Valkey,
    moto: Moto,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Runs a command that finds all services in its environment."""
    for name, value in {
        "REAPER_DATABASE_URL": dsn,
        "REAPER_S3_BUCKET": bucket.name,
        "REAPER_S3_ENDPOINT_URL": moto.endpoint_url,
        "REAPER_REDIS_URL": valkey.url,
        "REAPER_CACHE_KEY": "paste:{short_code}",
    }.items():
        monkeypatch.setenv(name, value)
    return bare_run

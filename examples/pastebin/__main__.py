"""The service on PostgreSQL, Valkey and S3 of its own, with a worker; all of it ends with Ctrl-C."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import boto3
import psycopg
import uvicorn

from examples.pastebin.app import make_app
from reaper import services
from reaper.dev.embedded import Stack
from reaper.migrate import migrate

GRACE = 25


def main(words: Sequence[str]) -> None:
    """Start everything, and say where."""
    parser = argparse.ArgumentParser(prog="run.py example", description=__doc__)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args(words)
    print("starting PostgreSQL, Valkey, an S3 server and a worker", file=sys.stderr, flush=True)
    with ExitStack() as running:
        stack = running.enter_context(Stack())
        os.environ.update(variables(stack))
        prepare(stack)
        running.enter_context(worker())
        print(f"curl -d hello 'http://{given.address}:{given.port}/?life=2s'", file=sys.stderr, flush=True)
        uvicorn.run(make_app(), host=given.address, port=given.port, log_level="warning")


def variables(stack: Stack) -> dict[str, str]:
    """What an operator would set."""
    return {
        "REAPER_DATABASE_URL": stack.postgres.dsn(),
        "REAPER_REDIS_URL": stack.valkey.url,
        "REAPER_S3_BUCKET": "pastes",
        "REAPER_S3_ENDPOINT_URL": stack.s3.endpoint_url,
        "REAPER_CACHE_KEY": "paste:{short_code}",
        "AWS_ACCESS_KEY_ID": "example",
        "AWS_SECRET_ACCESS_KEY": "example",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


def prepare(stack: Stack) -> None:
    """A bucket, the schema, and a drain every ten seconds instead of every night."""
    boto3.client("s3", endpoint_url=stack.s3.endpoint_url).create_bucket(Bucket="pastes")
    migrate(stack.postgres.dsn(), services=services.ALL)
    with psycopg.connect(stack.postgres.dsn(), autocommit=True) as connection:
        connection.execute("select reaper.reschedule('drain', '10 seconds', 'an example must be short')")


@contextmanager
def worker() -> Iterator[None]:
    """`reaper worker` beside the service, as in production."""
    process = subprocess.Popen([sys.executable, "-m", "reaper", "worker"])
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main(sys.argv[1:])

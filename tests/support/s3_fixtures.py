"""S3 servers of several makes, and a bucket of its own for each test."""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import boto3
import pytest
from botocore.config import Config
from botocore.loaders import JSONFileLoader

from reaper.dev.embedded import Moto
from reaper.dev.embedded.seaweedfs import SeaweedFS
from reaper.storage.s3.store import S3Options, S3Store
from tests.support.s3_double.server import ScriptedS3

QUICK = S3Options(connect_timeout=5, read_timeout=30, attempts=1)
_numbers = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Store:
    """A running S3 server; `lacks` says what it does not do as S3 does, and what it does instead."""

    name: str
    endpoint_url: str
    access_key: str
    secret_key: str
    lacks: Mapping[str, str] = dataclasses.field(hash=False)


class Needs(Protocol):
    """Says what a test needs of its store: where that is lacking it must fail, or the flag is out of date."""

    def __call__(self, *capabilities: str) -> None: ...


@pytest.fixture(scope="session", autouse=True)
def service_models_read_once() -> Iterator[None]:
    """Each client reads megabytes of JSON, always the same; half of the time that these tests take."""
    with pytest.MonkeyPatch.context() as patch:
        read = functools.cache(JSONFileLoader().load_file)
        patch.setattr(JSONFileLoader, "load_file", lambda _, path: read(path))
        yield


@pytest.fixture(scope="session")
def moto() -> Iterator[Store]:
    with Moto.start() as server:
        lacks = {
            "ages of uploads": "calls every upload in parts as old as 2010",
            "refusals of parts": "fails where a part comes for an upload that is gone",
            "limited batches": "deletes any number of keys in one request",
            "line feeds": "does not know its own bucket where the key has a line feed",
            "quiet replies": "mentions every key, asked to be quiet or not",
            "signatures": "believes every signature",
        }
        yield Store("moto", server.endpoint_url, "any", "any", lacks)


@pytest.fixture(scope="session")
def seaweedfs() -> Iterator[Store]:
    with SeaweedFS.start() as server:
        lacks = {
            "backslashes": "lists a backslash as a slash",
            "byte order": "lists folder by folder",
            "empty parts": "takes several slashes for one, and none for one at either end",
            "long parts": "takes no key with more than 255 bytes between two slashes",
        }
        yield Store("seaweedfs", server.endpoint_url, server.access_key, server.secret_key, lacks)


@pytest.fixture(scope="session")
def double() -> Iterator[Store]:
    """The scripted server, told nothing: whatever holds for the others must hold for what tests rely on."""
    with ScriptedS3("some-bucket") as server:
        lacks = {
            "signatures": "believes every signature",
            "versions": "keeps no versions",
        }
        yield Store("double", server.endpoint_url, "any", "any", lacks)


@pytest.fixture(params=["moto", "seaweedfs", "double"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Each S3 server in turn, with the credentials for it in the environment."""
    running: Store = request.getfixturevalue(request.param)
    log_in(monkeypatch, running.access_key, running.secret_key)
    return running


@pytest.fixture
def needs(request: pytest.FixtureRequest, store: Store) -> Needs:
    def expect_failure_without(*capabilities: str) -> None:
        for capability in capabilities:
            if capability in store.lacks:
                reason = f"{store.name} {store.lacks[capability]}"
                request.applymarker(pytest.mark.xfail(reason=reason, strict=True))

    return expect_failure_without


def log_in(monkeypatch: pytest.MonkeyPatch, access_key: str, secret_key: str) -> None:
    for name in ("AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret_key)
    # No file of the person who runs the tests, and no question to a cloud's metadata address.
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="session")
def clients() -> Iterator[Callable[[Store], Any]]:
    """The other side's own way to each server; making one takes longer than most tests."""
    with contextlib.ExitStack() as opened:

        @functools.cache
        def client_of(store: Store) -> Any:
            made = boto3.session.Session(store.access_key, store.secret_key).client(
                "s3",
                endpoint_url=store.endpoint_url,
                region_name="us-east-1",
                config=Config(s3={"addressing_style": "path"}),
            )
            opened.callback(made.close)
            return made

        yield client_of


@pytest.fixture
def client(store: Store, clients: Callable[[Store], Any]) -> Any:
    """The other side's own way to the server."""
    return clients(store)


@pytest.fixture
def bucket(client: Any) -> str:
    """The name of a bucket that only this test uses."""
    name = f"pastes-{next(_numbers)}"
    client.create_bucket(Bucket=name)
    return name


@pytest.fixture
def open_store() -> Iterator[Callable[..., S3Store]]:
    """Makes stores and closes them after the test."""
    with contextlib.ExitStack() as opened:

        def make(*arguments: Any, **options: Any) -> S3Store:
            made = S3Store(*arguments, **{"options": QUICK, **options})
            opened.callback(made.close)
            return made

        yield make


@pytest.fixture
def s3(store: Store, bucket: str, open_store: Callable[..., S3Store]) -> S3Store:
    """The adapter on the test's bucket."""
    return open_store(bucket, store.endpoint_url)


@pytest.fixture
def put(client: Any, bucket: str) -> Callable[..., None]:
    """Puts an object under each of these keys."""

    def put_all(*keys: str) -> None:
        for key in keys:
            client.put_object(Bucket=bucket, Key=key, Body=b"bytes of " + key.encode())

    return put_all


@pytest.fixture
def keys_in(client: Any, bucket: str) -> Callable[[], set[str]]:
    """What the bucket holds, in the server's own words."""

    def names() -> set[str]:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return {found["Key"] for page in pages for found in page.get("Contents", ())}

    return names

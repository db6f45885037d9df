"""An application opens a store with the rights of an application, and shares it between many threads."""

import random
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from reaper.app import open_store
from reaper.errors import ConfigError, SchemaTooOld, Unreachable
from reaper.store.store import Store
from tests.support.world import CACHE_KEY, DAY, World


@pytest.fixture
def settings(world: World, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    for name, value in world.variables.items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)
    return {
        "database_url": world.dsn,
        "redis_url": world.redis_url,
        "s3_bucket": world.variables["REAPER_S3_BUCKET"],
        "s3_endpoint_url": world.s3.endpoint_url,
        "cache_key": CACHE_KEY,
    }


@pytest.fixture
def application(world: World) -> Iterator[str]:
    """A login with the rights of an application and no others."""
    world.sql("create role an_application login in role reaper_app")
    yield make_conninfo(world.dsn, user="an_application")
    world.sql("drop role an_application")


def test_an_application_needs_no_rights_but_its_own(
    world: World, settings: dict[str, Any], application: str
) -> None:
    with open_store(**{**settings, "database_url": application}) as store:
        code = store.put(b"x", DAY, "code").short_code
        assert store.get(code) is not None
        assert store.extend(code, 2 * DAY)
        assert store.delete(code)
        assert store.get(code) is None
    world.drain()
    world.judge()


def test_settings_come_from_the_environment(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in world.variables.items():
        monkeypatch.setenv(name, value)
    with open_store(cache_max_bytes="1 kB") as store:
        assert store.pastes.largest_cached == 1000
        assert store.get(store.put(b"x", DAY).short_code) is not None


def test_the_example_of_the_page_on_writing_works(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in world.variables.items():
        monkeypatch.setenv(name, value)
    page = Path("docs/writing.md").read_text()
    [example] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(example, "docs/writing.md", "exec"), {})
    assert world.value("select count(*) from pastes where expires_at > reaper.clock()") == 1


def test_everything_that_is_missing_or_wrong_is_said_at_once() -> None:
    with pytest.raises(ConfigError) as caught, open_store(cache_max_bytes="a lot", store_connections=0):
        pass
    for name in ("DATABASE_URL", "S3_BUCKET", "CACHE_MAX_BYTES", "STORE_CONNECTIONS"):
        assert f"REAPER_{name}" in caught.value.message


def test_a_keyword_that_is_no_setting_is_refused_instead_of_using_another_database(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAPER_DATABASE_URL", settings.pop("database_url"))
    with (
        pytest.raises(ConfigError, match="no setting databse_url; did you mean database_url"),
        open_store(databse_url="dbname=another", **settings),
    ):
        pass


def test_a_database_without_schema_or_server_is_refused_at_the_start(
    settings: dict[str, Any], empty_db_dsn: str
) -> None:
    with pytest.raises(SchemaTooOld), open_store(**{**settings, "database_url": empty_db_dsn}):
        pass
    nowhere = make_conninfo(settings["database_url"], host="/nowhere")
    with pytest.raises(Unreachable), open_store(**{**settings, "database_url": nowhere}):
        pass


def test_a_bucket_that_is_not_there_is_refused_at_the_start(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="does not exist"), open_store(**{**settings, "s3_bucket": "none"}):
        pass


def test_a_cache_key_under_which_nothing_can_be_cached_is_refused_at_the_start(
    settings: dict[str, Any],
) -> None:
    with (
        pytest.raises(ConfigError, match="REAPER_CACHE_KEY"),
        open_store(**{**settings, "cache_key": "reaper:{short_code}"}),
    ):
        pass


def test_a_database_with_another_isolation_level_is_no_matter(world: World, settings: dict[str, Any]) -> None:
    name = world.value("select current_database()")
    world.sql(f'alter database "{name}" set default_transaction_isolation = serializable')
    with open_store(**settings) as store:
        assert store.get(store.put(b"x", DAY).short_code) is not None


def test_many_threads_share_few_connections(world: World, settings: dict[str, Any]) -> None:
    contents = [b"%d" % n * n for n in range(10)]
    together = threading.Barrier(16)

    def visit(store: Store, seed: int) -> None:
        chance = random.Random(seed)
        mine: dict[str, bytes] = {}
        together.wait()
        for _ in range(15):
            data = chance.choice(contents)
            mine[store.put(data, DAY).short_code] = data
            code = chance.choice(list(mine))
            paste = store.get(code)
            assert paste is not None
            assert paste.data == mine[code]
            if chance.random() < 0.3:
                assert store.delete(code)
                assert store.get(code) is None
                del mine[code]

    with open_store(store_connections=3, **settings) as store, ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda seed: visit(store, seed), range(16)))
    world.drain()
    world.settle()

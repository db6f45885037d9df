"""What the services are once they run."""

import logging
import os
import stat
from pathlib import Path

import boto3
import psycopg
import pytest
import redis
from moto.s3.models import s3_backends
from psycopg.conninfo import conninfo_to_dict

from reaper.dev.embedded import EmbeddedError, Moto, Postgres, Stack, Valkey
from reaper.dev.embedded import valkey as valkey_module


def setting(server: Postgres, name: str) -> str:
    with psycopg.connect(server.dsn()) as connection:
        return connection.execute("select current_setting(%s)", [name]).fetchone()[0]


def test_postgres_listens_on_a_socket_that_only_its_user_reaches(server):
    assert setting(server, "listen_addresses") == ""
    assert stat.S_IMODE(os.stat(server.host).st_mode) == 0o700


def test_postgres_trades_durability_for_speed_unless_told_otherwise(server):
    assert [setting(server, name) for name in ("fsync", "synchronous_commit", "full_page_writes")] == [
        "off"
    ] * 3


def test_a_durable_postgres_keeps_its_promises_and_takes_settings():
    with Postgres.start(durable=True, settings={"wal_level": "logical"}) as server:
        durability = [setting(server, name) for name in ("fsync", "synchronous_commit", "full_page_writes")]
        assert durability == ["on"] * 3
        assert setting(server, "wal_level") == "logical"


def test_postgres_has_unicode_and_no_locale_of_the_machine(server):
    with psycopg.connect(server.dsn()) as connection:
        assert connection.execute("select pg_encoding_to_char(encoding) from pg_database").fetchone() == (
            "UTF8",
        )
    assert setting(server, "max_connections") == "200"
    assert setting(server, "lc_messages") == "C"


def test_the_address_names_database_and_user_whatever_they_are_called(server):
    parts = conninfo_to_dict(server.dsn("a b/c", user="w@x"))
    assert (parts["dbname"], parts["user"], parts["host"]) == ("a b/c", "w@x", server.host)


def test_a_postgres_that_cannot_start_tells_why():
    with pytest.raises(EmbeddedError, match='unrecognized configuration parameter "no_such_setting"'):
        Postgres.start(settings={"no_such_setting": "1"})


def test_stopping_twice_is_stopping_once_and_the_log_stays_readable():
    server = Postgres.start()
    server.stop()
    server.stop()
    assert "database system is shut down" in server.log()
    assert not Path(server.host).exists()


def test_a_fork_of_the_parent_does_not_take_the_server_along(server):
    child = os.fork()
    if child == 0:
        server.stop()
        os._exit(0)
    os.waitpid(child, 0)
    psycopg.connect(server.dsn()).close()


def test_valkey_speaks_redis_and_keeps_nothing_on_disk():
    with Valkey.start() as valkey, redis.Redis.from_url(valkey.url, decode_responses=True) as client:
        client.set("key", "value")
        assert client.get("key") == "value"
        assert client.config_get("save", "appendonly") == {"save": "", "appendonly": "no"}


def test_valkey_finds_another_port_when_somebody_takes_the_first(monkeypatch):
    free_port = valkey_module.free_port
    with Valkey.start() as first:
        ports = iter([first.port, free_port()])
        monkeypatch.setattr(valkey_module, "free_port", lambda: next(ports))
        with Valkey.start() as second:
            assert second.port != first.port


def test_moto_speaks_s3_without_a_word_in_the_log(caplog):
    with Moto.start() as s3, caplog.at_level(logging.INFO):
        client = boto3.client(
            "s3",
            endpoint_url=s3.endpoint_url,
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )
        client.create_bucket(Bucket="bucket")
        client.put_object(Bucket="bucket", Key="key", Body=b"body")
        assert client.get_object(Bucket="bucket", Key="key")["Body"].read() == b"body"
        client.close()
    assert [record for record in caplog.records if record.name == "werkzeug"] == []


def test_the_stack_stops_what_it_started_when_one_service_fails(monkeypatch):
    started = []
    start = Postgres.start

    def remember(**options):
        started.append(start(**options))
        return started[0]

    def fail():
        raise EmbeddedError("no cache today")

    monkeypatch.setattr(Postgres, "start", remember)
    monkeypatch.setattr(Valkey, "start", fail)
    with pytest.raises(EmbeddedError, match="no cache today"), Stack():
        pass
    assert not Path(started[0].host).exists()


def test_the_stack_has_all_three_and_stops_them():
    with Stack() as stack:
        psycopg.connect(stack.postgres.dsn()).close()
        assert stack.valkey.url.startswith("redis://127.0.0.1:")
        assert stack.s3.endpoint_url.startswith("http://127.0.0.1:")
    assert not Path(stack.postgres.host).exists()


def test_moto_lists_a_bucket_while_its_keys_go():
    with Moto.start():
        store = s3_backends["123456789012"]["aws"]
        bucket = store.create_bucket("keys-that-go", "us-east-1")
        for key in ("a", "b", "c"):
            store.put_object(bucket.name, key, b"")
        listing = iter(bucket.keys.items())
        first, _ = next(listing)
        bucket.keys.pop("b")
        assert [first, *(key for key, _ in listing)] == ["a", "b", "c"]

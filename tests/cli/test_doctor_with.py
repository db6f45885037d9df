"""`reaper doctor --with`: two shards of one application, and what they share."""

from pathlib import Path
from typing import Any

from reaper.dev.embedded import Moto, Valkey
from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection

TOML = '[backends.default]\nbucket = "{bucket}"\nendpoint_url = "{endpoint}"\nprefix = "{prefix}"\n'


def test_what_two_shards_share_is_named(
    run: Run, db: Connection, bucket: Any, moto: Moto, valkey: Valkey, tmp_path: Path
) -> None:
    here = {"endpoint": moto.endpoint_url, "bucket": bucket.name, "prefix": ""}
    file = tmp_path / "b" / "reaper-b.toml"
    file.parent.mkdir()

    def compared(backend: dict[str, str], **variables: str) -> dict[str, str]:
        file.write_text(TOML.format(**{**here, **backend}))
        lines = [f"REAPER_{name.upper()}={value}\n" for name, value in variables.items()]
        file.with_name(".env").write_text("".join(lines))
        done = run("doctor", "--json", "--with", str(file), REAPER_CACHE_KEY="paste:{short_code}")
        assert done.err == ""
        return {d["name"].removeprefix("shards, "): d["verdict"] for d in done.json if "shards" in d["name"]}

    alone = {
        "database_url": "dbname=b",
        "redis_url": valkey.url.replace("//", "//user:secret@"),
        "cache_key": "b:{short_code}",
    }
    assert compared({"bucket": "another"}, **alone) == {"database": "ok", "buckets": "ok", "cache": "ok"}
    # A prefix within none is the same place.
    assert compared({"prefix": "b/"}, **{**alone, "cache_key": "paste:{short_code}"}) == {
        "database": "ok",
        "buckets": "fail",
        "cache": "fail",
    }
    db.execute("insert into content (content_hash, ref_count, size_bytes) values ('hash', 1, 0)")
    db.execute("insert into pastes (short_code, content_hash) values ('a', 'hash')")
    assert compared({}, **{**alone, "cache_key": "{short_code}"}) == {
        "database": "ok",
        "buckets": "fail",
        "bare-hash keys": "fail",
        "cache": "warn",
    }
    # A code x:1 of ours would have the key of the other's code 1.
    nested = {**alone, "cache_key": "paste:x:{short_code}"}
    assert compared({"bucket": "another"}, **nested)["cache"] == "warn"
    assert compared({"bucket": "another"}) == {"database": "warn", "buckets": "ok", "cache": "ok"}


def test_a_file_that_is_not_there_is_refused(run: Run) -> None:
    done = run("doctor", "--with", "nowhere.toml")
    assert done.code == 4
    assert "nowhere.toml is no file" in done.err

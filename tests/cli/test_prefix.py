"""A backend below a prefix: puts, drains, verify and the marker stay below it."""

from datetime import timedelta
from typing import Any

from reaper import open_store
from tests.cli.conftest import Run
from tests.support.paste_fixtures import Connection, column


def test_everything_happens_below_the_prefix(
    run: Run, db: Connection, bucket: Any, monkeypatch: Any, dsn: str
) -> None:
    monkeypatch.setenv("REAPER_S3_PREFIX", "team/pastes")
    for key in ("theirs", "team/theirs", "zoo"):
        bucket.put_object(Key=key, Body=b"not ours")
    with open_store(database_url=dsn) as store:
        gone = store.put(b"goes", expires_in=timedelta(days=1))
        stays = store.put(b"stays", expires_in=timedelta(days=7))
    known = column(db, "select object_key from content")
    keys = {found.key for found in bucket.objects.all()}
    assert {f"team/pastes/{key}" for key in known} <= keys
    assert "team/pastes/.reaper/owner" in keys
    db.execute("update pastes set expires_at = now() where short_code = %s", [gone.short_code])
    assert run("drain").code == 0
    assert run("verify").code == 0
    left = {found.key for found in bucket.objects.all()} - {"team/pastes/.reaper/owner"}
    [kept] = column(db, "select object_key from content")
    assert left == {"theirs", "team/theirs", "zoo", f"team/pastes/{kept}"}
    seen = run("why", stays.content_hash, "--look").out
    assert f"object {kept} on default: present, 5 bytes" in seen

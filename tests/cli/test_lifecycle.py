"""`reaper lifecycle` as a person or a script meets it."""

import json

from tests.cli.conftest import bare_run as bare_run
from tests.support.paste_fixtures import Pastes, value


def test_from_the_first_refusal_to_removal(db, dsn, bare_run, monkeypatch):
    monkeypatch.setenv("REAPER_DATABASE_URL", dsn)
    rule = ("add", "logs", "--prefix", "log-", "--min-size", "1", "--max-size", "99", "--days", "30")

    def run(*arguments):
        return bare_run("lifecycle", *arguments)

    assert "no lifecycle rules" in run("list").out
    refused = run(*rule)
    assert (refused.code, refused.out) == (4, "")
    first, fix = refused.err.splitlines()
    assert first.startswith("reaper: lifecycle rule logs: public.pastes has no valid index led by created_at")
    db.execute(fix)
    Pastes(db)("log-a", content="a", expires=None)
    db.execute("update pastes set created_at = now() - interval '31 days'")
    assert "reaper lifecycle plan logs" in run(*rule).out
    planned = json.loads(run("plan", "logs", "--json").out)
    assert (planned["rows_matching"], planned["objects_freed"], planned["bytes_freed"]) == (1, 1, 10)
    assert "1 paste to expire" in run("plan", "logs").out
    assert run("enable", "logs").out == "lifecycle rule logs is enabled\n"
    listed = run("list").out
    assert "codes that begin with log-" in listed
    assert "30 days after creation" in listed
    assert json.loads(run("list", "--json").out)[0]["enabled"] is True
    assert run("disable", "logs").out == "lifecycle rule logs is disabled\n"
    assert run("remove", "logs").out == "lifecycle rule logs is removed\n"
    assert value(db, "select count(*) from reaper.lifecycle_rules") == 0

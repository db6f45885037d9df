"""`reaper dlq`: DLQ entries are listed, shown, retried and written off, once confirmed."""

import io
import sys
from collections.abc import Iterator

import pytest
from psycopg.conninfo import make_conninfo

from tests.cli.conftest import Run
from tests.support.owed_deletions import bury, lease, name, orphans, settle
from tests.support.paste_fixtures import Connection, Worker, column, owe, record, value


@pytest.fixture
def operate(bare_run: Run, db: Connection, dsn: str) -> Iterator[Run]:
    """Runs a command as an operator with no other right."""
    db.execute("create role cli_operator login in role reaper_ops")
    ops_dsn = make_conninfo(dsn, user="cli_operator")
    yield lambda *arguments: bare_run(*arguments, REAPER_DATABASE_URL=ops_dsn)
    db.execute("drop role cli_operator")


@pytest.fixture
def letters(db: Connection, me: Worker) -> None:
    """Three that b1 denied, two that b1 has locked, one that b2 denied."""
    bury(db, me, "b1", 3, key="denied", error="AccessDenied: not yours", size=1000)
    bury(db, me, "b1", 2, key="locked", error="ObjectLocked: [until] 2031")
    bury(db, me, "b2", 1, key="other", error="AccessDenied: not yours")


def number(db: Connection, key: str) -> str:
    return str(value(db, "select queue_id from reaper.dlq where object_key = %s", key))


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A person sits there and types this."""
    keyboard = io.StringIO(text)
    monkeypatch.setattr(keyboard, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", keyboard)


def test_where_nothing_was_given_up_all_is_well(operate: Run) -> None:
    done = operate("dlq", "list")
    assert (done.code, done.out, done.err) == (0, "the DLQ is empty\n", "")
    assert operate("dlq", "list", "--json").json == {"groups": [], "entries": []}


@pytest.mark.usefixtures("letters")
def test_they_are_listed_by_backend_and_cause_and_exit_code_1_says_that_there_are_some(
    operate: Run, db: Connection
) -> None:
    done = operate("dlq", "list", "--limit", "1")
    assert (done.code, done.err) == (1, "")
    lines = done.out.splitlines()
    assert lines[0] == "6 DLQ entries, 3 kB still stored"
    assert lines[1].split()[:4] == ["backend", "cause", "objects", "size"]
    assert lines[2].split()[:5] == ["b1", "AccessDenied", "3", "3", "kB"]
    assert lines[3].split()[:5] == ["b1", "ObjectLocked", "2", "20", "bytes"]
    assert lines[4].split()[:5] == ["b2", "AccessDenied", "1", "10", "bytes"]
    assert lines[6].split() == ["id", "given", "up", "size", "object"]
    assert lines[7].split()[0] == number(db, "other000001")
    assert lines[7].endswith("b2/other000001  AccessDenied: not yours")
    assert lines[8] == "and 5 more: --limit, --backend, --cause, or the view reaper.dlq"


@pytest.mark.usefixtures("letters")
def test_they_are_filtered_by_backend_and_cause(operate: Run) -> None:
    found = operate("dlq", "list", "--backend", "b1", "--cause", "ObjectLocked", "--json").json
    assert [(g["backend"], g["cause"], g["objects"]) for g in found["groups"]] == [("b1", "ObjectLocked", 2)]
    assert {each["object_key"] for each in found["entries"]} == {"locked000001", "locked000002"}
    assert operate("dlq", "list", "--backend", "b3").code == 0


@pytest.mark.usefixtures("letters")
def test_one_is_told_with_all_that_is_known_and_what_to_do(operate: Run, db: Connection) -> None:
    wanted = number(db, key := name(db, "locked000001"))
    done = operate("dlq", "show", wanted)
    assert done.code == 0
    for part in (f"b1/{key}", "10 bytes", "hash 1", "ObjectLocked: [until] 2031"):
        assert part in done.out
    assert f"reaper dlq retry --id {wanted}" in done.out
    assert "retired" not in done.out
    assert operate("dlq", "show", wanted, "--json").json["cause"] == "ObjectLocked"


@pytest.mark.usefixtures("letters")
def test_one_whose_name_is_retired_says_so(operate: Run, db: Connection) -> None:
    db.execute("insert into reaper.retired_keys values ('locked000001', reaper.clock())")
    assert "RP004" in operate("dlq", "show", number(db, "locked000001")).out
    assert "1 with a retired name" in operate("dlq", "list").out


def test_one_that_is_not_there_is_refused(operate: Run) -> None:
    done = operate("dlq", "show", "42")
    assert (done.code, done.complaint[0]) == (4, "reaper: no DLQ entry 42")


@pytest.mark.usefixtures("letters")
def test_a_retry_counts_first_and_the_next_pass_deletes_them(
    operate: Run, db: Connection, me: Worker
) -> None:
    me.heartbeat()
    done = operate("dlq", "retry", "--cause", "AccessDenied", "--reason", "policy healed", "--yes")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "4 DLQ entries, 3 kB still stored"
    assert lines[-1] == "4 objects queued; workers try them within a minute"
    assert settle(me, lease(me)[0]) == 4
    assert orphans(db) == 20
    audited = db.execute("select who, action, subject, reason, detail from reaper.audit order by audit_id")
    assert [tuple(line) for line in audited] == [
        ("cli_operator", "retry_dlq", "backend b1, cause AccessDenied", "policy healed", "3 objects"),
        ("cli_operator", "retry_dlq", "backend b2, cause AccessDenied", "policy healed", "1 object"),
    ]


@pytest.mark.usefixtures("letters")
def test_several_are_retried_by_number(operate: Run, db: Connection) -> None:
    ids = [number(db, "denied000001"), number(db, "other000001")]
    assert operate("dlq", "retry", "--id", ids[0], "--id", ids[1], "--yes").code == 0
    assert sorted(column(db, "select queue_id::text from reaper.cleanup_queue")) == sorted(ids)


@pytest.mark.usefixtures("letters")
def test_a_retry_of_thousands_goes_in_batches(operate: Run, db: Connection, me: Worker) -> None:
    bury(db, me, "b3", 2500)
    done = operate("dlq", "retry", "--backend", "b3", "--yes")
    assert "2,500 objects queued;" in done.out
    details = column(db, "select detail from reaper.audit order by audit_id")
    assert details == ["1000 objects", "1000 objects", "500 objects"]


@pytest.mark.usefixtures("letters")
def test_a_retry_says_when_nothing_tries_it(operate: Run, db: Connection, me: Worker) -> None:
    def said(cause: str) -> str:
        return operate("dlq", "retry", "--cause", cause, "--yes").out.splitlines()[-1]

    causes = iter(column(db, "select distinct cause from reaper.dlq order by 1"))
    assert "no worker is alive to try them: start one (reaper worker), or run reaper drain" in said(
        next(causes)
    )
    db.execute("select reaper.register_service('cleanup_queue', '1 minute', 'x')")
    db.execute("select reaper.pause('cleanup_queue', '1 hour', 'an audit')")
    me.heartbeat()
    assert "cleanup_queue is paused until" in said(next(causes))


@pytest.mark.usefixtures("letters")
def test_nothing_is_decided_before_somebody_agrees(
    operate: Run, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "n\n")
    done = operate("dlq", "drop", "--backend", "b1", "--reason", "x")
    assert (done.code, done.out.endswith("nothing was changed\n")) == (0, True)
    assert value(db, "select count(*) from reaper.dlq") == 6
    answer(monkeypatch, "y\n")
    assert operate("dlq", "drop", "--backend", "b1", "--reason", "x").code == 0
    assert value(db, "select count(*) from reaper.dlq") == 1


@pytest.mark.usefixtures("letters")
def test_who_goes_away_without_an_answer_has_changed_nothing(
    operate: Run, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "")
    assert operate("dlq", "retry", "--all").code == 130
    assert value(db, "select count(*) from reaper.dlq") == 6


@pytest.mark.usefixtures("letters")
def test_a_script_must_say_yes(operate: Run, db: Connection) -> None:
    done = operate("dlq", "retry", "--all")
    assert (done.code, "add --yes" in done.complaint[0]) == (2, True)
    assert value(db, "select count(*) from reaper.dlq") == 6


@pytest.mark.parametrize("action", [("retry",), ("drop", "--reason", "x")])
@pytest.mark.parametrize("choice", [(), ("--all", "--backend", "b1")])
def test_everything_is_meant_only_when_somebody_says_so(
    operate: Run, action: tuple[str, ...], choice: tuple[str, ...]
) -> None:
    done = operate("dlq", *action, *choice, "--yes")
    assert (done.code, "--all" in done.complaint[0]) == (2, True)


def test_where_nothing_matches_nothing_is_asked(operate: Run) -> None:
    for action in (("retry",), ("drop", "--reason", "x")):
        done = operate("dlq", *action, "--backend", "b7")
        assert (done.code, done.out) == (0, "no DLQ entry matches\n")


@pytest.mark.usefixtures("letters")
def test_a_write_off_needs_a_reason_and_leaves_a_trace_of_each(operate: Run, db: Connection) -> None:
    assert operate("dlq", "drop", "--cause", "ObjectLocked", "--yes").code == 2
    assert operate("dlq", "drop", "--cause", "ObjectLocked", "--reason", " ", "--yes").code == 4
    done = operate("dlq", "drop", "--id", number(db, "locked000001"), "--reason", "kept by law", "--yes")
    assert done.out.splitlines()[-1] == "1 object written off; reaper.audit has every name"
    audited = record(db, "select who, subject, reason from reaper.audit")
    assert tuple(audited) == ("cli_operator", "b1/locked000001", "kept by law")
    assert orphans(db) == 3020


@pytest.mark.usefixtures("letters")
def test_an_object_whose_name_is_retired_is_written_off_only_on_demand(operate: Run, db: Connection) -> None:
    db.execute("insert into reaper.retired_keys values ('locked000001', reaper.clock())")
    drop = ("dlq", "drop", "--cause", "ObjectLocked", "--reason", "kept by law", "--yes")
    assert "1 with a retired name is kept: see --free-names" in operate(*drop).out
    refused = operate(*drop)
    assert refused.code == 4
    assert "--free-names" in refused.complaint[1]
    assert operate(*drop, "--free-names").code == 0
    assert column(db, "select object_key from reaper.retired_keys") == []
    assert value(db, "select count(*) from reaper.dlq where cause = 'ObjectLocked'") == 0


@pytest.mark.usefixtures("letters")
def test_who_may_only_read_may_look(bare_run: Run, worker_dsn: str) -> None:
    assert bare_run("dlq", "list", REAPER_DATABASE_URL=worker_dsn).code == 1
    done = bare_run("dlq", "retry", "--all", "--yes", REAPER_DATABASE_URL=worker_dsn)
    assert (done.code, "permission denied" in done.complaint[0]) == (4, True)


def test_a_size_that_is_not_known_is_not_zero_bytes(operate: Run, db: Connection) -> None:
    owe(db, "some", "cleanup_dlq", size_bytes=None, cause="AccessDenied")
    assert operate("dlq", "list").out.startswith("1 DLQ entry, unknown size still stored\n")
    owe(db, "more", "cleanup_dlq", size_bytes=5, cause="AccessDenied")
    assert operate("dlq", "list").out.startswith("2 DLQ entries, 5 bytes and more still stored\n")

"""A function's name says what it does: one word for each act, and a name that is a question never writes."""

import pytest

from tests.support.paste_fixtures import Connection, column

# The first word of everything that writes. A new one belongs here only if none of these says it.
VERBS = {
    *(
        "abort",
        "announce",
        "flush",
        "hasten",
        "keep",
        "refresh",
        "add",
        "adopt",
        "begin",
        "bind",
        "block",
        "claim",
        "close",
        "collect",
        "commit",
        "delete",
        "disable",
    ),
    *("disown", "drain", "drop", "emit", "enable", "enqueue", "extend", "fail", "finish"),
    *("apply", "expire", "fold", "free", "heartbeat", "import", "suspect"),
    *("lease", "lock", "mark", "move", "pause", "postpone", "prune", "purge", "record", "register"),
    *(
        "reap",
        "release",
        "remove",
        "repair",
        "replay",
        "reschedule",
        "rescue",
        "reset",
        "resume",
        "retire",
        "retry",
        "return",
        "rotate",
    ),
    *("run", "set", "sweep", "sync", "unblock", "write"),
}
# What is called from other processes under this name; to report is not to record, for the function judges it.
CONTRACT = {"report_copy"}
# Other words for acts that have one already.
FORBIDDEN = {
    *("bury", "dead", "defer", "find", "forget", "give", "hold", "leave", "note", "owe", "pick"),
    *("refuse", "report", "resolve", "settle", "take"),
}
# Makes PostgreSQL notice a conflict by a row that is gone at once.
TRIGGERS = {"require_free_key"}

WRITES = r"\m(insert into|update|delete from) (public|reaper|procrastinate)\."
LOCKS = r"for (no key )?update|lock table"
OURS = "pronamespace in ('reaper'::regnamespace, 'reaper_internal'::regnamespace)"


def named(db: Connection, condition: str) -> set[str]:
    return set(column(db, f"select proname from pg_proc where {OURS} and {condition}"))


def test_what_writes_is_named_by_a_verb(db):
    writers = named(db, f"provolatile = 'v' and prosrc ~ '{WRITES}'") - TRIGGERS - CONTRACT
    assert {name for name in writers if name.split("_")[0] not in VERBS} == set()


def test_every_verb_is_in_use(db):
    assert VERBS - {name.split("_")[0] for name in named(db, "true")} == set()


def test_no_act_has_two_words(db):
    assert {name for name in named(db, "true") - CONTRACT if name.split("_")[0] in FORBIDDEN} == set()
    assert named(db, "proname ~ 'dead'") == set()


def test_what_locks_rows_by_its_name_does_so(db):
    assert named(db, f"proname ~ '^lock_' and prosrc !~ '{LOCKS}'") == set()


@pytest.mark.parametrize("word", ["check", "count", "diagnose", "is"])
def test_what_only_finds_is_stable(db, word):
    assert named(db, f"proname ~ '^{word}_'")
    assert named(db, f"proname ~ '^{word}_' and provolatile = 'v'") == set()


def test_what_requires_refuses_and_writes_nothing(db):
    assert named(db, f"proname ~ '^require_' and prosrc ~ '{WRITES}'") == TRIGGERS
    refuse = "raise exception|reaper_internal.(require|raise)_"
    assert named(db, f"proname ~ '^require_' and prosrc !~ '{refuse}'") == set()

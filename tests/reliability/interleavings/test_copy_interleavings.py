"""Copies committed and removed beside a release, a put, a drained backend and each other, in every order."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tests.support.copy_fixtures import Copier
from tests.support.interleavings.actors import Connection
from tests.support.interleavings.explorer import Actor, Run, explore
from tests.support.interleavings.put_scenes import commit
from tests.support.interleavings.scenes import (
    ExploredDatabase,
    StartState,
    begin,
    claim,
    drop,
    finish,
    settle,
    values,
    violations,
)
from tests.support.mutants.mutant import Edit

pytestmark = pytest.mark.ordeal("interleavings", aim="12,000 schedules", share=0)

PATIENT = """
    alter function reaper.commit_copies(uuid, uuid[], text[], bigint[], text[], boolean[])
        set lock_timeout = 0;
    alter function reaper.commit_copy(uuid, uuid, text, bigint, text, boolean) set lock_timeout = 0;
    alter function reaper.remove_copy(text, text, text, text[], text[]) set lock_timeout = 0;
    alter function reaper.remove_backend(text, text) set lock_timeout = 0;
    alter function reaper.claim_copies(integer) set lock_timeout = 0;
    alter function reaper.report_copy(text, text, text, text, text) set lock_timeout = 0;
    select reaper.register_backend('east'), reaper.register_backend('west');
"""
COMMIT = "select reaper.commit_copy(%(intent_id)s, %(lease)s, %(source)s, 10, null, true) as outcome"
REMOVE = (
    "select reaper.remove_copy('h', {0}, %(key_{1})s, array[%(backend_{2})s], array[%(key_{2})s]) as outcome"
)
REAP = "select batch_id from reaper.reap_expired(10, 'reaper')"
GOOD = """
    select content_hash from content c
     where not exists (select from reaper.object_locations l
                        where l.content_hash = c.content_hash and l.trouble is null
                          and l.backend in (select name from reaper.backend_list))
"""


def second_copy_claimed(conn: Connection, memory: dict[str, Any]) -> None:
    """The content has one copy, and its second is being made."""
    conn.execute("update reaper.settings set replication_factor = 2")
    copier = Copier(conn)
    copier.sweep()
    [task] = copier.claim_copies()
    memory |= {"intent_id": task.intent_id, "lease": task.lease, "source": task.sources[0]}
    memory |= {"destination": task.destination, "new_key": task.object_key}


def move_claimed(conn: Connection, memory: dict[str, Any]) -> None:
    """The backend of the content's only copy is drained, and the copy is being moved."""
    conn.execute("select reaper.set_backend_state('default', 'draining', 'test')")
    copier = Copier(conn)
    copier.sweep()
    [task] = copier.claim_copies()
    memory |= {"intent_id": task.intent_id, "lease": task.lease, "source": task.sources[0]}
    memory |= {"destination": task.destination, "new_key": task.object_key}


def two_of_one(conn: Connection, memory: dict[str, Any]) -> None:
    """The content has two copies and needs one; two cleaners have each seen the other one."""
    second_copy_claimed(conn, memory)
    values(
        conn,
        COMMIT.replace("%(source)s", "'default'").replace("%(intent_id)s", "%s").replace("%(lease)s", "%s"),
        memory["intent_id"],
        memory["lease"],
    )
    conn.execute("update reaper.settings set replication_factor = 1")
    conn.execute("update reaper.object_locations set verified_at = now()")
    rows = conn.execute("select backend, object_key from reaper.object_locations order by backend").fetchall()
    for number, (backend, key) in enumerate((tuple(row) for row in rows), 1):
        memory |= {f"backend_{number}": backend, f"key_{number}": key}


SCENES = {"copied": second_copy_claimed, "moved": move_claimed, "two of one": two_of_one}
REMOVES = {
    "first": Actor(begin(REMOVE.format("%(backend_1)s", 1, 2)), "commit"),
    "second": Actor(begin(REMOVE.format("%(backend_2)s", 2, 1)), "commit"),
}
COPY = Actor(begin(COMMIT), "commit")
OTHERS = {
    "marks and drops": Actor(claim("worker", 10), begin(drop()), "commit", finish()),
    "reaps": Actor(begin(REAP), "commit"),
    "puts": Actor(begin(commit("new")), "commit"),
    "extends": Actor(
        begin("select reaper.extend_paste('a', reaper.clock() + interval '1 day') as done"), "commit"
    ),
    "inserts": Actor(
        begin(
            "insert into pastes (short_code, content_hash, expires_at)"
            " values ('new', 'h', now() + interval '1 day')"
        ),
        "update content set ref_count = ref_count + 1 where content_hash = 'h'",
        "commit",
    ),
    "drains": Actor(begin("select reaper.set_backend_state('east', 'draining', 'test')"), "commit"),
    "reports": Actor(
        begin("select reaper.report_copy('h', 'default', 'h/first', 'corrupt', 'test') as outcome"), "commit"
    ),
    "drops stale": Actor(
        begin("update reaper.copy_intents set lease_until = '2000-01-01'"),
        "select reaper.drop_stale_copies() as dropped",
        "commit",
    ),
    "sweeps and claims": Actor(
        begin("select looked_at from reaper.sweep_copies()"),
        "select intent_id as another from reaper.claim_copies()",
        "commit",
    ),
}
# Each pair of functions once: a copy that is added locks its content more weakly than one that moves, so both
# ways of locking meet a release and a writer. The other scene of each pair shows nearly the same.
ONCE = {
    *(("copied", other) for other in ("reaps", "extends", "drains", "drops stale", "sweeps and claims")),
    *(("moved", other) for other in ("marks and drops", "puts", "inserts", "reports")),
}
PAIRS = [
    pytest.param(scene, other, marks=() if (scene, other) in ONCE else pytest.mark.long)
    for scene in ("copied", "moved")
    for other in OTHERS
]
# A copy whose intent was dropped is refused; a writer that counts last meets a move in a circle of two.
RETRIED = {"drops stale": {"RP001"}, "inserts": {"40P01"}}


def reset(scene: str, *, begun: bool = False) -> Any:
    start = StartState(due={"a": "h"}, copied=("h",), begun={"new": "h"} if begun else {})

    def make(conn: Connection) -> Mapping[str, Any]:
        conn.execute(
            "update reaper.settings set replication_factor = 1;"
            "update reaper.backend_list set state = 'active';"
            "delete from reaper.circuits"
        )
        memory = start.reset(conn)
        SCENES[scene](conn, memory)
        return memory

    return make


def no_content_without_a_copy(conn: Connection, *_: Run) -> list[str]:
    """A content that is there has a good copy, or one that a test has called bad."""
    return [f"{content} has no copy" for content in values(conn, GOOD)]


def wrong(conn: Connection) -> list[str]:
    """What must never be true; a content that dies has one object for each of its copies here."""
    return [words for words in violations(conn) if " contents died, " not in words]


def at_end(conn: Connection, run: Run) -> Iterable[str]:
    """A release of everything leaves neither bytes nor wants behind; what lives has a copy."""
    reported = any("report_copy" in event.text for event in run.events)
    if not reported:
        yield from no_content_without_a_copy(conn)
    yield from (words for words in settle(conn) if " contents died, " not in words)
    conn.execute("update reaper.copy_wants set next_attempt = now() - interval '1 minute'")
    conn.execute("select reaper.claim_copies()")
    yield from values(
        conn,
        "select 'a want of a content that is gone: ' || w.content_hash from reaper.copy_wants w"
        " where not exists (select from content c where c.content_hash = w.content_hash)",
    )


@pytest.fixture
def copying(database: ExploredDatabase) -> ExploredDatabase:
    database.conn.execute(PATIENT)
    return database


@pytest.mark.slow(but=6)
@pytest.mark.parametrize(("scene", "other"), PAIRS)
def test_a_copy_beside_each_of_the_others_ends_exact(
    copying: ExploredDatabase, scene: str, other: str
) -> None:
    result = explore(
        copying.connect,
        {"copier": COPY, "other": OTHERS[other]},
        reset=reset(scene, begun=other == "puts"),
        check=wrong,
        at_end=at_end,
    ).assert_clean(allow=RETRIED.get(other, set()))
    assert copying.explored(result) >= 2


def test_two_cleaners_never_remove_both_copies(copying: ExploredDatabase) -> None:
    result = explore(
        copying.connect, REMOVES, reset=reset("two of one"), check=wrong, at_end=at_end
    ).assert_clean()
    assert copying.explored(result) >= 2


@pytest.mark.parametrize("other", ["reaps", "puts", "inserts"])
def test_a_removal_beside_a_release_or_a_writer_ends_exact(copying: ExploredDatabase, other: str) -> None:
    result = explore(
        copying.connect,
        {"cleaner": REMOVES["first"], "other": OTHERS[other]},
        reset=reset("two of one", begun=other == "puts"),
        check=wrong,
        at_end=at_end,
    ).assert_clean(allow=RETRIED.get(other, set()))
    assert copying.explored(result) >= 2


def test_without_the_content_lock_two_cleaners_remove_both(copying: ExploredDatabase) -> None:
    Edit(
        "remove_copy",
        "where c.content_hash = p_content_hash for update;",
        "where c.content_hash = p_content_hash;",
    ).load(copying.conn)
    with pytest.raises(AssertionError, match="go wrong"):
        explore(copying.connect, REMOVES, reset=reset("two of one"), check=wrong, at_end=at_end).assert_clean(
            allow={"40P01"}
        )
    copying.count("mutants caught")


def test_without_the_content_lock_a_copy_of_deleted_content_stays(copying: ExploredDatabase) -> None:
    Edit("commit_copies", "perform reaper_internal.lock_copied_contents(p_lease, p_intents);").load(
        copying.conn
    )
    with pytest.raises(AssertionError, match="go wrong"):
        explore(
            copying.connect,
            {"copier": COPY, "other": OTHERS["reaps"]},
            reset=reset("copied"),
            check=wrong,
            at_end=at_end,
        ).assert_clean()
    copying.count("mutants caught")

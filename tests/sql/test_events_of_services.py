"""What services decide is told in the same transaction: as its schema says, once, or not at all."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from reaper.model import Event
from reaper.notifications.cloud_event import as_json
from tests.support.copy_fixtures import backends, factor, state
from tests.support.event_schemas import require_valid
from tests.support.paste_fixtures import Connection, column

TOLD = """
select u.installation_id, e.event_id, e.type, e.subject, e.data, e.occurred_at
  from reaper.notification_outbox e cross join reaper.installation u order by e.outbox_id
"""
LISTED = """
select reaper.record_listed('default', pass, after_key, null, %s, %s, %s, %s, %s, %s)
  from reaper.begin_reconciliation('{default}')
"""
Tell = Callable[..., dict[str, Any]]


@pytest.fixture
def told(db: Connection) -> Callable[[], list[dict[str, Any]]]:
    """All events until now, each as its schema says; they are forgotten then."""
    db.execute("select reaper.add_webhook('all', 'https://hooks.example.com/', '{*}')")

    def events() -> list[dict[str, Any]]:
        found = [json.loads(as_json(Event(*row))) for row in db.execute(TOLD).fetchall()]
        db.execute("delete from reaper.notification_outbox")
        for event in found:
            require_valid(event)
        return found

    return events


@pytest.fixture
def tells(db: Connection, told: Callable[[], list[dict[str, Any]]]) -> Tell:
    """What an act tells: nothing if its transaction is rolled back, then just this."""

    def act_is_told(kind: str, act: Callable[[], object]) -> dict[str, Any]:
        told()
        with db.transaction(force_rollback=True):
            act()
            assert column(db, "select type from reaper.notification_outbox") == [kind]
        assert told() == []
        act()
        [event] = told()
        assert event["type"] == f"io.reaper.{kind}"
        return dict(event["data"])

    return act_is_told


def test_a_bad_copy_is_told_once_and_its_repair_too(db, copier, writer, tells, told):
    backends(db, "east", "west")
    factor(db, 2)
    writer.put("a", "h")
    copier.replicate()
    [(one, key), (two, other)] = db.execute(
        "select backend, object_key from reaper.object_locations order by backend"
    ).fetchall()
    assert tells("copy.corrupt", lambda: copier.report("h", one, key, "corrupt")) == {
        "content_hash": "h",
        "backend": one,
        "object_key": key,
        "size_bytes": 10,
        "good_copies": 1,
        "detail": "as a test says",
    }
    copier.report("h", one, key, "corrupt")
    copier.report("h", one, "another key", "missing")
    assert told() == []
    [task] = copier.claim_copies()
    repaired = tells("copy.repaired", lambda: copier.commit_copy(task))
    assert repaired == {
        "content_hash": "h",
        "backend": task.destination,
        "object_key": task.object_key,
        "size_bytes": 10,
        "replaced_backend": one,
        "replaced_key": key,
        "trouble": "corrupt",
    }
    # Found good again, it is not told; nor is a good copy that is moved.
    lost = tells("copy.missing", lambda: copier.report("h", two, other, "missing"))
    assert lost["good_copies"] == 1
    assert copier.report("h", two, other, None) == "good"
    state(db, two, "draining")
    assert copier.replicate() == ["moved"]
    assert told() == []


def test_a_copy_that_is_replaced_elsewhere_or_by_a_put_is_a_repair_too(db, copier, writer, tells):
    backends(db, "east", "west")
    factor(db, 2)
    writer.put("a", "h")
    copier.replicate()
    [(one, key), (two, other)] = db.execute(
        "select backend, object_key from reaper.object_locations order by backend"
    ).fetchall()
    copier.report("h", one, key, "missing")
    state(db, one, "readonly")
    [task] = copier.claim_copies()
    elsewhere = tells("copy.repaired", lambda: copier.commit_copy(task))
    assert (elsewhere["replaced_backend"], elsewhere["backend"]) == (one, task.destination)
    assert elsewhere["backend"] != one
    # No good copy is left: the bytes of the next put replace the one in the same place.
    copier.report("h", task.destination, task.object_key, "corrupt")
    copier.report("h", two, other, "corrupt")
    intent = writer.begin("b", "h")
    put = tells("copy.repaired", lambda: writer.commit(intent.intent_id))
    assert (put["backend"], put["object_key"], put["size_bytes"]) == (intent.backend, intent.object_key, 10)
    assert (put["replaced_backend"], put["trouble"]) == (intent.backend, "corrupt")


def test_contents_that_fit_nowhere_or_have_no_good_copy_are_told_with_each_sweep(
    db, clock, copier, writer, told, tells
):
    backends(db, "east", quota=5)
    factor(db, 2)
    writer.put("a", "large")
    # What has not been tried is not stuck.
    copier.sweep()
    assert copier.claim_copies() == []
    assert told() == []
    clock.advance("61 minutes")
    assert tells("replication.stuck", copier.sweep) == {
        "contents": 1,
        "bytes": 10,
        "wanted": 2,
        "reason": "no active backend without a copy has room, a closed circuit"
        " and monthly limits that are not used up",
        "content_hashes": ["large"],
    }
    # The pass has ended: nothing is told until the next one has.
    copier.sweep()
    assert told() == []
    writer.put("b", "bad")
    [(backend, key)] = db.execute(
        "select backend, object_key from reaper.object_locations where content_hash = 'bad'"
    ).fetchall()
    copier.report("bad", backend, key, "missing")
    told()
    clock.advance("61 minutes")
    copier.sweep()
    assert [(event["subject"], event["data"]["content_hashes"]) for event in told()] == [
        ("no good copy", ["bad"]),
        ("no room", ["large"]),
    ]


def test_a_backend_is_drained_when_nothing_lies_or_is_owed_there_and_again_the_next_time(
    db, copier, writer, tells, told
):
    backends(db, "east")
    state(db, "default", "readonly")
    writer.put("a", "h")
    state(db, "default", "active")
    state(db, "east", "draining")
    assert copier.replicate() == ["moved"]
    copier.sweep()
    # Its object is still to be deleted.
    assert told() == []
    db.execute("delete from reaper.cleanup_queue")
    assert tells("backend.drained", copier.sweep).keys() == {"backend", "since"}
    copier.sweep()
    state(db, "east", "active")
    copier.sweep()
    assert told() == []
    state(db, "east", "draining")
    assert tells("backend.drained", copier.sweep)["backend"] == "east"
    db.execute("select reaper.remove_backend('east', 'a test')")
    assert column(db, "select subject from reaper.notified_states where type = 'backend.drained'") == []


def test_a_quota_and_a_monthly_limit_that_are_nearly_used_up_are_told_once_per_crossing(
    db, paste, copy, tells
):
    paste("a", content="x")
    copy("x", "east")
    db.execute("select reaper.register_backend('east', 12)")
    full = tells("backend.nearly_full", lambda: db.execute("select reaper.record_nearly_full()"))
    assert full == {"backend": "east", "limit": "quota", "used": 10, "allowed": 12, "share": 0.8333}
    db.execute("select reaper.set_limit('east', 'monthly_requests', 4, 'a test')")
    db.execute(
        "select reaper.flush_usage(gen_random_uuid(), jsonb_build_array(jsonb_build_object("
        "'process', gen_random_uuid(), 'month', date_trunc('month', reaper.clock() at time zone 'UTC')::date,"
        "'backend', 'east', 'requests_read', 5)))"
    )
    used = tells("backend.nearly_full", lambda: db.execute("select reaper.record_nearly_full()"))
    assert used == {"backend": "east", "limit": "monthly_requests", "used": 5, "allowed": 4, "share": 1.25}


def test_a_pass_of_a_lifecycle_rule_is_told_if_it_made_something_due(db, paste, me, tells, told):
    db.execute("create index pastes_created on pastes (created_at, short_code)")
    db.execute("select reaper.add_lifecycle_rule('old', 'a', p_expiration_days => 30, p_enabled => true)")
    for code in ("a1", "a2", "a3", "b"):
        paste(code, content=f"of {code}", expires="1 year")
    db.execute("update pastes set created_at = reaper.clock() - interval '31 days'")

    def apply(limit: int) -> bool:
        return bool(me.call("apply_lifecycle_rule", "old", limit)[0].complete)

    assert not apply(2)
    assert told() == []
    assert tells("lifecycle.finished", lambda: apply(10)) == {"rule": "old", "rows": 3}
    assert apply(10)
    assert told() == []


def test_the_end_of_a_comparison_is_told_and_so_is_its_brake(db, tells, told):
    def listed(missing: int, *unknown: str) -> None:
        lost = [f"lost {number:03}" for number in range(missing)]
        db.execute(LISTED, [100 - missing, 100, lost, lost, list(unknown), [10] * len(unknown)])

    def finish() -> None:
        db.execute(
            'select reaper.finish_reconciliation(backend, pass, \'{"imported": 1, "queued": 2}\')'
            "  from reaper.reconciliations"
        )

    listed(2, "u1", "u2", "u3")
    assert told() == []
    assert tells("reconcile.finished", finish) == {
        "backend": "default",
        "looked_at": 100,
        "missing": 2,
        "untracked": 3,
        "imported": 1,
        "deleted": 2,
    }
    assert tells("reconcile.braked", lambda: listed(60)) == {
        "backend": "default",
        "looked_at": 100,
        "missing": 60,
        "brake": 0.05,
    }

"""Monthly limits and copies: a used-up month takes none, and is read only where no other copy is."""

import json
from uuid import uuid4

import pytest

from tests.support.copy_fixtures import backends, factor, places
from tests.support.paste_fixtures import Connection, column, value


def use_up(db: Connection, backend: str, limit: str) -> None:
    """A limit of one, and a process that tells of more."""
    db.execute("select reaper.set_limit(%s, %s, 1, 'a test')", [backend, limit])
    month = value(db, "select date_trunc('month', reaper.clock() at time zone 'UTC')::date::text")
    row = {"process": str(uuid4()), "month": month, "backend": backend, "ingress": 2, "egress": 2}
    db.execute("select reaper.flush_usage(gen_random_uuid(), %s)", [json.dumps([row])])


def raise_limit(db: Connection, backend: str, limit: str) -> None:
    db.execute("select reaper.set_limit(%s, %s, null, 'a test')", [backend, limit])


@pytest.fixture
def three(checked_db: Connection) -> Connection:
    backends(checked_db, "east", "west")
    factor(checked_db, 2)
    return checked_db


def test_a_copy_goes_where_the_month_is_not_used_up_or_waits(three, writer, copier):
    writer.put("a", "h")
    [home] = places(three, "h")
    full, free = sorted({"default", "east", "west"} - {home})
    use_up(three, full, "monthly_ingress")
    [task] = copier.claim_copies()
    assert task.destination == free
    assert copier.fail_copy(task)
    use_up(three, free, "monthly_ingress")
    three.execute("update reaper.copy_wants set next_attempt = reaper.clock()")
    assert copier.claim_copies() == []
    assert "monthly limits" in value(three, "select last_error from reaper.copy_wants")
    raise_limit(three, full, "monthly_ingress")
    three.execute("update reaper.copy_wants set next_attempt = reaper.clock()")
    assert [task.destination for task in copier.claim_copies()] == [full]


def test_a_source_whose_month_is_used_up_is_read_last_but_rather_than_not_at_all(three, writer, copier):
    writer.put("a", "h")
    copier.replicate()
    first, second = sorted(places(three, "h"))
    factor(three, 3)
    copier.sweep()
    use_up(three, first, "monthly_egress")
    [task] = copier.claim_copies()
    assert task.sources == [second, first]
    copier.fail_copy(task)
    use_up(three, second, "monthly_egress")
    three.execute("update reaper.copy_wants set next_attempt = reaper.clock()")
    [task] = copier.claim_copies()
    assert task.sources == [first, second]


def test_nothing_is_moved_to_or_from_a_backend_whose_month_is_used_up(checked_db, paste, copy, copier):
    db = checked_db
    for number in range(8):
        paste(f"p{number}", content=f"h{number}", expires="1 day")
        copy(f"h{number}", "east")
    for name in "east", "west":
        db.execute("select reaper.register_backend(%s, 100)", [name])
    plan = "select destination from reaper.plan_moves()"
    assert set(column(db, plan)) == {"west"}
    for backend, limit in ("west", "monthly_ingress"), ("east", "monthly_egress"):
        with db.transaction(force_rollback=True):
            use_up(db, backend, limit)
            assert column(db, plan) == []
        # Planned before, it is not begun.
        with db.transaction(force_rollback=True):
            db.execute("select reaper_internal.record_plan(reaper.clock())")
            use_up(db, backend, limit)
            assert copier.claim_moves() == []
    assert len(copier.claim_moves()) > 0

"""Usage of backends, limits, and the snapshot of the state."""

import json
from uuid import UUID

from tests.support.copy_fixtures import Copier, backends, factor, places
from tests.support.mutants.mutant import Mutant, mutant
from tests.support.mutants.scene import Scene

MONTH = "date_trunc('month', reaper.clock() at time zone 'UTC')::date"
SUM = f"select coalesce(sum(requests), 0)::bigint from reaper.usage where month = {MONTH}"
FIRST = UUID(int=7)


def tell(scene: Scene, requests: int, egress: int = 0, flush_id: UUID | None = None) -> int:
    """A report of one process; how many rows it changed."""
    row = {"process": str(UUID(int=1)), "backend": "default", "requests_read": requests, "egress": egress}
    rows = json.dumps([{**row, "month": str(scene.value(f"select {MONTH}"))}])
    flush_id = flush_id or UUID(int=requests + 100)
    return int(scene.value("select rows_changed from reaper.flush_usage(%s, %s)", flush_id, rows))


def fold(scene: Scene) -> None:
    scene.db.execute("select reaper.fold_usage(1000, '0')")


def a_flush_whose_answer_was_lost_is_repeated_in_vain(scene: Scene) -> None:
    assert tell(scene, 5, flush_id=FIRST) == 1
    assert tell(scene, 9, flush_id=FIRST) == 0
    assert scene.value(SUM) == 5


def a_late_report_lowers_nothing(scene: Scene) -> None:
    tell(scene, 5, egress=1)
    tell(scene, 3, egress=9)
    assert scene.value(SUM) == 5


def a_folded_total_is_counted_once(scene: Scene) -> None:
    tell(scene, 5)
    fold(scene)
    fold(scene)
    assert scene.value(SUM) == 5
    tell(scene, 5, flush_id=FIRST)
    assert scene.value(SUM) == 5
    tell(scene, 8)
    assert scene.value(SUM) == 8
    fold(scene)
    assert scene.value(SUM) == 8


def a_closed_month_is_told_of_in_vain(scene: Scene) -> None:
    before = scene.value(f"select {MONTH}")
    tell(scene, 5)
    scene.clock.advance("39 days")
    fold(scene)
    fold(scene)
    row = {"process": str(UUID(int=1)), "backend": "default", "requests_read": 5, "month": str(before)}
    scene.db.execute("select reaper.flush_usage(gen_random_uuid(), %s)", [json.dumps([row])])
    assert scene.value("select sum(requests)::bigint from reaper.usage") == 5


def a_used_up_limit_keeps_writes_away(scene: Scene) -> None:
    scene.db.execute("select reaper.register_backend('east')")
    scene.db.execute("select reaper.set_limit('default', 'monthly_requests', 5, 'why')")
    tell(scene, 5)
    assert scene.writer.begin("a", "g").backend == "east"


def a_used_up_limit_is_the_reason_that_is_named(scene: Scene) -> None:
    scene.db.execute("select reaper.set_limit('default', 'monthly_requests', 5, 'why')")
    tell(scene, 5)
    with scene.refusal("RP008"):
        scene.writer.begin("a", "g")


def a_crossing_is_announced_once(scene: Scene) -> None:
    scene.db.execute("select reaper.set_limit('default', 'monthly_requests', 5, 'why')")
    tell(scene, 5)
    assert [scene.value("select reaper.record_nearly_full()") for _ in range(2)] == [1, 0]
    scene.db.execute("select reaper.set_limit('default', 'monthly_requests', 100, 'why')")
    scene.db.execute("select reaper.record_nearly_full()")
    scene.db.execute("select reaper.set_limit('default', 'monthly_requests', 5, 'why')")
    assert scene.value("select reaper.record_nearly_full()") == 1


def copying(scene: Scene) -> Copier:
    """A content on default whose second copy may go to east."""
    backends(scene.db, "east")
    scene.stored("a", "h")
    factor(scene.db, 2)
    copier = Copier(scene.db)
    copier.sweep()
    return copier


def a_used_up_month_takes_no_copy(scene: Scene) -> None:
    copier = copying(scene)
    [home] = places(scene.db, "h")
    [away] = {"default", "east"} - {home}
    use_up(scene, away)
    assert copier.claim_copies() == []


def a_used_up_month_is_read_last(scene: Scene) -> None:
    copier = copying(scene)
    copier.replicate()
    backends(scene.db, "west")
    factor(scene.db, 3)
    copier.sweep()
    use_up(scene, "default")
    [task] = copier.claim_copies()
    assert task.sources == ["east", "default"]


def use_up(scene: Scene, backend: str) -> None:
    scene.db.execute("select reaper.set_limit(%s, 'monthly_requests', 5, 'why')", [backend])
    row = {"process": str(UUID(int=1)), "backend": backend, "requests_read": 5}
    rows = json.dumps([{**row, "month": str(scene.value(f"select {MONTH}"))}])
    scene.db.execute("select reaper.flush_usage(gen_random_uuid(), %s)", [rows])


def a_young_snapshot_is_not_taken_again(scene: Scene) -> None:
    look = "select taken_at from reaper.refresh_state()"
    assert scene.value(look) == scene.value(look)


MUTANTS: list[Mutant] = [
    mutant(
        "the id of a flush is ignored",
        a_flush_whose_answer_was_lost_is_repeated_in_vain,
        function="flush_usage",
        replace="if not exists (select from reaper.usage_flushes f where f.flush_id = p_flush_id) then",
        by="if true then",
    ),
    mutant(
        "a flush is not written down",
        a_flush_whose_answer_was_lost_is_repeated_in_vain,
        function="flush_usage",
        replace="if rows_changed > 0 then",
        by="if false then",
    ),
    mutant(
        "the last report wins, not the greatest",
        a_late_report_lowers_nothing,
        function="keep_greatest",
        replace="greatest(u.requests_read, excluded.requests_read)",
        by="excluded.requests_read",
    ),
    mutant(
        "reports are added up",
        a_folded_total_is_counted_once,
        function="keep_greatest",
        replace="greatest(u.requests_read, excluded.requests_read)",
        by="u.requests_read + excluded.requests_read",
    ),
    mutant(
        "what was folded is not remembered",
        a_folded_total_is_counted_once,
        function="fold_usage",
        replace="folded_requests_read = u.requests_read",
        by="folded_requests_read = 0",
    ),
    mutant(
        "a fold adds the whole total again",
        a_folded_total_is_counted_once,
        function="fold_usage",
        replace="sum(u.requests_read - u.folded_requests_read)",
        by="sum(u.requests_read)",
    ),
    mutant(
        "reports of closed months are taken",
        a_closed_month_is_told_of_in_vain,
        function="keep_greatest",
        replace="r.month >= reaper_internal.oldest_open_month(p_now)",
        by="true",
    ),
    mutant(
        "placement ignores limits",
        a_used_up_limit_keeps_writes_away,
        function="choose_backend",
        replace="and not reaper_internal.is_used_up(b.name, 'monthly_ingress')",
    ),
    mutant(
        "a limit is not reached when it is",
        a_used_up_limit_is_the_reason_that_is_named,
        function="reached_limits",
        replace=">= l.amount",
        by="> l.amount",
    ),
    mutant(
        "copies are placed whatever the month has used",
        a_used_up_month_takes_no_copy,
        function="lock_places",
        replace="and not reaper_internal.is_used_up(h.backend, 'monthly_ingress')",
        by="",
    ),
    mutant(
        "sources are read whatever the month has used",
        a_used_up_month_is_read_last,
        function="copy_tasks",
        replace="order by h.is_used_up, k.verified_at",
        by="order by k.verified_at",
        times=2,
    ),
    mutant(
        "each look announces",
        a_crossing_is_announced_once,
        function="announce_nearly_full",
        replace="if not found then",
        by="if false then",
    ),
    mutant(
        "what is below again stays announced",
        a_crossing_is_announced_once,
        function="record_nearly_full",
        replace="and l.used >= v_near * l.amount)",
        by=")",
    ),
    mutant(
        "each caller takes the snapshot anew",
        a_young_snapshot_is_not_taken_again,
        function="is_fresh",
        replace="s.taken_at > p_now - p_max_age",
        by="false",
    ),
]

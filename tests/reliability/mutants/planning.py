"""A plan counts what a drain would delete, each content once."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene

PAGES = """
with first as (select * from reaper.plan_page(null, p_limit => 1)),
     second as (select p.* from first f,
           lateral reaper.plan_page(f.counted_at, f.last_expires_at, f.last_short_code, 1, f.judged) as p)
select (select objects_freed from first) + (select objects_freed from second)
"""
PLANNED = "select objects_freed from reaper.plan_drain()"


def content_of_two_pages_is_counted_once(scene: Scene) -> None:
    scene.paste("a", content="same", expires="-2 hours")
    scene.paste("b", content="same", expires="-1 hour")
    assert scene.value(PAGES) == 1


def content_of_a_live_paste_is_not_freed(scene: Scene) -> None:
    scene.due("a", content="same")
    scene.live("b", content="same")
    assert scene.value(PLANNED) == 0


def content_of_a_blocked_paste_is_not_freed(scene: Scene) -> None:
    scene.due("a", "b", content="same")
    scene.db.execute(
        "insert into reaper.blocked values ('a', '23503', 'liked', 1, now(), now() + interval '1 hour')"
    )
    assert scene.value(PLANNED) == 0


def content_whose_ref_count_is_too_high_is_not_freed(scene: Scene) -> None:
    scene.due("a", content="same")
    scene.db.execute("update content set ref_count = 2")
    assert scene.value(PLANNED) == 0
    scene.me.drop(scene.me.claim())
    assert scene.column("select content_hash from content") == ["same"]


MUTANTS = [
    mutant(
        "content is counted on every page that names it",
        content_of_two_pages_is_counted_once,
        function="plan_page",
        replace="and not j.is_later",
    ),
    mutant(
        "a plan frees content of live pastes",
        content_of_a_live_paste_is_not_freed,
        function="judge_contents",
        replace="n.pastes = n.due and coalesce(c.ref_count, 0) <= n.pastes",
        by="true",
    ),
    mutant(
        "a plan frees content of blocked pastes",
        content_of_a_blocked_paste_is_not_freed,
        function="judge_contents",
        replace="not l.is_live and not b.is_blocked and",
        by="not l.is_live and",
    ),
    mutant(
        "a plan believes no ref_count",
        content_whose_ref_count_is_too_high_is_not_freed,
        function="judge_contents",
        replace="n.pastes = n.due and coalesce(c.ref_count, 0) <= n.pastes",
        by="n.pastes = n.due",
    ),
]

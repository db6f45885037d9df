"""A claim leases due rows, each to one worker."""

from tests.support.mutants.mutant import READ_COMMITTED, mutant
from tests.support.mutants.scene import SWALLOW, Scene, from_an_old_snapshot


def a_row_is_claimed_once(scene: Scene) -> None:
    scene.due("a", "b")
    assert scene.me.call("claim_expired", 10, "me")[0].claimed == 2
    assert scene.me.try_claim() is None


def only_what_is_due_is_claimed(scene: Scene) -> None:
    scene.live("a")
    scene.due("b")
    scene.me.claim()
    assert scene.marked() == ["b"]


def no_more_is_claimed_than_was_asked_for(scene: Scene) -> None:
    scene.due("a", "b", "c")
    scene.me.claim(2)
    assert len(scene.marked()) == 2


def the_oldest_are_claimed_first(scene: Scene) -> None:
    scene.paste("a", content="1", expires="-1 hour")
    scene.paste("b", content="2", expires="-3 hours")
    scene.me.claim(1)
    assert scene.marked() == ["b"]


def what_is_blocked_is_left_alone(scene: Scene) -> None:
    scene.due("a", "b")
    scene.db.execute(
        "insert into reaper.blocked values ('a', '23503', 'liked', 1, now(), now() + interval '1 hour')"
    )
    scene.me.claim()
    assert scene.marked() == ["b"]


def a_mark_that_a_trigger_swallows_blocks_its_row(scene: Scene) -> None:
    scene.due("bad", "good")
    scene.db.execute(SWALLOW.format("update"))
    scene.me.claim()
    assert scene.column("select short_code from reaper.blocked") == ["bad"]
    assert scene.column("select unnest(short_codes) from reaper.batches") == scene.marked() == ["good"]


@from_an_old_snapshot
def a_claim_from_an_old_snapshot_is_refused(scene: Scene) -> None:
    scene.due("a")
    with scene.refusal("RP006"):
        scene.me.try_claim()


MUTANTS = [
    mutant(
        "a claim takes marked rows",
        a_row_is_claimed_once,
        function="claim_expired",
        replace="and p.deletion_status = 'NOT_EXPIRED'",
    ),
    mutant(
        "a claim takes live rows",
        only_what_is_due_is_claimed,
        function="claim_expired",
        replace="p.expires_at <= v_now",
        by="true",
    ),
    mutant(
        "a claim has no limit",
        no_more_is_claimed_than_was_asked_for,
        function="claim_expired",
        replace="limit p_limit",
    ),
    mutant(
        "a claim has no order",
        the_oldest_are_claimed_first,
        function="claim_expired",
        replace="order by p.expires_at, p.short_code",
        by="order by p.short_code",
    ),
    mutant(
        "a claim takes blocked rows",
        what_is_blocked_is_left_alone,
        function="claim_expired",
        replace="and p.short_code <> all (v_blocked)",
    ),
    mutant(
        "a mark is not asked whether it was set",
        a_mark_that_a_trigger_swallows_blocks_its_row,
        function="mark_or_block",
        replace="cardinality(codes) = cardinality(p_codes)",
        by="true",
    ),
    mutant(
        "a claim takes any snapshot",
        a_claim_from_an_old_snapshot_is_refused,
        function="claim_expired",
        replace=READ_COMMITTED,
    ),
]

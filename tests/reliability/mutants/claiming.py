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


def what_no_worker_holds_is_claimed_last(scene: Scene) -> None:
    scene.due("a", "b")
    scene.me.claim()
    scene.db.execute("update reaper.batches set worker = null")
    batch = scene.me.claim(1)
    assert scene.column("select cardinality(short_codes) from reaper.batches") == [1, 1]
    scene.me.drop(batch)
    scene.me.drop(scene.me.claim())
    assert (scene.codes(), scene.me.try_claim()) == ([], None)
    assert scene.column("select state from reaper.batches") == ["RELEASED", "RELEASED"]
    scene.all_is_well()


def what_a_worker_holds_is_not_taken_from_it(scene: Scene) -> None:
    scene.due("a")
    scene.me.claim()
    assert scene.me.try_claim() is None


def what_cannot_go_now_does_not_keep_a_loop_from_its_end(scene: Scene) -> None:
    scene.due("blocked", "alive")
    scene.me.claim()
    scene.db.execute("update reaper.batches set worker = null")
    scene.db.execute("update pastes set expires_at = null where short_code = 'alive'")
    scene.db.execute(
        "insert into reaper.blocked values ('blocked', '23503', 'x', 1, now(), now() + interval '1 hour')"
    )
    assert scene.me.try_claim() is None
    assert (scene.marked(), scene.value("select count(*) from reaper.batches")) == ([], 0)
    scene.all_is_well()


def from_a_cursor_only_what_follows_is_claimed(scene: Scene) -> None:
    scene.due("a")
    scene.me.claim()
    scene.db.execute("update reaper.batches set worker = null")
    assert scene.me.call("claim_expired", 10, "me", "-infinity", "a") == []


TOMBSTONES = "update pastes set deletion_status = 'DELETED' where short_code like 'tomb%'"


def a_tombstone_gets_its_status_back(scene: Scene) -> None:
    scene.due("tomb1", "tomb2", "plain")
    scene.db.execute(TOMBSTONES)
    scene.me.claim()
    scene.db.execute("update reaper.batches set worker = null")
    first, second = scene.me.claim(1), scene.me.claim()
    for batch in (first, second):
        scene.me.call("return_batch", batch)
    statuses = scene.column("select short_code || ' ' || deletion_status from pastes")
    assert statuses == ["plain NOT_EXPIRED", "tomb1 DELETED", "tomb2 DELETED"]


def a_tombstone_that_cannot_go_keeps_its_status(scene: Scene) -> None:
    scene.due("bad")
    scene.due("tomb1", expires="-2 hours")
    scene.db.execute("update pastes set deletion_status = 'DELETED'")
    scene.db.execute(SWALLOW.format("delete"))
    batch = scene.me.claim()
    scene.db.execute("update pastes set expires_at = null where short_code = 'tomb1'")
    scene.me.drop(batch)
    assert scene.column("select deletion_status from pastes") == ["DELETED", "DELETED"]
    assert scene.column("select short_code from reaper.blocked") == ["bad"]


@from_an_old_snapshot
def a_claim_from_an_old_snapshot_is_refused(scene: Scene) -> None:
    scene.due("a")
    with scene.refusal("RP006"):
        scene.me.try_claim()


MUTANTS = [
    mutant(
        "a claim takes marked rows",
        a_row_is_claimed_once,
        function="lock_due",
        replace="and p.deletion_status is distinct from 'DELETION_IN_PROGRESS'",
    ),
    mutant(
        "a claim takes live rows",
        only_what_is_due_is_claimed,
        function="lock_due",
        replace="p.expires_at <= p_now",
        by="true",
    ),
    mutant(
        "a claim has no limit",
        no_more_is_claimed_than_was_asked_for,
        function="lock_due",
        replace="limit p_limit",
    ),
    mutant(
        "a claim has no order",
        the_oldest_are_claimed_first,
        function="lock_due",
        replace="order by p.expires_at, p.short_code",
        by="order by p.short_code",
    ),
    mutant(
        "a claim takes blocked rows",
        what_is_blocked_is_left_alone,
        function="lock_due",
        replace="and p.short_code <> all (v_blocked)",
    ),
    mutant(
        "a mark is not asked whether it was set",
        a_mark_that_a_trigger_swallows_blocks_its_row,
        function="mark_rows",
        replace="if cardinality(v_marked.codes) is distinct from cardinality(p_places) then",
        by="if false then",
    ),
    mutant(
        "marked rows that no worker holds are not claimed",
        what_no_worker_holds_is_claimed_last,
        function="claim_expired",
        replace="v_due := reaper_internal.claim_ownerless(p_limit, v_now);",
        by="v_due := reaper_internal.claim_ownerless(0, v_now);",
    ),
    mutant(
        "a taken row stays in its former batch",
        what_no_worker_holds_is_claimed_last,
        function="remove_settled_codes",
        replace="and p.short_code <> all (p_claimed)",
    ),
    mutant(
        "an empty batch stays",
        what_no_worker_holds_is_claimed_last,
        function="remove_settled_codes",
        replace="delete from reaper.batches b where …;",
    ),
    mutant(
        "marked rows are taken from a worker",
        what_a_worker_holds_is_not_taken_from_it,
        function="claim_ownerless",
        replace="b.state = 'CLAIMED' and b.worker is null",
        by="b.state = 'CLAIMED'",
        times=3,
    ),
    mutant(
        "blocked rows are taken",
        what_cannot_go_now_does_not_keep_a_loop_from_its_end,
        function="claim_from_batches",
        replace="and p.short_code <> all (v_blocked)",
    ),
    mutant(
        "live rows are taken",
        what_cannot_go_now_does_not_keep_a_loop_from_its_end,
        function="claim_from_batches",
        replace="and p.expires_at <= p_now",
    ),
    mutant(
        "what cannot go now stays marked",
        what_cannot_go_now_does_not_keep_a_loop_from_its_end,
        function="claim_from_batches",
        replace="perform reaper_internal.return_rows(…);",
    ),
    mutant(
        "a claim from a cursor takes what is behind it",
        from_a_cursor_only_what_follows_is_claimed,
        function="claim_expired",
        replace="and coalesce(p_after, '-infinity') = '-infinity' and p_after_code is null",
    ),
    mutant(
        "a claim leaves tombstones",
        a_tombstone_gets_its_status_back,
        function="lock_due",
        replace="is distinct from 'DELETION_IN_PROGRESS'",
        by="= 'NOT_EXPIRED'",
    ),
    mutant(
        "a claim forgets the statuses",
        a_tombstone_gets_its_status_back,
        function="mark_due",
        replace="statuses_of(v_due.other_statuses, codes)",
        by="statuses_of(null, codes)",
    ),
    mutant(
        "a claim of marked rows forgets the statuses",
        a_tombstone_gets_its_status_back,
        function="claim_from_batches",
        replace="statuses_of(v_statuses, codes)",
        by="statuses_of(null, codes)",
    ),
    mutant(
        "what is left of a batch forgets the statuses",
        a_tombstone_gets_its_status_back,
        function="remove_settled_codes",
        replace="statuses_of(b.other_statuses, l.codes)",
        by="statuses_of(null, l.codes)",
    ),
    mutant(
        "a returned row becomes NOT_EXPIRED",
        a_tombstone_gets_its_status_back,
        function="return_batch",
        replace="return_rows(v_batch.short_codes, v_batch.other_statuses)",
        by="return_rows(v_batch.short_codes, null)",
    ),
    mutant(
        "a row that was not deleted becomes NOT_EXPIRED",
        a_tombstone_that_cannot_go_keeps_its_status,
        function="release_rows",
        replace="deleted_codes)), p_statuses)",
        by="deleted_codes)), null)",
    ),
    mutant(
        "a blocked row becomes NOT_EXPIRED",
        a_tombstone_that_cannot_go_keeps_its_status,
        function="release_locked",
        replace="a trigger suppresses it', p_statuses)",
        by="a trigger suppresses it', null)",
    ),
    mutant(
        "a claim takes any snapshot",
        a_claim_from_an_old_snapshot_is_refused,
        function="claim_expired",
        replace=READ_COMMITTED,
    ),
]

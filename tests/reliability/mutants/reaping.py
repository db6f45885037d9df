"""A reap locks, releases and writes down in one transaction, without a mark between."""

from typing import Any

from psycopg.errors import LockNotAvailable

from tests.support.mutants.mutant import READ_COMMITTED, Edit, Mutant, mutant
from tests.support.mutants.scene import SWALLOW, Scene, from_an_old_snapshot
from tests.support.paste_fixtures import record

LIKED = "create table likes (short_code text references pastes); insert into likes values ('bad')"
SWAP = """
    create table pastes_new (like pastes including all);
    insert into pastes_new select * from pastes;
    alter table pastes rename to pastes_old;
    alter table pastes_new rename to pastes;
    grant select, insert, update, delete on pastes to reaper_owner;
"""
UNDO = "then perform reaper_internal.undo(); end if;"
BLOCK = "insert into reaper.blocked values ('{}', '23503', 'liked', 1, now(), now() + interval '1 hour')"
RELEASE = """
    select (reaper_internal.release_rows(
        %s, array(select place from reaper.pastes where short_code = any (%s)),
        false, reaper.clock(), %s, null)).deleted_codes
"""


def reap(scene: Scene, *cursor: Any, limit: int = 1000) -> Any:
    """The row that a reap returns, or nothing; nobody else is here, so it finds nothing locked."""
    try:
        rows = scene.me.call("reap_expired", limit, "me", *cursor)
    except LockNotAvailable as error:
        raise AssertionError("a reap met a lock") from error
    return rows[0] if rows else None


def released(scene: Scene, *cursor: Any, limit: int = 1000) -> int:
    """How many rows went in a reap that has something to write down."""
    answer = reap(scene, *cursor, limit=limit)
    assert answer is not None, "nothing was due"
    return int(answer.released)


def journal(scene: Scene, batch: Any) -> Any:
    """What is written down of a batch."""
    return record(scene.db, "select * from reaper.batches where batch_id = %s", batch)


def left_marked(scene: Scene, *codes: str) -> None:
    """Rows as a drop leaves them that found them busy."""
    scene.due(*codes)
    scene.me.claim()
    scene.db.execute("update reaper.batches set worker = null")


@from_an_old_snapshot
def a_reap_from_an_old_snapshot_is_refused(scene: Scene) -> None:
    scene.due("a")
    with scene.refusal("RP006"):
        reap(scene)


def a_swapped_table_is_not_reaped(scene: Scene) -> None:
    scene.due("a")
    scene.db.execute(SWAP)
    with scene.refusal("RP010"):
        reap(scene)


def a_right_that_is_lost_meanwhile_undoes_the_reap(scene: Scene) -> None:
    """The application's own trigger takes it away: a REVOKE waits for no lock."""
    scene.due("a")
    scene.db.execute(
        "create function revoke_it() returns trigger language plpgsql security definer as $$ begin"
        " revoke delete on public.pastes from reaper_owner; return null; end $$;"
        "create trigger revoke_it after delete on pastes for each row execute function revoke_it()"
    )
    with scene.refusal("RP010"):
        reap(scene)
    assert scene.codes() == ["a"]


def a_reap_of_no_size_is_refused(scene: Scene) -> None:
    with scene.refusal("RP005"):
        reap(scene, limit=0)


def a_reap_has_the_name_of_its_worker(scene: Scene) -> None:
    with scene.refusal("RP005"):
        scene.me.call("reap_expired", 10, "")
    with scene.refusal("RP005"):
        scene.me.call("reap_batch", 10, "", None, None)


def a_reap_is_on_disk_before_anybody_acts_on_it(scene: Scene) -> None:
    scene.due("a")
    scene.db.execute("set local synchronous_commit = off")
    reap(scene)
    assert scene.value("select current_setting('synchronous_commit')") == "on"


def what_is_reaped_is_written_down_for_its_worker(scene: Scene) -> None:
    scene.due("a", "b")
    scene.live("c", content="of b")
    answer = reap(scene)
    batch = journal(scene, answer.batch_id)
    assert (batch.state, batch.worker, sorted(batch.short_codes)) == ("RELEASED", "me", ["a", "b"])
    assert (batch.object_hashes, batch.object_backends, batch.object_keys) == (
        ["of a"],
        ["default"],
        ["key of of a"],
    )
    assert (answer.released, batch.rows_claimed, batch.object_sizes) == (2, 2, [10])
    scene.all_is_well()
    assert scene.me.finish(answer.batch_id).rows_deleted == 2


def what_is_drained_by_hand_is_adopted(scene: Scene) -> None:
    scene.due("a")
    assert scene.me.call("reap_without_owner", 10, None, None)[0].released == 1
    assert scene.adopted() == ["key of of a"]


def a_worker_is_told_all_that_it_has_to_delete(scene: Scene) -> None:
    scene.due("a")
    [batch] = scene.me.call("reap_batch", 10, "me", None, None)
    assert (batch.short_codes, batch.object_keys, batch.last_short_code) == (["a"], ["key of of a"], "a")
    assert journal(scene, batch.batch_id).worker == "me"


def a_reap_goes_on_where_the_last_one_ended(scene: Scene) -> None:
    scene.due("a", expires="-2 hours")
    scene.due("b", expires="-1 hour")
    first = reap(scene, limit=1)
    scene.due("c", expires="-3 hours")
    second = reap(scene, first.last_expires_at, first.last_short_code, limit=1)
    assert (first.last_short_code, second.last_short_code) == ("a", "b")
    assert reap(scene, second.last_expires_at, second.last_short_code) is None
    assert scene.codes() == ["c"]


def a_blocked_row_is_not_reaped(scene: Scene) -> None:
    scene.due("a", "b")
    scene.db.execute(BLOCK.format("a"))
    assert released(scene) == 1
    assert scene.codes() == ["a"]
    assert reap(scene) is None
    assert scene.codes() == ["a"]


def a_marked_row_is_left_to_its_batch(scene: Scene) -> None:
    scene.due("a")
    scene.me.claim()
    assert reap(scene) is None
    assert scene.marked() == ["a"]
    scene.all_is_well()


def a_row_that_was_marked_meanwhile_is_not_released(scene: Scene) -> None:
    """As a further attempt finds it, which knows only the codes that the first one saw."""
    scene.due("a", "b")
    scene.db.execute("update pastes set deletion_status = 'DELETION_IN_PROGRESS' where short_code = 'a'")
    for places in (["a", "b"], []):
        with scene.db.transaction(force_rollback=True):
            assert scene.value(RELEASE, ["a", "b"], places, "leave_all") == ["b"]


def a_row_that_was_extended_meanwhile_is_not_released(scene: Scene) -> None:
    scene.due("a", "b")
    scene.live("c")
    for places in (["a", "b", "c"], []):
        with scene.db.transaction(force_rollback=True):
            assert sorted(scene.value(RELEASE, ["a", "b", "c"], places, "wait")) == ["a", "b"]


def a_place_that_holds_another_row_by_now_is_not_reaped(scene: Scene) -> None:
    scene.due("a", "b")
    assert scene.value(RELEASE, ["a"], ["b"], "leave_all") == ["a"]
    assert scene.codes() == ["b"]


def a_row_without_a_status_is_reaped_beside_a_bad_one(scene: Scene) -> None:
    scene.db.execute("alter table pastes alter deletion_status drop not null")
    scene.due("bad", "none", "tomb")
    scene.db.execute("update pastes set deletion_status = null where short_code = 'none'")
    scene.db.execute("update pastes set deletion_status = 'DELETED' where short_code = 'tomb'")
    scene.db.execute(LIKED)
    assert released(scene) == 2
    assert scene.codes() == ["bad"]


def blocked(scene: Scene) -> list[Any]:
    """The codes that are blocked."""
    return scene.column("select short_code from reaper.blocked")


def of_a_reap_only_the_bad_row_is_blocked(scene: Scene) -> None:
    scene.due("bad")
    scene.due("a", "b", "c")
    scene.db.execute(LIKED)
    answer = reap(scene)
    batch = journal(scene, answer.batch_id)
    assert (answer.released, batch.rows_claimed, batch.rows_blocked) == (3, 4, 1)
    assert sorted(batch.short_codes) == ["a", "b", "c"]
    assert sorted(batch.object_keys) == ["key of of a", "key of of b", "key of of c"]
    assert (scene.codes(), blocked(scene)) == (["bad"], ["bad"])
    scene.all_is_well()


def a_bad_row_that_is_alone_is_blocked(scene: Scene) -> None:
    """From a cursor, where no second look follows."""
    scene.due("bad")
    scene.db.execute(LIKED)
    assert released(scene, "-infinity", "") == 0
    assert blocked(scene) == ["bad"]
    assert reap(scene) is None


def a_deletion_that_a_trigger_swallows_blocks_its_row_alone(scene: Scene) -> None:
    scene.due("bad")
    scene.db.execute(SWALLOW.format("delete"))
    assert released(scene, "-infinity", "") == 0
    assert blocked(scene) == ["bad"]
    assert reap(scene) is None


def rows_that_a_drop_left_are_reaped(scene: Scene) -> None:
    left_marked(scene, "a", "b", "c")
    assert released(scene, limit=2) == 2
    assert len(scene.marked()) == 1
    scene.all_is_well()
    assert released(scene) == 1
    assert reap(scene) is None
    assert scene.column("select state from reaper.batches") == ["RELEASED", "RELEASED"]
    scene.all_is_well()


def from_a_cursor_only_what_follows_is_reaped(scene: Scene) -> None:
    left_marked(scene, "a")
    assert reap(scene, "-infinity", "a") is None
    assert scene.marked() == ["a"]


def a_bad_row_that_a_drop_left_is_blocked(scene: Scene) -> None:
    left_marked(scene, "bad")
    scene.db.execute(SWALLOW.format("delete"))
    assert released(scene) == 0
    assert (blocked(scene), scene.marked()) == (["bad"], [])
    scene.all_is_well()


def a_tombstone_that_a_drop_left_keeps_its_status_when_it_is_blocked(scene: Scene) -> None:
    scene.due("bad")
    scene.db.execute("update pastes set deletion_status = 'DELETED'")
    scene.me.claim()
    scene.db.execute("update reaper.batches set worker = null")
    scene.db.execute(SWALLOW.format("delete"))
    reap(scene)
    assert scene.column("select deletion_status from pastes") == ["DELETED"]


def a_row_that_can_be_neither_reaped_nor_given_back_stays_in_an_ownerless_batch(scene: Scene) -> None:
    scene.due("bad", "good")
    scene.db.execute("update pastes set deletion_status = 'DELETED'")
    scene.me.claim()
    scene.db.execute("update reaper.batches set worker = null")
    scene.db.execute(SWALLOW.format("update or delete"))
    assert released(scene) == 1
    left = record(scene.db, "select * from reaper.batches where state = 'CLAIMED'")
    assert (left.worker, left.short_codes, left.other_statuses) == (None, ["bad"], {"bad": "DELETED"})
    scene.all_is_well()


def marked_rows_that_live_or_are_blocked_are_given_back(scene: Scene) -> None:
    left_marked(scene, "alive", "blocked")
    scene.db.execute("update pastes set expires_at = null where short_code = 'alive'")
    scene.db.execute(BLOCK.format("blocked"))
    assert reap(scene) is None
    assert (scene.codes(), scene.marked()) == (["alive", "blocked"], [])
    assert scene.value("select count(*) from reaper.batches") == 0
    scene.all_is_well()


MUTANTS = [
    mutant(
        "a reap takes any snapshot",
        a_reap_from_an_old_snapshot_is_refused,
        function="reap",
        replace=READ_COMMITTED,
    ),
    mutant(
        "a reap does not ask for the binding",
        a_swapped_table_is_not_reaped,
        function="reap",
        replace="perform …require_binding();",
    ),
    mutant(
        "a reap does not look at its rights again",
        a_right_that_is_lost_meanwhile_undoes_the_reap,
        function="reap",
        replace="perform …require_kept_rights();",
    ),
    mutant(
        "a reap may have any size",
        a_reap_of_no_size_is_refused,
        function="reap",
        replace="perform …require_limit(p_limit);",
    ),
    mutant(
        "a reap needs no name",
        a_reap_has_the_name_of_its_worker,
        function="reap_expired",
        replace="perform …require_worker(p_worker);",
    ),
    mutant(
        "a worker's reap needs no name",
        a_reap_has_the_name_of_its_worker,
        function="reap_batch",
        replace="perform …require_worker(p_worker);",
    ),
    mutant(
        "a reap may be lost in a crash",
        a_reap_is_on_disk_before_anybody_acts_on_it,
        function="reap",
        replace="perform …commit_durably();",
    ),
    mutant(
        "a reap belongs to no worker",
        what_is_reaped_is_written_down_for_its_worker,
        function="reap",
        replace="'RELEASED', p_worker,",
        by="'RELEASED', null,",
    ),
    mutant(
        "a reap writes no journal",
        what_is_reaped_is_written_down_for_its_worker,
        function="reap",
        replace="v_objects.hashes, v_objects.backends, v_objects.keys, v_objects.sizes,",
        by="'{}', '{}', '{}', '{}',",
    ),
    mutant(
        "a reap does not write down which rows went",
        what_is_reaped_is_written_down_for_its_worker,
        function="reap",
        replace="p_worker, v_release.deleted_codes,",
        by="p_worker, '{}',",
    ),
    mutant(
        "what a reap released is still held by it",
        what_is_reaped_is_written_down_for_its_worker,
        function="reap",
        replace="'RELEASED', p_worker,",
        by="'CLAIMED', p_worker,",
    ),
    mutant(
        "a reap books no bytes and names no object",
        what_is_reaped_is_written_down_for_its_worker,
        function="reap",
        replace="v_objects := …release_objects(…);",
        by="v_objects := row('{}'::text[], '{}'::text[], '{}'::text[], '{}'::bigint[]);",
    ),
    mutant(
        "what is drained by hand belongs to a worker",
        what_is_drained_by_hand_is_adopted,
        function="reap_without_owner",
        replace="reap(p_limit, null,",
        by="reap(p_limit, 'drain',",
    ),
    mutant(
        "a worker's reap belongs to no worker",
        a_worker_is_told_all_that_it_has_to_delete,
        function="reap_batch",
        replace="reap(p_limit, p_worker,",
        by="reap(p_limit, null,",
    ),
    mutant(
        "a reap does not look at its cursor",
        a_reap_goes_on_where_the_last_one_ended,
        function="reap",
        replace="last_code := p_after_code;",
        by="last_expires := null;",
    ),
    mutant(
        "a reap does not say where it ended",
        a_reap_goes_on_where_the_last_one_ended,
        function="reap",
        replace="last_code := v_reaped.last_code;",
    ),
    mutant(
        "a reap takes blocked rows",
        a_blocked_row_is_not_reaped,
        function="lock_due",
        replace="and p.short_code <> all (v_blocked)",
    ),
    mutant(
        "the last look of a reap takes blocked rows",
        a_blocked_row_is_not_reaped,
        function="reap_held",
        replace="and p.short_code <> all (…) order by",
        by="order by",
    ),
    mutant(
        "a reap takes marked rows",
        a_marked_row_is_left_to_its_batch,
        function="lock_due",
        replace="and p.deletion_status is distinct from 'DELETION_IN_PROGRESS'",
    ),
    mutant(
        "the last look of a reap sees marked rows",
        a_marked_row_is_left_to_its_batch,
        function="reap_held",
        replace="and p.deletion_status is distinct from 'DELETION_IN_PROGRESS'",
    ),
    mutant(
        "a further attempt does not look at the mark",
        a_row_that_was_marked_meanwhile_is_not_released,
        function="lock_pastes",
        replace="and (p.deletion_status is not distinct from 'DELETION_IN_PROGRESS') = p_marked",
        times=2,
    ),
    Mutant(
        "a further attempt does not look at the expiry",
        a_row_that_was_extended_meanwhile_is_not_released,
        (
            Edit("lock_pastes", "and (p_marked or p.expires_at <= p_now)", times=2),
            Edit("release_locked", "and p.expires_at <= p_now returning", "returning"),
        ),
    ),
    mutant(
        "a reap trusts places",
        a_place_that_holds_another_row_by_now_is_not_reaped,
        function="lock_pastes",
        replace="if v_locked.codes is distinct from p_codes then",
        by="if v_locked.codes is null then",
    ),
    mutant(
        "a row without a status is not reaped",
        a_row_without_a_status_is_reaped_beside_a_bad_one,
        function="lock_pastes",
        replace="p.deletion_status is not distinct from 'DELETION_IN_PROGRESS'",
        by="p.deletion_status = 'DELETION_IN_PROGRESS'",
        times=2,
    ),
    mutant(
        "tombstones are not reaped",
        a_row_without_a_status_is_reaped_beside_a_bad_one,
        function="lock_pastes",
        replace="(p.deletion_status is not distinct from 'DELETION_IN_PROGRESS') = p_marked",
        by="(p.deletion_status is distinct from 'NOT_EXPIRED') = p_marked",
        times=2,
    ),
    mutant(
        "one bad row stops a reap",
        of_a_reap_only_the_bad_row_is_blocked,
        function="reap_due",
        replace="if v_codes is null or reaper_internal.is_transient(sqlstate) then",
        by="if true then",
    ),
    mutant(
        "a bad row takes its reap along",
        of_a_reap_only_the_bad_row_is_blocked,
        function="release_or_block",
        replace="if v_half = 0 then",
        by="if true then",
    ),
    mutant(
        "of two halves only the objects of one are written down",
        of_a_reap_only_the_bad_row_is_blocked,
        function="merge_releases",
        replace="p_one.object_keys || p_other.object_keys",
        by="p_other.object_keys",
    ),
    mutant(
        "of two halves only the rows of one are written down",
        of_a_reap_only_the_bad_row_is_blocked,
        function="merge_releases",
        replace="p_one.deleted_codes || p_other.deleted_codes",
        by="p_other.deleted_codes",
    ),
    mutant(
        "of two halves only the blocked rows of one are counted",
        of_a_reap_only_the_bad_row_is_blocked,
        function="merge_releases",
        replace="p_one.rows_blocked + p_other.rows_blocked",
        by="p_other.rows_blocked",
    ),
    mutant(
        "a reap of which all rows were blocked is undone",
        a_bad_row_that_is_alone_is_blocked,
        function="reap_due",
        replace=f"and release.rows_blocked = 0 {UNDO} exception",
        by=f"{UNDO} exception",
    ),
    mutant(
        "a reap whose deletion was swallowed is undone",
        a_deletion_that_a_trigger_swallows_blocks_its_row_alone,
        function="reap_due",
        replace=f"and release.rows_blocked = 0 {UNDO} return",
        by=f"{UNDO} return",
    ),
    mutant(
        "a reap believes that what it deleted is gone",
        a_deletion_that_a_trigger_swallows_blocks_its_row_alone,
        function="release_locked",
        replace="v_stuck <> '{}'",
        by="false",
    ),
    mutant(
        "marked rows that no worker holds are not reaped",
        rows_that_a_drop_left_are_reaped,
        function="reap_ownerless",
        replace="if v_claimed.codes is null then",
        by="if true then",
    ),
    mutant(
        "marked rows are reaped without a limit",
        rows_that_a_drop_left_are_reaped,
        function="reap_ownerless",
        replace="claim_ownerless(p_limit, p_now)",
        by="claim_ownerless(1000, p_now)",
    ),
    mutant(
        "a reap from a cursor takes what is behind it",
        from_a_cursor_only_what_follows_is_reaped,
        function="reap",
        replace="v_release.deleted_codes is null and v_start",
        by="v_release.deleted_codes is null",
    ),
    mutant(
        "a bad row that a drop left is undone",
        a_bad_row_that_a_drop_left_is_blocked,
        function="reap_ownerless",
        replace="and v_release.rows_blocked = 0",
    ),
    mutant(
        "a reaped tombstone that is blocked becomes NOT_EXPIRED",
        a_tombstone_that_a_drop_left_keeps_its_status_when_it_is_blocked,
        function="reap_ownerless",
        replace="'{leave_some}', v_claimed.other_statuses)",
        by="'{leave_some}', null)",
    ),
    mutant(
        "a reap forgets rows that stay marked",
        a_row_that_can_be_neither_reaped_nor_given_back_stays_in_an_ownerless_batch,
        function="reap_ownerless",
        replace="perform …disown_rows(…);",
    ),
    mutant(
        "rows that stay marked have a worker",
        a_row_that_can_be_neither_reaped_nor_given_back_stays_in_an_ownerless_batch,
        function="disown_rows",
        replace="held_since) select gen_random_uuid(), …, p_now, p_now where",
        by="held_since, worker) select gen_random_uuid(), p_codes, null, 1, p_now, p_now, 'me' where",
    ),
    mutant(
        "rows that stay marked lose their status",
        a_row_that_can_be_neither_reaped_nor_given_back_stays_in_an_ownerless_batch,
        function="disown_rows",
        replace="statuses_of(p_statuses, p_codes)",
        by="statuses_of(null, p_codes)",
    ),
    mutant(
        "a reap leaves marked rows that live",
        marked_rows_that_live_or_are_blocked_are_given_back,
        function="reap",
        replace="reaper_internal.reap_ownerless(p_limit, v_now, true)",
        by="null::reaper.release",
    ),
]

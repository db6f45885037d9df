"""A batch is settled: nothing that was to be deleted is forgotten."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene, failure

END_OF_BATCH = "delete from reaper.batches b where b.batch_id = p_batch_id;"


def a_batch_is_not_settled_before_it_is_released(scene: Scene) -> None:
    scene.due("a")
    batch = scene.me.claim()
    with scene.refusal("RP001"):
        scene.me.finish(batch)
    scene.all_is_well()


def a_batch_is_settled_once(scene: Scene) -> None:
    batch = scene.released("a")
    scene.me.finish(batch)
    with scene.refusal("RP001"):
        scene.me.finish(batch)
    scene.all_is_well()


def nobody_reports_what_is_not_in_the_batch(scene: Scene) -> None:
    scene.live("b")
    batch = scene.released("a")
    with scene.refusal("RP005"):
        scene.me.finish(batch, [failure("key of of b")])


def a_report_is_a_list(scene: Scene) -> None:
    batch = scene.released("a")
    with scene.refusal("RP005"):
        scene.me.call("finish_batch", batch, "{}")


def what_was_not_deleted_is_queued(scene: Scene) -> None:
    batch = scene.released("a", "b")
    scene.me.finish(batch, [failure("key of of a")])
    assert scene.queued() == ["key of of a"]
    assert scene.column("select attempts from reaper.cleanup_queue") == [1]
    scene.all_is_well()


def what_is_gone_leaves_the_account(scene: Scene) -> None:
    scene.me.finish(scene.released("a", "b"))
    scene.all_is_well()


def what_was_denied_for_good_goes_to_the_dead_letters(scene: Scene) -> None:
    batch = scene.released("a", "b")
    scene.me.finish(batch, [failure("key of of a", "AccessDenied", permanent=True)])
    assert (scene.queued(), scene.dead()) == ([], ["key of of a"])
    scene.all_is_well()


def an_outage_costs_no_attempt(scene: Scene) -> None:
    batch = scene.released("a")
    scene.me.finish(batch, [failure("key of of a", outage=True)])
    assert scene.column("select attempts from reaper.cleanup_queue") == [0]


def an_entry_that_was_not_dropped_is_owed(scene: Scene) -> None:
    batch = scene.released("a", "b")
    scene.me.finish(batch, [{"short_code": "a", "error": "away"}])
    assert scene.owed_entries() == ["a"]


def an_entry_that_is_owed_again_is_not_settled_by_an_older_look(scene: Scene) -> None:
    batch = scene.released("a")
    scene.db.execute("select reaper_internal.enqueue_invalidation('a', reaper.clock())")
    lease = scene.me.call("claim_invalidations", 10)[0].lease
    scene.me.finish(batch, [{"short_code": "a", "error": "away"}])
    with scene.refusal("RP001"):
        scene.me.call("finish_invalidations", lease, "[]")
    assert scene.owed_entries() == ["a"]


def an_entry_that_is_filled_anew_is_not_settled_by_an_older_look(scene: Scene) -> None:
    scene.live("a")
    scene.writer.extend("a", "1 hour")
    lease = scene.me.call("claim_invalidations", 10)[0].lease
    scene.writer.delete("a")
    with scene.refusal("RP001"):
        scene.me.call("finish_invalidations", lease, "[]")
    assert scene.owed_entries() == ["a"]


def an_entry_that_failed_again_stays_owed(scene: Scene) -> None:
    scene.live("a")
    scene.writer.delete("a")
    lease = scene.me.call("claim_invalidations", 10)[0].lease
    scene.me.call("finish_invalidations", lease, '[{"short_code": "a", "error": "away"}]')
    assert scene.owed_entries() == ["a"]


MUTANTS = [
    mutant(
        "what is claimed can be settled",
        a_batch_is_not_settled_before_it_is_released,
        "expiry/finish_batch",
        "'{RELEASED}'",
        "'{CLAIMED,RELEASED}'",
    ),
    mutant(
        "the state of a batch is not asked for",
        a_batch_is_not_settled_before_it_is_released,
        "guards/lock_batch",
        " or v_batch.state <> all (p_states)",
    ),
    mutant("a batch never ends", a_batch_is_settled_once, "expiry/finish_batch", END_OF_BATCH),
    mutant(
        "anything may be reported",
        nobody_reports_what_is_not_in_the_batch,
        "expiry/finish_batch",
        "perform reaper_internal.require_failures_of_batch(v_batch, p_failed);",
    ),
    mutant(
        "a report may look like anything",
        a_report_is_a_list,
        "guards/require_report",
        "if jsonb_typeof(p_failed) <> 'array' then",
        "if false then",
    ),
    mutant(
        "what failed is forgotten",
        what_was_not_deleted_is_queued,
        "expiry/finish_objects",
        "where s.failed and s.permanent is not true",
        "where false",
    ),
    mutant(
        "an attempt is not counted",
        what_was_not_deleted_is_queued,
        "expiry/finish_objects",
        "case when s.counted then 1 else 0 end",
        "0",
    ),
    mutant(
        "what is gone stays in the account",
        what_was_not_deleted_is_queued,
        "expiry/finish_objects",
        "select s.backend, - s.size_bytes from settled s",
        "select s.backend, - s.size_bytes from settled s where s.failed",
    ),
    mutant(
        "what went without any failure stays in the account",
        what_is_gone_leaves_the_account,
        "expiry/finish_objects",
        "from freed f where f.bytes <> 0",
        "from freed f where false",
    ),
    mutant(
        "what was denied is forgotten",
        what_was_denied_for_good_goes_to_the_dead_letters,
        "expiry/finish_objects",
        "where s.permanent\n",
        "where false\n",
    ),
    mutant(
        "an outage counts as an attempt",
        an_outage_costs_no_attempt,
        "expiry/finish_objects",
        "p_failed is not null and not f.outage as counted",
        "p_failed is not null as counted",
    ),
    mutant(
        "an entry that was not dropped is forgotten",
        an_entry_that_was_not_dropped_is_owed,
        "expiry/finish_batch",
        "v_codes := reaper_internal.enqueue_failed_codes(v_batch, p_failed, v_now);",
        "v_codes := 0;",
    ),
    mutant(
        "an older look settles what failed since",
        an_entry_that_is_owed_again_is_not_settled_by_an_older_look,
        "expiry/enqueue_failed_codes",
        "last_error = excluded.last_error, lease = null",
        "last_error = excluded.last_error",
    ),
    mutant(
        "an older look settles what was deleted since",
        an_entry_that_is_filled_anew_is_not_settled_by_an_older_look,
        "doors/enqueue_invalidation",
        "next_attempt = excluded.next_attempt, lease = null",
        "next_attempt = excluded.next_attempt",
    ),
    mutant(
        "an entry that failed again is forgotten",
        an_entry_that_failed_again_stays_owed,
        "cleanup/finish_invalidations",
        "set lease        = null,\n           attempts",
        "set attempts",
    ),
]

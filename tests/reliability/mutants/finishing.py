"""A batch is settled: nothing that was to be deleted is forgotten."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene, failure


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


def a_report_on_an_entry_that_another_lease_settled_settles_nothing(scene: Scene) -> None:
    for code in ("a", "b"):
        scene.live(code)
        scene.writer.delete(code)
    older = scene.me.call("claim_invalidations", 10)[0].lease
    scene.db.execute("select reaper_internal.enqueue_invalidation('a', reaper.clock())")
    newer = scene.me.call("claim_invalidations", 10)[0].lease
    scene.me.call("finish_invalidations", newer, "[]")
    with scene.refusal("RP001"):
        scene.me.call("finish_invalidations", older, '[{"short_code": "a", "error": "away"}]')
    assert scene.owed_entries() == ["b"]


MUTANTS = [
    mutant(
        "what is claimed can be settled",
        a_batch_is_not_settled_before_it_is_released,
        function="finish_batch",
        replace="'{RELEASED}'",
        by="'{CLAIMED,RELEASED}'",
    ),
    mutant(
        "the state of a batch is not asked for",
        a_batch_is_not_settled_before_it_is_released,
        function="lock_batch",
        replace="or v_batch.state <> all (p_states)",
    ),
    mutant(
        "a batch never ends",
        a_batch_is_settled_once,
        function="finish_batch",
        replace="delete from …batches …;",
    ),
    mutant(
        "anything may be reported",
        nobody_reports_what_is_not_in_the_batch,
        function="finish_batch",
        replace="perform …require_failures_of_batch(…);",
    ),
    mutant(
        "a report may look like anything",
        a_report_is_a_list,
        function="require_report",
        replace="jsonb_typeof(p_failed) <> 'array'",
        by="false",
    ),
    mutant(
        "what failed is forgotten",
        what_was_not_deleted_is_queued,
        function="finish_objects",
        replace="s.failed and s.permanent is not true",
        by="false",
    ),
    mutant(
        "an attempt is not counted",
        what_was_not_deleted_is_queued,
        function="finish_objects",
        replace="case when s.counted then 1 else 0 end",
        by="0",
    ),
    mutant(
        "what is gone stays in the account",
        what_was_not_deleted_is_queued,
        function="finish_objects",
        replace="s.size_bytes from settled s",
        by="… where s.failed",
    ),
    mutant(
        "what went without any failure stays in the account",
        what_is_gone_leaves_the_account,
        function="finish_objects",
        replace="f.bytes <> 0",
        by="false",
    ),
    mutant(
        "what was denied is forgotten",
        what_was_denied_for_good_goes_to_the_dead_letters,
        function="finish_objects",
        replace="where s.permanent on",
        by="where false on",
    ),
    mutant(
        "an outage counts as an attempt",
        an_outage_costs_no_attempt,
        function="finish_objects",
        replace="and not f.outage",
    ),
    mutant(
        "an entry that was not dropped is forgotten",
        an_entry_that_was_not_dropped_is_owed,
        function="finish_batch",
        replace="v_codes := …;",
        by="v_codes := 0;",
    ),
    mutant(
        "an older look settles what failed since",
        an_entry_that_is_owed_again_is_not_settled_by_an_older_look,
        function="enqueue_failed_codes",
        replace=", lease = null",
    ),
    mutant(
        "an older look settles what was deleted since",
        an_entry_that_is_filled_anew_is_not_settled_by_an_older_look,
        function="enqueue_invalidation",
        replace=", lease = null",
    ),
    mutant(
        "an entry that failed again is forgotten",
        an_entry_that_failed_again_stays_owed,
        function="finish_invalidations",
        replace="lease = null, attempts",
        by="attempts",
    ),
    mutant(
        "a lease of entries is trusted to be whole",
        a_report_on_an_entry_that_another_lease_settled_settles_nothing,
        function="finish_invalidations",
        replace="p_lost_a_part => true",
        by="p_lost_a_part => false",
    ),
]

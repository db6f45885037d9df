"""What is owed a deletion is deleted, or given up with a reason."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene, failure
from tests.support.paste_fixtures import owe


def a_lease_that_ran_out_settles_nothing(scene: Scene) -> None:
    owe(scene.db, "k")
    old, _ = scene.lease()
    scene.clock.advance("1 hour")
    scene.lease()
    with scene.refusal("RP001"):
        scene.settle(old)
    assert scene.queued() == ["k"]


def what_one_deletes_is_left_to_it(scene: Scene) -> None:
    owe(scene.db, "k")
    assert scene.lease()[1] == ["k"]
    assert scene.lease()[1] == []


def what_failed_stays_owed_and_what_is_gone_leaves_the_account(scene: Scene) -> None:
    owe(scene.db, "k")
    owe(scene.db, "l")
    lease, _ = scene.lease()
    assert scene.settle(lease, [failure("k")]) == 1
    assert scene.queued() == ["k"]
    scene.all_is_well()


def the_tenth_refusal_is_the_last(scene: Scene) -> None:
    owe(scene.db, "k")
    for _ in range(10):
        assert scene.dead() == []
        scene.clock.advance("2 days")
        lease, keys = scene.lease()
        assert keys == ["k"]
        scene.settle(lease, [failure("k")])
    assert (scene.queued(), scene.dead()) == ([], ["k"])
    scene.all_is_well()


def outages_bury_nothing(scene: Scene) -> None:
    owe(scene.db, "k", attempts=9)
    lease, _ = scene.lease()
    scene.settle(lease, [failure("k", outage=True)])
    assert (scene.queued(), scene.dead()) == (["k"], [])


def a_denial_is_final(scene: Scene) -> None:
    owe(scene.db, "k")
    lease, _ = scene.lease()
    scene.settle(lease, [failure("k", "AccessDenied", permanent=True)])
    assert (scene.queued(), scene.dead()) == ([], ["k"])


def a_lease_is_on_disk_before_anything_is_deleted(scene: Scene) -> None:
    owe(scene.db, "k")
    scene.db.execute("set local synchronous_commit = off")
    scene.lease()
    assert scene.value("select current_setting('synchronous_commit')") == "on"


def what_is_retried_is_owed_again_and_in_one_place(scene: Scene) -> None:
    owe(scene.db, "k", "cleanup_dlq")
    assert scene.me.call("retry_dlq")[0].retry_dlq == 1
    assert (scene.queued(), scene.dead()) == (["k"], [])
    scene.all_is_well()


def a_write_off_leaves_retired_names_and_takes_the_bytes_of_the_rest(scene: Scene) -> None:
    owe(scene.db, "k", "cleanup_dlq")
    batch = scene.released("a", content="h", own_key=False)
    scene.me.finish(batch, [failure("h", "AccessDenied", permanent=True)])
    written_off = scene.value("select reaper.write_off_dlq(p_reason => 'by hand')")
    assert (written_off, scene.dead()) == (1, ["h"])
    scene.all_is_well()


MUTANTS = [
    mutant(
        "a lease that is gone settles",
        a_lease_that_ran_out_settles_nothing,
        function="require_lease",
        replace="coalesce(p_held, '{}') = '{}'",
        by="false",
    ),
    mutant(
        "two delete one object",
        what_one_deletes_is_left_to_it,
        function="lease_cleanup",
        replace="and d.next_attempt <= p_due",
    ),
    mutant(
        "what failed again is forgotten",
        what_failed_stays_owed_and_what_is_gone_leaves_the_account,
        function="finish_deleted",
        replace="and not exists (select …) returning",
        by="returning",
    ),
    mutant(
        "what was deleted late stays in the account",
        what_failed_stays_owed_and_what_is_gone_leaves_the_account,
        function="finish_deleted",
        replace="from gone g group by",
        by="from gone g where false group by",
    ),
    mutant(
        "a refusal is not counted",
        the_tenth_refusal_is_the_last,
        function="postpone_failed",
        replace="+ case when f.outage then 0 else 1 end",
    ),
    mutant(
        "nothing is ever given up",
        the_tenth_refusal_is_the_last,
        function="move_to_dlq",
        replace="or (q.attempts >= 9 and not f.outage)",
    ),
    mutant(
        "dead letters are lost",
        the_tenth_refusal_is_the_last,
        function="move_to_dlq",
        replace="from buried b",
        by="… where false",
    ),
    mutant(
        "outages bury",
        outages_bury_nothing,
        function="move_to_dlq",
        replace="and not f.outage",
    ),
    mutant(
        "a denial is tried again",
        a_denial_is_final,
        function="move_to_dlq",
        replace="(f.permanent or",
        by="(",
    ),
    mutant(
        "a lease may be lost in a crash",
        a_lease_is_on_disk_before_anything_is_deleted,
        function="claim_cleanup",
        replace="perform …commit_durably();",
    ),
    mutant(
        "a retry loses what it moves",
        what_is_retried_is_owed_again_and_in_one_place,
        function="retry_dlq",
        replace="from moved m;",
        by="from moved m where false;",
    ),
    mutant(
        "a write-off frees names",
        a_write_off_leaves_retired_names_and_takes_the_bytes_of_the_rest,
        function="lock_dlq",
        replace="(p_with_retired or",
        by="(true or",
    ),
    mutant(
        "a write-off keeps the bytes",
        a_write_off_leaves_retired_names_and_takes_the_bytes_of_the_rest,
        function="write_off_dlq",
        replace="from written_off w group by",
        by="from written_off w where false group by",
    ),
]

"""What is owed a deletion is deleted, or given up with a reason."""

from tests.support.mutants.mutant import mutant
from tests.support.mutants.scene import Scene, failure
from tests.support.paste_fixtures import owe

FAILED = (
    "(select from reaper_internal.failed_objects(p_failed) as f"
    " where f.backend = q.backend and f.object_key = q.object_key)"
)


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
        "cleanup/require_lease",
        "coalesce(p_held, '{}') = '{}' or",
        "false or",
    ),
    mutant(
        "two delete one object",
        what_one_deletes_is_left_to_it,
        "cleanup/lease_cleanup",
        " and d.next_attempt <= p_due",
    ),
    mutant(
        "what failed again is forgotten",
        what_failed_stays_owed_and_what_is_gone_leaves_the_account,
        "cleanup/finish_deleted",
        f"         where q.lease = p_lease\n           and not exists {FAILED}\n        returning",
        "         where q.lease = p_lease\n        returning",
    ),
    mutant(
        "what was deleted late stays in the account",
        what_failed_stays_owed_and_what_is_gone_leaves_the_account,
        "cleanup/finish_deleted",
        "from gone g group by g.backend",
        "from gone g where false group by g.backend",
    ),
    mutant(
        "a refusal is not counted",
        the_tenth_refusal_is_the_last,
        "cleanup/postpone_failed",
        "q.attempts + case when f.outage then 0 else 1 end",
        "q.attempts",
    ),
    mutant(
        "nothing is ever given up",
        the_tenth_refusal_is_the_last,
        "cleanup/move_to_dlq",
        " or (q.attempts >= 9 and not f.outage)",
    ),
    mutant(
        "dead letters are lost",
        the_tenth_refusal_is_the_last,
        "cleanup/move_to_dlq",
        "      from buried b\n",
        "      from buried b where false\n",
    ),
    mutant(
        "outages bury",
        outages_bury_nothing,
        "cleanup/move_to_dlq",
        "q.attempts >= 9 and not f.outage",
        "q.attempts >= 9",
    ),
    mutant("a denial is tried again", a_denial_is_final, "cleanup/move_to_dlq", "(f.permanent or", "("),
    mutant(
        "a lease may be lost in a crash",
        a_lease_is_on_disk_before_anything_is_deleted,
        "cleanup/claim_cleanup",
        "perform reaper_internal.commit_durably();",
    ),
    mutant(
        "a retry loses what it moves",
        what_is_retried_is_owed_again_and_in_one_place,
        "dlq/retry_dlq",
        "      from moved m;",
        "      from moved m where false;",
    ),
    mutant(
        "a write-off frees names",
        a_write_off_leaves_retired_names_and_takes_the_bytes_of_the_rest,
        "dlq/lock_dlq",
        "(p_with_retired or not exists",
        "(true or not exists",
    ),
    mutant(
        "a write-off keeps the bytes",
        a_write_off_leaves_retired_names_and_takes_the_bytes_of_the_rest,
        "dlq/write_off_dlq",
        "from written_off w group by w.backend",
        "from written_off w where false group by w.backend",
    ),
]

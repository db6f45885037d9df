"""Processes are stopped at any point until others have done their work, and wake up: they change nothing."""

from collections.abc import Iterator, Sequence

import pytest

from tests.support.crash_points.jobs import JOBS, SAID_NO, Errand, Passage
from tests.support.crash_points.world import CrashWorld
from tests.support.forked_processes import continued, ended, stopped
from tests.support.mutants.mutant import Edit
from tests.support.ordeals import Ordeal
from tests.support.process_faults import ProcessFault

# Where a drain has a batch that others take away, and where others have something of that kind.
BATCHES = (
    ("drain", "after claim_expired"),
    ("drain", "before drop_batch"),
    ("drain", "before cache.forget"),
    ("drain", "before objects.delete"),
    ("drain", "before finish_batch"),
    ("direct drain", "after reap_batch"),
    ("direct drain", "before objects.delete"),
    ("direct drain", "before finish_batch"),
)
LEASES = (
    ("watchdog", "after adopt_batch"),
    ("cleanup_queue", "before objects.delete"),
    ("invalidations", "after claim_invalidations"),
    ("pending_reaper", "before finish_intent"),
    ("notifications", "before finish_deliveries"),
    ("replicator", "before objects.read"),
    ("replicator", "before objects.write"),
    ("replicator", "after objects.write"),
    ("replicator that drains", "before commit_copies"),
    ("replicator on one server", "before objects.copy"),
    ("over_replication", "before remove_copy"),
    ("reconciler", "before record_listed"),
    ("reconciler that deletes", "before retire_untracked"),
    ("reconciler that misses copies", "before suspect_missing"),
    ("scrubber that reads other bytes", "before report_copy"),
    ("put", "before objects.put"),
    ("put", "before commit_put"),
)

# So many drains sleep at each of these places at once.
HERD = 4

Case = tuple[str, ProcessFault]


@pytest.mark.ordeal("zombies", aim="1,000 zombies fenced")
def test_a_process_that_wakes_up_too_late_changes_nothing(world: CrashWorld, ordeal: Ordeal) -> None:
    passages = {job: world.rehearse(job) for job in JOBS} if ordeal.long else {}
    every = every_sleep(passages)
    met: set[Case] = set()
    for job, fault in anywhere(every, passages, ordeal):
        haunt(world, [world.errand(job, fault)], ordeal)
        met.add((job, fault))
    if ordeal.long:
        ordeal.survived(f"of {len(every)} places to fall asleep", len(met.intersection(every)))


@pytest.mark.ordeal("zombies", aim="1,000 zombies fenced", share=4)
def test_each_of_many_drains_that_wake_up_too_late_is_refused(world: CrashWorld, ordeal: Ordeal) -> None:
    for number in ordeal.rounds(short=1):
        nth = ordeal.chance.randint(1, 2) if number else 1
        sleepers = [(job, ProcessFault.of(where, "stop", nth)) for job, where in BATCHES]
        haunt(world, world.herd(sleepers * HERD if ordeal.long else sleepers), ordeal)


@pytest.mark.slow
def test_a_refusal_that_is_not_counted_is_found_out(world: CrashWorld) -> None:
    world.sql(Edit("lock_batch", "perform nextval(…);").sql)
    with pytest.raises(AssertionError, match="1 held something, and 0 were refused"):
        haunt(
            world,
            [world.errand("drain", ProcessFault.of("after claim_expired", "stop"))],
            Ordeal("zombies", seed=1),
        )


def every_sleep(passages: dict[str, Passage]) -> list[Case]:
    """Before and after the first passing of every point of every job."""
    return [
        (job, ProcessFault(moment, point, "stop"))
        for job, passage in passages.items()
        for point in passage.passed
        for moment in ("before", "after")
        if not JOBS[job].has_fault_at(point, 1)
    ]


def anywhere(every: list[Case], passages: dict[str, Passage], ordeal: Ordeal) -> Iterator[Case]:
    """First where it is known to matter, then everywhere once, then at any passing of any point."""
    yield from ((job, ProcessFault.of(where, "stop")) for job, where in LEASES)
    for case in ordeal.chance.sample(every, len(every)):
        if not ordeal.left:
            return
        yield case
    while ordeal.left:
        job, passage = ordeal.chance.choice(list(passages.items()))
        point, times = ordeal.chance.choice(list(passage.passed.items()))
        nth = ordeal.chance.randint(1, times)
        if not JOBS[job].has_fault_at(point, nth):
            yield job, ProcessFault(ordeal.chance.choice(["before", "after"]), point, "stop", nth)


def haunt(world: CrashWorld, errands: Sequence[Errand], ordeal: Ordeal) -> None:
    """Stop processes, let others take over and create anew what they were deleting, and wake them up."""
    began = world.now()
    zombies = [(errand, world.start(errand)) for errand in errands]
    case = ", ".join(f"{errand.job}: {errand.faults[0]}" for errand in errands)
    for _, zombie in zombies:
        stopped(zombie)
    world.until_idle()
    holding = sum(world.holds(zombie.pid) and not JOBS[errand.job].faults for errand, zombie in zombies)
    # A put whose intent another ended has bytes that only itself knows of, until it wakes up and says so.
    if all(JOBS[errand.job].may_be_killed for errand in errands):
        assert world.complaints() == [], case
    world.heal()
    world.create_again()
    before, refusals = world.fingerprint(), world.refusals()

    for _, zombie in zombies:
        continued(zombie)
    for errand, zombie in zombies:
        exitcode = ended(zombie)
        assert exitcode in (0, SAID_NO), f"{case}: ended with {exitcode}"
        if exitcode == 0:
            world.note(errand, began)
    world.until_idle()
    refused = world.refusals() - refusals
    assert refused >= holding, f"{case}: {holding} held something, and {refused} were refused"
    if all(JOBS[errand.job].is_only_about_rows for errand in errands):
        assert world.fingerprint() == before, case
    assert world.complaints() == [], case
    world.heal()
    assert world.complaints(settled=True) == [], case
    ordeal.survived("zombies", len(zombies))
    ordeal.survived("zombies fenced", min(refused, len(zombies)))

"""Processes are stopped at any point until others have done their work, and wake up: they change nothing."""

from collections.abc import Iterator, Sequence

import pytest

from tests.reliability.crash_points.test_crash_points import is_doomed
from tests.support.crash_points.jobs import JOBS, SAID_NO, Errand, Passage
from tests.support.crash_points.world import Ward
from tests.support.ordeals import Ordeal
from tests.support.process_faults import Doom
from tests.support.world import continued, ended, stopped

# Where a drain has a batch that others take away, and where others have something of that kind.
BATCHES = (
    "after claim_expired",
    "before drop_references",
    "before cache.forget",
    "before objects.delete",
    "before finish_batch",
)
LEASES = (
    ("watchdog", "after adopt_batch"),
    ("cleanup_queue", "before objects.delete"),
    ("invalidations", "after claim_invalidations"),
    ("pending_reaper", "before finish_intent"),
    ("put", "before objects.put"),
    ("put", "before commit_put"),
)

# So many drains sleep at each of these places at once.
HERD = 4

Case = tuple[str, Doom]


@pytest.mark.ordeal("zombies", aim="1,000 zombies fenced")
@pytest.mark.timeout(180)
def test_a_process_that_wakes_up_too_late_changes_nothing(ward: Ward, ordeal: Ordeal) -> None:
    passages = {job: ward.rehearse(job) for job in JOBS} if ordeal.long else {}
    every = every_sleep(passages)
    met: set[Case] = set()
    for job, doom in anywhere(every, passages, ordeal):
        haunt(ward, [ward.errand(job, doom)], ordeal)
        met.add((job, doom))
    if ordeal.long:
        ordeal.survived(f"of {len(every)} places to fall asleep", len(met.intersection(every)))


@pytest.mark.ordeal("zombies", aim="1,000 zombies fenced", share=4)
@pytest.mark.timeout(180)
def test_each_of_many_drains_that_wake_up_too_late_is_refused(ward: Ward, ordeal: Ordeal) -> None:
    for number in ordeal.rounds(short=1):
        nth = ordeal.chance.randint(1, 2) if number else 1
        wheres = BATCHES * HERD if ordeal.long else BATCHES
        haunt(ward, ward.herd([Doom.of(where, "stop", nth) for where in wheres]), ordeal)


def test_a_refusal_that_is_not_counted_is_found_out(ward: Ward) -> None:
    hold = ward.value("select pg_get_functiondef('reaper_internal.lock_batch'::regproc)")
    ward.sql(hold.replace("perform nextval('reaper.refusals');", ""))
    with pytest.raises(AssertionError, match="1 held something, and 0 were refused"):
        haunt(ward, [ward.errand("drain", Doom.of("after claim_expired", "stop"))], Ordeal("zombies", seed=1))


def every_sleep(passages: dict[str, Passage]) -> list[Case]:
    """Before and after the first passing of every point of every job."""
    return [
        (job, Doom(moment, point, "stop"))
        for job, passage in passages.items()
        for point in passage.passed
        for moment in ("before", "after")
        if not is_doomed(job, point, 1)
    ]


def anywhere(every: list[Case], passages: dict[str, Passage], ordeal: Ordeal) -> Iterator[Case]:
    """First where it is known to matter, then everywhere once, then at any passing of any point."""
    yield from ((job, Doom.of(where, "stop")) for job, where in LEASES)
    for case in ordeal.chance.sample(every, len(every)):
        if not ordeal.left:
            return
        yield case
    while ordeal.left:
        job, passage = ordeal.chance.choice(list(passages.items()))
        point, times = ordeal.chance.choice(list(passage.passed.items()))
        nth = ordeal.chance.randint(1, times)
        if not is_doomed(job, point, nth):
            yield job, Doom(ordeal.chance.choice(["before", "after"]), point, "stop", nth)


def haunt(ward: Ward, errands: Sequence[Errand], ordeal: Ordeal) -> None:
    """Stop processes, let others take over and create anew what they were deleting, and wake them up."""
    began = ward.now()
    zombies = [(errand, ward.start(errand)) for errand in errands]
    case = ", ".join(f"{errand.job}: {errand.dooms[0]}" for errand in errands)
    for _, zombie in zombies:
        stopped(zombie)
    ward.until_idle()
    holding = sum(ward.holds(zombie.pid) and not JOBS[errand.job].dooms for errand, zombie in zombies)
    assert ward.complaints() == [], case
    ward.heal()
    ward.create_again()
    before, refusals = ward.fingerprint(), ward.refusals()

    for _, zombie in zombies:
        continued(zombie)
    for errand, zombie in zombies:
        exitcode = ended(zombie)
        assert exitcode in (0, SAID_NO), f"{case}: ended with {exitcode}"
        if exitcode == 0:
            ward.note(errand, began)
    ward.until_idle()
    refused = ward.refusals() - refusals
    assert refused >= holding, f"{case}: {holding} held something, and {refused} were refused"
    if not any(JOBS[errand.job].is_about_a_paste for errand in errands):
        assert ward.fingerprint() == before, case
    assert ward.complaints() == [], case
    ward.heal()
    assert ward.complaints(settled=True) == [], case
    ordeal.survived("zombies", len(zombies))
    ordeal.survived("zombies fenced", min(refused, len(zombies)))

"""A process dies, or hears no answer, at every point of every job: nothing is lost and nothing is left."""

import signal
from collections.abc import Iterator
from itertools import chain
from random import Random

import pytest

from tests.support.crash_points.jobs import JOBS, SAID_NO, Passage
from tests.support.crash_points.world import CrashWorld
from tests.support.ordeals import Ordeal
from tests.support.process_faults import ProcessFault

MOMENTS = {"before": (-signal.SIGKILL,), "after": (-signal.SIGKILL,), "lost": (0, SAID_NO)}
ANYHOW = (0, SAID_NO, -signal.SIGKILL)
# What a release has to delete is forgotten when it is written down.
FORGETFUL = """
create function forget() returns trigger language plpgsql as $$
begin
    new.object_hashes := '{}';
    new.object_backends := '{}';
    new.object_keys := '{}';
    new.object_sizes := '{}';
    return new;
end $$;
create trigger forget before insert or update on reaper.batches
   for each row when (new.state = 'RELEASED') execute function forget();
"""
FEW = 16

Case = tuple[str, tuple[ProcessFault, ...]]


@pytest.mark.ordeal("crash points", aim="every point x before, after, answer lost", share=6)
def test_a_process_that_dies_or_hears_nothing_at_any_point_leaves_what_others_put_right(
    world: CrashWorld, passages: dict[str, Passage], ordeal: Ordeal
) -> None:
    every = every_case(passages)
    if ordeal.long:
        ordeal.chance.shuffle(every)
    met: set[Case] = set()
    for job, faults in chain(every, others(passages, ordeal)) if ordeal.long else a_few(every, ordeal.chance):
        suffer(world, job, *faults)
        met.add((job, faults))
        for fault in faults:
            ordeal.survived("answers lost" if fault.moment == "lost" else "processes killed")
        if ordeal.long and not ordeal.left:
            break
    ordeal.survived("points", len({fault.point for _, faults in met for fault in faults}))
    ordeal.survived(f"of {len(every)} cases", len(met.intersection(every)))


def every_case(passages: dict[str, Passage]) -> list[Case]:
    """All jobs, points and moments, except where the job has a fault of its own."""
    return [
        (job, (ProcessFault(moment, point),))
        for job, passage in passages.items()
        for point in passage.passed
        for moment in moments(job)
        if not JOBS[job].has_fault_at(point, 1)
    ]


def moments(job: str) -> list[str]:
    return list(MOMENTS) if JOBS[job].may_be_killed else ["lost"]


def others(passages: dict[str, Passage], ordeal: Ordeal) -> Iterator[Case]:
    """Not only at the first passing of a point, and sometimes with a lost answer or two before."""
    while True:
        job, passage = ordeal.chance.choice(list(passages.items()))
        losses = [a_fault(passage, ordeal.chance, "lost") for _ in range(ordeal.chance.randrange(3))]
        last = a_fault(passage, ordeal.chance, ordeal.chance.choice(moments(job)))
        yield job, (*losses, last)


def a_fault(passage: Passage, chance: Random, moment: str) -> ProcessFault:
    point, times = chance.choice(list(passage.passed.items()))
    return ProcessFault(moment, point, nth=chance.randint(1, times))


def a_few(every: list[Case], chance: Random) -> Iterator[Case]:
    """Some of the points, each in some job, at some moment."""
    by_point: dict[str, list[Case]] = {}
    for job, faults in every:
        by_point.setdefault(faults[0].point, []).append((job, faults))
    for point in chance.sample(sorted(by_point), FEW):
        yield chance.choice(by_point[point])


def suffer(world: CrashWorld, job: str, *faults: ProcessFault) -> None:
    """One case, to its end; a process that is disturbed elsewhere too may never come to its point."""
    case = f"{job}: {', '.join(map(str, faults))}"
    is_sure = len(faults) == 1 and faults[0].nth == 1 and not JOBS[job].faults
    exitcode = world.die(world.errand(job, *faults))
    assert exitcode in (MOMENTS[faults[0].moment] if is_sure else ANYHOW), f"{case}: ended with {exitcode}"
    assert world.complaints() == [], case
    world.heal()
    assert world.complaints(settled=True) == [], case


@pytest.mark.parametrize(("job", "point"), [("drain", "drop_batch"), ("direct drain", "reap_batch")])
def test_a_release_that_does_not_write_down_what_it_owes_is_found_out(
    world: CrashWorld, job: str, point: str
) -> None:
    errand = world.errand(job, ProcessFault("after", point))
    world.sql(FORGETFUL)
    world.die(errand)
    assert any("nobody knows" in said for said in world.complaints())

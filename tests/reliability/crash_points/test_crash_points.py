"""A process dies, or hears no answer, at every point of every job: nothing is lost and nothing is left."""

import signal
from collections.abc import Iterator
from itertools import chain
from random import Random

import pytest

from tests.support.crash_points.jobs import JOBS, SAID_NO, Passage
from tests.support.crash_points.world import Ward
from tests.support.ordeals import Ordeal
from tests.support.process_faults import Doom

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
create trigger forget before update on reaper.batches
   for each row when (new.state = 'RELEASED') execute function forget();
"""
FEW = 16

Case = tuple[str, tuple[Doom, ...]]


@pytest.mark.ordeal("crash points", aim="every point x before, after, answer lost", share=6)
@pytest.mark.timeout(180)
def test_a_process_that_dies_or_hears_nothing_at_any_point_leaves_what_others_put_right(
    ward: Ward, passages: dict[str, Passage], ordeal: Ordeal
) -> None:
    every = every_case(passages)
    if ordeal.long:
        ordeal.chance.shuffle(every)
    met: set[Case] = set()
    for job, dooms in chain(every, others(passages, ordeal)) if ordeal.long else a_few(every, ordeal.chance):
        suffer(ward, job, *dooms)
        met.add((job, dooms))
        for doom in dooms:
            ordeal.survived("answers lost" if doom.moment == "lost" else "processes killed")
        if ordeal.long and not ordeal.left:
            break
    ordeal.survived("points", len({doom.point for _, dooms in met for doom in dooms}))
    ordeal.survived(f"of {len(every)} cases", len(met.intersection(every)))


def every_case(passages: dict[str, Passage]) -> list[Case]:
    """All jobs, points and moments, except where the job has a doom of its own."""
    return [
        (job, (Doom(moment, point),))
        for job, passage in passages.items()
        for point in passage.passed
        for moment in moments(job)
        if not is_doomed(job, point, 1)
    ]


def moments(job: str) -> list[str]:
    return list(MOMENTS) if JOBS[job].may_be_killed else ["lost"]


def is_doomed(job: str, point: str, nth: int) -> bool:
    return any(doom.point == point and doom.strikes(nth) for doom in JOBS[job].dooms)


def others(passages: dict[str, Passage], ordeal: Ordeal) -> Iterator[Case]:
    """Not only at the first passing of a point, and sometimes with a lost answer or two before."""
    while True:
        job, passage = ordeal.chance.choice(list(passages.items()))
        losses = [a_doom(passage, ordeal.chance, "lost") for _ in range(ordeal.chance.randrange(3))]
        last = a_doom(passage, ordeal.chance, ordeal.chance.choice(moments(job)))
        yield job, (*losses, last)


def a_doom(passage: Passage, chance: Random, moment: str) -> Doom:
    point, times = chance.choice(list(passage.passed.items()))
    return Doom(moment, point, nth=chance.randint(1, times))


def a_few(every: list[Case], chance: Random) -> Iterator[Case]:
    """Some of the points, each in some job, at some moment."""
    by_point: dict[str, list[Case]] = {}
    for job, dooms in every:
        by_point.setdefault(dooms[0].point, []).append((job, dooms))
    for point in chance.sample(sorted(by_point), FEW):
        yield chance.choice(by_point[point])


def suffer(ward: Ward, job: str, *dooms: Doom) -> None:
    """One case, to its end; a process that is disturbed elsewhere too may never come to its point."""
    case = f"{job}: {', '.join(map(str, dooms))}"
    is_sure = len(dooms) == 1 and dooms[0].nth == 1 and not JOBS[job].dooms
    exitcode = ward.die(ward.errand(job, *dooms))
    assert exitcode in (MOMENTS[dooms[0].moment] if is_sure else ANYHOW), f"{case}: ended with {exitcode}"
    assert ward.complaints() == [], case
    ward.heal()
    assert ward.complaints(settled=True) == [], case


def test_a_release_that_does_not_write_down_what_it_owes_is_found_out(ward: Ward) -> None:
    ward.sql(FORGETFUL)
    ward.die(ward.errand("drain", Doom("after", "drop_references")))
    assert any("nobody knows" in said for said in ward.complaints())

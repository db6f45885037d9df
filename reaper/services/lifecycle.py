"""Lifecycle: pastes become due by rules about their code, size and age; the drain then deletes them.

Idle without an enabled rule. Each rule walks the old pastes in the order of their creation, a page at a time;
how far it has come is kept in PostgreSQL. A rule that fails stops no other: the run is recorded as failed at
its end.
"""

from __future__ import annotations

from collections import Counter

from reaper.errors import ReaperError
from reaper.services.base import Context, Service, Tick

AT_ONCE = 1000


def tick(context: Context) -> Tick:
    """A page of each rule in turn, until each has come to its end, or the time is over."""
    figures = Counter(looked_at=0, expired=0, skipped=0, refused=0)
    rules = context.ask(lambda q: q.enabled_lifecycle_rules())
    failures: list[ReaperError] = []
    while rules and not context.stop.is_set():
        rules = [rule for rule in rules if _goes_on(context, rule, figures, failures)]
    if failures:
        raise failures[0]
    return Tick(figures, more=bool(rules))


def _goes_on(context: Context, rule: str, figures: Counter[str], failures: list[ReaperError]) -> bool:
    """Whether the pass of this rule has more pages, after the next one."""
    if context.stop.is_set():
        return True
    try:
        page = context.ask(lambda q: q.apply_lifecycle_rule(rule, AT_ONCE))
    except ReaperError as error:
        failures.append(error)
        return False
    figures.update(looked_at=page.looked_at, expired=page.expired, skipped=page.skipped, refused=page.refused)
    return not page.complete


SERVICE = Service(
    "lifecycle",
    "1 hour",
    tick,
    "makes pastes due by lifecycle rules, such as all of a prefix that are older than 90 days",
    changes_buckets=False,
)

"""What an operator may order on the page: what it would do and to how many rows, and doing it.

An order needs the right to call its SQL function, which PostgreSQL checks again; each is kept in
reaper.audit with its reason. What takes many batches stops after a while, says so, and may be given again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from reaper.config.units import format_duration, format_size, parse_duration
from reaper.errors import BadArgument
from reaper.ops import dlq
from reaper.ops.service_phase import Phase, phase
from reaper.queries import Queries
from reaper.queries.dlq import DlqFilter
from reaper.queries.notifications import Replay, WebhookLane
from reaper.queries.services import ServiceState

# How long one order may take; a browser waits for it.
BUDGET = timedelta(seconds=8)
# What health counts to.
COUNTED = 100_000
# Events that one statement queues again.
REPLAYED = 1000
Given = Mapping[str, str]


@dataclass(frozen=True)
class Choice:
    """Something that the operator fills in beside the reason."""

    name: str
    label: str
    default: str = ""
    help: str = ""


@dataclass(frozen=True)
class Preview:
    """What an order would do: sentences, how many rows, and what is to come back with the order."""

    effect: tuple[str, ...]
    rows: str
    given: Given = field(default_factory=dict)
    warning: str | None = None


@dataclass(frozen=True)
class Order:
    """One thing that an operator may order."""

    name: str
    verb: str
    # In schema reaper; who may not call it may not give the order.
    function: str
    preview: Callable[[Queries, Given], Preview]
    carry_out: Callable[[Queries, Given, str], str]
    choices: tuple[Choice, ...] = ()
    is_grave: bool = False


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _counted(number: int, noun: str) -> str:
    return f"{'at least ' if number >= COUNTED else ''}{_count(number, noun)}"


def _name(given: Given) -> str:
    """Whom the order is about."""
    if not given.get("name"):
        raise BadArgument("name is missing", "Go back to the page and choose the order again.")
    return given["name"]


# Services.


def _service(q: Queries, given: Given) -> ServiceState:
    name = given.get("name", "")
    for service in q.schedule():
        if service.name == name:
            return service
    raise BadArgument(f"there is no service {name!r}", "See the section Services.")


def _rows_of_run(q: Queries, name: str) -> str:
    """How many rows a run of the service would find."""
    if name == "drain":
        forecast = q.estimate_drain()
        about = "" if forecast.exact else "about "
        return f"{about}{_count(forecast.rows_due, 'due paste')}, {format_size(forecast.bytes_freed)} freed"
    if name == dlq.RETRYING:
        return f"{_counted(q.health().objects_queued, 'queued object')}"
    return "unknown before it runs"


def _preview_run(q: Queries, given: Given) -> Preview:
    service = _service(q, given)
    effect = [f"Makes {service.name} due now: {service.description}."]
    if not any(worker.alive for worker in q.fleet()):
        warning = "No worker is alive: it begins when one is started (reaper worker)."
    elif phase(service) in (Phase.OFF, Phase.PAUSED):
        warning = f"PostgreSQL will refuse: the service is {phase(service).value}."
    else:
        warning = None
        effect.append("A worker starts it within seconds, under the same lock as a scheduled run.")
    return Preview(tuple(effect), _rows_of_run(q, service.name), warning=warning)


def _run(q: Queries, given: Given, reason: str) -> str:
    q.run_now(_name(given), reason)
    return f"{given['name']} is due; a worker starts it within seconds"


def _preview_pause(q: Queries, given: Given) -> Preview:
    service = _service(q, given)
    effect = (
        f"Keeps {service.name} from running, by hand too, until the pause ends by itself.",
        "A drain or purge that runs stops before its next batch; no row is changed.",
    )
    waiting = (
        _counted(q.health().due_rows, "due paste") + " would wait" if service.name == "drain" else "none"
    )
    return Preview(effect, waiting)


def _pause(q: Queries, given: Given, reason: str) -> str:
    try:
        span = parse_duration(given.get("span", ""))
    except ValueError as error:
        raise BadArgument(f"for how long: {error}") from None
    until = q.pause(_name(given), span, reason)
    return f"{given['name']} is paused until {until:%Y-%m-%d %H:%M:%S %Z}"


def _preview_resume(q: Queries, given: Given) -> Preview:
    service = _service(q, given)
    effect = (f"Ends the pause of {service.name}; a run that was missed meanwhile starts at once.",)
    return Preview(effect, _rows_of_run(q, service.name))


def _resume(q: Queries, given: Given, reason: str) -> str:
    q.resume(_name(given), reason)
    return f"{given['name']} is resumed"


def _preview_switch(q: Queries, given: Given) -> Preview:
    service = _service(q, given)
    if service.enabled:
        effect = (
            f"Switches {service.name} off until it is switched on again; a run that has begun ends as usual."
        )
    else:
        effect = f"Switches {service.name} on; it runs on its schedule: {service.schedule}."
    return Preview((effect,), "none now")


def _enable(q: Queries, given: Given, reason: str) -> str:
    q.enable_service(_name(given), reason)
    return f"{given['name']} is on"


def _disable(q: Queries, given: Given, reason: str) -> str:
    q.disable_service(_name(given), reason)
    return f"{given['name']} is off"


# Deletions that were given up.


def _seen(given: Given) -> datetime | None:
    """When the operator looked; what came later is no part of the order."""
    before = given.get("before")
    try:
        return datetime.fromisoformat(before) if before else None
    except ValueError:
        raise BadArgument("before is no time", "Go back to the page and choose the order again.") from None


def _filter(given: Given) -> DlqFilter:
    return DlqFilter(given.get("backend") or None, given.get("cause") or None, before=_seen(given))


def _preview_dlq(q: Queries, given: Given, effect: str, warning: str | None = None) -> Preview:
    seen = q.health().judged_at
    groups = q.count_dlq(DlqFilter(given.get("backend") or None, given.get("cause") or None, before=seen))
    objects, size = sum(g.objects for g in groups), sum(g.bytes for g in groups)
    retired = sum(g.retired_names for g in groups)
    if retired and warning:
        warning += f" {_count(retired, 'entry', 'entries')} with a name that content could reuse would stay."
    rows = f"{_count(objects, 'entry', 'entries')} of the DLQ, {format_size(size)}"
    return Preview((effect,), rows, {"before": seen.isoformat()}, warning)


def _preview_retry(q: Queries, given: Given) -> Preview:
    return _preview_dlq(q, given, "Queues these deletions again: " + dlq.who_tries(q) + ".")


def _preview_write_off(q: Queries, given: Given) -> Preview:
    return _preview_dlq(
        q,
        given,
        "Deletes these entries and leaves the objects where they are; the audit keeps their keys.",
        "The objects are not deleted by reaper any more.",
    )


def _until_budget(batches: Iterable[int]) -> tuple[int, bool]:
    """The sum of the batches, and whether it was cut short."""
    deadline = time.monotonic() + BUDGET.total_seconds()
    total = 0
    for number in batches:
        total += number
        if time.monotonic() > deadline:
            return total, True
    return total, False


def _told(number: int, done: str, cut_short: bool) -> str:
    more = (
        f"; stopped after {format_duration(BUDGET)}, give the order again for the rest" if cut_short else ""
    )
    return f"{_count(number, 'entry', 'entries')} {done}{more}"


def _retry(q: Queries, given: Given, reason: str) -> str:
    chosen = _filter(given)
    number, cut_short = _until_budget(dlq.retry_all(q, chosen, q.count_dlq(chosen), reason))
    return _told(number, "queued again", cut_short)


def _write_off(q: Queries, given: Given, reason: str) -> str:
    chosen = _filter(given)
    settled = dlq.write_off_all(q, chosen, q.count_dlq(chosen), reason, free_names=False)
    number, cut_short = _until_budget(settled)
    return _told(number, "written off", cut_short)


# Blocked rows, backends, policies.


def _preview_unblock(q: Queries, given: Given) -> Preview:
    code = given.get("code")
    which = f"the paste {code}" if code else "every blocked paste"
    rows = "1 row" if code else _counted(q.health().rows_blocked, "row")
    effect = (
        f"Lets the next claim take {which} at once.",
        "Remove the cause first: what PostgreSQL still refuses is blocked again.",
    )
    return Preview(effect, rows)


def _unblock(q: Queries, given: Given, reason: str) -> str:
    return f"{_count(q.unblock(given.get('code') or None, reason), 'row')} unblocked"


def _preview_backend(q: Queries, given: Given) -> Preview:
    state = _wanted_state(given)
    for backend in q.backends():
        if backend.name == given.get("name"):
            does = (
                "New objects are stored there again"
                if state == "active"
                else "No new objects are stored there"
            )
            effect = f"{does}; what is stored is read and deleted in either state."
            return Preview((effect,), f"none; {format_size(backend.bytes_used)} are stored there")
    raise BadArgument(f"there is no backend {given.get('name')!r}", "See the section Backends.")


def _wanted_state(given: Given) -> str:
    state = given.get("state", "")
    if state not in ("active", "readonly"):
        raise BadArgument(f"invalid backend state: {state!r}", "Choose active or readonly.")
    return state


def _set_backend_state(q: Queries, given: Given, reason: str) -> str:
    q.set_backend_state(_name(given), _wanted_state(given), reason)
    return f"backend {given['name']} is {given['state']}"


def _preview_enable_policy(q: Queries, given: Given) -> Preview:
    forecast = q.plan_policy(given.get("name", ""))
    effect = (
        f"Lets purges delete rows from before {forecast.cutoff:%Y-%m-%d %H:%M:%S %Z}, and later ones too.",
        f"By this statement, {_count(forecast.batches, 'batch', 'batches')} now: {forecast.statement}",
    )
    return Preview(effect, f"{_count(forecast.rows_aged, 'row')}, {forecast.share:.1%} of the table")


def _enable_policy(q: Queries, given: Given, reason: str) -> str:
    q.enable_policy(_name(given), reason)
    return f"policy {given['name']} is enabled"


def _preview_disable_policy(q: Queries, given: Given) -> Preview:
    if given.get("name") not in {policy.name for policy in q.policies()}:
        raise BadArgument(f"there is no policy {given.get('name')!r}", "See the section Policies.")
    return Preview(("Purges delete nothing for this policy until it is enabled again.",), "none")


def _disable_policy(q: Queries, given: Given, reason: str) -> str:
    q.disable_policy(_name(given), reason)
    return f"policy {given['name']} is disabled"


# Lifecycle rules and webhooks.


def _preview_enable_rule(q: Queries, given: Given) -> Preview:
    forecast = q.plan_lifecycle_rule(given.get("name", ""))
    freed = f"{_count(forecast.objects_freed, 'object')} now, {format_size(forecast.bytes_freed)}"
    effect = (
        f"Makes pastes due from before {forecast.cutoff:%Y-%m-%d %H:%M:%S %Z}, and later ones too.",
        f"Drains delete what is due: {freed}.",
    )
    return Preview(effect, _count(forecast.rows_matching, "paste"))


def _enable_rule(q: Queries, given: Given, reason: str) -> str:
    q.enable_lifecycle_rule(_name(given), reason)
    return f"rule {given['name']} is enabled"


def _preview_disable_rule(q: Queries, given: Given) -> Preview:
    if given.get("name") not in {rule.name for rule in q.lifecycle_rules()}:
        raise BadArgument(f"there is no rule {given.get('name')!r}", "See the section Lifecycle.")
    effect = "Nothing more becomes due by this rule until it is enabled again; what is due stays due."
    return Preview((effect,), "none")


def _disable_rule(q: Queries, given: Given, reason: str) -> str:
    q.disable_lifecycle_rule(_name(given), reason)
    return f"rule {given['name']} is disabled"


def _lane(q: Queries, given: Given) -> WebhookLane:
    for lane in q.webhooks():
        if lane.name == given.get("name"):
            return lane
    raise BadArgument(f"there is no webhook {given.get('name')!r}", "See the section Webhooks.")


def _preview_enable_webhook(q: Queries, given: Given) -> Preview:
    lane = _lane(q, given)
    effect = (f"Sends to {lane.endpoint} again, at once: what waits, and what happens from now on.",)
    missed = None if lane.enabled else "What happened while it was disabled is not sent later."
    return Preview(effect, f"{_counted(lane.waiting, 'waiting event')}", warning=missed)


def _enable_webhook(q: Queries, given: Given, reason: str) -> str:
    q.enable_webhook(_name(given), reason)
    return f"webhook {given['name']} is enabled"


def _preview_replay(q: Queries, given: Given) -> Preview:
    lane = _lane(q, given)
    effect = (
        f"Queues for {lane.endpoint} again what was given up, under the same ids.",
        "An endpoint that has had one of them knows it by its id.",
    )
    disabled = None if lane.enabled else "The webhook is disabled: nothing is sent before it is enabled."
    seen = {"before": q.now().isoformat()}
    return Preview(effect, _counted(lane.given_up, "event") + " given up", seen, disabled)


def _replay(q: Queries, given: Given, reason: str) -> str:
    chosen = Replay(dlq_only=True, before=_seen(given))
    number, cut_short = _until_budget(_replayed(q, _name(given), chosen, reason))
    more = "; stopped after a while, give the order again for the rest" if cut_short else ""
    return f"{_count(number, 'event')} queued again{more}"


def _replayed(q: Queries, name: str, chosen: Replay, reason: str) -> Iterator[int]:
    while number := q.replay_deliveries(name, chosen, REPLAYED, reason):
        yield number


_SPAN = Choice("span", "For how long", "1 h", "30 min, 2 h, 1 d; up to 30 d")
ORDERS = {
    order.name: order
    for order in (
        Order("run", "Run now", "run_now", _preview_run, _run),
        Order("pause", "Pause", "pause", _preview_pause, _pause, (_SPAN,)),
        Order("resume", "Resume", "resume", _preview_resume, _resume),
        Order("enable", "Switch on", "enable_service", _preview_switch, _enable),
        Order("disable", "Switch off", "disable_service", _preview_switch, _disable, is_grave=True),
        Order("retry", "Retry", "retry_dlq", _preview_retry, _retry),
        Order("write-off", "Write off", "write_off_dlq", _preview_write_off, _write_off, is_grave=True),
        Order("unblock", "Unblock", "unblock", _preview_unblock, _unblock),
        Order("backend", "Change state", "set_backend_state", _preview_backend, _set_backend_state),
        Order(
            "enable-policy",
            "Enable",
            "enable_policy",
            _preview_enable_policy,
            _enable_policy,
            is_grave=True,
        ),
        Order("disable-policy", "Disable", "disable_policy", _preview_disable_policy, _disable_policy),
        Order(
            "enable-rule",
            "Enable",
            "enable_lifecycle_rule",
            _preview_enable_rule,
            _enable_rule,
            is_grave=True,
        ),
        Order("disable-rule", "Disable", "disable_lifecycle_rule", _preview_disable_rule, _disable_rule),
        Order("enable-webhook", "Enable", "enable_webhook", _preview_enable_webhook, _enable_webhook),
        Order("replay", "Send again", "replay_deliveries", _preview_replay, _replay),
    )
}

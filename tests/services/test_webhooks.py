"""Events reach their endpoints: once, in order, past endpoints that are slow, down, gone or elsewhere."""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from reaper.notifications.schema_files import schemas
from tests.support.captured_logs import capture_logs
from tests.support.event_schemas import require_valid
from tests.support.ports import closed_port
from tests.support.waiting import wait_until
from tests.support.webhook_endpoint import NEW_SECRET, SECRET, Said, WebhookEndpoint, always
from tests.support.worker_world import WorkerWorld

ADD = "select reaper.add_webhook(%s, %s, %s, %s)"
EMIT = """
select reaper_internal.emit('webhook.test', n::text, '{"webhook": "x"}') from generate_series(1, %s) as n
"""
WELL = """
(select count(*) from reaper.notification_outbox o join reaper.webhooks w using (webhook_id)
  where w.name = 'well' and o.delivered_at is not null) >= 300
"""
LANES = "select name, enabled, waiting, given_up from reaper.webhook_lanes order by name"
SENT = "select count(*) from reaper.notification_outbox where delivered_at is not null"


@pytest.fixture
def hooked(world: WorkerWorld, monkeypatch: pytest.MonkeyPatch) -> WorkerWorld:
    """A world whose workers may deliver to this machine, and have the secrets."""
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    monkeypatch.setenv("NEXT_SECRET", NEW_SECRET)
    world.extra["REAPER_ALLOW_PRIVATE_WEBHOOKS"] = "true"
    return world


@pytest.fixture
def endpoint() -> Iterator[WebhookEndpoint]:
    with WebhookEndpoint() as running:
        yield running


def add(world: WorkerWorld, name: str, endpoint: WebhookEndpoint | str, *events: str) -> None:
    url = endpoint if isinstance(endpoint, str) else endpoint.url()
    world.sql(ADD, name, url, list(events) or ["*"], "HOOK_SECRET")


def test_a_slow_a_lost_a_moved_and_a_gone_endpoint_delay_nobody(hooked: WorkerWorld) -> None:
    with ExitStack() as stack:
        well = stack.enter_context(WebhookEndpoint())
        slow = stack.enter_context(WebhookEndpoint(always(Said(after=60))))
        moved = stack.enter_context(WebhookEndpoint(always(Said(301, {"location": well.url()}))))
        gone = stack.enter_context(WebhookEndpoint(always(Said(410))))
        port = stack.enter_context(closed_port())
        for name, where in {"well": well, "slow": slow, "moved": moved, "gone": gone}.items():
            add(hooked, name, where)
        add(hooked, "down", f"http://127.0.0.1:{port}/")
        hooked.sql(EMIT, 300)
        with hooked.in_process_worker() as in_process:
            running = threading.Thread(target=in_process.run_service, args=("notifications",))
            running.start()
            hooked.until(WELL)
            # All this time the slow one has not answered its first event.
            assert len(slow.ids) == 1
            slow.closing.set()
            running.join()
        assert (len(well.ids), well.repeated) == (301, {})
        subjects = [heard.event["subject"] for heard in well.heard]
        assert sorted(subjects, key=lambda subject: subject == "gone") == [*map(str, range(1, 301)), "gone"]
        assert len(moved.ids) == len(gone.ids) == 1
        assert (len(slow.ids), slow.repeated) == (301, {})
    # The others were told that one is gone.
    assert hooked.sql(LANES) == [
        ("down", True, 301, 0),
        ("gone", False, 300, 0),
        ("moved", True, 301, 0),
        ("slow", True, 0, 0),
        ("well", True, 0, 0),
    ]


def test_all_that_a_drain_tells_is_as_its_schema_says(hooked: WorkerWorld, endpoint: WebhookEndpoint) -> None:
    add(hooked, "ops", endpoint, "batch.*", "drain.*", "service.*", "verdict.*", "circuit.*", "cleanup.*")
    hooked.sql("select reaper.record_backend_failure('cold', 'no answer') from generate_series(1, 5)")
    hooked.sql("select reaper.record_backend_success('cold')")
    hooked.populate(due=30, live=3, contents=20)
    with hooked.in_process_worker() as in_process:
        for error in ("one", "two", "three", None):
            hooked.sql("select reaper.finish_run('prune', null, %s)", error)
        in_process.drain_slot(0)
        hooked.sql("select reaper.record_verdict('attention', '{why}')")
        in_process.run_service("watchdog")
        in_process.run_service("notifications")
    told = [heard.verified() for heard in endpoint.heard]
    for event in told:
        require_valid(event)
    assert {event["type"].removeprefix("io.reaper.") for event in told} >= {
        "batch.released",
        "drain.finished",
        "service.failing",
        "service.recovered",
        "circuit.opened",
        "circuit.closed",
        "verdict.changed",
    }
    released = [code for e in told if e["type"].endswith("batch.released") for code in e["data"]["codes"]]
    assert (len(released), len(set(released))) == (30, 30)
    hooked.judge()


def test_a_process_that_dies_between_answer_and_record_sends_again_under_the_same_id(
    hooked: WorkerWorld, endpoint: WebhookEndpoint
) -> None:
    add(hooked, "ops", endpoint)
    hooked.sql(EMIT, 5)
    hooked.sql("update reaper.settings set clock_may_move = true")

    def died(point: str, call: Any, *arguments: Any) -> Any:
        if point == "finish_deliveries":
            raise SystemExit
        return call(*arguments)

    with hooked.in_process_worker(around=died) as in_process, pytest.raises(SystemExit):
        in_process.run_service("notifications")
    assert len(endpoint.ids) == 5
    with hooked.in_process_worker() as in_process:
        in_process.run_service("notifications")
        assert len(endpoint.ids) == 5
        hooked.sql("update reaper.settings set clock_offset = '3 minutes'")
        in_process.run_service("notifications")
    assert endpoint.ids[5:] == endpoint.ids[:5]
    assert hooked.value(SENT) == 5


def test_without_a_secret_events_wait_and_no_secret_is_logged(
    hooked: WorkerWorld, endpoint: WebhookEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked.sql("update reaper.settings set clock_may_move = true")
    url = endpoint.url(path="/path-is-secret")
    hooked.sql(ADD, "ops", url, ["*"], "HOOK_SECRET")
    hooked.sql(EMIT, 3)
    monkeypatch.setenv("HOOK_SECRET", "whsec_too+short+to+be+one")
    with capture_logs() as lines, hooked.in_process_worker() as in_process:
        in_process.run_service("notifications")
        assert hooked.value("select max(attempts) from reaper.notification_outbox") == 0
        monkeypatch.setenv("HOOK_SECRET", SECRET)
        endpoint.script = always(Said(500))
        hooked.sql("update reaper.settings set clock_offset = '2 minutes'")
    with capture_logs() as more, hooked.in_process_worker() as in_process:
        in_process.run_service("notifications")
    said = json.dumps([*lines, *more], default=str)
    assert "deliveries to webhook held" in said
    assert "delivery to webhook failed" in said
    for secret in ("path-is-secret", "too+short", SECRET.removeprefix("whsec_")):
        assert secret not in said
        assert secret not in str(hooked.sql("select * from reaper.webhook_lanes"))
        assert secret not in str(hooked.sql("select last_error from reaper.services"))


def test_a_slow_lane_ends_with_its_time_and_comes_back(hooked: WorkerWorld) -> None:
    with WebhookEndpoint(always(Said(after=0.2))) as slow:
        add(hooked, "slow", slow)
        hooked.sql(EMIT, 10)
        with hooked.in_process_worker() as in_process:
            replace(in_process.runner, budget=1).run_service("notifications")
            assert 0 < len(slow.ids) < 10
            assert hooked.jobs() == ["service:notifications"]
            in_process.run_service("notifications")
        assert (len(slow.ids), slow.repeated) == (10, {})


def test_a_lane_whose_time_is_over_goes_on_while_a_slow_one_is_waited_for(hooked: WorkerWorld) -> None:
    with WebhookEndpoint(always(Said(after=0.02))) as well, WebhookEndpoint(always(Said(after=60))) as slow:
        add(hooked, "well", well)
        add(hooked, "slow", slow)
        hooked.sql(EMIT, 20)
        with hooked.in_process_worker() as in_process:
            short = replace(in_process.runner, budget=0.1)
            running = threading.Thread(target=short.run_service, args=("notifications",))
            running.start()
            wait_until(lambda: len(well.ids) == 20, "all events of the other lane")
            assert len(slow.ids) == 1
            slow.closing.set()
            running.join()
            assert hooked.jobs() == ["service:notifications"]
        assert len(slow.ids) == 1


def test_every_event_has_a_schema_and_every_schema_an_example() -> None:
    for kind, schema in schemas().items():
        jsonschema.Draft202012Validator.check_schema(schema)
        [example] = schema["examples"]
        assert example["type"] == f"io.reaper.{kind}"
        require_valid(example)
        assert set(example["data"]) == set(schema["properties"]["data"]["properties"]), kind


def test_the_schemas_are_those_of_the_events_that_sql_knows(world: WorkerWorld) -> None:
    assert world.value("select reaper_internal.event_types()") == sorted(schemas())


def test_what_no_schema_allows_is_found() -> None:
    [example] = schemas()["circuit.opened"]["examples"]
    for broken in (
        {**example, "type": "io.reaper.circuit.burnt"},
        {**example, "data": {"backend": "east"}},
        {**example, "data": {**example["data"], "new": 1}},
        {**example, "time": "yesterday"},
    ):
        with pytest.raises((jsonschema.ValidationError, KeyError, ValueError)):
            require_valid(broken)

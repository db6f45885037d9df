"""Notifications: events are queued where they are decided; only the holder of a lease records a delivery."""

import json
from typing import Any

from tests.support.copy_fixtures import Copier, backends, factor, state
from tests.support.mutants.mutant import Edit, Mutant, mutant
from tests.support.mutants.scene import Scene

ADD = "select reaper.add_webhook('ops', 'https://example.com/', '{*}')"
EMIT = "select reaper_internal.emit('webhook.test', null, '{}')"
QUEUED = "select type from reaper.notification_outbox"
WAITING = "select count(*) from reaper.notification_outbox where delivered_at is null"


def claim(scene: Scene) -> tuple[Any, list[int]]:
    rows = scene.db.execute(
        "select lease, outbox_id from reaper.webhooks w"
        " cross join lateral reaper.claim_deliveries(w.webhook_id)"
    ).fetchall()
    return (rows[0][0] if rows else None), [row[1] for row in rows]


def finish(scene: Scene, lease: Any, *results: dict[str, Any]) -> None:
    scene.value(
        "select reaper.finish_deliveries(webhook_id, %s, %s) from reaper.webhooks where name = 'ops'",
        lease,
        json.dumps(results),
    )


def told(scene: Scene) -> None:
    scene.db.execute(ADD)
    scene.db.execute(EMIT)


def a_release_and_its_event_are_one(scene: Scene) -> None:
    scene.db.execute(ADD)
    scene.released("a")
    assert scene.column(QUEUED) == ["batch.released"]
    scene.due("b")
    scene.value("select released from reaper.reap_expired()")
    assert scene.column(QUEUED) == ["batch.released"] * 2


def stored_on_east(scene: Scene) -> Copier:
    """A content on a backend that is drained then."""
    scene.db.execute(ADD)
    backends(scene.db, "east")
    state(scene.db, "default", "readonly")
    scene.stored("a", "h")
    state(scene.db, "default", "active")
    state(scene.db, "east", "draining")
    return Copier(scene.db)


def a_move_is_no_repair(scene: Scene) -> None:
    assert stored_on_east(scene).replicate() == ["moved"]
    assert scene.column(QUEUED) == []


def a_backend_is_drained_once_when_nothing_is_owed_there(scene: Scene) -> None:
    copier = stored_on_east(scene)
    copier.replicate()
    copier.sweep()
    assert scene.column(QUEUED) == []
    scene.db.execute("delete from reaper.cleanup_queue")
    copier.sweep()
    copier.sweep()
    assert scene.column(QUEUED) == ["backend.drained"]


def what_has_not_been_tried_is_not_stuck(scene: Scene) -> None:
    scene.db.execute(ADD)
    backends(scene.db, "east", quota=5)
    factor(scene.db, 2)
    scene.stored("a", "h")
    copier = Copier(scene.db)
    copier.sweep()
    assert scene.column(QUEUED) == []
    copier.claim_copies()
    scene.clock.advance("61 minutes")
    copier.sweep()
    assert scene.column(QUEUED) == ["replication.stuck"]


def a_failed_service_is_told_once(scene: Scene) -> None:
    scene.db.execute(ADD)
    scene.db.execute("select reaper.register_service('sweep', '1 minute', 'for a test')")
    for _ in range(5):
        scene.db.execute("select reaper.finish_run('sweep', null, 'why')")
    assert scene.column(QUEUED) == ["service.failing"]


def a_circuit_is_told_when_it_turns(scene: Scene) -> None:
    scene.db.execute(ADD)
    for _ in range(10):
        scene.db.execute("select reaper.record_backend_failure('default', 'why')")
    for _ in range(2):
        scene.db.execute("select reaper.record_backend_success('default')")
        scene.db.execute("update reaper.circuits set failures = 1")
    assert scene.column(QUEUED) == ["circuit.closed", "circuit.opened"]


def a_lane_has_one_holder(scene: Scene) -> None:
    told(scene)
    scene.db.execute(EMIT)
    lease, numbers = claim(scene)
    finish(scene, lease, {"outbox_id": numbers[0], "status": 204})
    scene.db.execute(EMIT)
    assert claim(scene)[1] == []


def a_lost_lease_records_no_delivery(scene: Scene) -> None:
    told(scene)
    late, numbers = claim(scene)
    scene.clock.advance("3 minutes")
    lease, again = claim(scene)
    assert again == numbers
    with scene.refusal("RP001"):
        finish(scene, late, {"outbox_id": numbers[0], "status": 204})
    scene.value("select reaper.return_deliveries(webhook_id, %s, 'why') from reaper.webhooks", late)
    assert scene.value("select held_reason from reaper.webhooks") is None
    finish(scene, lease, {"outbox_id": numbers[0], "status": 204})
    assert scene.value(WAITING) == 0


def an_endpoint_in_trouble_is_left_alone(scene: Scene) -> None:
    told(scene)
    lease, [number] = claim(scene)
    finish(scene, lease, {"outbox_id": number, "error": "no answer", "outage": True})
    assert claim(scene)[1] == []


def what_fails_for_three_days_is_given_up_and_not_lost(scene: Scene) -> None:
    told(scene)
    for pause in ("1 hour", "3 days", "7 hours"):
        lease, [number] = claim(scene)
        finish(scene, lease, {"outbox_id": number, "error": "no", "outage": True})
        if pause == "1 hour":
            assert scene.value("select count(*) from reaper.delivery_dlq") == 0
        scene.clock.advance(pause)
        if scene.value(WAITING) == 0:
            break
    assert scene.value("select count(*) from reaper.delivery_dlq") == 1


def a_disabled_webhook_hears_nothing(scene: Scene) -> None:
    told(scene)
    lease, [number] = claim(scene)
    finish(scene, lease, {"outbox_id": number, "status": 410, "error": "gone", "gone": True})
    scene.db.execute(EMIT)
    assert (claim(scene)[1], scene.value(WAITING)) == ([], 1)


def a_verdict_is_told_when_it_changes(scene: Scene) -> None:
    scene.db.execute(ADD)
    for _ in range(2):
        scene.value("select reaper.record_verdict('behind', '{}')")
    assert scene.column(QUEUED) == ["verdict.changed"]


def a_copy_tells_nobody(scene: Scene) -> None:
    told(scene)
    scene.db.execute("update reaper.installation set database = 'the original'")
    assert scene.column("select name from reaper.due_webhooks()") == []


def no_key_of_ours_signs(scene: Scene) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "reaper_redis_url"):
        with scene.refusal("RP005"):
            scene.value("select reaper.add_webhook('ops', 'https://example.com/', '{*}', %s)", name)


MUTANTS: list[Mutant] = [
    mutant(
        "a drop tells nobody",
        a_release_and_its_event_are_one,
        function="release_claimed",
        replace="perform reaper_internal.emit_released(v_batch);",
        by="null;",
    ),
    mutant(
        "a reap tells nobody",
        a_release_and_its_event_are_one,
        function="reap",
        replace="perform reaper_internal.emit_released(batch);",
        by="null;",
    ),
    Mutant(
        "a release is told of when its batch is finished, after it has committed",
        a_release_and_its_event_are_one,
        (
            Edit("release_claimed", "perform reaper_internal.emit_released(v_batch);", "null;"),
            Edit(
                "finish_batch",
                "perform reaper_internal.free_names(v_batch.object_keys);",
                "… perform reaper_internal.emit_released(v_batch);",
            ),
        ),
    ),
    mutant(
        "every failure of a service is told",
        a_failed_service_is_told_once,
        function="emit_run",
        replace="p_failures_before = 2",
        by="p_failures_before >= 2",
    ),
    mutant(
        "every failure of a backend is told",
        a_circuit_is_told_when_it_turns,
        function="record_backend_failure",
        replace="if found then",
        by="if true then",
    ),
    mutant(
        "every success of a backend is told",
        a_circuit_is_told_when_it_turns,
        function="close_circuit",
        replace="if v_was_open then",
        by="if true then",
    ),
    mutant(
        "a lane has any number of holders",
        a_lane_has_one_holder,
        function="claim_deliveries",
        replace="if not found or exists (…) then",
        by="if not found then",
    ),
    mutant(
        "any lease records a delivery",
        a_lost_lease_records_no_delivery,
        function="require_deliveries",
        replace="and o.lease = p_lease",
    ),
    mutant(
        "any lease gives a lane back",
        a_lost_lease_records_no_delivery,
        function="return_deliveries",
        replace="and o.lease = p_lease",
    ),
    mutant(
        "a lost lease holds a lane",
        a_lost_lease_records_no_delivery,
        function="return_deliveries",
        replace="and v_returned > 0",
    ),
    mutant(
        "an endpoint in trouble is hammered",
        an_endpoint_in_trouble_is_left_alone,
        function="set_lane",
        replace="(v_outage or v_webhook.failures >= 3)",
        by="false",
    ),
    mutant(
        "a held lane is claimed",
        an_endpoint_in_trouble_is_left_alone,
        function="claim_deliveries",
        replace="and coalesce(w.held_until <= v_now, true)",
    ),
    mutant(
        "nothing is ever given up",
        what_fails_for_three_days_is_given_up_and_not_lost,
        function="finish_deliveries",
        replace="perform reaper_internal.move_deliveries_to_dlq(v_webhook, v_ids, v_now);",
    ),
    mutant(
        "the first failure gives up",
        what_fails_for_three_days_is_given_up_and_not_lost,
        function="move_deliveries_to_dlq",
        replace="o.first_attempt_at <= p_now - interval '3 days'",
        by="true",
    ),
    mutant(
        "a disabled webhook stays subscribed",
        a_disabled_webhook_hears_nothing,
        function="close_webhook",
        replace="perform reaper_internal.set_subscriptions(v_webhook);",
    ),
    mutant(
        "an endpoint that is gone is asked again",
        a_disabled_webhook_hears_nothing,
        function="finish_deliveries",
        replace="perform reaper_internal.close_webhook(p_webhook_id, v_gone);",
        by="null;",
    ),
    mutant(
        "a verdict is told again and again",
        a_verdict_is_told_when_it_changes,
        function="record_change",
        replace="set state = p_state, changed_at = reaper.clock()",
        by="set changed_at = reaper.clock()",
    ),
    mutant(
        "a copy of a database tells what the original does",
        a_copy_tells_nobody,
        function="due_webhooks",
        replace="and (select i.is_recorded_here from reaper.installation_identity() as i)",
    ),
    mutant(
        "a move is told as a repair",
        a_move_is_no_repair,
        function="emit_repaired",
        replace="p_replaced.trouble is not null and ",
    ),
    mutant(
        "a drained backend is told of with each sweep",
        a_backend_is_drained_once_when_nothing_is_owed_there,
        function="record_change",
        replace="set state = p_state, changed_at = reaper.clock()",
        by="set changed_at = reaper.clock()",
    ),
    mutant(
        "whatever wants a copy is stuck",
        what_has_not_been_tried_is_not_stuck,
        function="emit_stuck",
        replace="w.good > 0 and w.last_error = reaper_internal.no_place_error()",
        by="w.good > 0",
    ),
    mutant(
        "any variable signs",
        no_key_of_ours_signs,
        function="require_secret_env",
        replace="or p_secret_env ~* '^(AWS|REAPER)_' then",
        by="then",
    ),
]

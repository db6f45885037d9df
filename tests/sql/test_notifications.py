"""The outbox: an event is there if and only if its transaction committed; lanes, pauses, DLQ, replay."""

import json
import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.support.paste_fixtures import Connection, column, refused, value

URL = "https://hooks.example.com/reaper"


class Webhook:
    """One webhook, and what a process does that delivers to it."""

    def __init__(self, db: Connection, name: str, *events: str) -> None:
        self.db, self.name = db, name
        self.number = value(db, "select reaper.add_webhook(%s, %s, %s)", name, URL, list(events))

    def claim(self, limit: int = 100) -> tuple[UUID | None, list[int]]:
        rows = self.db.execute(
            "select lease, outbox_id from reaper.claim_deliveries(%s, %s)", [self.number, limit]
        ).fetchall()
        return (rows[0][0] if rows else None), [row[1] for row in rows]

    def finish(self, lease: UUID | None, *results: dict[str, Any]) -> int:
        return value(
            self.db, "select reaper.finish_deliveries(%s, %s, %s)", self.number, lease, json.dumps(results)
        )

    def give_back(self, lease: UUID | None, why: str | None = None) -> int:
        return value(self.db, "select reaper.return_deliveries(%s, %s, %s)", self.number, lease, why)

    def try_all(self, **answer: Any) -> int:
        """Claim all that is due, and report the same of each; returns how many."""
        lease, numbers = self.claim()
        if numbers:
            self.finish(lease, *({"outbox_id": number, **answer} for number in numbers))
        return len(numbers)

    def replay(self, **chosen: Any) -> int:
        names = ", ".join(f"p_{name} => %({name})s" for name in chosen)
        return self.db.execute(
            f"select reaper.replay_deliveries(%(webhook)s, {names})", {"webhook": self.name, **chosen}
        ).fetchone()[0]

    def lane(self, column: str) -> Any:
        return value(self.db, f"select {column} from reaper.webhook_lanes where name = %s", self.name)

    def pause(self) -> float:
        """The seconds until something is sent again."""
        return value(
            self.db,
            "select extract(epoch from held_until - reaper.clock())::float8 from reaper.webhooks"
            " where name = %s",
            self.name,
        )


@pytest.fixture
def ops(db: Connection, clock: Any) -> Iterator[Webhook]:
    """A webhook that is told of everything; time stands still unless a test moves it."""
    clock.stop()
    return Webhook(db, "ops", "*")


def emit(db: Connection, kind: str = "webhook.test", subject: str = "x", **data: Any) -> None:
    db.execute("select reaper_internal.emit(%s, %s, %s)", [kind, subject, json.dumps(data)])


def events(db: Connection, kind: str | None = None) -> list[Any]:
    return [
        row[0]
        for row in db.execute(
            "select data from reaper.notification_outbox"
            " where %(t)s::text is null or type = %(t)s order by outbox_id",
            {"t": kind},
        ).fetchall()
    ]


def test_an_event_is_queued_once_for_each_webhook_that_matches(db: Connection) -> None:
    for name, patterns in {
        "exact": ["circuit.opened"],
        "prefix": ["io.reaper.circuit.*"],
        "all": ["*", "circuit.opened", "circuit.*"],
        "other": ["drain.finished", "service.*"],
    }.items():
        Webhook(db, name, *patterns)
    emit(db, "circuit.opened", "east", backend="east")
    rows = db.execute(
        "select w.name, o.event_id, o.type, o.subject, o.data"
        "  from reaper.notification_outbox o join reaper.webhooks w using (webhook_id) order by w.name"
    ).fetchall()
    assert [row[0] for row in rows] == ["all", "exact", "prefix"]
    assert len({row[1] for row in rows}) == 1
    assert rows[0][2:] == ("circuit.opened", "east", {"backend": "east"})


def test_an_event_exists_if_and_only_if_its_transaction_committed(db: Connection, dsn: str) -> None:
    Webhook(db, "ops", "*")
    with psycopg.connect(dsn) as other:
        other.execute("select reaper.record_backend_failure('east', 'no answer') from generate_series(1, 5)")
        assert events(db) == []
        other.rollback()
        assert events(db) == []
        other.execute("select reaper.record_backend_failure('east', 'no answer') from generate_series(1, 5)")
        other.commit()
    assert [event["backend"] for event in events(db, "circuit.opened")] == ["east"]
    # A session that ends in the middle has decided nothing.
    other = psycopg.connect(dsn)
    other.execute("select reaper.record_backend_success('east')")
    db.execute("select pg_terminate_backend(%s)", [other.info.backend_pid])
    other.close()
    assert events(db, "circuit.closed") == []


@pytest.mark.parametrize("mode", ["mark", "direct"])
def test_a_batch_tells_which_codes_it_released_in_parts(db: Connection, paste: Any, mode: str) -> None:
    Webhook(db, "ops", "batch.*")
    paste.many("a", 1_001)
    if mode == "direct":
        assert value(db, "select released from reaper.reap_expired(2000, 'me')") == 1_001
    else:
        batch = value(db, "select batch_id from reaper.claim_expired(2000, 'me')")
        for _ in range(2):
            # Asked again because its answer was lost, it tells nothing twice.
            db.execute("select reaper.drop_references(%s)", [batch])
    parts = events(db)
    assert [(part["part"], part["parts"], len(part["codes"])) for part in parts] == [
        (1, 3, 500),
        (2, 3, 500),
        (3, 3, 1),
    ]
    assert {code for part in parts for code in part["codes"]} == {f"a{n:05}" for n in range(1, 1_002)}
    assert {(part["rows_deleted"], part["objects"], part["bytes"]) for part in parts} == {
        (1_001, 1_001, 10_010)
    }


def test_a_drain_is_finished_when_nothing_is_left(db: Connection, paste: Any) -> None:
    Webhook(db, "ops", "drain.finished")
    db.execute("select reaper.register_service('drain', '@daily', 'drains')")

    def run_ends() -> list[Any]:
        db.execute("""select reaper.finish_run('drain', '{}')""")
        return events(db)

    paste.many("a", 3)
    assert run_ends() == []
    batch = value(db, "select batch_id from reaper.reap_expired(10, 'me')")
    assert run_ends() == []
    db.execute("select reaper.finish_batch(%s, '[]')", [batch])
    [done] = run_ends()
    assert (done["batches"], done["rows_deleted"], done["objects_deleted"], done["bytes_freed"]) == (
        1,
        3,
        3,
        30,
    )
    assert len(run_ends()) == 1


def test_a_service_fails_at_the_third_failure_and_recovers_once(db: Connection) -> None:
    Webhook(db, "ops", "service.*")
    db.execute("select reaper.register_service('sweep', '1 minute', 'sweeps')")
    for error in ("one", "two", "three", "four", None, None):
        db.execute("select reaper.finish_run('sweep', null, %s)", [error])
    assert events(db) == [
        {"service": "sweep", "failures": 3, "error": "three"},
        {"service": "sweep", "failures": 4},
    ]


def test_a_verdict_is_told_when_it_changes(db: Connection) -> None:
    record = "select reaper.record_verdict(%s, %s)"
    assert not value(db, record, "stalled", [])
    Webhook(db, "ops", "verdict.changed")
    assert not value(db, record, "ok", [])
    assert value(db, record, "behind", ["late"])
    assert not value(db, record, "behind", ["later"])
    assert value(db, record, "ok", [])
    assert events(db) == [
        {"from": "ok", "to": "behind", "reasons": ["late"]},
        {"from": "behind", "to": "ok", "reasons": []},
    ]
    assert isinstance(value(db, "select reaper.record_verdict()"), bool)


def test_deletions_that_are_given_up_are_told_where_they_are_given_up(db: Connection, paste: Any) -> None:
    Webhook(db, "ops", "cleanup.*")
    paste.many("a", 4)
    batch = value(db, "select batch_id from reaper.reap_expired(10, 'me')")
    keys = value(db, "select object_keys from reaper.batches")
    failed = [{"backend": "default", "object_key": key, "error": "AccessDenied: no"} for key in keys]
    failed[0]["permanent"] = True
    db.execute("select reaper.finish_batch(%s, %s)", [batch, json.dumps(failed)])
    db.execute("update reaper.cleanup_queue set attempts = 9, next_attempt = reaper.clock()")
    lease = value(db, "select lease from reaper.claim_cleanup() limit 1")
    db.execute("select reaper.finish_cleanup(%s, %s)", [lease, json.dumps(failed[1:])])
    first, second = events(db)
    assert first == {
        "backend": "default", "cause": "AccessDenied", "objects": 1, "bytes": 10, "keys": keys[:1],
    }  # fmt: skip
    assert (second["objects"], second["bytes"], second["keys"]) == (3, 30, sorted(keys[1:]))


def test_deliveries_follow_the_outbox_and_one_process_at_a_time_has_a_lane(
    db: Connection, ops: Webhook
) -> None:
    for number in range(5):
        emit(db, number=number)
    lease, numbers = ops.claim(3)
    assert numbers == sorted(numbers)
    assert ops.claim() == (None, [])
    assert value(db, "select count(*) from reaper.due_webhooks()") == 1
    assert ops.finish(lease, *({"outbox_id": number, "status": 204} for number in numbers[:2])) == 2
    assert ops.claim() == (None, [])
    assert ops.give_back(lease) == 1
    assert ops.claim()[1] == [numbers[2], numbers[2] + 1, numbers[2] + 2]


def test_a_lost_lease_records_nothing(db: Connection, ops: Webhook, clock: Any) -> None:
    emit(db)
    late, [number] = ops.claim()
    clock.advance("121 seconds")
    lease, again = ops.claim()
    assert again == [number]
    delivered = {"outbox_id": number, "status": 204}
    with refused("RP001"):
        ops.finish(late, delivered)
    assert ops.give_back(late, "late") == 0
    assert ops.lane("held_reason") is None
    assert ops.finish(lease, delivered) == 1
    with refused("RP001"):
        ops.finish(lease, delivered)
    with refused("RP001"):
        ops.finish(uuid4(), {"outbox_id": number})


def test_an_endpoint_in_trouble_is_left_alone_longer_each_time_and_keeps_its_order(
    db: Connection, ops: Webhook, clock: Any
) -> None:
    for _ in range(3):
        emit(db)
    pauses = []
    first = ops.claim()[1][0]
    ops.give_back(value(db, "select lease from reaper.notification_outbox limit 1"))
    for _ in range(10):
        lease, numbers = ops.claim()
        assert numbers[0] == first
        ops.finish(lease, {"outbox_id": first, "error": "no answer", "outage": True})
        ops.give_back(lease)
        assert ops.claim() == (None, [])
        assert value(db, "select count(*) from reaper.due_webhooks()") == 0
        pauses.append(ops.pause())
        clock.advance(f"{pauses[-1]} seconds")
    wanted = [5, 20, 80, 320, 1280, 5120, 20480, 21600, 21600, 21600]
    assert all(0.8 * base <= pause <= 1.2 * base for base, pause in zip(wanted, pauses, strict=True))
    assert ops.lane("failures") == 10
    assert ops.try_all(status=204) == 3
    assert (ops.lane("failures"), ops.lane("failing_since"), ops.lane("held_until")) == (0, None, None)


def test_an_event_that_is_refused_lets_others_go_before_it(db: Connection, ops: Webhook) -> None:
    emit(db)
    emit(db)
    lease, [bad, good] = ops.claim()
    ops.finish(lease, {"outbox_id": bad, "status": 400, "error": "no"}, {"outbox_id": good, "status": 204})
    emit(db)
    assert ops.pause() is None
    assert ops.claim()[1] == [good + 1]


def test_three_refusals_in_a_row_hold_the_lane(db: Connection, ops: Webhook) -> None:
    for _ in range(3):
        emit(db)
    assert ops.try_all(status=400, error="no") == 3
    assert 4 <= ops.pause() <= 6


def test_an_endpoint_may_ask_for_a_longer_pause(db: Connection, ops: Webhook) -> None:
    emit(db)
    ops.try_all(status=429, error="slow down", outage=True, retry_after=7200)
    assert ops.pause() == 7200


def test_what_cannot_be_sent_from_here_costs_no_attempt(db: Connection, ops: Webhook, clock: Any) -> None:
    emit(db)
    lease, _ = ops.claim()
    assert ops.give_back(lease, "variable HOOK is not set here. Set it.") == 1
    assert ops.pause() == 60
    assert value(db, "select attempts from reaper.notification_outbox") == 0
    reasons = " ".join(value(db, "select reaper.attention_reasons()"))
    assert "variable HOOK is not set here. Set it. Its events wait" in reasons
    clock.advance("61 seconds")
    assert ops.try_all(status=204) == 1
    assert ops.lane("held_reason") is None


def test_an_endpoint_that_is_gone_is_disabled_and_the_others_are_told(db: Connection, ops: Webhook) -> None:
    other = Webhook(db, "other", "webhook.disabled")
    emit(db)
    ops.try_all(status=410, error="the endpoint answered 410 Gone", gone=True)
    assert (ops.lane("enabled"), ops.lane("disabled_reason")) == (False, "the endpoint answered 410 Gone")
    assert events(db, "webhook.disabled") == [{"webhook": "ops", "reason": "the endpoint answered 410 Gone"}]
    assert other.lane("waiting") == 1
    emit(db)
    assert ops.lane("waiting") == 1
    assert ops.claim() == (None, [])
    assert "webhook ops is disabled" in " ".join(value(db, "select reaper.attention_reasons()"))
    db.execute("select reaper.enable_webhook('ops')")
    assert value(db, "select reaper_internal.is_subscribed('drain.finished')")


def test_what_fails_for_three_days_goes_to_the_dlq_and_comes_back(
    db: Connection, ops: Webhook, clock: Any
) -> None:
    for _ in range(150):
        emit(db)
    ids = set(column(db, "select event_id from reaper.notification_outbox"))
    ops.try_all(error="no answer", outage=True)
    clock.advance("71 hours")
    ops.try_all(error="no answer", outage=True)
    assert ops.lane("given_up") == 0
    clock.advance("8 hours")
    emit(db)
    ops.try_all(error="no answer", outage=True)
    assert (ops.lane("given_up"), ops.lane("waiting")) == (150, 1)
    assert "150 events for webhook ops were given up" in " ".join(
        value(db, "select reaper.attention_reasons()")
    )

    with refused("RP005"):
        ops.replay(limit=100)
    assert ops.replay(dlq_only=True, limit=100) == 100
    assert ops.replay(dlq_only=True, limit=100) == 50
    assert ops.replay(dlq_only=True) == 0
    assert ops.pause() is None
    while ops.try_all(status=204):
        pass
    assert (ops.lane("given_up"), ops.lane("waiting")) == (0, 0)
    assert ids < set(column(db, "select event_id from reaper.notification_outbox"))


def test_delivered_events_are_replayed_by_time_or_id_under_their_ids(
    db: Connection, ops: Webhook, clock: Any
) -> None:
    for hour in range(4):
        emit(db, hour=hour)
        clock.advance("1 hour")
    ops.try_all(status=204)
    before = dict(db.execute("select event_id, data from reaper.notification_outbox").fetchall())
    now = value(db, "select reaper.clock()")
    assert ops.replay(since="-infinity", until=value(db, "select reaper.clock() - interval '2 hours'")) == 2
    assert ops.replay(since="-infinity", until=now, settled_before=now) == 2
    assert ops.replay(since="-infinity", until=now) == 0
    assert ops.try_all(status=204) == 4
    [chosen] = [event for event, data in before.items() if data == {"hour": 2}]
    assert ops.replay(event_ids=[chosen]) == 1
    assert dict(db.execute("select event_id, data from reaper.notification_outbox").fetchall()) == before


def test_old_deliveries_are_pruned_in_bounded_pieces(db: Connection, ops: Webhook, clock: Any) -> None:
    prune = "select reaper.prune_deliveries(2)"
    for _ in range(3):
        emit(db)
    ops.try_all(status=204)
    clock.advance("6 days")
    assert value(db, prune) == 0
    clock.advance("2 days")
    assert [value(db, prune) for _ in range(3)] == [2, 1, 0]
    emit(db)
    db.execute("select reaper.disable_webhook('ops', 'for a test')")
    clock.advance("4 days")
    assert value(db, prune) == 1
    assert ops.lane("given_up") == 1
    clock.advance("91 days")
    assert value(db, prune) == 1
    emit_late(db, ops.number)
    assert value(db, "select reaper.remove_webhook('ops')") == 1
    emit_late(db, ops.number)
    assert value(db, prune) == 1
    assert value(db, "select count(*) from reaper.notification_outbox") == 0


def emit_late(db: Connection, webhook: int) -> None:
    """What a transaction queues that began before the webhook was disabled or removed."""
    db.execute(
        "insert into reaper.notification_outbox"
        " (webhook_id, event_id, type, data, occurred_at, queued_at, next_attempt)"
        " select %s, gen_random_uuid(), 'webhook.test', '{}', c, c, c from reaper.clock() as c",
        [webhook],
    )


def test_secrets_are_rotated_with_both_alive(db: Connection) -> None:
    db.execute("select reaper.add_webhook('ops', %s, '{*}', 'FIRST')", [URL])
    rotate = "select reaper.rotate_webhook_secret('ops', %s, %s)"
    secrets = "select secret_env, previous_secret_env from reaper.webhooks"
    db.execute(rotate, ["SECOND", True])
    assert db.execute(secrets).fetchone() == ("SECOND", "FIRST")
    db.execute(rotate, ["SECOND", True])
    assert db.execute(secrets).fetchone() == ("SECOND", "FIRST")
    db.execute(rotate, ["SECOND", False])
    assert db.execute(secrets).fetchone() == ("SECOND", None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("x", "ftp://example.com", ["*"], None), "does not begin with https:// or http://"),
        (("x", "https://me:hush@example.com", ["*"], None), "a user name or password"),
        (("x", "https://hush@example.com", ["*"], None), "a user name or password"),
        (("x", "https://example.com/\r\nx: hush", ["*"], None), "control characters"),
        (("x", "https://example.com\\hush", ["*"], None), "backslash"),
        (("x", "https://example.com/#hush", ["*"], None), "backslash"),
        (("x", "https:///hush", ["*"], None), "names no host"),
        (("x", "https://example.com:hush/", ["*"], None), "names no host"),
        (("x", "https://example.com:0/", ["*"], None), "not one of 1 to 65535"),
        (("x", "https://[2606::1]:65536", ["*"], None), "not one of 1 to 65535"),
        (("x", "", ["*"], None), "empty"),
        (("x", None, ["*"], None), "empty"),
        (("x", URL, [], None), "at least one event"),
        (("x", URL, ["drain.ended"], None), "unknown events: drain.ended"),
        (("x", URL, ["dra*"], None), "unknown events"),
        (("x", URL, ["*", None], None), "."),
        (("x", URL, ["*"], "AWS_SECRET_ACCESS_KEY"), "may not be used"),
        (("x", URL, ["*"], "reaper_database_url"), "may not be used"),
        (("x", URL, ["*"], "whsec_hush="), "no name of an environment variable"),
        (("1x", URL, ["*"], None), "invalid name"),
        ((None, URL, ["*"], None), "invalid name"),
    ],
)
def test_a_webhook_that_cannot_be_is_refused_and_no_secret_is_quoted(
    db: Connection, arguments: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(psycopg.Error, match=said) as refusal:
        db.execute("select reaper.add_webhook(%s, %s, %s, %s)", arguments)
    assert refusal.value.sqlstate == "RP005"
    assert "hush" not in str(refusal.value)


def test_plain_addresses_of_any_port_are_taken(db: Connection) -> None:
    urls = (
        "https://a.example",
        "https://a.example:65535?x=:0",
        "http://[::1]:1/a:99999",
        "https://a.example/b:0",
    )
    for number, url in enumerate(urls):
        db.execute("select reaper.add_webhook(%s, %s, '{*}')", [f"w{number}", url])


def test_names_are_unique_and_webhooks_are_few(db: Connection) -> None:
    Webhook(db, "ops", "*")
    with refused("RP005"):
        Webhook(db, "ops", "*")
    db.execute("select reaper.add_webhook('w' || n, %s, '{*}') from generate_series(1, 99) as n", [URL])
    with refused("RP005"):
        Webhook(db, "more", "*")
    for call in ("remove_webhook('none')", "enable_webhook('none')", "disable_webhook('none', 'why')"):
        with refused("RP005"):
            db.execute(f"select reaper.{call}")
    assert value(db, "select count(*) from reaper.webhook_to_test('none')") == 0


def test_a_copy_of_a_database_tells_nobody(db: Connection) -> None:
    Webhook(db, "ops", "*")
    emit(db)
    assert value(db, "select count(*) from reaper.due_webhooks()") == 1
    db.execute("update reaper.installation set database = 'the original'")
    assert value(db, "select count(*) from reaper.due_webhooks()") == 0


LOOK = """
explain (analyze, buffers, costs off, timing off, summary off, format json)
select from reaper.webhook_subscriptions s
 where s.pattern = any (reaper_internal.matching_patterns('batch.released'))
"""


def test_without_webhooks_a_release_looks_once_into_an_index_and_writes_nothing(
    db: Connection, paste: Any
) -> None:
    db.execute("analyze reaper.webhook_subscriptions")
    for _ in range(2):
        plan = value(db, LOOK)[0]["Plan"]
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 3
    paste("a")
    written = value(db, "select pg_stat_get_xact_tuples_inserted('reaper.notification_outbox'::regclass)")
    assert value(db, "select released from reaper.reap_expired()") == 1
    assert written == 0
    assert events(db) == []


def test_a_lane_is_read_by_its_index(db: Connection, ops: Webhook) -> None:
    db.execute(
        "insert into reaper.notification_outbox"
        " (webhook_id, event_id, type, data, occurred_at, queued_at, next_attempt, delivered_at)"
        " select 1000 + mod(n, 10), gen_random_uuid(), 'webhook.test', '{}', c, c, c,"
        "        case when mod(n, 3) = 0 then c end"
        "   from generate_series(1, 20000) as n, reaper.clock() as c"
    )
    emit(db)
    for statement in ("claim", "due"):
        db.execute("select pg_stat_reset_single_table_counters('reaper.notification_outbox'::regclass)")
        before = value(db, SEQ_SCANS)
        ops.claim() if statement == "claim" else db.execute("select * from reaper.due_webhooks()")
        assert value(db, SEQ_SCANS) == before


SEQ_SCANS = "select pg_stat_get_xact_numscans('reaper.notification_outbox'::regclass)"


def test_transactions_that_tell_of_events_do_not_wait_for_each_other(db: Connection, dsn: str) -> None:
    ops = Webhook(db, "ops", "*")
    emit(db)
    with psycopg.connect(dsn) as one, psycopg.connect(dsn) as two:
        for each in (one, two):
            each.execute("set lock_timeout = '1s'")
            emit(each)
        lease, numbers = ops.claim()
        assert len(numbers) == 1
        assert ops.finish(lease, {"outbox_id": numbers[0], "status": 204}) == 1
        done = threading.Event()
        done.set()
        two.commit()
        one.commit()
    assert ops.claim()[1] == [numbers[0] + 1, numbers[0] + 2]

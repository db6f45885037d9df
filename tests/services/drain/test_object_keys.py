"""Where the bytes are must be known before the first deletion: a store answers "deleted" for any key."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reaper.dev.embedded import Valkey
from reaper.errors import BindingBroken, ConfigError, Unreachable
from reaper.expiry.key_check import KeyCheck
from reaper.migrate import migrate
from reaper.migrate.binding_plan import Request
from tests.support.migrate.existing_application import build
from tests.support.replaced_parts import instead_of
from tests.support.s3_double.served_bucket import ServedBucket
from tests.support.s3_double.server import ScriptedS3
from tests.support.service_ticks import context, watchdog_tick
from tests.support.worker_world import WorkerWorld

# The application keeps the names of its objects in a column of its own.
OWN_COLUMN = """
    alter table public.content add s3_path text;
    update public.content set s3_path = 'objects/' || content_hash;
"""
# Every paste of five contents.
MORE_DUE = "update public.pastes set expires_at = now() - interval '1 day' where id <= 10"
OWN_KEYS = Request(options={"content": {"object_key": "s3_path"}})
STATE = "select keys_confirmed, keys_checked from reaper.bindings where name = 'content'"
AUDIT = "select detail from reaper.audit where action = 'check keys' order by at"


@pytest.fixture
def adopted(empty_db_dsn: str, valkey: Valkey, s3_double: ScriptedS3, scratch: Path) -> Iterator[WorkerWorld]:
    """An application of 60 pastes over 30 contents, 26 pastes of them due; its bucket is empty."""
    build(empty_db_dsn, OWN_COLUMN, MORE_DUE)
    migrate(empty_db_dsn)
    bucket = ServedBucket(s3_double, "pastes")
    with WorkerWorld(empty_db_dsn, valkey.url, {"default": bucket}, scratch) as world:
        yield world


def store_under(world: WorkerWorld, name: str) -> None:
    """Put the objects where an SQL expression over a content row says."""
    world.put([row[0] for row in world.sql(f"select {name} from public.content")])


def codes(world: WorkerWorld) -> set[str]:
    return {row[0] for row in world.sql("select short_code from public.pastes")}


def test_a_drain_that_finds_no_object_under_the_keys_deletes_no_row(adopted: WorkerWorld) -> None:
    store_under(adopted, "s3_path")
    with pytest.raises(BindingBroken) as refusal:
        adopted.drain()
    assert len(codes(adopted)) == 60
    assert len(adopted.keys()) == 30
    assert "0 of 30 objects were found, one that was not: hash-" in refusal.value.message
    assert "in S3Store('pastes' at" in refusal.value.message
    assert "Bind object_key" in (refusal.value.hint or "")
    assert "reaper verify tells all" in (refusal.value.hint or "")
    [[told]] = adopted.sql(AUDIT)
    assert "0 of 30" in told


def test_a_drain_that_finds_the_objects_goes_through(adopted: WorkerWorld) -> None:
    store_under(adopted, "content_hash")
    adopted.drain(workers=2)
    assert len(codes(adopted)) == 34
    assert adopted.sql(STATE) == [(True, "30 of 30 objects were found")]
    assert adopted.sql(AUDIT) == []
    assert adopted.keys() == {row[0] for row in adopted.sql("select content_hash from content")}


def test_some_lost_objects_are_no_reason_to_stop(adopted: WorkerWorld) -> None:
    store_under(adopted, "content_hash")
    adopted.backends["default"].drop(*sorted(adopted.keys())[:14])
    adopted.drain()
    assert adopted.sql(STATE) == [(True, "16 of 30 objects were found")]


def test_half_of_the_objects_is_not_enough(adopted: WorkerWorld) -> None:
    store_under(adopted, "content_hash")
    adopted.backends["default"].drop(*sorted(adopted.keys())[:15])
    with pytest.raises(BindingBroken):
        adopted.drain()


def test_after_the_keys_are_bound_rightly_the_drain_looks_again(adopted: WorkerWorld) -> None:
    store_under(adopted, "s3_path")
    with pytest.raises(BindingBroken):
        adopted.drain()
    migrate(adopted.dsn, tables=OWN_KEYS)
    assert adopted.sql(STATE) == [(None, None)]
    adopted.drain()
    assert len(codes(adopted)) == 34
    assert adopted.keys() == {row[0] for row in adopted.sql("select s3_path from content")}


def test_where_the_objects_appear_later_the_next_drain_finds_them_and_that_is_audited(
    adopted: WorkerWorld,
) -> None:
    with pytest.raises(BindingBroken):
        adopted.drain()
    store_under(adopted, "content_hash")
    adopted.drain()
    assert len(codes(adopted)) == 34
    assert [row[0].split(" objects")[0] for row in adopted.sql(AUDIT)] == ["0 of 30", "30 of 30"]


def test_a_store_that_is_away_decides_nothing_and_no_row_is_claimed(
    adopted: WorkerWorld, closed_port: int
) -> None:
    adopted.extra["REAPER_S3_ENDPOINT_URL"] = f"http://127.0.0.1:{closed_port}"
    with pytest.raises(Unreachable):
        adopted.drain()
    assert len(codes(adopted)) == 60
    assert adopted.sql(STATE) == [(None, None)]
    assert adopted.sql("select * from reaper.batches") == []


def test_without_any_content_of_unknown_origin_the_drain_goes_on_and_nothing_is_decided(
    adopted: WorkerWorld,
) -> None:
    adopted.sql("delete from public.pastes")
    adopted.sql("delete from public.content")
    adopted.drain()
    assert adopted.sql(STATE) == [(None, None)]


def test_once_it_is_known_no_drain_looks_again(adopted: WorkerWorld) -> None:
    store_under(adopted, "content_hash")
    adopted.drain()

    def refuse(*_: object) -> None:
        raise AssertionError

    adopted.drain(around=instead_of({"sample_keys": refuse, "record_key_check": refuse}))


def test_a_process_that_looked_into_another_bucket_is_corrected_by_one_that_looks_into_the_right_one(
    adopted: WorkerWorld,
) -> None:
    store_under(adopted, "content_hash")
    adopted.s3.buckets.add("empty")
    with pytest.raises(BindingBroken):
        adopted.drain(s3_bucket="empty")
    adopted.drain()
    assert len(codes(adopted)) == 34


def test_a_binding_that_changes_during_the_look_is_looked_at_again(adopted: WorkerWorld) -> None:
    """What was found under the old keys must not confirm the new ones."""
    store_under(adopted, "content_hash")
    looks: list[int] = []

    def bound_meanwhile(call: object, *arguments: object) -> object:
        looks.append(len(looks))
        if len(looks) == 1:
            migrate(adopted.dsn, tables=OWN_KEYS)
        return call(*arguments)  # type: ignore[operator]

    with pytest.raises(BindingBroken):
        adopted.drain(around=instead_of({"record_key_check": bound_meanwhile}))
    assert len(looks) == 2
    assert len(codes(adopted)) == 60


def test_a_drain_of_a_worker_fails_with_the_reason_and_other_services_run(adopted: WorkerWorld) -> None:
    store_under(adopted, "s3_path")
    with adopted.in_process_worker() as worker:
        adopted.sql("select reaper.enable_service('drain', 'ready')")
        with pytest.raises(BindingBroken):
            worker.drain_slot(0)
        worker.run_service("prune")
    assert "0 of 30 objects were found" in adopted.result("drain")[1]
    assert adopted.result("prune")[1] is None
    assert len(codes(adopted)) == 60
    reasons = adopted.value("select reasons from reaper.health")
    assert any("0 of 30 objects were found" in reason for reason in reasons)


@pytest.mark.parametrize("left", ["live pastes", "nothing"])
def test_what_sql_alone_released_is_not_deleted_under_keys_that_name_no_object(
    adopted: WorkerWorld, left: str
) -> None:
    """The store would say "deleted" for each of them: the batch stays until the keys are right."""
    store_under(adopted, "s3_path")
    if left == "nothing":
        adopted.sql("update public.pastes set expires_at = now() - interval '1 hour'")
    adopted.sql("call reaper.drain()")
    for _ in range(2):
        with adopted.app() as app, app.heartbeat(), pytest.raises(BindingBroken, match="objects were found"):
            watchdog_tick(app)
    assert adopted.value("select count(*) from reaper.batches where state = 'RELEASED'") == 1
    assert len(adopted.keys()) == 30


def test_what_sql_alone_released_is_deleted_where_the_keys_are_right(adopted: WorkerWorld) -> None:
    store_under(adopted, "content_hash")
    adopted.sql("call reaper.drain()")
    with adopted.app() as app, app.heartbeat():
        assert watchdog_tick(app).figures["batches_adopted"] == 1
    assert adopted.keys() == {row[0] for row in adopted.sql("select content_hash from content")}


def test_failed_deletions_are_not_retried_under_keys_that_name_no_object(adopted: WorkerWorld) -> None:
    from reaper.services import cleanup_queue

    store_under(adopted, "s3_path")
    adopted.sql("call reaper.drain()")
    adopted.sql("select reaper.finish_batch(batch_id) from reaper.batches")
    queued = adopted.value("select count(*) from reaper.cleanup_queue")
    assert queued > 0
    with adopted.app() as app, pytest.raises(BindingBroken):
        cleanup_queue.tick(context(app))
    assert adopted.value("select count(*) from reaper.cleanup_queue") == queued


def test_what_was_released_under_a_former_binding_says_nothing_about_the_new_one(
    adopted: WorkerWorld,
) -> None:
    store_under(adopted, "s3_path")
    adopted.sql("call reaper.drain()")
    migrate(adopted.dsn, tables=OWN_KEYS)
    with adopted.app() as app, app.heartbeat():
        assert watchdog_tick(app).figures["batches_adopted"] == 1
    assert adopted.value("select keys_confirmed from reaper.bindings where name = 'content'")


def test_unreferenced_content_is_not_collected_under_keys_that_name_no_object(adopted: WorkerWorld) -> None:
    from reaper.services import unreferenced

    store_under(adopted, "s3_path")
    adopted.sql("delete from public.pastes")
    adopted.sql("update public.content set created_at = now() - interval '1 year'")
    with adopted.app() as app, pytest.raises(BindingBroken):
        unreferenced.tick(context(app))
    assert adopted.value("select count(*) from content") == 30


def test_a_process_without_the_default_backend_cannot_look_and_says_so(adopted: WorkerWorld) -> None:
    with adopted.app() as app, app.asking("test") as q, pytest.raises(ConfigError, match="default"):
        KeyCheck({}, app.telemetry).look(lambda question: question(q))


def test_tables_that_reaper_created_are_never_looked_at(world: WorkerWorld) -> None:
    world.populate(due=10, live=0, contents=5)

    def refuse(*_: object) -> None:
        raise AssertionError

    world.drain(around=instead_of({"sample_keys": refuse}))
    world.judge()

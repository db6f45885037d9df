"""Spans lead from a job to its requests; without OpenTelemetry there are none, and nothing is loaded."""

import asyncio
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from reaper.telemetry import spans
from reaper.worker.tasks import _recorded
from tests.support.world import DAY, World

WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
from reaper.telemetry import spans
import reaper.app
def intercept(point, call): ...
with spans.span("job"):
    assert spans.around_queries(intercept) is spans.around_awaited_queries(intercept) is intercept
spans.trace_requests(None, "", "")
assert not [name for name in sys.modules if name.startswith("opentelemetry.")]
"""


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(spans, "_tracer", provider.get_tracer("reaper"))
    return exporter


def test_spans_lead_from_a_job_through_its_batch_to_the_request_that_deletes_its_objects(
    world: World, finished: InMemorySpanExporter
) -> None:
    world.populate(due=30, live=5, contents=10)
    job = SimpleNamespace(id=7, task_name="reaper:drain", queueing_lock="drain:0", worker_id=1, attempts=0)
    with world.app() as app:
        runtime: Any = SimpleNamespace(
            heartbeat=SimpleNamespace(take_jobs_as=lambda _: None),
            runner=SimpleNamespace(telemetry=app.telemetry),
        )
        middleware = _recorded(lambda: runtime, lambda *_: None)
        middleware(app.drain, SimpleNamespace(job=job), None)
    found = finished.get_finished_spans()
    by_id = {each.context.span_id: each for each in found if each.context}
    [delete] = [each for each in found if each.name == "S3 DeleteObjects"]

    def way(each: Any) -> list[Any]:
        return [each, *(way(by_id[each.parent.span_id]) if each.parent else [])]

    request, batch, in_job = way(delete)
    assert request.attributes["reaper.backend"] == "default"
    assert request.attributes["http.response.status_code"] == 200
    assert (batch.name, in_job.name) == ("batch", "job reaper:drain")
    [finish] = [each for each in found if each.name == "sql finish_batch"]
    assert way(finish)[1:] == [batch, in_job]
    assert finish.attributes["reaper.batch_id"] == batch.attributes["reaper.batch_id"]
    assert in_job.attributes["reaper.job_id"] == 7


def test_an_async_store_has_spans_of_its_own_below_those_of_the_application(
    world: World, finished: InMemorySpanExporter
) -> None:
    async def put() -> None:
        with world.app() as app, spans.span("request"):
            async with app.async_store() as store:
                await store.put(b"x", DAY)

    asyncio.run(put())
    found = {each.name: each for each in finished.get_finished_spans()}
    root = found["request"].context
    assert root is not None
    for name in ("sql begin_put", "sql commit_put", "S3 PutObject"):
        parent = found[name].parent
        assert parent is not None
        assert parent.span_id == root.span_id


def test_requests_that_the_library_does_not_send_have_spans_too(
    world: World, finished: InMemorySpanExporter
) -> None:
    world.populate(due=0, live=1, contents=1)
    [(key,)] = world.sql("select object_key from content")
    with world.app() as app, spans.span("service"):
        store: Any = app.buckets["default"]
        assert store.read(key)
        assert store.head("no such key") is None
    asked = {each.name: each for each in finished.get_finished_spans() if each.name.startswith("S3 ")}
    # What the quick way did not find the library asks again.
    assert list(asked) == ["S3 GetObject", "S3 HeadObject", "S3 ListObjectsV2"]
    for name, status in (("S3 GetObject", 200), ("S3 HeadObject", 404)):
        attributes, parent = asked[name].attributes, asked[name].parent
        assert attributes
        assert (attributes["http.response.status_code"], attributes["reaper.backend"]) == (status, "default")
        assert parent


def test_without_the_package_nothing_is_wrapped_and_nothing_loaded() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT], check=True)

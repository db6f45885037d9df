"""Spans for OpenTelemetry, where its API package is installed: job, batch, SQL call, S3 request.

Without the package nothing happens here. Where spans go is the business of the application's SDK, or of
`opentelemetry-instrument reaper worker`. Spans cross into threads with the context that starts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

try:
    from opentelemetry import trace
except ImportError:
    _tracer = None
else:
    _tracer = trace.get_tracer("reaper")

# What stands around every query, `reaper.queries.base.Intercept`.
Intercept = Callable[..., Any]

BACKEND, BATCH = "reaper.backend", "reaper.batch_id"
_SPAN, _STATUS = "reaper.span", "http.response.status_code"


@contextmanager
def span(name: str, **attributes: str | int) -> Iterator[None]:
    """A span around the block; an exception that leaves it is recorded. Underlines stand for dots."""
    if _tracer is None:
        yield
        return
    named = {f"reaper.{key}": value for key, value in attributes.items()}
    with _tracer.start_as_current_span(name, attributes=named):
        yield


def around_queries(intercept: Intercept) -> Intercept:
    """A span around every call of SQL, which names the function and the batch that it is about."""
    if _tracer is None:
        return intercept
    tracer = _tracer

    def surrounding(point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        with tracer.start_as_current_span(f"sql {point}", attributes=_of_query(point, arguments)):
            return intercept(point, call, *arguments)

    return surrounding


def around_awaited_queries(intercept: Intercept) -> Intercept:
    """The same for queries whose answers are awaited."""
    if _tracer is None:
        return intercept
    tracer = _tracer

    async def surrounding(point: str, call: Callable[..., Any], *arguments: Any) -> Any:
        with tracer.start_as_current_span(f"sql {point}", attributes=_of_query(point, arguments)):
            return await intercept(point, call, *arguments)

    return surrounding


def _of_query(point: str, arguments: tuple[Any, ...]) -> dict[str, str]:
    about = {"db.system.name": "postgresql", "db.operation.name": point}
    if arguments and isinstance(arguments[0], UUID):
        about[BATCH if "batch" in point else "reaper.id"] = str(arguments[0])
    return about


def _nobody_listens(_: int) -> None:
    pass


@contextmanager
def s3_request(operation: str, bucket: str, backend: str) -> Iterator[Callable[[int], None]]:
    """A span around a request that the library does not send; the block tells the status of the answer."""
    if _tracer is None:
        yield _nobody_listens
        return
    with _tracer.start_as_current_span(
        f"S3 {operation}", attributes=_of_request(operation, bucket, backend), kind=trace.SpanKind.CLIENT
    ) as begun:
        yield lambda status: begun.set_attribute(_STATUS, status)


def _of_request(operation: str, bucket: str, backend: str) -> dict[str, str]:
    return {
        "rpc.system": "aws-api",
        "rpc.service": "S3",
        "rpc.method": operation,
        "aws.s3.bucket": bucket,
        BACKEND: backend,
    }


def trace_requests(client: Any, bucket: str, backend: str) -> None:
    """A span for every request of an S3 client, from its signature to the end of its answer's headers."""
    if _tracer is None:
        return
    tracer, events = _tracer, client.meta.events

    def begin(model: Any, context: dict[str, Any], **_: object) -> None:
        context[_SPAN] = tracer.start_span(
            f"S3 {model.name}",
            attributes=_of_request(model.name, bucket, backend),
            kind=trace.SpanKind.CLIENT,
        )

    def end(context: dict[str, Any], http_response: Any = None, exception: Any = None, **_: object) -> None:
        begun = context.pop(_SPAN, None)
        if begun is None:
            return
        if http_response is not None:
            begun.set_attribute(_STATUS, http_response.status_code)
        if exception is not None:
            begun.record_exception(exception)
            begun.set_status(trace.StatusCode.ERROR)
        begun.end()

    events.register("before-call.s3", begin)
    events.register("after-call.s3", end)
    events.register("after-call-error.s3", end)

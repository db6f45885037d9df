"""Log lines: an event with fields, through the standard `logging` under the name `reaper`.

An application that uses reaper as a library configures `logging` as it likes; nothing is written elsewhere.
The commands call `configure_logging`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, MutableMapping
from functools import partial
from typing import Any

import structlog
from structlog.stdlib import BoundLogger, ProcessorFormatter

from reaper.version import installed_version

NAME = "reaper"
Event = MutableMapping[str, Any]


def get_logger(**fields: str | None) -> BoundLogger:
    """A logger whose lines all have these fields; those without a value are left out."""
    bound: BoundLogger = structlog.wrap_logger(
        logging.getLogger(NAME),
        processors=[structlog.stdlib.filter_by_level, _to_record],
        wrapper_class=BoundLogger,
        cache_logger_on_first_use=False,
    ).bind(**{name: value for name, value in fields.items() if value is not None})
    return bound


def configure_logging(level: int = logging.INFO, as_json: bool = False, worker: str | None = None) -> None:
    """Log to stderr: readable lines for a person, JSON for a machine.

    Lines that are logged without a worker, while settings are read for example, get this one.
    """
    process = {**({"worker": worker} if worker else {}), "version": installed_version()}
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        ProcessorFormatter(
            processors=[
                partial(_from_record, process),
                structlog.stdlib.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                ProcessorFormatter.remove_processors_meta,
                _renderer(as_json),
            ]
        )
    )
    logger = logging.getLogger(NAME)
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False


def _renderer(as_json: bool) -> structlog.typing.Processor:
    if as_json:
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())


def _to_record(_: object, __: str, event: Event) -> tuple[tuple[str], dict[str, Any]]:
    """The message says all by itself; the fields are also there one by one."""
    name = event.pop("event")
    fields = " ".join(f"{key}={value}" for key, value in event.items())
    message = f"{name}: {fields}" if fields else name
    return (message,), {"extra": {"reaper_event": name, "reaper_fields": dict(event)}}


def _from_record(process: Mapping[str, str], _: object, __: str, event: Event) -> Event:
    record = event["_record"]
    if hasattr(record, "reaper_event"):
        return {**event, **process, "event": record.reaper_event, **record.reaper_fields}
    return {**event, **process}

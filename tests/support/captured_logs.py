"""What is logged inside a block, as events with their fields."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from reaper.telemetry.logging import NAME


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        fields = {n: v for n, v in record.reaper_fields.items() if n not in ("worker", "version")}  # type: ignore[attr-defined]
        level = record.levelname.lower()
        self.lines.append({"event": record.reaper_event, "log_level": level, **fields})  # type: ignore[attr-defined]


@contextmanager
def capture_logs(level: int = logging.INFO) -> Iterator[list[dict[str, Any]]]:
    """Collect the lines of this level and above; `worker` and `version`, which all have, are left out."""
    logger, collector = logging.getLogger(NAME), _Collector()
    before = logger.level
    logger.setLevel(level)
    logger.addHandler(collector)
    try:
        yield collector.lines
    finally:
        logger.removeHandler(collector)
        logger.setLevel(before)


def silence_logs() -> None:
    """Log nothing in this process: what its faults are about is expected."""
    logging.getLogger(NAME).setLevel(logging.CRITICAL)

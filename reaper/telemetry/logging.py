"""Where log lines go: to stderr, for a person or for a machine."""

from __future__ import annotations

import logging
import sys

import structlog


def configure_logging(level: int = logging.INFO, as_json: bool = False) -> None:
    """Log to stderr: readable lines for a person, JSON for a machine."""
    renderer = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )

"""What is sent, held against the schemas of the package: what they do not name is no part of an event."""

from datetime import datetime
from typing import Any

import jsonschema

from reaper.notifications.schema_files import schemas


def require_valid(event: dict[str, Any]) -> None:
    """Fail unless the event is as its schema says; receivers must bear new fields, we must name them."""
    schema = schemas()[event["type"].removeprefix("io.reaper.")]
    data = {**schema["properties"]["data"], "additionalProperties": False}
    strict = {
        **schema,
        "additionalProperties": False,
        "properties": {**schema["properties"], "data": data},
    }
    assert datetime.fromisoformat(event["time"]).tzinfo is not None
    jsonschema.validate(event, strict, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)

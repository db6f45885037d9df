"""DeleteObjects, written and read by hand: the library's general way costs several times as much.

The library still signs, sends, retries and tells errors; without what is installed here it does the rest as
well, only slower. What does not look like the usual reply is left to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from botocore.hooks import BaseEventHooks

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
# A line end would be read as another one, or as a blank, if it were not written as a number.
LINE_ENDS = {"\r": "&#xD;", "\n": "&#xA;"}
_WANTED = "reaper.wanted"


def install(events: BaseEventHooks) -> None:
    """Take over the body of each DeleteObjects request, and of each reply that tells of its keys."""
    # It may answer with other parameters, which the stubs do not know.
    events.register("provide-client-params.s3.DeleteObjects", _take)  # type: ignore[arg-type]
    events.register_last("before-call.s3.DeleteObjects", _write)
    # Handlers under a wildcard come first: before the library's own, which reads every reply for errors.
    events.register_first("before-parse.*.DeleteObjects", _read)


def _take(params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Hide the objects from the library, which would write them; a retry uses the same context."""
    context[_WANTED] = params["Delete"]
    return {**params, "Delete": {**params["Delete"], "Objects": []}}


def _write(params: dict[str, Any], context: Mapping[str, Any], **_: Any) -> None:
    wanted = context[_WANTED]
    params["body"] = document(wanted["Objects"], bool(wanted.get("Quiet"))).encode()


def document(objects: Iterable[Mapping[str, str]], quiet: bool) -> str:
    """The request as XML."""
    parts = [f'<Delete xmlns="{NAMESPACE}">']
    for each in objects:
        version = f"<VersionId>{_text(each['VersionId'])}</VersionId>" if "VersionId" in each else ""
        parts.append(f"<Object><Key>{_text(each['Key'])}</Key>{version}</Object>")
    parts.append(f"<Quiet>{str(quiet).lower()}</Quiet></Delete>")
    return "".join(parts)


def _text(value: str) -> str:
    return escape(value, LINE_ENDS)


def _read(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """Read the reply and leave an empty one to the library."""
    outcome = outcomes(response_dict["body"]) if response_dict["status_code"] == 200 else None
    if outcome is not None:
        customized_response_dict.update(outcome)
        response_dict["body"] = b"<DeleteResult/>"


def outcomes(body: bytes) -> dict[str, Any] | None:
    """What became of each key, in the library's words; None where this is another document."""
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        return None
    if _name(root) != "DeleteResult":
        return None
    found: dict[str, list[dict[str, Any]]] = {"Deleted": [], "Error": []}
    for part in root:
        found.setdefault(_name(part), []).append({_name(field): field.text or "" for field in part})
    for deleted in found["Deleted"]:
        if "DeleteMarker" in deleted:
            deleted["DeleteMarker"] = deleted["DeleteMarker"] == "true"
    return {"Deleted": found["Deleted"], "Errors": found["Error"]}


def _name(element: ElementTree.Element) -> str:
    """Without the namespace, which some stores leave out."""
    return element.tag.rpartition("}")[2]

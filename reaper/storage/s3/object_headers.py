"""What the writer of an object said about it, and what a copy therefore says, too.

Readers of an application may depend on it: bytes that were stored compressed are of no use without their
Content-Encoding.
"""

from __future__ import annotations

from collections.abc import Mapping

NOTE = "x-amz-meta-"
# The headers, and what the library calls them.
_KEPT = {
    "cache-control": "CacheControl",
    "content-disposition": "ContentDisposition",
    "content-encoding": "ContentEncoding",
    "content-language": "ContentLanguage",
    "content-type": "ContentType",
}


def kept(headers: Mapping[str, str]) -> dict[str, str]:
    """Those of an answer's headers that a copy has as well; what is not ASCII cannot be signed by all."""
    found = {name.lower(): value for name, value in headers.items()}
    return {name: value for name, value in found.items() if _is_kept(name, value) and value.isascii()}


def parameters(headers: Mapping[str, str]) -> dict[str, object]:
    """The same, as the library wants them."""
    named: dict[str, object] = {_KEPT[name]: value for name, value in headers.items() if name in _KEPT}
    notes = {name.removeprefix(NOTE): value for name, value in headers.items() if name.startswith(NOTE)}
    return {**named, "Metadata": notes} if notes else named


def _is_kept(name: str, value: str) -> bool:
    # Some stores tell how the bytes once came as if the object were encoded so.
    return name.startswith(NOTE) or (name in _KEPT and value not in ("", "aws-chunked"))

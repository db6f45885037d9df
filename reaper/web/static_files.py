"""The stylesheet, the script and the mark: read once and known by name, so that no path leads elsewhere."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

_KINDS = {"page.css": "text/css", "page.js": "text/javascript", "mark.svg": "image/svg+xml"}
_FILES = {name: files("reaper.web").joinpath("static", name).read_bytes() for name in _KINDS}
VERSION = hashlib.sha256(b"".join(_FILES.values())).hexdigest()[:12]


async def serve(request: Request) -> Response:
    """One of them; a new release has a new address, so browsers may keep it."""
    name = request.path_params["name"]
    if name not in _FILES:
        return PlainTextResponse("not found\n", 404)
    headers = {"Cache-Control": "private, max-age=86400"}
    return Response(_FILES[name], media_type=f"{_KINDS[name]}; charset=utf-8", headers=headers)

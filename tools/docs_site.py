"""What the site of docs/ has otherwise than the files: links stay within it, and one picture is drawn.

Where the files are read as they are, a browser draws the description in `architecture.md`; the site loads no
program from elsewhere that could, so it shows the same as `architecture.svg`.
"""

from __future__ import annotations

import re
from typing import Any

_DESCRIBED = re.compile(r"```mermaid\n.*?```", re.DOTALL)
_DRAWN = "![PostgreSQL decides, processes act on S3 and Redis](architecture.svg)"
_FOLDER = re.compile(r"\]\(decisions/\)")
_FIRST = "](decisions/0001-content-before-pastes.md)"
# Links to the code beside docs/: the words stay.
_OUTSIDE = r"\[([^\]]*)\]\(%s[^)]*\)"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page as the site has it."""
    out_of_docs = re.escape("../" * (page.file.src_uri.count("/") + 1))
    markdown = re.sub(_OUTSIDE % out_of_docs, r"\1", markdown)
    return _FOLDER.sub(_FIRST, _DESCRIBED.sub(_DRAWN, markdown))

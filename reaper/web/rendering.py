"""From snapshots to HTML. Every value is escaped by the templates; nothing that a request says is trusted."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from reaper.ops.orders import ORDERS
from reaper.version import installed_version
from reaper.web.board import FAILED, Answer, Snapshot
from reaper.web.forms import without_nul
from reaper.web.section import Section
from reaper.web.sessions import Sessions
from reaper.web.static_files import VERSION as STATIC
from reaper.web.words import FILTERS

# Without a script the page comes again after so many seconds.
REFRESH = 5


class Renderer:
    """Fills the templates; the fragments of a snapshot once for all tabs."""

    def __init__(self, sections: Sequence[Section], sessions: Sessions) -> None:
        self._sections = sections
        self._sessions = sessions
        self._templates = Environment(
            loader=PackageLoader("reaper.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters.update(FILTERS)
        self._templates.globals.update(
            orders=ORDERS, query=_query, release=installed_version(), static=STATIC, refresh=REFRESH
        )
        self._guard = threading.Lock()
        self._made: tuple[int, str, dict[str, str]] = (-1, "", {})

    def fragments(self, snapshot: Snapshot, root: str) -> dict[str, str]:
        """The parts of the page that change, by the id of their element."""
        with self._guard:
            number, made_for, made = self._made
            if (number, made_for) != (snapshot.number, root):
                made = self._render_all(snapshot, root)
                self._made = (snapshot.number, root, made)
            return made

    def page(self, request: Request, name: str, status: int = 200, /, **shown: Any) -> HTMLResponse:
        """A whole page."""
        session = request.scope["reaper.session"]
        text = self._templates.get_template(name).render(
            root=request.scope.get("root_path", ""),
            token=self._sessions.token(session),
            **{"snapshot": None, **shown},
        )
        return HTMLResponse(text, status)

    def _render_all(self, snapshot: Snapshot, root: str) -> dict[str, str]:
        troubles = {section.name: self._trouble(section, snapshot) for section in self._sections}
        shared = {"root": root, "snapshot": snapshot, "rights": snapshot.rights, "troubles": troubles}
        head = self._templates.get_template("head.html").render(sections=self._sections, **shared)
        made = {"head": head}
        for section in self._sections:
            answer = snapshot.answers.get(
                section.name, Answer(0.0, problem="the database has not answered yet")
            )
            made[section.name] = self._render(section, answer, now=_now(snapshot), **shared)
        return made

    def _render(self, section: Section, answer: Answer, **shared: Any) -> str:
        """A section; where its template fails, the others are shown all the same."""
        template = self._templates.get_template("section.html")
        try:
            return template.render(section=section, answer=answer, shown=answer.shown, **shared)
        except Exception:
            logging.getLogger(__name__).exception("template failed: %s", section.name)
            return template.render(
                section=section, answer=replace(answer, problem=FAILED), shown={}, **shared
            )

    def _trouble(self, section: Section, snapshot: Snapshot) -> int:
        answer = snapshot.answers.get(section.name)
        if answer is None or answer.problem:
            return 0
        try:
            return section.trouble(answer.shown)
        except Exception:
            logging.getLogger(__name__).exception("section failed: %s", section.name)
            return 0


def _now(snapshot: Snapshot) -> Any:
    return snapshot.status.health.judged_at if snapshot.status else None


def _query(**given: Any) -> str:
    """The words behind the question mark of a link."""
    return urlencode({name: value for name, value in given.items() if value is not None})


def given(request: Request) -> Mapping[str, str]:
    """What a link of ours says."""
    return {name: without_nul(value) for name, value in request.query_params.items()}

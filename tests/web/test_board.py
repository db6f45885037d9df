"""One look for all tabs: what it costs, what it says when the database is away, and that it moves."""

import json
import re
import threading
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace

import httpx
import pytest

from reaper.web import application, board, pages
from reaper.web.sections import ALL
from tests.support.page_scenes import make_busy, make_sick
from tests.support.paste_fixtures import Connection, value
from tests.support.waiting import wait_until
from tests.web.conftest import Serve

AWAY = (
    "alter database {0} allow_connections false",
    """select pg_terminate_backend(pid) from pg_stat_activity
        where application_name like 'reaper:web%' and datname = '{0}'""",
)


@pytest.mark.slow
def test_ten_tabs_cost_one_set_of_questions(db: Connection, serve: Serve, asked: Counter[str]):
    make_busy(db)
    page = serve()
    first = page.get("/").text
    for section in ALL:
        assert f'id="{section.name}"' in first
        assert section.title in first
    assert "Not available" not in first
    rounds: list[int] = []

    def watch(number: int) -> None:
        with httpx.stream("GET", f"{page.url}/live", timeout=60) as tab:
            told = (line for line in tab.iter_lines() if line.startswith("data:"))
            for _ in range(3):
                rounds.append(number)
                assert "head" in json.loads(next(told)[5:])

    before, seen = Counter(asked), page.board.current().number
    tabs = [threading.Thread(target=watch, args=[n]) for n in range(10)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join(60)
    assert Counter(rounds) == dict.fromkeys(range(10), 3)
    taken = page.board.current().number - seen
    spent = asked - before
    assert taken <= 5
    assert spent["health"] <= taken + 1
    assert sum(spent.values()) <= 18 * (taken + 1)
    assert spent["waiting_deletions"] <= 2


def test_without_the_database_the_page_says_so_and_comes_back(
    db: Connection, maintenance: Connection, serve: Serve
):
    make_busy(db)
    page = serve()
    assert "does not answer" not in page.get("/").text
    with ExitStack() as back:
        back.callback(maintenance.execute, f"alter database {db.info.dbname} allow_connections true")
        for statement in AWAY:
            maintenance.execute(statement.format(db.info.dbname))
        wait_until(lambda: page.board.current().problem, "the page notices")
        told = page.get("/")
        assert told.status_code == 200
        assert "The database does not answer" in told.text
        assert "What follows is from before" in told.text
        assert page.get("/plan").status_code == 503
        assert page.get("/order/run?name=drain").status_code == 503
    wait_until(lambda: not page.board.look().problem, "the page is current again")
    assert "does not answer" not in page.get("/").text


def test_what_one_section_may_not_ask_leaves_the_others(db: Connection, serve: Serve):
    """reaper_worker reads neither the audit nor plans of policies."""
    make_busy(db)
    page = serve("reaper_worker")
    text = page.get("/").text
    assert text.count("Not available") == 1
    assert "permission denied" in text
    assert "east" in text


def test_a_section_that_fails_leaves_the_others(
    db: Connection, serve: Serve, monkeypatch: pytest.MonkeyPatch
):
    def broken(_: object) -> int:
        raise KeyError("a bug")

    make_busy(db)
    sections = {section.name: section for section in ALL}
    sections["audit"] = replace(sections["audit"], ask=broken)
    sections["workers"] = replace(sections["workers"], ask=lambda _: {})
    sections["blocked"] = replace(sections["blocked"], trouble=broken)
    monkeypatch.setattr(application, "ALL", tuple(sections.values()))
    page = serve()
    for _ in range(2):
        text = page.get("/").text
        assert text.count(board.FAILED) == 2
        assert "east" in text
        assert "refuses to delete no row" in text
        assert not page.board.current().problem
    # Nor does the thread end that asks for all.
    monkeypatch.setattr(board, "look", broken)
    wait_until(lambda: page.board.current().problem == board.FAILED, "the page tells that it is old")
    monkeypatch.undo()
    wait_until(lambda: not page.board.look().problem, "the page is current again")


def test_the_stories_the_plan_and_the_doctor(db: Connection, serve: Serve, monkeypatch: pytest.MonkeyPatch):
    make_busy(db)
    page = serve()
    assert "nothing is known" in page.get("/why?subject=nothing").text
    assert "expire" in page.get("/why?subject=p1000").text
    assert page.get("/why?subject=").status_code == 200
    assert "due" in page.get("/plan").text
    assert "Seq Scan" in page.get("/policy/logins").text or "Index" in page.get("/policy/logins").text
    assert page.get("/policy/nothing").status_code == 400
    # The newest of the audit first, then what is older.
    monkeypatch.setattr(pages, "AUDIT_PAGE", 4)
    first = page.get("/audit").text
    older = page.get(re.search(r'href="(/audit\?before=\d+)"', first)[1]).text
    assert first.count('data-label="who"') == 4
    assert older.count('data-label="who"') > 0
    assert "Nothing is older" in page.get("/audit?before=1").text
    assert "What rule" in page.get("/lifecycle/logs").text
    assert page.get("/lifecycle/nothing").status_code == 400
    assert "Not examined" in page.get("/").text
    assert page.post("/doctor", {"token": page.token()}).status_code == 303
    assert "every function and view is that of this release" in page.get("/doctor").text
    assert "Not examined" not in page.get("/").text
    assert value(db, "select keys_confirmed from reaper.bindings where name = 'content'") in (None, True)


def test_copies_rules_webhooks_and_use_are_told_as_they_are(db: Connection, serve: Serve):
    make_sick(db)
    text = serve("reaper_ro").get("/").text
    told = " ".join(re.sub(r"<[^>]*>", " ", text).split())
    for said in (
        "Each content is to have 2 copies.",
        "1,500 contents so far, 61 want copies",
        "No good copy left",
        "bad/101",
        "fits nowhere",
        "no active backend without a copy has room",
        "2 corrupt copies",
        "2300 of 41190 objects were not listed",
        "96.6 % of 41,190 copies",
        "code begins with p",
        "1,204 pastes became due",
        "9 in a row: answered 503",
        "1,227,800 requests of 1,000,000, 123 %",
        "draining",
    ):
        assert said in told, said
    assert "https://pager.example.org" in told
    assert "/hooks/T01" not in text

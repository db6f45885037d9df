"""The page in a real browser: on every screen, with the keyboard, live, and without a script."""

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from reaper.web.sections import ALL
from tests.conftest import Sized
from tests.support.page_scenes import make_busy, make_sick, register_services
from tests.support.paste_fixtures import Connection, Pastes, Worker, value
from tests.web.conftest import Serve

SCENES = {"empty": register_services, "busy": make_busy, "sick": make_sick}
LOOKS: tuple[tuple[Any, int], ...] = (("dark", 360), ("light", 1440), ("dark", 1440), ("light", 360))
# Tables that are wider than their place: narrow, each row is a block, and wide, there is room.
WIDE = """[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth)
    .map(e => e.ariaLabel + " " + e.scrollWidth)"""
GRAVE = ("serious", "critical")
# Pictures show what is seen first; all of a page is too large for docs.
FULL = False
# The page forbids the scripts with which Playwright waits for a function: wait for a text instead.
expect.set_options(timeout=30_000)


def opened(browser: Browser, width: int, theme: Any = "light", script: bool = True) -> Page:
    """A window of that width; what it complains of is kept."""
    window = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=theme,
        java_script_enabled=script,
        reduced_motion="reduce",
    )
    page = window.new_page()
    page.complaints = []  # type: ignore[attr-defined]
    page.on("console", lambda said: page.complaints.append(said.text))  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.complaints.append(str(error)))  # type: ignore[attr-defined]
    return page


def grave_findings(page: Page) -> list[str]:
    """What keeps people from using the page, as axe sees it."""
    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found if each["impact"] in GRAVE]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("scene", SCENES)
def test_every_section_can_be_read_on_every_screen(
    browser: Browser, db: Connection, serve: Serve, scene: str, screenshots: Path | None, sized: Sized
):
    SCENES[scene](db)
    page = opened(browser, 1440)
    page.goto(serve().url)
    expect(page.locator("#live")).to_have_text("Live.")
    bodies = [page.locator(f"section#{section.name} .body") for section in ALL]
    assert all(body.inner_text().strip() for body in bodies)
    # Colours and widths do not depend on each other: each is examined once, where there is most to see.
    examined = LOOKS[: sized(len(LOOKS), {"sick": 2, "busy": 1, "empty": 0}[scene])]
    for theme, width in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(WIDE) == [], width
        if (theme, width) in examined:
            assert grave_findings(page) == []
        if screenshots:
            page.screenshot(path=screenshots / f"web-{scene}-{theme}-{width}.png", full_page=FULL)
    assert page.complaints == []  # type: ignore[attr-defined]
    page.context.close()


def test_live_with_the_keyboard_and_without_a_script(
    browser: Browser, db: Connection, serve: Serve, paste: Pastes, me: Worker, screenshots: Path | None
):
    register_services(db)
    db.execute("update reaper.services set next_run_at = reaper.clock() + interval '1 hour'")
    paste.many("p", 300)
    served = serve()
    page = opened(browser, 1440)
    page.goto(served.url)
    due = page.locator("#now dd").first
    assert due.inner_text() == "300"
    # While batches are deleted the page follows by itself.
    for left in (200, 100, 0):
        batch = me.claim(100)
        me.drop(batch)
        me.finish(batch)
        expect(due).to_have_text(str(left))
    # What a person has opened and where the keyboard is stays so while sections are swapped.
    link = page.locator("#now a.order").first
    link.focus()
    number = served.board.current().number
    expect(page.locator(".as-of")).not_to_have_text(page.locator(".as-of").inner_text())
    assert served.board.current().number > number
    assert link.evaluate("e => e === document.activeElement")
    # An order with the keyboard alone.
    page.keyboard.press("Enter")
    page.wait_for_url("**/order/run?name=drain")
    assert grave_findings(page) == []
    if screenshots:
        page.screenshot(path=screenshots / "web-order.png")
    page.keyboard.type("with the keyboard")
    page.keyboard.press("Enter")
    page.wait_for_selector(".said")
    assert "Drain is due" in page.locator(".said").inner_text()
    assert page.url == f"{served.url}/"
    assert value(db, "select reason from reaper.audit") == "with the keyboard"
    assert page.complaints == []  # type: ignore[attr-defined]
    # A hidden tab asks nothing.
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {value: true});"
        " document.dispatchEvent(new Event('visibilitychange'))"
    )
    seen = page.locator(".as-of").inner_text()
    page.wait_for_timeout(2500)
    assert page.locator(".as-of").inner_text() == seen
    page.context.close()

    plain = opened(browser, 1440, script=False)
    plain.goto(served.url)
    assert plain.locator("noscript meta[http-equiv=refresh]").count() == 1
    plain.locator("footer a", has_text="hold it still").click()
    assert plain.locator("noscript meta[http-equiv=refresh]").count() == 0
    plain.locator("#now a.order", has_text="Pause").click()
    plain.fill("#span", "30 min")
    plain.fill("#reason", "without a script")
    plain.locator("button.main").click()
    assert "Drain is paused" in plain.locator(".said").inner_text()
    plain.fill("#subject", "p00001")
    plain.keyboard.press("Enter")
    assert "p00001" in plain.locator("h1").inner_text()
    plain.context.close()

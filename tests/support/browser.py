"""A real browser, where one is installed: Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

PLACES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no Chromium: install it (Debian: apt-get install chromium), or name one with REAPER_CHROMIUM"
OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def chromium() -> Path | None:
    """The browser, at the usual places or where the variable says."""
    named = os.environ.get("REAPER_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, PLACES)), None)
    return Path(found) if found and Path(found).exists() else None


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """One browser, with a new profile; the test is skipped where there is none."""
    program = chromium()
    if program is None:
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, headless=True, args=list(OPTIONS))
        try:
            yield browser
        finally:
            browser.close()

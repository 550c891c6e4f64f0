"""
A real browser before the page, served with made-up data: Debian's Chromium, driven by Playwright (`make browser`).

Every page is guarded: a console error, a script's error, a dialog, a breach of the policy or a request to another host
fails the test.
"""

from __future__ import annotations

import datetime
import os
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.optional import is_here, reason_for
from tests.tui.lantern import NOW
from tests.web.made_server import MadeServer

WHY = "needs Playwright: `make browser` brings it"
BOUND = 60.0
NETWORK = "Failed to load resource"
"""What Chromium says of an answer that is no success. Tests of refusals expect it."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """
    For one module at a time: Playwright's loop counts as running in this thread until it is stopped, and no test of
    another kind that comes next could have a loop of its own.
    """
    if not is_here("chromium"):
        pytest.skip(reason_for("chromium"))
    driver = pytest.importorskip("playwright.sync_api", reason=WHY)
    # It serves many tests: what is left of each is found by this name, which the browser must not carry.
    name = os.environ.pop("PYTEST_CURRENT_TEST")
    playwright = driver.sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    os.environ["PYTEST_CURRENT_TEST"] = name
    yield browser
    browser.close()
    playwright.stop()


class Guarded:
    """A window of the browser, and what went wrong in it."""

    def __init__(self, context: Any, server: MadeServer) -> None:
        self.context, self.server, self.expects_refusals = context, server, False
        self.wrong: list[str] = []
        self.page = self.new_page()

    def new_page(self) -> Any:
        page = self.context.new_page()
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", self._request)
        return page

    def open(self, path: str, waits_for: str = "#main .strip") -> Any:
        self.page.goto(self.server.url + path)
        self.page.wait_for_selector(waits_for)
        return self.page

    def check(self) -> None:
        assert not self.wrong, "\n".join(self.wrong)

    def _console(self, message: Any) -> None:
        is_refusal = self.expects_refusals and message.text.startswith(NETWORK)
        if message.type in ("error", "warning") and not is_refusal:
            self.wrong.append(f"{message.type}: {message.text}")

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        url = urlsplit(request.url)
        if f"{url.scheme}://{url.netloc}" != self.server.url:
            self.wrong.append(f"request: {request.url}")


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Guarded]]:
    """`visit(server, width=390, theme="dark")`: a window that is guarded, and closed afterwards."""
    opened: list[Guarded] = []

    def begin(server: MadeServer, width: int = 1440, height: int = 900, theme: str = "light", **more: Any) -> Guarded:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            timezone_id="UTC",
            reduced_motion="reduce",
            **more,
        )
        context.set_default_timeout(BOUND * 1000)
        opened.append(Guarded(context, server))
        return opened[-1]

    yield begin
    for one in opened:
        one.context.close()
    for one in opened:
        one.check()


@pytest.fixture
def server() -> Iterator[MadeServer]:
    with MadeServer() as one:
        yield one


def until(page: Any, expression: str) -> None:
    """Playwright's own way of waiting calls `eval` in the page, which the page's policy forbids."""
    end = time.monotonic() + BOUND
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"{expression} did not come true"
        page.wait_for_timeout(30)


def at_the_teams_time(page: Any) -> None:
    """The browser's clock stands where the made-up team's does."""
    page.clock.install(time=datetime.datetime.fromtimestamp(NOW, datetime.UTC))

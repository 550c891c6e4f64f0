"""The pictures of the page in the docs: `make pictures`, after `make browser` has brought what draws them."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from tests.tui.lantern import NOW
from tests.web import lantern_page as made
from tests.web.browser.conftest import until
from tests.web.made_server import MadeServer
from tests.web.palette import with_few_colours

FOLDER = Path(__file__).parents[2] / "docs/pictures"
TEAM = "/t/lantern"


class Picture(NamedTuple):
    """What is shown, and how large."""

    path: str
    width: int = 1440
    height: int = 900
    theme: str = "light"


MOMENT = made.iso(NOW - 1500)
PICTURES = {
    "web-overview-light": Picture(TEAM),
    "web-overview-dark": Picture(TEAM, theme="dark"),
    "web-board": Picture(f"{TEAM}/board", height=1000),
    "web-task": Picture(f"{TEAM}/task/7"),
    "web-agents": Picture(f"{TEAM}/agents", height=560),
    "web-agent": Picture(f"{TEAM}/agent/tern"),
    "web-mail": Picture(f"{TEAM}/mail/heron%0Atern"),
    "web-approvals": Picture(f"{TEAM}/approvals"),
    "web-approvals-phone": Picture(f"{TEAM}/approvals", 390, 844),
    "web-overview-phone": Picture(TEAM, 390, 844),
    "web-merge": Picture(f"{TEAM}/merge", height=1000),
    "web-sync": Picture(f"{TEAM}/sync", height=600),
    "web-timeline": Picture(f"{TEAM}/timeline"),
    "web-replay": Picture(f"{TEAM}/replay?at={MOMENT}"),
    "web-problems": Picture(f"{TEAM}/problems", height=420),
    "web-runs": Picture(f"{TEAM}/runs", height=760),
    "web-sessions": Picture(f"{TEAM}/sessions", height=420),
    "web-daemon": Picture("/daemon", height=900),
}
MOST_BYTES = 150_000


def drawn(browser: Any, server: MadeServer, one: Picture) -> bytes:
    context = browser.new_context(
        viewport={"width": one.width, "height": one.height},
        color_scheme=one.theme,
        timezone_id="UTC",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.clock.install(time=datetime.datetime.fromtimestamp(NOW, datetime.UTC))
    page.goto(server.url + one.path)
    page.wait_for_selector("#main h1")
    page.wait_for_load_state("load")
    page.clock.run_for(50)
    until(page, "!/Reading /.test(document.getElementById('main').innerText)")
    page.clock.run_for(50)
    taken = page.screenshot(animations="disabled")
    found = with_few_colours(context.new_page(), taken)
    context.close()
    return found


def main() -> None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise SystemExit("the pictures of the page need Playwright: make browser") from None
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("the pictures of the page need chromium; on Debian: apt-get install chromium")
    FOLDER.mkdir(exist_ok=True)
    with MadeServer() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, one in PICTURES.items():
            target = FOLDER / f"{name}.png"
            target.write_bytes(found := drawn(browser, server, one))
            assert len(found) < MOST_BYTES, f"{name} has {len(found)} bytes"
        browser.close()


if __name__ == "__main__":
    main()

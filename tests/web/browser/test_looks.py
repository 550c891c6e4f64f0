"""Every view, light and dark, from a small phone to a wall: nobody is shut out, nothing sticks out."""

from __future__ import annotations

import json

import pytest
from tests.optional import NODE_PACKAGES, needs
from tests.web.browser.conftest import until
from tests.web.made_server import MadeServer

TEAM = "/t/lantern"
VIEWS = {
    "overview": TEAM,
    "board": f"{TEAM}/board",
    "graph": f"{TEAM}/board/graph",
    "list": f"{TEAM}/board/list",
    "task": f"{TEAM}/task/7",
    "task that asks": f"{TEAM}/task/10",
    "agents": f"{TEAM}/agents",
    "agent": f"{TEAM}/agent/tern",
    "mail": f"{TEAM}/mail",
    "thread": f"{TEAM}/mail/heron%0Atern",
    "unread": f"{TEAM}/mail/unread",
    "approvals": f"{TEAM}/approvals",
    "plan": f"{TEAM}/approvals/plan%3A10",
    "question": f"{TEAM}/approvals/question%3A13",
    "decided": f"{TEAM}/approvals/a3f0",
    "all decided": f"{TEAM}/approvals/decided",
    "settled": f"{TEAM}/approvals/question%3A11",
    "merge": f"{TEAM}/merge",
    "sync": f"{TEAM}/sync",
    "timeline": f"{TEAM}/timeline",
    "replay": f"{TEAM}/replay",
    "problems": f"{TEAM}/problems",
    "runs": f"{TEAM}/runs",
    "sessions": f"{TEAM}/sessions",
    "more": f"{TEAM}/more",
}
WIDTHS = (320, 390, 768, 901, 1024, 1440, 1920, 3840)
AXE = NODE_PACKAGES / "axe-core/axe.min.js"
RULES = '["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]'
JUDGE = f'axe.run(document, {{runOnly: {RULES}, resultTypes: ["violations"], preload: false}})'


def judged(page) -> list[str]:
    found = page.evaluate(JUDGE)["violations"]
    return [f"{one['id']}: {[node['target'] + [node['failureSummary']] for node in one['nodes'][:4]]}" for one in found]


def settled(page) -> None:
    """Nothing says any more that it is being read."""
    until(page, "!/Reading (?!more)/.test(document.getElementById('main').innerText)")


@needs("chromium", node_package="axe-core")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_shuts_nobody_out(visit, server: MadeServer, view, theme):
    window = visit(server, theme=theme, bypass_csp=True)  # the judge sets styles of its own
    window.context.add_init_script(AXE.read_text(encoding="utf-8"))
    page = window.open(VIEWS[view])
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        assert judged(page) == [], f"at {width}"


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_of_a_view_sticks_out_at_any_width(visit, server: MadeServer, view):
    page = visit(server).open(VIEWS[view])
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beyond == 0, f"{beyond} px at {width}"


@needs("chromium", node_package="axe-core")
def test_doors_and_the_teams_shut_nobody_out(visit):
    with MadeServer(None) as server:
        window = visit(server, bypass_csp=True)
        window.context.add_init_script(AXE.read_text(encoding="utf-8"))
        page = window.open("/", "text=No team on this machine yet")
        assert judged(page) == []
        page = window.open("/daemon", "h1")
        assert judged(page) == []
        server.is_in, window.expects_refusals = False, True
        page = window.open("/", "text=You are not signed in")
        assert judged(page) == []


def test_an_empty_team_says_what_to_do(visit):
    from dataclasses import replace

    from tests.web import lantern_page as made

    empty = replace(
        made.SEEN, members=[], tasks=[], approvals=[], asked=[], stalled=[], merges=None, unacknowledged=[], troubles=[]
    )
    with MadeServer(empty, threads=[]) as server:
        page = visit(server).open("/t/lantern")
        assert "Nobody needs you." in page.inner_text("#main")
        page.goto(f"{server.url}/t/lantern/board")
        page.wait_for_selector("text=The board is empty")
        page.goto(f"{server.url}/t/lantern/mail")
        page.wait_for_selector("text=Nobody has written yet")


def test_the_only_team_is_opened_at_once_and_the_tab_says_who_waits(visit, server: MadeServer):
    page = visit(server).open("/")
    page.wait_for_url(f"{server.url}/t/lantern")
    assert page.title() == "4 need you · lantern · atm"


def test_a_theme_that_was_chosen_stays(visit, server: MadeServer):
    window = visit(server)
    page = window.open("/t/lantern")
    page.click("text=Dark")
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"
    page.reload()
    page.wait_for_selector(".strip")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_page_has_no_inline_style_and_no_inline_script(visit, server: MadeServer):
    page = visit(server).open("/t/lantern/board")
    found = page.evaluate("""[...document.querySelectorAll("[style], style, script:not([src]), [onclick]")]
        .map((one) => one.outerHTML.slice(0, 200))""")
    assert json.dumps(found) == "[]"

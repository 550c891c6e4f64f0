"""Texts of agents are text: whatever they say, nothing runs, nothing is loaded, and what hides is seen."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from tests.web import hostile
from tests.web.browser.conftest import until
from tests.web.made_server import MadeServer

TEAM = "/t/lantern"
VIEWS = (
    "",
    "/board",
    "/board/graph",
    "/board/list",
    "/agents",
    "/mail",
    "/approvals",
    "/merge",
    "/sync",
    "/timeline",
    "/replay",
    "/problems",
    "/task/1",
    "/task/90",
    "/approvals/huge",
    *(f"/agent/{quote(one, safe='')}" for one in hostile.STRINGS if "\ud800" not in one),
    *(f"/approvals/a{at}" for at in range(len(hostile.STRINGS))),
    *(f"/mail/{quote(one['key'], safe='')}" for one in hostile.threads() if "\ud800" not in one["key"]),
)


@pytest.fixture
def attacked() -> Iterator[MadeServer]:
    with MadeServer(hostile.team(), threads=hostile.threads()) as one:
        yield one


def test_no_view_of_a_hostile_team_runs_loads_or_breaks_anything(visit, attacked: MadeServer):
    window = visit(attacked)
    window.expects_refusals = True  # the made server has no details of tasks with strange ids
    page = window.page
    for view in VIEWS:
        page.goto(f"{attacked.url}{TEAM}{view}")
        page.wait_for_selector("#main .strip, #main .empty h1")
        until(page, "!/Reading mail/.test(document.body.innerText)")
        assert page.evaluate("window.hacked") is None, view
        assert page.evaluate("({}).a") is None, view
        strange = page.evaluate("""[...document.querySelectorAll("#app script, #app img, #app iframe, #app style, "
            + "#app object, #app [onload], #app [onerror], #app [onmouseover], #app a[href]")]
            .filter((one) => one.tagName.toUpperCase() !== "A" || !/^(\\/|#)(?!\\/)/.test(one.getAttribute("href")))
            .map((one) => one.outerHTML.slice(0, 200))""")
        assert strange == [], view
        raw = page.evaluate("""/[\\u0000-\\u0008\\u001b\\u0080-\\u009f\\u200b\\u202a-\\u202e\\u2066-\\u2069\\ufeff]/
            .test(document.body.textContent + document.title)""")
        assert not raw, f"{view}: a character that hides or turns is shown as it is"
        beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beyond == 0, f"{view} sticks out by {beyond}"
        window.check()


@pytest.mark.parametrize("width", [390, 1440])
def test_what_hides_is_a_tag_that_one_can_read(visit, attacked: MadeServer, width):
    page = visit(attacked, width=width).open(f"{TEAM}/approvals/a7")
    assert "U+202E" in page.inner_text(".cmd.big")
    page.goto(f"{attacked.url}{TEAM}/approvals/a8")
    until(page, "/ESC/.test(document.querySelector('.cmd.big')?.innerText)")


def test_a_huge_text_is_cut_until_somebody_wants_all_of_it(visit, attacked: MadeServer):
    key = next(one["key"] for one in hostile.threads() if one["messages"][0]["text"] == hostile.HUGE)
    page = visit(attacked).open(f"{TEAM}/mail/{quote(key, safe='')}")
    assert len(page.inner_text(".msg .body")) < 5000
    page.click("text=Show all 1,000,000 characters")
    until(page, "document.querySelector('.msg .body').textContent.length >= 1000000")


def test_a_command_is_not_approved_before_all_of_it_was_in_sight(visit, attacked: MadeServer):
    page = visit(attacked).open(f"{TEAM}/approvals/huge")
    approve = page.get_by_role("button", name="Approve once")
    assert approve.is_disabled()
    page.keyboard.press("a")
    page.keyboard.press("a")
    page.click("text=Show all 1,000,007 characters of it")
    assert approve.is_disabled(), "its end was not in sight yet"
    assert not attacked.deeds
    page.evaluate("document.querySelectorAll('.whole .end')[1].scrollIntoView()")
    until(page, "![...document.querySelectorAll('button[data-deed=approve]')].some((one) => one.disabled)")
    assert not attacked.deeds

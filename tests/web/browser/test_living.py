"""The page lives: news arrive, deeds are done, connections are lost and found, links work once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.tui.lantern import NOW, ago
from tests.web import lantern_page as made
from tests.web.browser.conftest import at_the_teams_time, until
from tests.web.made_server import KEY, MadeServer

from atm.files.formats.times import to_iso
from atm.ui.views.team.seen import AskedSeen, TeamSeen

TEAM = "/t/lantern"
ASKED = AskedSeen("7", "question", "user", "tern", ago(1), "From zero or from one?")


def with_question() -> TeamSeen:
    return replace(made.SEEN, asked=[*made.SEEN.asked, ASKED])


def test_a_link_signs_in_once_and_its_key_is_not_kept_in_sight(visit, server: MadeServer):
    server.is_in = False
    window = visit(server)
    page = window.open(f"/login#{KEY}")
    assert KEY not in page.url
    assert page.evaluate("history.length") <= 3
    assert page.get_by_text("ann", exact=True).first.is_visible()


def test_a_used_link_says_so_and_what_to_type(visit, server: MadeServer):
    server.is_in = False
    window = visit(server)
    window.expects_refusals = True
    page = window.open("/login#stolen", "text=This link was used up")
    assert "atm web" in page.inner_text("#main")
    assert "stolen" not in page.url


def test_whoever_signs_out_sees_nothing_any_more(visit, server: MadeServer):
    window = visit(server)
    page = window.open(TEAM)
    window.expects_refusals = True
    page.click("text=sign out")
    page.wait_for_selector("text=You are not signed in")
    assert "kite" not in page.inner_text("body")


def test_news_arrive_without_a_reload_in_the_list_the_tab_and_for_screen_readers(visit, server: MadeServer):
    page = visit(server).open(TEAM)
    page.wait_for_selector(".side-foot >> text=live")
    server.change(with_question())
    page.wait_for_selector("text=From zero or from one?")
    assert page.title().startswith("5 need you")
    until(page, "/New: tern, question/.test(document.getElementById('heard').textContent)")


def test_rows_under_the_pointer_stay_where_they_are_until_it_leaves(visit, server: MadeServer):
    page = visit(server).open(TEAM)
    page.hover("text=git push")
    server.change(replace(made.SEEN, approvals=[], asked=[*made.SEEN.asked, ASKED]))
    page.wait_for_selector("text=settled")
    assert page.locator(".asks").first.locator("li").count() == 4
    page.mouse.move(5, 5)
    page.wait_for_selector("text=From zero or from one?")
    assert page.locator("text=git push").count() == 0


def test_ages_go_on_for_those_of_whom_nothing_new_is_told(visit, server: MadeServer):
    window = visit(server)
    at_the_teams_time(window.page)
    page = window.open(TEAM)
    page.wait_for_selector("text=last heard of 12 min ago (hook)")
    members = [
        replace(one, state_age_seconds=(one.state_age_seconds or 0) + 300, liveness_age_seconds=1020)
        for one in made.SEEN.members
    ]
    server.change(replace(with_question(), members=members), passed=300)
    page.wait_for_selector("text=From zero or from one?")
    page.clock.run_for(1500)
    page.wait_for_selector("text=last heard of 17 min ago (hook)")


def test_yes_and_no_want_two_presses_each_within_four_seconds(visit, server: MadeServer):
    window = visit(server)
    at_the_teams_time(window.page)
    page = window.open(f"{TEAM}/approvals")
    page.clock.run_for(100)
    page.get_by_role("button", name="Approve once").click()
    page.get_by_role("button", name="Yes, approve").wait_for()
    page.clock.run_for(4100)
    page.get_by_role("button", name="Approve once").wait_for()
    assert not server.deeds
    page.keyboard.press("a")
    page.keyboard.press("a")
    page.wait_for_selector(".notice >> text=atm approvals approve a41c --team lantern")
    assert server.deeds == [{"kind": "approval", "id": "a41c", "deed": "approve", "text": ""}]
    page.wait_for_selector(".notice >> text=done")
    page.reload()  # it was approved, says the page, until the team says what came of it
    page.get_by_role("button", name="Approve once").wait_for()
    page.keyboard.press("x")
    page.get_by_role("button", name="Yes, deny").wait_for()
    assert len(server.deeds) == 1
    page.keyboard.press("x")
    page.wait_for_selector(".notice >> text=atm approvals deny a41c")
    assert server.deeds[-1]["deed"] == "deny"


def test_time_runs_out_in_sight(visit, server: MadeServer):
    asked = replace(made.SEEN.approvals[0], expires_at=to_iso(NOW + 25))
    server.seen = replace(made.SEEN, approvals=[asked])
    window = visit(server)
    at_the_teams_time(window.page)
    page = window.open(f"{TEAM}/approvals")
    page.wait_for_selector(".clock >> text=/0:2\\d/")
    page.clock.run_for(27_000)
    page.wait_for_selector(".clock >> text=expired")


def test_a_question_is_answered_where_it_stands(visit, server: MadeServer):
    page = visit(server).open(TEAM)
    page.click("text=Answer…")
    page.fill("textarea", "Only warn.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".notice >> text=done")
    assert server.deeds == [{"kind": "task", "id": "13", "deed": "answer", "text": "Only warn."}]


def test_mail_is_written_to_somebody_who_is_chosen(visit, server: MadeServer):
    page = visit(server).open(f"{TEAM}/mail")
    page.get_by_role("button", name="Write").click()
    page.select_option("select", "rook")
    page.fill("textarea", "How far are you?")
    page.locator(".compose").get_by_role("button", name="Send").click()
    page.wait_for_selector(".notice >> text=done")
    assert server.deeds == [{"kind": "member", "id": "rook", "deed": "write", "text": "How far are you?"}]


def test_what_could_not_be_done_says_why_and_what_was_typed_stays(visit, server: MadeServer):
    window = visit(server)
    page = window.open(TEAM)
    page.click("text=Answer…")
    page.fill("textarea", "Only warn.")
    window.expects_refusals = True
    server.seen = replace(made.SEEN, tasks=[])
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".notice >> text=it is not offered")
    assert page.input_value("textarea") == "Only warn."


def test_an_observer_is_offered_nothing_and_told_so(visit):
    with MadeServer(role="observer") as server:
        page = visit(server).open(f"{TEAM}/approvals")
        assert "observer" in page.inner_text(".banner")
        assert page.get_by_role("button", name="Approve").count() == 0
        assert page.get_by_role("button", name="Deny").count() == 0
        page.goto(f"{server.url}{TEAM}")
        page.wait_for_selector("text=git push")
        assert page.get_by_role("button", name="Deny").count() == 0


def test_without_a_connection_it_says_since_when_and_nothing_can_be_sent(visit, server: MadeServer):
    window = visit(server)
    page = window.open(TEAM)
    page.wait_for_selector(".side-foot >> text=live")
    window.expects_refusals = True
    server.is_deaf = True
    server.hang_up()
    page.wait_for_selector("text=Not connected")
    assert "since" in page.inner_text(".banner.off")
    assert page.get_by_role("button", name="Deny").is_disabled()
    assert "grayscale" in page.evaluate("getComputedStyle(document.querySelector('.page')).filter")
    server.is_deaf = False
    server.seen, server.version = with_question(), 2
    page.click("text=Try now")
    page.wait_for_selector("text=From zero or from one?")
    page.wait_for_selector("text=Not connected", state="detached")
    assert page.get_by_role("button", name="Deny").is_enabled()


def test_ten_tabs_share_one_stream_and_all_of_them_are_told(visit, server: MadeServer):
    window = visit(server)
    window.open(TEAM)
    pages = [window.page, *(window.new_page() for _ in range(9))]
    for page in pages[1:]:
        page.goto(server.url + TEAM)
        page.wait_for_selector("#main .strip")
    assert len(server.ears) == 1
    server.change(with_question())
    for page in pages:
        until(page, "document.title.startsWith('5 need you')")
    pages[0].close()
    until(pages[1], "document.querySelector('.side-foot').innerText.includes('live')")
    server.change(made.SEEN)
    for page in pages[1:]:
        until(page, "document.title.startsWith('4 need you')")


def test_a_team_that_was_deleted_is_said_to_be(visit, server: MadeServer):
    page = visit(server).open(TEAM)
    page.wait_for_selector(".side-foot >> text=live")
    server.tell("gone", {"why": "deleted"})
    page.wait_for_selector("text=was deleted")


def test_a_slider_shows_the_team_as_it_was_and_the_path_says_when(visit, server: MadeServer):
    page = visit(server).open(f"{TEAM}/replay")
    page.wait_for_selector("text=/[1-9]\\d* of 14, 1 merged/")
    page.focus("input[type=range]")
    page.keyboard.press("ArrowLeft")
    until(page, "location.search.startsWith('?at=')")
    page.fill("input[type=range]", "200")
    page.wait_for_selector("text=0 of 14, 0 merged")
    page.reload()
    page.wait_for_selector("text=0 of 14, 0 merged")
    assert page.get_by_role("button", name="Deny").count() == 0


def test_one_press_leads_to_the_conflict_and_what_happened_before_it(visit, server: MadeServer):
    page = visit(server).open(f"{TEAM}/replay")
    page.get_by_role("button", name="Previous conflict").click()
    page.wait_for_selector(".feed >> text=#8 conflict with #9; in src/lantern/cli.py")
    page.wait_for_selector(".three >> text=in conflict")
    page.wait_for_selector(".feed >> text=#9 merged")


@pytest.mark.parametrize(
    ("key", "view"),
    [
        ("1", ""),
        ("2", "/board"),
        ("3", "/agents"),
        ("4", "/mail"),
        ("5", "/approvals"),
        ("6", "/merge"),
        ("7", "/sync"),
        ("8", "/timeline"),
        ("9", "/problems"),
    ],
)
def test_digits_open_the_same_views_as_on_the_screen(visit, server: MadeServer, key, view):
    page = visit(server).open(f"{TEAM}/runs")
    page.keyboard.press(key)
    page.wait_for_url(f"{server.url}{TEAM}{view}")


def test_everything_can_be_done_with_keys(visit, server: MadeServer):
    page = visit(server).open(TEAM)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")
    page.keyboard.press("j")
    first = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.getAttribute('href')") != first
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url(server.url + first)
    page.go_back()
    page.wait_for_url(server.url + TEAM)


def test_the_graph_is_moved_and_zoomed_with_keys(visit, server: MadeServer):
    page = visit(server).open(f"{TEAM}/board/graph")
    box = "document.querySelector('.graph svg').getAttribute('viewBox')"
    before = page.evaluate(box)
    page.focus(".graph")
    page.keyboard.press("ArrowRight")
    moved = page.evaluate(box)
    page.keyboard.press("+")
    zoomed = page.evaluate(box)
    assert len({before, moved, zoomed}) == 3
    page.keyboard.press("0")
    assert page.evaluate(box) == before


def test_a_path_that_leads_nowhere_says_so(visit, server: MadeServer):
    page = visit(server).open(f"{TEAM}/nowhere", "text=There is no such page")
    assert page.get_by_role("link", name="To the teams").is_visible()

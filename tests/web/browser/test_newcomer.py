"""What somebody stumbled over who sat before the page for the first time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.web import lantern_page as made
from tests.web.browser.conftest import until
from tests.web.made_server import MadeServer

TEAM = "/t/lantern"
PHONE = {"width": 390, "height": 844}
BEYOND = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
TRACEBACK = 'Traceback (most recent call last):\n  File "/x/y.py", line 3, in f\nOSError: ' + "disk" * 400


def without_questions(seen=made.SEEN):
    return replace(seen, asked=[one for one in seen.asked if one.kind != "question"])


def test_on_a_phone_one_can_deny_and_say_why_and_find_what_was_decided(visit, server: MadeServer):
    page = visit(server, **PHONE).open(f"{TEAM}/approvals")
    page.get_by_role("button", name="Deny and say why…").click()
    page.fill("textarea", "not on a Friday")
    page.locator(".decide").get_by_role("button", name="Deny", exact=True).last.click()
    page.wait_for_selector(".notice >> text=done")
    assert server.deeds == [{"kind": "approval", "id": "a41c", "deed": "deny and say why", "text": "not on a Friday"}]
    page.get_by_role("link", name="Decided").click()
    page.locator(".decided >> text=pip install httpx").click()
    page.wait_for_selector(".detail >> text=pinned, fine")


def test_on_a_phone_nothing_is_empty_where_nobody_asks(visit):
    with MadeServer(replace(made.SEEN, approvals=[], asked=[])) as server:
        page = visit(server, **PHONE).open(f"{TEAM}/approvals")
        page.wait_for_selector("text=Nobody asks for anything")
        assert page.locator(".split > .list").is_hidden()
        assert page.get_by_role("link", name="Decided, 3").is_visible()


def test_what_was_answered_is_shown_with_the_way_to_its_task(visit, server: MadeServer):
    page = visit(server).open(f"{TEAM}/approvals/question%3A13")
    until(page, "document.activeElement.tagName === 'TEXTAREA'")
    page.fill("textarea", "Only warn.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".notice >> text=done")
    server.change(without_questions())
    page.wait_for_selector(".given >> text=You answered")
    assert "“Only warn.”" in page.inner_text(".given")
    assert page.locator(".given a").get_attribute("href") == f"{TEAM}/task/13"


def test_who_answered_what_is_still_known_after_a_reload(visit, server: MadeServer):
    page = visit(server).open(f"{TEAM}/approvals/question%3A11")
    page.wait_for_selector("h1 >> text=You answered")
    assert "“Patterns, one in a line.”" in page.inner_text(".detail")


def test_unread_mail_is_marked_and_the_overview_leads_to_exactly_that(visit, server: MadeServer):
    page = visit(server).open(TEAM)
    page.get_by_role("link", name="Open the mail").click()
    page.wait_for_url(f"{server.url}{TEAM}/mail/unread")
    page.wait_for_selector(".msg")
    assert page.locator(".msg").count() == 2
    assert page.locator(".threads a.new").count() == page.locator(".threads [data-row]").count() == 2
    assert "1 unread" in page.locator(".threads a.new").first.inner_text()
    page.get_by_role("button", name="Mark as read").click()
    page.wait_for_selector(".notice >> text=done")
    assert server.deeds == [{"kind": "inbox", "id": "ann", "deed": "read it", "text": ""}]


def test_nobody_is_written_to_by_accident(visit, server: MadeServer):
    page = visit(server).open(f"{TEAM}/mail/unread")
    page.wait_for_selector(".msg")
    page.keyboard.press("m")
    page.wait_for_selector(".compose select")
    assert page.input_value(".compose select") == ""
    assert page.locator(".compose textarea").count() == 0
    until(page, "document.activeElement.tagName === 'SELECT'")


def test_m_is_for_writing_to_an_agent_whatever_part_of_it_is_open(visit, server: MadeServer):
    page = visit(server).open(f"{TEAM}/agent/tern")
    page.get_by_role("tab", name="Diff").click()
    page.wait_for_selector("textarea")
    page.locator("#main").focus()
    page.keyboard.press("m")
    assert page.evaluate("document.activeElement.placeholder") == "Write to tern"
    assert page.get_by_role("button", name="Send").is_visible()


@pytest.mark.parametrize("view", ["board", "agents", "mail", "timeline"])
def test_a_slash_goes_to_the_search_field(visit, server: MadeServer, view):
    page = visit(server).open(f"{TEAM}/{view}", "[data-filter]")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"


def test_a_task_says_which_tasks_it_waits_for_and_holds_up(visit, server: MadeServer):
    page = visit(server).open(f"{TEAM}/task/6")
    rows = page.locator(".task-row").all_inner_texts()
    assert len(rows) == 3
    assert [*(one.replace("\n", " ") for one in (rows[0], rows[2]))] == [
        "merged #1 Find links in Markdown, with line numbers wren",
        "blocked #12 Manual: incremental runs in CI nobody yet",
    ]
    page.locator(".task-row").last.click()
    page.wait_for_url(f"{server.url}{TEAM}/task/12")


def test_what_atm_did_not_start_is_no_error(visit):
    members = [replace(one, agent=None) if one.name == "tern" else one for one in made.SEEN.members]
    with MadeServer(replace(made.SEEN, members=members)) as server:
        server.broken["diff"] = "atm has started no agent 'tern' in team 'lantern'"
        page = visit(server).open(f"{TEAM}/task/7")
        page.wait_for_selector("text=atm did not start tern, so it cannot see its changes")
        assert page.locator(".wrong").count() == 0


def test_what_could_not_be_read_fits_says_little_and_is_tried_again(visit, server: MadeServer):
    server.broken["merges"] = TRACEBACK
    window = visit(server, **PHONE)
    window.expects_refusals = True
    page = window.open(f"{TEAM}/merge", ".wrong")
    assert page.evaluate(BEYOND) == 0
    assert "y.py" not in page.inner_text("#main")
    server.broken.clear()
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".table >> text=conflict")


def test_a_team_that_rests_has_not_run_for_less_long_after_a_reload(visit, server: MadeServer):
    server.rested = 600.0
    page = visit(server).open(TEAM)
    page.wait_for_selector(".strip .time >> text=running 2 h 51")


def test_whoever_is_synced_and_not_there_is_called_both(visit):
    members = [replace(one, liveness="offline") if one.name == "rook" else one for one in made.SEEN.members]
    with MadeServer(replace(made.SEEN, members=members)) as server:
        page = visit(server).open(f"{TEAM}/sync")
        row = page.locator(".sync-row", has_text="rook")
        assert "Synced, offline" in row.inner_text()
        assert row.locator("use").first.get_attribute("href") == "#g-done"


def test_people_are_people_and_an_old_sign_of_life_is_no_proof(visit, server: MadeServer):
    page = visit(server).open(f"{TEAM}/agent/ann")
    assert "a person" in page.inner_text(".four")
    assert "online" not in page.inner_text(".four")
    page.goto(f"{server.url}{TEAM}/agent/rook")
    page.wait_for_selector(".four >> text=last heard of 12 min ago")
    assert page.locator(".four .st-proven", has_text="online").count() == 0


def test_the_daemon_keeps_the_menu_of_the_team_one_came_from(visit, server: MadeServer):
    page = visit(server).open(TEAM)
    page.get_by_role("link", name="Daemon").click()
    page.wait_for_selector("h1 >> text=Daemon")
    page.get_by_role("navigation", name="Views", exact=True).get_by_text("Board").click()
    page.wait_for_url(f"{server.url}{TEAM}/board")


def test_a_phone_is_never_left_without_a_way_on(visit, server: MadeServer):
    page = visit(server, **PHONE).open("/daemon", "h1")
    assert page.locator(".tabbar").is_visible()
    assert page.get_by_role("button", name="Sign out").is_visible()
    assert page.get_by_role("button", name="Dark").is_visible()


def test_in_the_replay_arrows_work_wherever_one_is_and_the_knob_is_under_the_line(visit, server: MadeServer):
    page = visit(server, **PHONE).open(f"{TEAM}/replay")
    page.wait_for_selector("text=/of 14, 1 merged/")
    page.locator("#main").focus()
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    value = "document.querySelector('input[type=range]').value"
    until(page, f"Math.abs({value} - 800) < 2")
    page.keyboard.press("ArrowLeft")
    until(page, f"{value} < 799.9")
    line, track = page.locator(".head-line").bounding_box(), page.locator("input[type=range]").bounding_box()
    share = float(page.evaluate(value)) / 1000
    assert abs(line["x"] + line["width"] / 2 - (track["x"] + 6 + share * (track["width"] - 12))) < 2
    assert 0 <= line["x"] <= 390


def test_the_replay_finds_the_conflict_and_shows_it_on_the_board(visit, server: MadeServer):
    page = visit(server).open(f"{TEAM}/replay")
    page.get_by_role("button", name="Previous conflict").click()
    page.wait_for_selector(".then-tasks li:has-text('#8') >> text=conflict")
    assert page.get_by_role("button", name="Previous conflict").is_disabled()


def test_percents_add_up(visit, server: MadeServer):
    page = visit(server).open(TEAM)
    found = page.evaluate("import('/static/spans.js').then((it) => [[1, 1, 1], [5, 1, 3, 2, 1, 2]].map(it.percents))")
    assert [sum(one) for one in found] == [100, 100]


def test_what_is_for_programs_is_not_in_the_way_and_the_keys_are_named(visit, server: MadeServer):
    page = visit(server).open(TEAM)
    page.wait_for_selector(".side-foot >> text=live")
    assert "r1-1" not in page.inner_text("body")
    page.get_by_role("button", name="? keys").click()
    page.wait_for_selector("dialog[open]")

"""
Nothing moves under a finger: at the width of a phone, a second tap at the same point never hits another button,
whatever has happened to the team between the two.

The browser's clock stands still while these tests tap, so that "quickly" does not depend on the machine.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.tui.lantern import ago
from tests.web import lantern_page as made
from tests.web import twice_asked
from tests.web.browser.conftest import Guarded, at_the_teams_time, until
from tests.web.made_server import MadeServer
from tests.web.twice_asked import OPENED_BY, TEAM, asking

from atm.ui.views.team.seen import AskedSeen, TeamSeen

PUSH = made.SEEN.approvals[0]
OTHER = replace(PUSH, id="b52d", requester="tern", command="rm -rf build", asked_at=ago(700))
"""Asked for before the first, so that it stands above it."""
TOO_SOON, STILL, ARMED, FREE = 100, 450, 4100, 9000
"""Milliseconds: a second tap of one movement; a button stands still; nobody has confirmed; news are shown."""

ASKING = asking()
"""Every button that runs at once what cannot be taken back."""
BOXES = """[...document.querySelectorAll("button, a.btn")].filter((one) => one.checkVisibility()).map((one) => {
    const box = one.getBoundingClientRect();
    return [one.dataset.deed ?? one.getAttribute("href") ?? one.textContent, box.x, box.y, box.width, box.height];
})"""


class Phone:
    """A window of a phone, whose clock stands still once the view is there."""

    def __init__(self, window: Guarded, path: str, waits_for: str = "") -> None:
        at_the_teams_time(window.page)
        self.server = window.server
        self.page: Any = window.open(path, waits_for or "#main .strip")
        self.page.evaluate("""() => {
            window.heard = 0;
            new BroadcastChannel("atm lantern").onmessage = () => { window.heard += 1; };
        }""")

    def button(self, name: str) -> Any:
        """By its label; where there is a keyboard, its keys stand behind that."""
        return self.page.get_by_role("button", name=re.compile(f"^{re.escape(name)}( [a-z] [a-z])?$")).first

    def rest(self) -> None:
        """All that is read is there, and the clock stands still; half a second passes."""
        until(self.page, "!/Reading /.test(document.getElementById('main').innerText)")
        soon = self.page.evaluate("Date.now()") / 1000 + 1
        self.page.clock.pause_at(datetime.datetime.fromtimestamp(soon, datetime.UTC))
        self.passes(STILL)

    def passes(self, milliseconds: int) -> None:
        self.page.clock.run_for(milliseconds)

    def point_of(self, name: str) -> tuple[float, float]:
        self.button(name).scroll_into_view_if_needed()
        box = self.button(name).bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def tap(self, point: tuple[float, float]) -> None:
        self.page.touchscreen.tap(*point)

    def boxes(self) -> object:
        return self.page.evaluate(BOXES)

    def hears(self, seen: TeamSeen) -> None:
        """What is new has come to the page, shown or not: the tab that leads tells the others after it took it in."""
        before = self.page.evaluate("heard")
        self.server.change(seen)
        until(self.page, f"heard > {before}")

    def done(self) -> list[dict[str, Any]]:
        """What was asked of the server, once it has said what came of it."""
        until(self.page, "document.querySelector('.notice')?.textContent.includes('done') ?? false")
        return self.server.deeds


@pytest.fixture
def phone(visit, server: MadeServer):
    def begin(path: str, button: str = "", **more: Any) -> Phone:
        found = Phone(visit(server, **{"width": 390, "height": 844, "has_touch": True, **more}), path)
        if path in OPENED_BY:
            found.button(OPENED_BY[path]).click()
        if button:
            found.button(button).wait_for()
        found.rest()
        return found

    return begin


@pytest.mark.parametrize(("path", "name", "deed"), ASKING)
def test_two_taps_in_one_movement_do_nothing_and_move_nothing(phone, server, path, name, deed):
    server.seen = twice_asked.SEEN
    one = phone(path, name)
    point = one.point_of(name)
    one.passes(STILL)
    before = one.boxes()
    one.tap(point)
    one.passes(TOO_SOON)
    one.tap(point)
    one.passes(TOO_SOON)
    assert one.boxes() == before
    one.passes(STILL)
    assert one.boxes() == before
    one.page.wait_for_selector(".btn.armed")
    assert server.deeds == []


@pytest.mark.parametrize(("path", "name", "deed"), ASKING)
def test_a_second_tap_at_the_same_point_confirms_that_deed_and_no_other(phone, server, path, name, deed):
    server.seen = twice_asked.SEEN
    one = phone(path, name)
    point = one.point_of(name)
    one.passes(STILL)
    one.tap(point)
    one.passes(STILL)
    one.tap(point)
    assert [done["deed"] for done in one.done()] == [deed]
    one.tap(point)
    one.passes(STILL)
    one.tap(point)
    assert [done["deed"] for done in server.deeds] == [deed]  # it is being done; nothing else comes under the finger


@pytest.mark.parametrize(("path", "name", "deed"), ASKING)
def test_a_tap_that_nobody_confirms_is_forgotten(phone, server, path, name, deed):
    server.seen = twice_asked.SEEN
    one = phone(path, name)
    point = one.point_of(name)
    one.passes(STILL)
    one.tap(point)
    one.passes(ARMED)
    one.button(name).wait_for()
    one.tap(point)
    one.passes(STILL)
    one.page.wait_for_selector(".btn.armed")
    assert server.deeds == []


@pytest.mark.parametrize("path", [TEAM, f"{TEAM}/approvals"])
@pytest.mark.parametrize(
    "news",
    [
        replace(made.SEEN, approvals=[OTHER, PUSH]),
        replace(made.SEEN, approvals=[OTHER]),
        replace(made.SEEN, approvals=[]),
        replace(
            made.SEEN, asked=[*made.SEEN.asked, AskedSeen("7", "question", "user", "tern", ago(1), "Zero or one?")]
        ),
    ],
    ids=["another above it", "another in its place", "gone", "a question more"],
)
@pytest.mark.parametrize(("label", "deed"), [("Approve", "approve"), ("Deny", "deny")])
def test_what_happens_between_two_taps_does_not_change_what_the_second_one_hits(phone, server, path, news, label, deed):
    name = "Approve once" if label == "Approve" and path != TEAM else label
    one = phone(path, name)
    point = one.point_of(name)
    one.passes(STILL)
    one.tap(point)
    one.passes(STILL)
    before = one.boxes()
    one.hears(news)
    one.passes(STILL)
    assert one.boxes() == before
    one.tap(point)
    assert one.done() == [{"kind": "approval", "id": "a41c", "deed": deed, "text": ""}]


def test_news_that_waited_are_shown_when_the_finger_has_gone(phone, server):
    one = phone(TEAM, "Approve")
    one.tap(one.point_of("Approve"))
    one.hears(replace(made.SEEN, approvals=[OTHER]))
    assert one.page.get_by_text("rm -rf build").count() == 0
    one.passes(FREE)
    one.page.get_by_text("rm -rf build").wait_for()
    assert one.page.get_by_text("git push").count() == 0


def test_after_a_tap_anywhere_in_a_view_its_news_wait_a_moment(phone, server):
    one = phone(f"{TEAM}/board")
    one.tap((30, 22))
    one.hears(replace(made.SEEN, approvals=[]))
    one.passes(TOO_SOON)
    assert one.page.title().startswith("4 need you")
    one.passes(FREE)
    until(one.page, "document.title.startsWith('3 need you')")


def test_scrolling_lets_the_news_in_at_once(phone, server):
    one = phone(TEAM, "Approve", has_touch=False)
    one.page.mouse.click(200, 300)
    one.hears(replace(made.SEEN, approvals=[OTHER]))
    one.page.mouse.move(5, 5)
    one.page.mouse.wheel(0, 40)
    one.page.get_by_text("rm -rf build").wait_for()


def test_a_tap_on_what_has_just_moved_hits_nothing(phone, server):
    """Nobody has touched the page: news are shown at once, and the finger is on its way already."""
    one = phone(TEAM, "Answer…")
    before = one.point_of("Answer…")
    one.passes(STILL)
    one.hears(replace(made.SEEN, approvals=[]))
    one.page.get_by_text("git push").wait_for(state="detached")
    one.passes(TOO_SOON)
    box = one.button("Answer…").bounding_box()
    point = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    assert point != before
    one.tap(point)
    one.passes(TOO_SOON)
    assert one.page.locator("textarea").count() == 0
    one.passes(STILL)
    one.tap(point)
    one.page.locator("textarea").wait_for()


def test_a_button_that_has_come_to_rest_can_be_pressed(phone, server):
    one = phone(TEAM, "Approve")
    one.hears(replace(made.SEEN, approvals=[OTHER]))
    one.page.get_by_text("rm -rf build").wait_for()
    one.passes(STILL + TOO_SOON)
    one.tap(one.point_of("Approve"))
    one.passes(STILL)
    one.tap(one.point_of("Yes, approve"))
    assert one.done() == [{"kind": "approval", "id": "b52d", "deed": "approve", "text": ""}]


@pytest.mark.parametrize(("width", "has_touch"), [(390, True), (1024, False)])
def test_a_request_that_others_settled_stays_under_the_pointer_and_can_not_be_answered(phone, server, width, has_touch):
    one = phone(f"{TEAM}/approvals", "Deny", width=width, has_touch=has_touch)
    x, y = one.point_of("Deny")
    one.passes(STILL)
    before = one.boxes()
    one.page.mouse.move(x, y) if not has_touch else one.tap((x, y + 30 if width > 900 else y - 45))
    one.hears(replace(made.SEEN, approvals=[OTHER]))
    if has_touch:
        one.passes(1600)  # news are shown again; the list was touched a moment ago
    one.page.get_by_text("It was settled").wait_for()
    assert one.boxes() == before
    assert one.button("Deny").is_disabled()
    assert one.button("Approve once").is_disabled()
    one.page.mouse.move(5, 5) if not has_touch else one.passes(4000)
    one.page.get_by_text("rm -rf build").first.wait_for()


def test_an_answer_of_ones_own_is_said_in_its_place(phone, server):
    one = phone(f"{TEAM}/approvals", "Deny")
    one.tap(one.point_of("Deny"))
    one.passes(STILL)
    before = one.boxes()
    one.tap(one.point_of("Yes, deny"))
    one.page.get_by_text("You denied it").wait_for()
    assert one.done()[0]["deed"] == "deny"
    assert [box for box in one.boxes() if box[0] != "Close"] == before
    assert one.button("Approve once").is_disabled()


@pytest.mark.parametrize("key", ["a", "x"])
def test_a_key_that_is_held_down_is_one_press(phone, server, key):
    one = phone(f"{TEAM}/approvals", "Deny", width=1024, has_touch=False)
    for _ in range(5):
        one.page.keyboard.down(key)
    one.page.keyboard.up(key)
    one.page.get_by_role("button", name="Yes, ").wait_for()
    assert server.deeds == []


@pytest.mark.parametrize("key", ["Enter", " "])
def test_a_button_on_which_a_key_is_held_down_asks_once(phone, server, key):
    one = phone(f"{TEAM}/approvals", "Deny", width=1024, has_touch=False)
    one.button("Deny").focus()
    for _ in range(5):
        one.page.keyboard.down(key)
    one.page.keyboard.up(key)
    one.button("Yes, deny").wait_for()
    assert server.deeds == []


def test_two_clicks_of_a_mouse_in_one_movement_are_one(phone, server):
    one = phone(TEAM, "Deny", width=1024, has_touch=False)
    one.button("Deny").dblclick()
    one.passes(STILL)
    one.page.wait_for_selector(".btn.armed")
    assert server.deeds == []


def test_what_is_being_typed_is_not_lost_when_its_row_goes(phone, server):
    one = phone(TEAM, "Answer…")
    one.tap(one.point_of("Answer…"))
    one.page.fill("textarea", "From zero, because")
    one.passes(FREE)
    one.hears(replace(made.SEEN, asked=[]))
    one.passes(FREE)
    one.page.get_by_text("settled").first.wait_for()
    assert one.page.input_value("textarea") == "From zero, because"


def test_what_a_command_said_does_not_cover_the_buttons_of_a_decision(phone, server):
    one = phone(f"{TEAM}/approvals", "Deny")
    one.tap(one.point_of("Deny"))
    one.passes(STILL)
    one.tap(one.point_of("Yes, deny"))
    one.done()
    notice, decide = (one.page.locator(what).bounding_box() for what in (".notice", ".decide"))
    assert notice["y"] + notice["height"] <= decide["y"]

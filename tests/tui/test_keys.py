"""What keys do, as somebody who has never seen the screen would try them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.proving import proves
from tests.tui.lantern import LANTERN, NOW, PUSH, lantern, member

from atm.ui.faces.deeds import spelled
from atm.ui.faces.view_names import AGENT, APPROVALS, BOARD, KEYS, MAIL, OVERVIEW, PROBLEMS, REQUEST, RUNS, TASK, THREAD
from atm.ui.tui.frame import draw
from atm.ui.tui.keys import Wish, press, submit
from atm.ui.tui.model import Model
from atm.ui.tui.offers import offers


class Person:
    """Sits at the screen: sees it drawn after each key."""

    def __init__(self, model: Model | None = None, columns: int = 80, height: int = 24) -> None:
        self.model = model or lantern()
        self._size = columns, height
        self._look()

    def _look(self) -> None:
        self.screen = draw(self.model, *self._size)

    def presses(self, *keys: str) -> list[Wish]:
        wishes: list[Wish] = []
        for key in keys:
            wishes += press(self.model, key, self.screen.body)
            self._look()
        return wishes

    def types(self, said: str) -> list[Wish]:
        wishes = submit(self.model, said)
        self._look()
        return wishes


@pytest.fixture
def person() -> Person:
    return Person()


@proves("R004-tui-U2e", "R004-gap-p2-05", "R004-target-09")
def test_j_and_k_and_arrows_choose_and_go_round(person):
    first = person.model.target
    rows = len([row for row in person.screen.body.rows if row.targets])
    for key in ("j", "down", "shift+down"):
        person.presses(*[key] * rows)
        assert person.model.target == first
    person.presses("k")
    assert person.model.target == ("task", "1")
    person.presses("up", "shift+up", "down", "down", "down")
    assert person.model.target == ("approval", "a41c")


def test_home_and_end_and_pages_stop_at_the_ends(person):
    person.presses("G")
    assert person.model.target == ("task", "1")
    person.presses("pagedown")
    assert person.model.target == ("task", "1")
    person.presses("home", "pageup")
    assert person.model.target == ("approval", "a41c")


@proves("R004-tui-U2b")
def test_enter_opens_and_escape_goes_back(person):
    person.presses("enter")
    assert person.model.view == APPROVALS
    person.presses("enter")
    assert person.model.view == REQUEST
    person.presses("escape", "escape")
    assert person.model.view == OVERVIEW


def test_digits_open_the_views_and_escape_leads_back_through_them(person):
    person.presses("2", "4")
    assert person.model.view == MAIL
    person.presses("escape")
    assert person.model.view == BOARD


@proves("R004-gap-p2-07")
def test_ctrl_t_goes_to_the_tasks_and_back(person):
    person.presses("ctrl+t")
    assert person.model.view == BOARD
    person.presses("ctrl+t")
    assert person.model.view == OVERVIEW


def test_one_press_does_not_approve_and_the_foot_says_what_a_second_does(person):
    assert person.presses("a") == []
    foot = "".join(said for said, _ in person.screen.lines[-2])
    assert "press a again within 2 s" in foot


def test_two_presses_within_two_seconds_approve(person):
    assert person.presses("a", "a") == [Wish("run", ("approvals", "approve", "a41c", "--team", "lantern"))]


def test_after_two_seconds_the_first_press_is_forgotten(person):
    person.presses("a")
    person.model.now = NOW + 2.1
    assert person.presses("a") == []


def test_anything_else_forgets_the_first_press(person):
    assert person.presses("a", "j", "k", "a") == []


def test_no_wants_two_presses_as_yes_does(person):
    assert person.presses("x") == []
    (wish,) = person.presses("x")
    assert wish.words[:3] == ("approvals", "deny", "a41c")


def test_no_with_a_reason_asks_for_it(person):
    assert person.presses("X") == []
    assert person.types("not on a Friday") == [
        Wish("run", ("approvals", "deny", "a41c", "--reason=not on a Friday", "--team", "lantern"))
    ]


def test_a_request_whose_command_does_not_fit_is_answered_where_it_does():
    long = replace(PUSH, command="\n".join(f"echo {at}" for at in range(14)))
    person = Person(lantern(replace(LANTERN, approvals=[long])))
    assert person.presses("a", "a") == []
    person.presses("enter", "enter")
    assert person.model.view == REQUEST
    assert [wish.kind for wish in person.presses("a", "a")] == ["run"]


def test_a_command_longer_than_the_screen_is_answered_once_its_end_was_in_sight():
    long = replace(PUSH, command="\n".join(f"echo {at}" for at in range(60)))
    person = Person(lantern(replace(LANTERN, approvals=[long])))
    person.presses("enter", "enter")
    assert person.presses("a", "a") == []
    person.presses(*["pagedown"] * 6)
    assert [wish.kind for wish in person.presses("a", "a")] == ["run"]


def test_a_plan_is_approved_where_all_of_it_is_shown(person):
    lead_away = replace(LANTERN, members=[one for one in LANTERN.members if one.name != "heron"])
    person = Person(lantern(lead_away))
    person.model.chosen[OVERVIEW] = ("task", "10")
    person.presses("j", "k")
    assert person.presses("a", "a") == []
    person.presses("enter")
    assert person.model.view == TASK
    assert person.presses("a", "a") == [Wish("run", ("tasks", "plan", "approve", "10", "--team", "lantern"))]


@proves("R004-gap-p2-06", "R004-tui-U2d", "R004-current-state-08")
def test_m_writes_to_whoever_is_chosen(person):
    person.model.chosen[OVERVIEW] = ("member", "rook")
    person.presses("m")
    assert person.model.typing is not None
    assert person.types("take #11, please\nit is free") == [
        Wish("run", ("send", "rook", "--team", "lantern", "--", "take #11, please\nit is free"))
    ]


@pytest.mark.parametrize("said", ["--urgent", "-n", "héllo 日本 مرحبا 🙂", "{}", "[b]x[/b]", "a\nb\n"])
def test_what_is_typed_is_text_and_never_an_option(person, said):
    person.model.chosen[OVERVIEW] = ("member", "rook")
    person.presses("m")
    (wish,) = person.types(said)
    assert wish.words[-2:] == ("--", said)


def test_an_empty_line_sends_nothing(person):
    person.model.chosen[OVERVIEW] = ("member", "rook")
    person.presses("m")
    assert person.types("  \n ") == []
    assert "nothing was sent" in person.model.notice


@proves("R004-gap-p2-05", "R004-tui-U1b")
def test_an_open_agent_is_written_to_with_enter_and_the_next_one_is_a_key_away(person):
    person.presses("3")
    assert (person.model.view, person.model.agent) == (AGENT, "heron")
    person.presses("shift+down")
    assert person.model.agent == "kite"
    person.presses("shift+up", "shift+up")
    assert person.model.agent == "rook"
    person.presses("m")
    assert person.types("hello")[0].words[:2] == ("send", "rook")


@pytest.mark.parametrize(
    ("view", "state"),
    [
        *((view, state) for view in (BOARD, TASK) for state in ("completed", "failed", "cancelled")),
        *((OVERVIEW, state) for state in ("completed", "failed")),
    ],
)
def test_reopening_wants_two_presses_and_is_offered_only_for_tasks_that_are_over(view, state):
    over = [replace(one, state=state) if one.id == "11" else one for one in LANTERN.tasks]
    person = Person(lantern(seen=replace(LANTERN, tasks=over)))
    for id in ("11", "7"):
        person.model.view, person.model.task, person.model.chosen[view] = view, id, ("task", id)
        person._look()
        assert person.presses("O") == []
        reopen = ("tasks", "reopen", id, "--note", "reopened by a person", "--team", "lantern")
        assert person.presses("O") == ([Wish("run", reopen)] if id == "11" else [])


def test_killing_wants_two_presses(person):
    person.model.chosen[OVERVIEW] = ("member", "rook")
    assert person.presses("D") == []
    assert person.presses("D") == [Wish("run", ("kill", "rook", "--team", "lantern"))]


def test_attaching_takes_the_terminal_and_is_offered_only_where_there_is_a_window():
    person = Person(
        lantern(replace(LANTERN, members=[member("rook", "codex", "idle", pane="%3"), *LANTERN.members[1:3]]))
    )
    person.model.chosen[OVERVIEW] = ("member", "rook")
    assert person.presses("o") == [Wish("run", ("attach", "rook", "--team", "lantern"), in_terminal=True)]
    person.model.chosen[OVERVIEW] = ("member", "heron")
    assert person.presses("o") == []


def test_space_peeks_without_leaving_the_list(person):
    person.presses("space")
    assert person.model.is_peeking
    assert person.model.view == OVERVIEW
    person.presses("escape")
    assert not person.model.is_peeking
    assert person.model.view == OVERVIEW


def test_the_filter_narrows_and_escape_takes_it_away(person):
    person.presses("/")
    person.types("a:tern")
    assert {row.targets[0] for row in person.screen.body.rows if row.targets} == {("task", "7"), ("member", "tern")}
    person.presses("escape")
    assert person.model.filter == ""


@pytest.mark.parametrize(
    ("said", "view"),
    [("board", BOARD), ("ru", RUNS), ("help", KEYS), ("prob", PROBLEMS), ("#7", TASK), ("tern", AGENT)],
)
def test_the_palette_goes_to_views_tasks_and_agents(person, said, view):
    person.presses(":")
    person.types(said)
    assert person.model.view == view


def test_the_palette_says_what_it_does_not_know(person):
    person.presses(":")
    person.types("frobnicate")
    assert "'frobnicate'" in person.model.notice


def test_q_leaves_and_the_question_mark_explains(person):
    person.presses("?")
    assert person.model.view == KEYS
    assert person.presses("q") == [Wish("quit")]


def test_cards_are_reached_lane_by_lane(person):
    person.presses("2", "tab")
    assert person.model.target == ("task", "6"), "what was chosen in the list stays chosen"
    person.presses("left", "left", "left")
    assert person.model.target == ("task", "12")
    person.presses("left", "right", "right", "right", "right", "j")
    assert person.model.target == ("task", "7")


def test_a_row_that_goes_away_leaves_the_choice_in_its_place(person):
    person.presses("j")
    assert person.model.target == ("task", "13")
    person.model.seen = replace(LANTERN, asked=[])
    person.presses("?", "escape")
    assert person.model.target == ("inbox", "ann")


def test_a_text_is_moved_and_stops_at_its_ends(person):
    person = Person(height=14)
    person.presses("?", "j", "j")
    assert person.model.place[KEYS] == 2
    person.presses("G", "pagedown")
    last = person.model.place[KEYS]
    person.presses("k", "left")
    assert person.model.place[KEYS] == last - 1
    person.presses("g")
    assert person.model.place[KEYS] == 0


def test_every_offer_says_a_command_or_opens_a_view(person):
    targets = [row.targets[0] for row in person.screen.body.rows if row.targets]
    assert len(targets) > 10
    for target in targets:
        person.model.chosen[OVERVIEW] = target
        made = offers(person.model)
        assert [one for one in made if not one.command and not one.opens] == []
        assert {spelled(one, "lantern")[:4] for one in made if one.command} <= {"atm "}


def test_a_conversation_is_answered_where_it_is_read(person):
    person.model.thread, person.model.view = "ann\ntern", THREAD
    person.presses("r")
    assert person.types("yes")[0].words[:2] == ("send", "tern")


@pytest.mark.parametrize("key", [*"jkaxmdtD3!5gG:/?+", "enter", "space", "tab", "left", "escape", "ctrl+t", "pagedown"])
def test_without_anything_read_no_key_breaks_anything_and_nothing_is_done(key):
    person = Person(Model(now=NOW))
    assert [wish for wish in person.presses(key, "1") if wish.kind == "run"] == []
    assert len(person.screen.lines) == 24

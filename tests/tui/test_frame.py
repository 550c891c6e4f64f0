"""The screen as a person reads it: what stands where, at every size, whatever agents write."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.proving import proves
from tests.tui.lantern import LANTERN, NOW, PUSH, ago, lantern, member, task

from atm.mail.rules.receipts import Event
from atm.snapshot.services.happenings import Happening
from atm.snapshot.services.threads import MailSent, MailThread
from atm.ui.faces.view_names import APPROVALS, BOARD, MAIL, OVERVIEW, SYNC, VIEWS
from atm.ui.tui.frame import BODIES, draw
from atm.ui.tui.model import Model, Page
from atm.ui.tui.panels import board
from atm.ui.views.style import width_of
from atm.ui.views.team.signs import BROKEN, YOU

HOSTILE = [
    str(one["text"]) if isinstance(one, dict) else str(one)
    for one in json.loads((Path(__file__).parents[1] / "corpus/hostile-texts.json").read_text())
]
SIZES = [(40, 10), (60, 13), (80, 24), (100, 30), (120, 40), (200, 60)]


def shown(model: Model, columns: int = 80, height: int = 24) -> list[str]:
    return ["".join(said for said, _ in line) for line in draw(model, columns, height).lines]


def text_of(model: Model, columns: int = 80, height: int = 24) -> str:
    return "\n".join(shown(model, columns, height))


def in_view(view: str, model: Model | None = None, tab: int = 0) -> Model:
    model = model or lantern()
    model.view, model.tab[view] = view, tab
    model.agent, model.task, model.thread = "tern", "6", "heron\ntern"
    return model


def a_letter(text: str = "Did you see the note about columns?", sender: str = "heron") -> MailSent:
    states = ("written", "surfaced", "read")
    events = {
        state: Event(seq=1, id="7c19f0a2", agent="tern", state=state, at=ago(1000), evidence="hook") for state in states
    }
    return MailSent("7c19f0a2-1", sender, ago(1020), text, text[:60], {"tern": events})


def full(model: Model, said: str = "text") -> Model:
    """With everything read that a view may need."""
    letter = a_letter(said)
    model.read.threads = [MailThread(("heron", "tern"), [letter])]
    model.read.approvals = [
        PUSH,
        replace(PUSH, id="b1", command=said, state="denied", decided_by="ann", decided_at=ago(60), reason=said),
    ]
    model.read.merges = [
        {"task": "8", "status": "conflict", "word": "in conflict", "agent": "rook", "subject": said, "about": said}
    ]
    model.read.runs = [{"id": "20261117-09", "state": "working", "said": said}]
    model.read.sessions = [{"id": "lantern", "said": said}]
    model.read.happenings = [
        Happening(ago(5), "mail", "heron", said, "7c"),
        Happening(ago(4), "task", "tern", said, "7"),
    ]
    model.read.daemon = said
    for command in (
        ("peek", "tern", "--lines", "200"),
        ("tasks", "show", "6"),
        ("peek", "tern", "--diff"),
        ("sync", "diagnose", "tern"),
    ):
        model.read.pages[command] = Page(command, said.split("\n"), NOW - 2)
    return model


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("columns", "height"), SIZES)
def test_every_view_fills_the_screen_exactly_at_every_size(view, columns, height):
    for tab in range(6):
        lines = shown(in_view(view, full(lantern()), tab), columns, height)
        assert len(lines) == height
        assert {width_of(line) for line in lines} == {columns}


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_needs_anything_to_be_there(view):
    for model in (
        Model("crew", now=NOW),
        lantern(replace(LANTERN, members=[], tasks=[], approvals=[], stalled=[], merges=None)),
    ):
        assert len(shown(in_view(view, model))) == 24


@proves("R004-tui-U5b")
@pytest.mark.parametrize("said", HOSTILE, ids=range(len(HOSTILE)))
def test_what_agents_write_is_text_and_nothing_else(said):
    name = said.replace("\n", " ")[:40] or "x"
    seen = replace(
        LANTERN,
        team=name,
        members=[member(name, "codex", tasks=("6",)), *LANTERN.members],
        tasks=[task(6, said, "in_progress", name), task(13, said, "blocked", name, "6"), *LANTERN.tasks],
        approvals=[replace(PUSH, command=said, requester=name, folder=said)],
        troubles=[said],
    )
    for view in BODIES:
        for columns, height in ((80, 24), (140, 40)):
            for line in shown(in_view(view, full(lantern(seen), said)), columns, height):
                assert all(sign.isprintable() for sign in line), ascii(line)
                assert width_of(line) == columns


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80), st.integers(20, 200), st.integers(5, 60), st.sampled_from(VIEWS))
def test_any_text_at_any_size_fills_the_screen(said, columns, height, view):
    seen = replace(
        LANTERN, tasks=[task(6, said, "in_progress", said[:20] or "x")], approvals=[replace(PUSH, command=said)]
    )
    lines = shown(in_view(view, full(lantern(seen), said)), columns, height)
    assert (len(lines), {width_of(line) for line in lines}) == (height, {columns})


@proves("R004-tui-U4")
def test_the_head_says_team_agents_done_and_time():
    assert shown(lantern())[0].startswith(" lantern  ■■■▣◎◆▲≠■◆○◌◆◌  6 of 14 done  6 agents  2 h 41  ◆ 3  ▲ 2")


def test_needs_you_comes_first_and_the_chosen_row_is_marked_without_colour():
    lines = shown(lantern())
    assert lines[2].startswith(" Needs you  3")
    assert lines[3].startswith("▌◆ command     kite   CX #6   git push -u origin lantern/6-")


def test_the_foot_offers_only_what_can_be_done_and_says_the_command():
    lines = shown(lantern())
    assert lines[-3].startswith(" a a approve   x x deny")
    assert lines[-2].rstrip() == " same as  atm approvals approve a41c"
    assert lines[-1] == " [1 overview] 2 board 3 agent 4 mail 5 approvals 6 merge 7 sync 8 log 9 problems"


def test_with_several_teams_the_command_names_the_team():
    model = lantern()
    model.teams = ["lantern", "other"]
    assert shown(model)[-2].rstrip() == " same as  atm approvals approve a41c --team lantern"


def test_a_command_that_is_not_whole_on_the_screen_cannot_be_answered_there():
    long = replace(PUSH, command="\n".join(f"line {at}" for at in range(30)))
    lines = shown(lantern(replace(LANTERN, approvals=[long])))
    assert "approve" not in lines[-3]
    assert "enter open" in lines[-3]


def test_the_command_of_a_request_is_never_cut():
    command = "python -c '" + "x" * 150 + "' --last-argument"
    model = in_view(APPROVALS, lantern(replace(LANTERN, approvals=[replace(PUSH, command=command)])))
    said = text_of(model).replace("\n", "").replace(" ", "")
    assert command.replace(" ", "") in said


def test_a_hidden_character_in_a_command_is_spelled():
    model = in_view(APPROVALS, lantern(replace(LANTERN, approvals=[replace(PUSH, command="rm -rf \u202etxt.exe")])))
    assert "\\u202e" in text_of(model)


@proves("R004-tui-U3", "R004-tui-U3b", "R004-tui-U3c", "R004-tui-U1c")
def test_blocked_is_not_ready():
    lines = shown(in_view(BOARD))
    assert any(line.startswith(" #12  ◌ blocked     Manual") and "#6 #7" in line for line in lines)
    assert any(line.startswith(" #11  ○ ready") for line in lines)


def test_the_board_says_why_a_task_waits():
    model = in_view(BOARD)
    model.chosen[BOARD] = ("task", "12")
    said = text_of(model)
    assert "waits for #6 Check only files changed since a commit (in progress)" in said
    assert "waits for #7 Reports as JSON and SARIF (in progress)" in said


def test_the_longest_way_to_the_end():
    assert "longest way to the end: #6 → #12 → #14" in text_of(in_view(BOARD), 80, 40)


def test_what_a_task_waits_for_may_wait_itself_and_that_is_said():
    model = in_view(BOARD)
    model.chosen[BOARD] = ("task", "14")
    assert "waits for #12 Manual: incremental runs in CI (blocked, waits for #6 #7)" in text_of(model)


def test_a_list_that_goes_on_says_how_much():
    assert "↓ 11 more" in text_of(lantern())


def test_in_the_graph_nothing_is_chosen_and_nothing_can_be_cancelled():
    model = in_view(BOARD)
    shown(model)
    assert model.target is not None
    assert "cancel" not in shown(in_view(BOARD, model, 2))[-3]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_way_to_the_keys_and_out_is_on_every_screen(view, columns):
    assert "? keys   q leave" in shown(in_view(view, full(lantern())), columns)[-3]


def test_columns_show_each_task_in_its_lane():
    lines = shown(in_view(BOARD, tab=1), 120, 40)
    assert lines[3].split()[:9] == ["◌", "2", "Blocked", "○", "1", "Ready", "✎", "1", "Planning"]
    assert "#12" in lines[5][:20]
    assert "#11 finch" in lines[5]


def test_the_graph_draws_what_waits_for_what():
    assert "step 1" in text_of(in_view(BOARD, tab=2))


@proves("R004-files-13")
def test_the_rail_has_five_stops_and_says_how_the_last_is_known():
    lines = text_of(in_view(MAIL, full(lantern(), "Did you see it?")))
    assert "∅────────────●────────────●────────────●┄┄┄┄┄┄┄┄┄┄┄┄○" in lines
    assert "queued       written      surfaced     read         answered" in lines
    assert "read: hook; no sign yet of: answered" in lines


@proves("R004-tui-U1")
def test_on_a_wide_screen_the_chosen_one_is_told_of_beside_the_list():
    lines = shown(lantern(), 120, 40)
    assert lines[2].index("│") == 74
    assert "kite asks for Bash" in lines[2]


def test_on_the_smallest_screen_the_rows_are_there():
    lines = shown(lantern(), 40, 10)
    assert lines[0].startswith(" lantern  6/14  2 h 41")
    assert lines[2].startswith("▌◆ kite   git push")
    assert lines[-1].startswith(" enter open   space peek   ? keys")


def test_what_is_no_longer_live_says_since_when_and_why():
    model = lantern()
    model.trouble = "the team is gone"
    head = shown(model)[0]
    assert "as of" in head
    assert "✗ the team is gone" in head


def test_without_unicode_every_sign_is_ascii():
    model = full(lantern())
    model.ascii = True
    for view in VIEWS:
        assert text_of(in_view(view, model)).isascii()


def test_of_a_thousand_tasks_only_those_in_sight_are_drawn(monkeypatch):
    drawn: list[str] = []
    draw_row = board._row

    def counted(where, one, columns):
        drawn.append(one.id)
        return draw_row(where, one, columns)

    monkeypatch.setattr(board, "_row", counted)
    many = [task(at, f"task {at}", "pending") for at in range(1, 1001)]
    shown(in_view(BOARD, lantern(replace(LANTERN, tasks=many))))
    assert 10 < len(drawn) < 24


def test_a_notice_and_a_running_command_take_the_place_of_the_command_line():
    model = lantern()
    model.is_busy = "atm send bob x"
    assert shown(model)[-2].startswith(" runs  atm send bob x …")
    model.is_busy = ""
    model.say("sent to bob")
    assert shown(model)[-2].startswith(" sent to bob")


def test_the_filter_that_hides_rows_is_said():
    model = lantern()
    model.filter = "a:tern"
    lines = shown(model)
    assert any("tern" in line for line in lines)
    assert not any("wren" in line for line in lines)
    assert lines[-2].startswith(" only what fits  a:tern ")
    assert "esc filter off" in lines[-3]


@proves("R002-19-01", "R002-27.3-15")
def test_work_sync_is_a_label_and_a_sentence_in_a_neutral_tone():
    lines = draw(in_view(SYNC), 80, 24).lines
    (row,) = [line for line in lines if any(said.startswith("tern") for said, _ in line)]
    assert [said.strip() for said, _ in row if said.strip()][1:3] == ["tern", "Needs sync"]
    assert {meaning for _, meaning in row}.isdisjoint({YOU, BROKEN})


@proves("R004-tui-U1", "R004-gap-p3-01")
def test_overview_is_what_the_screen_begins_with():
    assert Model().view == OVERVIEW

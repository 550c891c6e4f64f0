"""The last run in words: the first row, the first step, and what a key offers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.tui.lantern import LANTERN, NOW, ago

from atm.ui.faces.deeds import offers_for, spelled
from atm.ui.tui.frame import draw
from atm.ui.tui.model import Model
from atm.ui.tui.plain import sentence
from atm.ui.views.team.attention import NEEDS, attention
from atm.ui.views.team.last_run import last_runs, run_lines
from atm.ui.views.team.next_steps import next_steps
from atm.ui.views.team.seen import RunSeen, TeamSeen
from atm.ui.views.team.signs import SIGNS

RUN = "20261119-165012-ab12"
RESUME = f"atm run --resume {RUN} --team lantern"
DEAD = RunSeen(RUN, "died", ago(180), RESUME, True, None, None, 2, 8, ["a1", "a2"])
HOSTILE = "\x1b[2J\u202eowned\nline\x07"


def seen(one: RunSeen) -> TeamSeen:
    return replace(LANTERN, runs=[one])


@pytest.mark.parametrize(
    ("one", "lines"),
    [
        (
            DEAD,
            [
                f"run {RUN} died 3 min ago: 2 of 8 tasks completed; still running: a1, a2",
                f"  resume it: {RESUME}",
            ],
        ),
        (
            replace(DEAD, state="paused", alive=[], why="a person interrupted it"),
            [f"run {RUN} was interrupted 3 min ago: 2 of 8 tasks completed", f"  resume it: {RESUME}"],
        ),
        (
            replace(DEAD, state="stopped", why="the team was stopped by ann"),
            [
                f"run {RUN} was stopped 3 min ago: 2 of 8 tasks completed; the team was stopped by ann",
                f"  resume it: {RESUME}",
            ],
        ),
        (
            replace(DEAD, state="held", resume="atm merge show 2 --team lantern", resumable=False),
            [
                f"run {RUN} waits for a person for 3 min: 2 of 8 tasks completed",
                "  answer it: atm merge show 2 --team lantern",
            ],
        ),
        (
            replace(DEAD, state="suspended", resume="kill -CONT 77", resumable=False, alive=[]),
            [
                f"run {RUN} is suspended for 3 min, as by Ctrl-Z: 2 of 8 tasks completed",
                "  continue it: kill -CONT 77 (or `fg` in its terminal)",
            ],
        ),
        (
            replace(DEAD, resume=None, resumable=False, since=None, alive=[], tasks=1, done=0),
            [
                f"run {RUN} died: 0 of 1 task completed",
                "  it cannot be resumed, as its order cannot be read; begin another run: atm run",
            ],
        ),
        (replace(DEAD, state="running", resume=None), []),
    ],
)
def test_a_sentence_and_a_command(one, lines):
    assert run_lines([one], NOW) == lines


def test_a_time_that_lies_ahead_is_left_out():
    assert run_lines([replace(DEAD, since=ago(-600))], NOW)[0].startswith(f"run {RUN} died: ")


def test_what_others_wrote_breaks_no_line_and_reaches_no_terminal():
    one = replace(DEAD, state="stopped", why=HOSTILE * 3, alive=[HOSTILE])
    for line in (*run_lines([one], NOW), *run_lines([replace(one, state="died")], NOW)):
        assert not {"\x1b", "\n", "\x07", "\u202e"} & {*line}


def test_rows_of_a_snapshot_that_are_none_are_passed_over():
    assert last_runs([None, 3, {"state": "died"}, {"run": "r", "state": "died", "alive": 7}]) == [
        RunSeen("r", "died"),
    ]


def test_many_agents_are_counted_and_not_all_named():
    said = run_lines([replace(DEAD, alive=[f"a{number}" for number in range(1, 31)])], NOW)[0]
    assert said.endswith("still running: a1, a2, a3, a4 and 26 more")


@pytest.mark.parametrize("state", ["died", "paused", "stopped", "held", "suspended"])
def test_it_is_the_first_row_of_those_who_need_you_and_has_a_sign(state):
    row = attention(seen(replace(DEAD, state=state)), NOW)[0]
    assert (row.group, row.word, row.target, row.right) == (NEEDS, f"run {state}", ("run", RUN), "3 min")
    assert row.word in SIGNS
    assert RESUME in row.next


def test_a_run_that_works_has_no_row():
    assert attention(seen(replace(DEAD, state="running")), NOW) == attention(LANTERN, NOW)


def test_it_is_the_first_step_that_is_proposed():
    step = next_steps(seen(DEAD), "you", [])[0]
    assert (step.command, step.why) == (RESUME, "the run died")


def test_a_key_resumes_it_in_the_background_and_only_what_can_be_resumed():
    resume = offers_for(("run", RUN), seen(DEAD))[0]
    assert (resume.key, resume.word, resume.is_twice) == ("r", "resume", True)
    assert spelled(resume, "lantern") == f"atm run --resume {RUN} --detach --team lantern"
    held = replace(DEAD, state="held", resumable=False)
    for target, team in ((("run", "another"), seen(DEAD)), (("run", RUN), seen(held)), (("run", RUN), LANTERN)):
        assert [one.word for one in offers_for(target, team)] == ["open"]


def test_an_id_that_looks_like_an_option_offers_nothing():
    assert offers_for(("run", "--yes"), seen(replace(DEAD, run="--yes"))) == []


@pytest.mark.parametrize("columns", [40, 80, 140])
def test_the_screen_shows_it_first_with_the_key_that_resumes_it(columns):
    screen = draw(Model("lantern", seen=seen(DEAD), seen_at=NOW, now=NOW), columns, 30)
    lines = ["".join(said for said, _ in line) for line in screen.lines]
    at = next(at for at, line in enumerate(lines) if "Needs you" in line)
    assert "▲" in lines[at + 1]
    assert "2 of 8" in lines[at + 1]
    assert any("resume" in line for line in lines)
    assert {len(line) for line in lines} == {columns}


def test_it_is_spoken_with_its_command():
    row = attention(seen(DEAD), NOW)[0]
    assert sentence(row, seen(DEAD)) == (
        f"Run died. 2 of 8 tasks completed; still running: a1, a2. 3 minutes. Resume it: {RESUME}"
    )

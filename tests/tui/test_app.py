"""The screen as it runs: keys in, files changed, lines out; and nothing that goes wrong ends it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textual")

from tests.proving import proves
from textual.pilot import Pilot

from atm.ui.faces.view_names import TEAMS
from atm.ui.tui.app import Top

BOUND = 60.0


class Sitting:
    """Somebody at the screen, until what they wait for is there."""

    def __init__(self, top: Top, pilot: Pilot[int]) -> None:
        self.top = top
        self.pilot = pilot

    def text(self) -> str:
        return "\n".join("".join(said for said, _ in line).rstrip() for line in self.top.screen_now.lines)

    async def sees(self, said: str, *, not_any_more: bool = False) -> None:
        for _ in range(int(BOUND / 0.05)):
            if (said in self.text()) != not_any_more:
                return
            await asyncio.sleep(0.05)
            await self.pilot.pause()
        raise AssertionError(f"{said!r} in\n{self.text()}")

    async def presses(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def types(self, said: str) -> None:
        self.top._editor.insert(said)
        await self.pilot.pause()


@pytest.fixture
def sit(reader, new_model) -> Callable[..., None]:
    def run(story: Callable[[Sitting], Awaitable[None]], size: tuple[int, int] = (80, 24), **facts: Any) -> None:
        async def play() -> None:
            session = reader.session
            top = Top(lambda: reader, session.room.clock, session.environment, new_model(**facts))
            async with top.run_test(size=size) as pilot:
                await story(Sitting(top, pilot))

        asyncio.run(play())

    return run


def test_a_newcomer_finds_who_needs_them_answers_and_reads_why_a_task_waits(sit, crew):
    async def story(person: Sitting) -> None:
        await person.sees("Needs you  1")
        await person.sees("which colour?")
        await person.presses("r")
        await person.sees("enter send")
        await person.types("blue")
        await person.presses("enter")
        await person.sees("Needs you  nobody")
        await person.presses("2", "j", "j")
        await person.sees("waits for #1 Write the parser (in progress)")

    sit(story)
    assert "blue" in crew("tasks", "show", "3").out


def test_a_task_that_is_over_is_reopened_by_its_key_pressed_twice(sit, crew):
    crew("tasks", "cancel", "2", "--reason", "not wanted")

    async def story(person: Sitting) -> None:
        await person.sees("0 of 3 done")
        await person.presses("/", *"docs", "enter", "2")
        await person.sees("#2")
        await person.presses("O", "O")  # in one go: the second counts for two seconds
        await person.sees("is back on the board")

    sit(story)
    assert crew("tasks", "show", "2", "--json").json["task"]["state"] == "blocked"


def test_a_message_is_sent_to_whoever_is_chosen_in_any_script(sit, crew):
    said = "--héllo 日本 🙂\nsecond line"

    async def story(person: Sitting) -> None:
        await person.sees("kite")
        await person.presses("/", *"a:kite", "enter", "m")
        await person.types(said)
        await person.presses("enter")
        await person.sees("sent")

    sit(story)
    assert said in crew("read", "--as", "kite", "--json").json["messages"][0]["text"]


@proves("R004-tui-U6")
def test_what_others_do_is_seen_without_a_key(sit, crew):
    async def story(person: Sitting) -> None:
        await person.sees("0 of 3 done")
        await asyncio.to_thread(crew, "tasks", "complete", "1", "--as", "bob")
        await person.sees("1 of 3 done")

    sit(story)


@proves("R004-tui-U1b", "R004-tui-U1c", "R004-order-07")
def test_every_view_opens_on_a_real_team(sit):
    async def story(person: Sitting) -> None:
        await person.sees("Needs you")
        for key, seen in (
            *(
                ("2", "[list]"),
                ("3", "[output]"),
                ("4", "Conversations"),
                ("5", "Waits for you"),
                ("6", "Nothing is merged"),
            ),
            *(("7", "Does each member know its work?"), ("8", "What happened"), ("9", "daemon"), ("?", "choose a row")),
        ):
            await person.presses(key)
            await person.sees(seen)
        for name, seen in (("runs", "No run yet"), ("sessions", "crew"), ("teams", "looked at now")):
            await person.presses(":", *name, "enter")
            await person.sees(seen)
        await person.presses("3")
        for part, seen in (
            ("mail", "please look"),
            ("task", "Write the parser"),
            ("diff", ""),
            ("receipts", "queued"),
            ("sync", ""),
        ):
            await person.presses("tab")
            await person.sees(f"[{part}]")
            await person.sees(seen)

    sit(story, agent="bob")


def test_it_is_resized_at_any_time(sit):
    async def story(person: Sitting) -> None:
        await person.sees("Needs you")
        for columns, height in ((40, 10), (200, 60), (20, 5), (120, 40), (80, 24)):
            await person.pilot.resize_terminal(columns, height)
            await person.pilot.pause()
            assert {len(person.top.screen_now.lines)} == {height}
        await person.sees("Needs you")

    sit(story)


def test_a_team_that_is_deleted_while_it_is_looked_at_is_said_and_what_was_seen_stays(sit, crew):
    async def story(person: Sitting) -> None:
        await person.sees("0 of 3 done")
        (folder,) = [path for path in Path(crew.home).rglob("teams/crew") if path.is_dir()]
        await asyncio.to_thread(shutil.rmtree, folder)
        await person.sees("as of")
        await person.sees("crew")
        await person.presses("2", "3", "4", "8", "9", "1")
        await person.sees("Needs you")

    sit(story)


def test_a_part_that_cannot_be_read_is_a_problem_and_the_rest_is_there(sit, crew):
    async def story(person: Sitting) -> None:
        await person.sees("0 of 3 done")
        (path,) = [path for path in Path(crew.home).rglob("1.json") if "tasks" in str(path)]
        await asyncio.to_thread(path.write_text, "{ not json")
        await person.sees("unreadable")
        await person.sees("kite")

    sit(story)


def test_a_command_that_is_refused_says_why_and_what_to_do(sit, crew):
    async def story(person: Sitting) -> None:
        await person.sees("which colour?")
        await asyncio.to_thread(crew, "tasks", "clarify", "3", "--answer", "red", "--as", "human")
        await person.presses("r")
        if person.top.model.typing is not None:  # the answer of another was not seen yet
            await person.types("blue")
            await person.presses("enter")
        await person.sees("Needs you  nobody")

    sit(story)
    assert "red" in crew("tasks", "show", "3").out


@proves("R004-tui-U2f")
def test_escape_leaves_the_line_and_nothing_is_sent(sit, crew):
    async def story(person: Sitting) -> None:
        await person.sees("kite")
        await person.presses("/", *"a:kite", "enter", "m")
        await person.types("half a thought")
        await person.presses("escape")
        await person.sees("half a thought", not_any_more=True)
        assert person.top.model.typing is None

    sit(story)
    assert crew("read", "--as", "kite", "--json", code=None).json["messages"] == []


def test_with_several_teams_one_is_chosen_and_a_broken_one_breaks_only_itself(sit, crew):
    crew("teams", "create", "other")
    (config,) = Path(crew.home).rglob("teams/other/config.json")
    config.write_text("{ not json")

    async def story(person: Sitting) -> None:
        await person.sees("Teams  2")
        await person.presses("j", "enter")
        await person.sees("other")
        await person.presses(":", *"teams", "enter")
        await person.presses("g", "enter")
        await person.sees("0 of 3 done")

    sit(story, team="", view=TEAMS)


def test_a_reader_that_breaks_is_said_and_the_picture_is_not_said_to_be_live(sit, reader, monkeypatch):
    async def story(person: Sitting) -> None:
        await person.sees("0 of 3 done")
        monkeypatch.setattr(type(reader), "look", broken)
        await person.sees("nothing is read any more: a bug")

    def broken(self, team: str) -> None:
        raise ValueError("a bug")

    sit(story)


def test_a_click_chooses_a_row(sit):
    async def story(person: Sitting) -> None:
        await person.sees("bob")
        at = next(y for y, line in enumerate(person.text().split("\n")) if " bob " in line)
        await person.pilot.click(offset=(10, at))
        await person.pilot.pause()
        assert person.top.model.target == ("member", "bob")

    sit(story)


@proves("R004-tui-U6b")
def test_however_fast_things_change_it_is_drawn_at_most_four_times_a_second(sit, monkeypatch):
    async def story(person: Sitting) -> None:
        await person.sees("Needs you")
        now = [1000.0]
        monkeypatch.setattr("atm.ui.tui.app.monotonic", lambda: now[0])
        person.top.redraw()
        drawn: list[float] = []
        monkeypatch.setattr(person.top, "redraw", lambda: drawn.append(now[0]))
        for _ in range(24):
            now[0] += 0.01
            person.top.redraw_soon()
        assert drawn == []
        now[0] += 0.02
        person.top.redraw_soon()
        assert drawn == [now[0]]

    sit(story)


def test_q_leaves_and_nothing_is_left_behind(sit):
    async def story(person: Sitting) -> None:
        await person.sees("Needs you")
        await person.presses("q")
        assert person.top.return_code == 0

    sit(story)

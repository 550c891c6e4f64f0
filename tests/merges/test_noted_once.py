"""The board hears of a merge once, also from the process that comes after one that was killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.crew.repositories import alone, git, new_repository

from atm import config
from atm.board.ports.workplaces import KeptWork
from atm.board.services import planning, working
from atm.board.services.new_tasks import NewTask
from atm.core.work_errors import GitTrouble
from atm.merges.rules.items import MERGED
from atm.merges.services import merging
from atm.merges.services.people import work_off
from atm.merges.services.telling import note_merged
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room
from atm.wiring.runs import build_mergeroom

TEAM, WHO = "crew", "ann"


class Place:
    """Where ann works: a file more for each task, on a branch of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = git(folder, "rev-parse", "HEAD")
        self.colour = ""
        """If there is one, it is what she writes into a file that all tasks change."""

    def keep(self, _team: str, _member: str, task: str, _message: str) -> KeptWork:
        git(self.folder, "checkout", "-q", "-b", f"task-{task}", self.base)
        (self.folder / f"{task}.txt").write_text("done\n")
        if self.colour:
            (self.folder / "colour.txt").write_text(f"{self.colour}\n")
        git(self.folder, "add", ".")
        git(self.folder, "commit", "-qm", f"task {task}")
        commit = git(self.folder, "rev-parse", "HEAD")
        git(self.folder, "checkout", "-q", "main")
        return KeptWork(folder=str(self.folder), branch=f"task-{task}", base=self.base, commit=commit)


@pytest.fixture
def folder(tmp_path, home, monkeypatch) -> Path:
    alone(monkeypatch, home)
    return new_repository(tmp_path / "r")


@pytest.fixture
def place(folder) -> Place:
    return Place(folder)


@pytest.fixture
def room(folder, layout, place):
    room = build_room(layout)
    create_team(room, TEAM)
    add_member(room, TEAM, Member(WHO))
    settings = config.load(layout, {}, str(folder), {})
    board = build_boardroom(layout, settings, room, workplaces=lambda: place)
    return build_mergeroom(layout, settings, board, {})


def finish(room, title: str) -> str:
    (task,) = planning.add(room.boardroom, TEAM, "human", [NewTask(title)]).tasks
    working.claim(room.boardroom, TEAM, WHO, task.id)
    working.complete(room.boardroom, TEAM, WHO, task.id)
    return task.id


def merge(room, folder: Path) -> None:
    work_off(room, TEAM, str(folder), lambda _: None)


@pytest.fixture
def noted(monkeypatch) -> list[str]:
    told: list[str] = []

    def note_and_tell(boardroom, queue, item) -> None:
        told.append(item.task)
        note_merged(boardroom, queue, item)

    monkeypatch.setattr(merging, "note_merged", note_and_tell)
    return told


def test_what_the_board_says_is_merged_is_not_noted_by_the_next_process(room, folder, noted):
    first = finish(room, "one")
    merge(room, folder)
    second = finish(room, "two")
    merge(room, folder)
    merge(room, folder)
    assert noted == [first, second]


def test_what_a_killed_process_did_not_note_is_noted_by_the_next(room, folder, noted, monkeypatch):
    first = finish(room, "one")

    def trouble(*_: object) -> None:
        raise GitTrouble("it was killed here", "")

    with monkeypatch.context() as patch:
        patch.setattr(merging, "note_merged", trouble)
        merge(room, folder)
    assert "merged" not in room.boardroom.tasks.read(TEAM, first).part("work")
    merge(room, folder)
    assert noted == [first]
    (item,) = room.merges.read(TEAM).items
    assert room.boardroom.tasks.read(TEAM, first).part("work")["merged"] == item.commit


def test_a_conflict_is_resolved_for_a_user_who_has_no_name_for_git(room, folder, place, home):
    (home / ".gitconfig").write_text("[user]\nuseConfigOnly = true\n")
    room.policy.command = "echo both > colour.txt"
    for place.colour in ("red", "blue"):
        finish(room, place.colour)
    merge(room, folder)
    assert [(one.status, bool(one.resolution)) for one in room.merges.read(TEAM).items] == [
        (MERGED, False),
        (MERGED, True),
    ]
    assert git(folder, "show", "atm/result/crew:colour.txt") == "both"

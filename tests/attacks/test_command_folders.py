"""
Where a command runs counts as much as what runs: `sh ./run` is whatever lies in the folder (D25).

The folder that a roster names for a member is no secret of the member's: whoever changes it chooses no script.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.attacks.shells import refused, under
from tests.trusting import trust

from atm.board.services.marks import MEMBER, PERSON, entered
from atm.config import load
from atm.files.adapters.machine import find_layout
from atm.roster.services.members import add_member
from atm.team.rules.team import Member
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room


@pytest.fixture
def crew(atm, room):
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    add_member(room, "crew", Member("cat"))
    return atm


@pytest.fixture
def folders(tmp_path) -> dict[str, Path]:
    """The member's own, and one that a teammate has prepared; in both lies a script of the same name."""
    made = {name: tmp_path / name for name in ("own", "prepared")}
    for folder in made.values():
        (folder / "src").mkdir(parents=True)
        (folder / ".git").mkdir()
    for folder in (tmp_path, *made.values(), *(folder / "src" for folder in made.values())):
        (folder / "run").write_text("touch ran\n")
    return made


def ran_in(tmp_path: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("ran"))


def claimed(crew, who: str) -> None:
    crew("tasks", "add", "work", "--accept", "sh ./run", "--as", who)
    crew("tasks", "claim", "1", "--as", "bob")


@pytest.mark.parametrize("who", ["human", "cat", "bob"])
def test_a_claimants_own_process_runs_it_in_its_own_folder_whatever_the_roster_says(crew, folders, tmp_path, who):
    claimed(crew, who)
    crew("teams", "update-member", "crew", "bob", "--cwd", str(folders["prepared"]))
    crew("tasks", "complete", "1", "--as", "bob", cwd=folders["own"])
    assert ran_in(tmp_path) == ["own"]


def test_neither_does_a_persons_yes_run_it_elsewhere(crew, folders, tmp_path):
    claimed(crew, "mallory")
    crew("teams", "update-member", "crew", "bob", "--cwd", str(folders["prepared"]))
    crew("tasks", "complete", "1", "--as", "bob", "--allow-checks", cwd=folders["own"])
    assert ran_in(tmp_path) == ["own"]


@pytest.mark.parametrize(("cwd", "where"), [("own", "own"), ("", "own/src"), ("own/src", "own/src"), ("x", "own/src")])
def test_from_below_its_folder_it_runs_there_but_not_above_the_repository(crew, folders, tmp_path, cwd, where):
    claimed(crew, "bob")
    crew("teams", "update-member", "crew", "bob", "--cwd", str(tmp_path / cwd))
    crew("tasks", "complete", "1", "--as", "bob", cwd=folders["own"] / "src")
    assert ran_in(tmp_path) == [where]


def test_by_a_link_it_is_the_same_folder(crew, folders, tmp_path):
    (tmp_path / "link").symlink_to(folders["own"])
    claimed(crew, "bob")
    crew("teams", "update-member", "crew", "bob", "--cwd", str(tmp_path / "link"))
    crew("tasks", "complete", "1", "--as", "bob", cwd=folders["own"] / "src")
    assert ran_in(tmp_path) == ["own"]


def test_a_hook_to_which_the_user_said_yes_runs_in_that_repository(crew, folders, tmp_path):
    (folders["own"] / ".atm.toml").write_text('[hooks]\nTaskCreated = "sh ./run"\n')
    trust(crew.home, folders["own"])
    crew("teams", "update-member", "crew", "bob", "--cwd", str(folders["prepared"]))
    crew("tasks", "add", "work", "--as", "bob", cwd=folders["own"])
    assert ran_in(tmp_path) == ["own"]


# What it was when it was entered, as the command line marks it.


def tier_of(crew, id: str) -> str:
    """What the mark of a task's command proves."""
    layout = find_layout({"ATM_HOME": str(crew.home)})
    boardroom = build_boardroom(layout, load(layout, {}, "/", {}), build_room(layout))
    task = boardroom.tasks.read("crew", id)
    found = entered(boardroom, boardroom.room.rosters.load("crew"), task, task.acceptance[0])
    return found.tier if found is not None else ""


def test_a_command_is_a_persons_if_a_person_entered_it(crew):
    crew("tasks", "add", "work", "--accept", "true", "--as", "human")
    crew("tasks", "add", "work", "--accept", "true", "--as", "cat")
    crew("teams", "update-member", "crew", "cat", "--backend-type", "human")
    assert (tier_of(crew, "1"), tier_of(crew, "2")) == (PERSON, MEMBER)


def test_under_an_agents_process_no_name_enters_a_persons(crew):
    """Not even that of a member who became a person on paper."""
    crew("teams", "update-member", "crew", "cat", "--backend-type", "human")
    refused(under(crew, "bob", "tasks", "add", "work", "--accept", "true", "--as", "cat", "--json"))
    refused(under(crew, "bob", "tasks", "add", "work", "--accept", "true", "--as", "human", "--json"))
    under(crew, "bob", "tasks", "add", "work", "--accept", "true", "--as", "bob", "--json")
    assert tier_of(crew, "1") == MEMBER

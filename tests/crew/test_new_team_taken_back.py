"""A team that `up`, `spawn` or `run` would make is not left behind where not one agent could be started."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import Atm
from tests.crew.conftest import NOTHING, Crew


@pytest.fixture
def new(crew: Crew) -> Crew:
    """Without the team of the fixture, and with a person whose name is not set yet."""
    crew("teams", "delete", "crew", "--yes", "--force")
    for key in ("ATM_TEAM", "ATM_IDENTITY"):
        crew.atm.environment.pop(key, None)
    crew.atm.environment["PATH"] = "/usr/bin:/bin"
    return crew


def teams(crew: Crew) -> list[str]:
    return [one["name"] for one in crew("teams", "list", "--json").json["teams"]]


def identity(crew: Crew) -> str:
    return str(crew("config", "get", "core.identity", "--json", code=None).json.get("value"))


FAILING = [
    ("up", "claude:ann", "--team", "fresh"),
    ("up", "claude:ann", "codex:bob", "--team", "fresh"),
    ("up", "nosuch:ann", "--team", "fresh"),
    ("up", "script:ann", "--team", "fresh", "--cwd", "/no/such/folder"),
    ("up", "script:ann", "--team", "fresh", "--env", "=x"),
    ("up", "--team", "fresh"),
    ("spawn", "claude:ann", "--team", "fresh"),
    ("spawn", "claude", "--team", "fresh"),
    ("spawn", "script:ann", "--team", "fresh", "--prompt-file", "/no/such/file"),
    ("run", "a goal", "--runtime", "claude", "--team", "fresh", "--yes"),
    ("run", "--plan", "plan.md", "--team", "fresh", "--yes", "--into", "atm/work/x"),
    ("run", "--plan", "plan.md", "--team", "fresh", "--yes", "--into", "a..b"),
    ("run", "--plan", "plan.md", "--team", "fresh", "--yes", "--into", "main/below"),
    ("run", "--plan", "bad.md", "--team", "fresh", "--yes"),
]


@pytest.mark.parametrize("words", FAILING, ids=" ".join)
def test_a_command_that_starts_nothing_leaves_no_team_and_no_identity(new: Crew, words: tuple[str, ...]) -> None:
    (new.folder / "plan.md").write_text("- [ ] One (run: true)\n")
    (new.folder / "bad.md").write_text("- [ ] One (depends: nothing-of-that-name) (run: true)\n")
    before = identity(new)
    done = new(*words, code=None)
    assert done.code == 1, done.out
    assert ("made team" in done.out) is ("was removed again" in done.err)
    assert teams(new) == []
    assert identity(new) == before
    assert new.left() == NOTHING
    assert not new.records.names("fresh")


def test_one_agent_that_lives_keeps_the_team(new: Crew) -> None:
    done = new("up", "claude:ann", "script:bob", "--team", "fresh", "--json", code=2).json
    assert done["made"] is True
    assert teams(new) == ["fresh"]
    new("down", "--team", "fresh")


def test_a_team_that_was_there_before_stays(new: Crew) -> None:
    new("teams", "create", "fresh")
    new("up", "claude:ann", "--team", "fresh", code=1)
    assert teams(new) == ["fresh"]


def test_the_same_command_works_once_the_cause_is_gone(new: Crew, atm: Atm) -> None:
    new("up", "nosuch:ann", "--team", "fresh", code=1)
    assert new("up", "script:ann", "--team", "fresh", "--json").json["made"] is True
    new("down", "--team", "fresh")


def backups(crew: Crew) -> list[str]:
    folder = Path(crew.layout.backups("fresh"))
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_team_that_is_taken_back_leaves_no_backup(new: Crew) -> None:
    new("up", "nosuch:ann", "--team", "fresh", code=1)
    assert backups(new) == []
    assert not Path(new.layout.backups("fresh")).exists()


def test_backups_of_an_earlier_team_of_that_name_stay(new: Crew) -> None:
    new("teams", "create", "fresh")
    new("teams", "delete", "fresh", "--yes", "--force")
    kept = backups(new)
    assert len(kept) == 1
    new("up", "nosuch:ann", "--team", "fresh", code=1)
    assert backups(new) == kept

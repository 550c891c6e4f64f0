"""The radar: who did nothing since the last look is not looked at again, and what could not be seen is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.crew.repositories import alone, git, new_repository

from atm import config
from atm.core.errors import FileBusy
from atm.crew.ports.worktrees import Worktree
from atm.crew.rules.agents import AgentRecord
from atm.merges.services.radar import Radar
from atm.roster.services.members import create_team
from atm.wiring.board import build_boardroom
from atm.wiring.files import build_locks
from atm.wiring.mail import build_room
from atm.wiring.runs import build_mergeroom

TEAM = "crew"


class Watched:
    """Two agents in worktrees, a radar, and what it asks about these."""

    def __init__(self, folder: Path, layout, monkeypatch) -> None:
        settings, room = config.load(layout, {}, str(folder), {}), build_room(layout)
        create_team(room, TEAM)
        self.room = build_mergeroom(layout, settings, build_boardroom(layout, settings, room), {})
        self.trees = self.room.crew.worktrees
        found = self.trees.repository(str(folder))
        assert found is not None
        self.repository, self.folder = found, folder
        self.radar = Radar(self.room, TEAM)
        self.asked: list[str] = []
        self.busy: list[str] = []
        self.records = {name: self._begin(number, name) for number, name in enumerate(("ann", "bob"), 1)}
        monkeypatch.setattr(self.room.crew, "worktrees", _Onlooker(self))

    def ask(self, what: str, place: Worktree):
        name = place.path.rpartition("-")[2]
        if name in self.busy:
            raise FileBusy("somebody is at it", "wait")
        self.asked.append(f"{what} {name}")
        return getattr(self.trees, what)(place)

    def _begin(self, number: int, name: str) -> AgentRecord:
        made = self.trees.make(self.repository, TEAM, str(number), name)
        record = AgentRecord(
            team=TEAM,
            member=name,
            generation=1,
            mark="",
            runtime="claude",
            backend="headless",
            folder=str(self.folder),
            at=1.0,
            heard_at=1.0,
            task=str(number),
            worktree=made.path,
            branch=made.branch,
            base=made.base,
            common=made.common,
        )
        return self._note(record)

    def _note(self, record: AgentRecord) -> AgentRecord:
        with self.room.crew.records.turn(TEAM, record.member) as turn:
            turn.write(record)
        return record

    def heard(self, name: str, at: float) -> None:
        self.records[name] = self._note(replace(self.records[name], heard_at=at))

    def writes(self, name: str, text: str) -> None:
        Path(self.records[name].worktree, "a.txt").write_text(text)

    def look(self):
        self.asked.clear()
        return self.radar.look(self.repository, "")


class _Onlooker:
    """The part of the worktrees that a radar may use."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched

    def touched(self, place: Worktree):
        return self._watched.ask("touched", place)

    def now(self, place: Worktree):
        return self._watched.ask("now", place)


@pytest.fixture
def watched(tmp_path, home, monkeypatch, layout) -> Watched:
    alone(monkeypatch, home)
    return Watched(new_repository(tmp_path / "r"), layout, monkeypatch)


def test_who_did_nothing_is_not_looked_at_again_and_collides_as_before(watched):
    watched.writes("ann", "by ann\n")
    watched.writes("bob", "by bob\n")
    first = watched.look()
    assert watched.asked == ["touched ann", "touched bob", "now ann", "now bob"]
    assert [(one.agents, one.conflicts, one.lines) for one in first] == [
        (["ann", "bob"], ["a.txt"], {"a.txt": [[1, 1]]})
    ]
    assert watched.look() == first
    assert watched.asked == []


def test_who_was_heard_is_looked_at_again(watched):
    watched.writes("ann", "by ann\n")
    watched.writes("bob", "by bob\n")
    watched.look()
    watched.writes("bob", git(watched.folder, "show", "HEAD:a.txt") + "\n")
    watched.heard("bob", 2.0)
    assert watched.look() == []
    assert watched.asked == ["touched bob"]


def test_who_could_not_be_looked_at_is_looked_at_the_next_time(watched):
    watched.writes("ann", "by ann\n")
    watched.writes("bob", "by bob\n")
    watched.busy.append("bob")
    assert (watched.look(), watched.radar.unseen) == ([], ["bob"])
    watched.busy.clear()
    (found,) = watched.look()
    assert (found.conflicts, watched.radar.unseen) == (["a.txt"], [])


def test_a_person_is_not_told_that_nobody_meets_where_somebody_could_not_be_seen(watched, atm, layout):
    watched.writes("ann", "by ann\n")
    watched.writes("bob", "by bob\n")
    with build_locks(layout).private(watched.records["bob"].worktree, 5.0):
        said = atm("merge", "radar", "--json", cwd=watched.folder, code=1).json
        told = atm("merge", "radar", cwd=watched.folder, code=1).out
    assert (said["collisions"], said["unseen"]) == ([], ["bob"])
    assert "nobody" not in told
    assert "what bob has changed could not be seen" in told
    assert atm("merge", "radar", "--json", cwd=watched.folder, code=2).json["unseen"] == []


def test_one_that_says_nothing_is_looked_at_every_time(watched):
    """As an agent that runs commands of its tasks: no program of it is heard."""
    watched.writes("ann", "by ann\n")
    for name in ("ann", "bob"):
        watched.heard(name, 0.0)
    assert watched.look() == []
    watched.writes("bob", "by bob\n")
    (found,) = watched.look()
    assert found.conflicts == ["a.txt"]
    watched.writes("bob", "one and a half\nand more\n")
    watched.look()
    assert watched.asked == ["touched ann", "touched bob", "now ann", "now bob"]

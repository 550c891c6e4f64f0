"""What killed processes left: finished first, then cleared away; what may have a holder is left alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atm.checkup.adapters import files_around
from atm.checkup.ports import FoundLock, HeldLock
from atm.checkup.services.tidying import STALE_AFTER, tidy
from atm.core.errors import AtmError, FileBusy, WriteRefused
from atm.mail.formats.inbox import Inbox, only
from atm.roster.services.members import create_team
from atm.testing import Crash, FaultyDisk, QuickDisk, make_message
from atm.wiring.checkup import build_files_around
from atm.wiring.mail import build_room


class Around:
    """What lies around the mail, as a test says."""

    def __init__(self) -> None:
        self.holders: list[HeldLock] = []
        self.found: dict[str, list[FoundLock]] = {}
        self.rests: dict[str, list[str]] = {}
        self.removed: list[str] = []
        self.broken: list[str] = []
        self.refuse: AtmError | None = None

    def held(self) -> list[HeldLock]:
        return self.holders

    def locks(self, team: str) -> list[FoundLock]:
        return self.found.get(team, [])

    def leftovers(self, team: str) -> list[str]:
        return self.rests.get(team, [])

    def remove(self, path: str) -> None:
        if self.refuse is not None:
            raise self.refuse
        self.removed.append(path)

    def break_lock(self, path: str) -> bool:
        self.broken.append(path)
        return not path.endswith("stuck")


@pytest.fixture
def around() -> Any:  # Any: it can do what tidying needs of the port, and no more
    return Around()


def a_lock(path: str = "ann.json.lock", *, age: float, kind: str = "folder", empty: bool = True) -> FoundLock:
    return FoundLock(path, kind, age, "unknown", "", empty)


def a_holder(*, alive: bool, target: str = "teams/crew/inboxes/ann.json") -> HeldLock:
    return HeldLock(target, 1234, "", alive)


@pytest.fixture
def finished(boardroom, monkeypatch) -> list[tuple[str, str]]:
    """Whose inbox was taken into hand."""
    seen: list[tuple[str, str]] = []
    monkeypatch.setattr(boardroom.inboxes, "change", lambda team, agent, _: seen.append((team, agent)))
    return seen


def test_where_nothing_was_left_nothing_is_done(boardroom, around):
    done = tidy(boardroom, around)
    assert (done.count, done.is_young_lock_left) == (0, False)


@pytest.mark.parametrize(
    ("holder", "whose"),
    [
        (a_holder(alive=False), [("crew", "ann")]),
        (a_holder(alive=True), []),
        (a_holder(alive=False, target="teams/crew/inboxes/nobody.json"), []),
        (a_holder(alive=False, target="teams/crew/config.json"), []),
    ],
    ids=["dead", "alive", "of no inbox", "of another file"],
)
def test_what_a_dead_process_had_begun_with_an_inbox_is_finished(boardroom, around, finished, holder, whose):
    around.holders = [holder]
    assert tidy(boardroom, around).count == len(whose)
    assert finished == whose


def test_an_inbox_that_somebody_else_holds_now_is_left_for_the_next_time(boardroom, around, monkeypatch):
    def busy(*_: object) -> None:
        raise FileBusy("held")

    monkeypatch.setattr(boardroom.inboxes, "change", busy)
    around.holders, around.rests = [a_holder(alive=False)], {"crew": ["a"]}
    assert tidy(boardroom, around).count == 1
    assert around.removed == ["a"]


@pytest.mark.parametrize(("age", "is_broken"), [(0.0, False), (STALE_AFTER, False), (STALE_AFTER + 0.1, True)])
def test_a_lock_is_broken_once_nobody_can_be_refreshing_it_and_until_then_looked_at_again(
    boardroom, around, age, is_broken
):
    around.found = {"crew": [a_lock(age=age)]}
    done = tidy(boardroom, around)
    assert (done.count, done.is_young_lock_left) == (int(is_broken), not is_broken)
    assert around.broken == (["ann.json.lock"] if is_broken else [])


@pytest.mark.parametrize("age", [1.0, 10 * STALE_AFTER])
@pytest.mark.parametrize("what", [{"kind": "file"}, {"empty": False}], ids=["a file", "with something in it"])
def test_what_no_lock_of_ours_looks_like_is_left_alone(boardroom, around, age, what):
    around.found = {"crew": [a_lock(age=age, **what)]}
    done = tidy(boardroom, around)
    assert (done.count, done.is_young_lock_left, around.broken) == (0, False, [])


def test_a_lock_that_cannot_be_broken_is_not_counted(boardroom, around):
    around.found = {"crew": [a_lock("stuck", age=99.0), a_lock("loose", age=99.0)]}
    assert tidy(boardroom, around).count == 1
    assert around.broken == ["stuck", "loose"]


def test_every_rest_in_every_team_goes(boardroom, around):
    create_team(boardroom, "other")
    around.rests = {"crew": ["a", "b"], "other": ["c"]}
    assert tidy(boardroom, around).count == 3
    assert around.removed == ["a", "b", "c"]


def test_a_team_in_which_nothing_can_be_removed_stops_nobody(boardroom, around):
    around.rests, around.refuse = {"crew": ["a"]}, WriteRefused("read-only")
    assert tidy(boardroom, around).count == 0


# On real files.


class Meddled(QuickDisk):
    """Another program writes right before our new version is put in place."""

    def __init__(self, meddle: Callable[[], None]) -> None:
        super().__init__()
        self._meddle: Callable[[], None] | None = meddle

    def exchange(self, one: str, other: str) -> bool:
        if self._meddle:
            self._meddle()
        self._meddle = None
        return super().exchange(one, other)


def test_what_a_killed_writer_had_displaced_comes_into_the_inbox_before_its_rests_go(room, layout, monkeypatch):
    """The displaced version lies in a temporary file of the dead, and may be all there is of another program's mail."""
    inbox = Path(layout.inbox("crew", "ann"))

    def write() -> None:
        other = inbox.with_suffix(".theirs")
        other.write_bytes(only([make_message("id-theirs", "theirs").raw]))
        os.replace(other, inbox)

    room.inboxes.append("crew", "ann", [make_message("id-0", "first")], fresh=True)
    whole = FaultyDisk(QuickDisk())
    build_room(layout, disk=whole).inboxes.append("crew", "ann", [make_message("id-1", "second")], fresh=True)
    dying = FaultyDisk(Meddled(write), stop_at=whole.steps.index("exchange") + 1)
    with pytest.raises(Crash):
        build_room(layout, disk=dying).inboxes.append("crew", "ann", [make_message("id-2", "third")], fresh=True)
    assert [row.text for row in Inbox(inbox.read_bytes()).rows] == ["first", "second", "third"]
    monkeypatch.setattr(files_around, "process_is_alive", lambda _: False)  # it was this one
    assert tidy(room, build_files_around(layout, {})).count >= 1
    assert [row.text for row in Inbox(inbox.read_bytes()).rows] == ["first", "second", "third", "theirs"]
    assert sorted(os.listdir(inbox.parent)) == ["ann.json", "bob.json"]

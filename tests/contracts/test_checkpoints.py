"""Checkpoints on a branch: one suite for the twin and for git."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crew.repositories import alone, git
from tests.in_memory import in_memory

from atm.core.errors import BadName
from atm.core.work_errors import GitTrouble
from atm.sessions.adapters.git_checkpoints import CheckpointBranches
from atm.sessions.ports.checkpoints import CheckpointCommit, GitCheckpoints
from atm.testing.sessions import MemoryCheckpoints
from atm.testing.time_and_chance import FakeClock

FILES = {"state.json": b'{"a": 1}\n', "mailbox.log": b"\x00\xff not text\r\n", "tasks.jsonl": b""}
MINUTE = 60.0


class Twin:
    """A repository in memory."""

    def __init__(self, clock: FakeClock) -> None:
        self.memory = MemoryCheckpoints(clock)
        self.checkpoints: GitCheckpoints = self.memory
        self.folder, self.inner, self.elsewhere = "/r", "/r/src", "/elsewhere"
        self.common = self.memory.add_repository(self.folder)

    def fetched_from(self, remote: str, team: str) -> None:
        self.memory.remotes.setdefault((self.common, team), []).append(remote)


class Real:
    """A repository of git."""

    def __init__(self, tmp_path: Path, clock: FakeClock) -> None:
        repository = tmp_path / "r"
        for path in (repository / "src", tmp_path / "elsewhere"):
            path.mkdir(parents=True)
        git(repository, "init", "-q")
        self.checkpoints: GitCheckpoints = CheckpointBranches(clock)
        self.folder, self.inner, self.elsewhere = (str(tmp_path / name) for name in ("r", "r/src", "elsewhere"))

    def fetched_from(self, remote: str, team: str) -> None:
        branch = f"atm/checkpoints/{team}"
        git(self.folder, "update-ref", f"refs/remotes/{remote}/{branch}", f"refs/heads/{branch}")


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    yield from in_memory(tmp_path)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["twin", "git"])
def house(request: pytest.FixtureRequest, tmp_path, home, clock, monkeypatch) -> Twin | Real:
    if request.param == "twin":
        return Twin(clock)
    alone(monkeypatch, home)
    return Real(tmp_path, clock)


@pytest.fixture
def checkpoints(house) -> GitCheckpoints:
    found: GitCheckpoints = house.checkpoints
    return found


@pytest.fixture
def common(house, checkpoints) -> str:
    return str(checkpoints.repository(house.folder))


def make(checkpoints: GitCheckpoints, clock: FakeClock, common: str, count: int) -> list[str]:
    """So many, a minute apart, the newest first."""
    made = []
    for number in range(count):
        clock.pass_time(MINUTE)
        made.append(checkpoints.commit(common, "crew", {"state.json": b"%d" % number}, f"number {number}"))
    return made[::-1]


def texts(listed: list[CheckpointCommit]) -> list[str]:
    return [each.text for each in listed]


def test_a_repository_is_found_from_every_folder_in_it_and_nowhere_else(house, checkpoints, common):
    assert common.endswith("/r/.git")
    assert checkpoints.repository(house.inner) == common
    assert checkpoints.repository(house.elsewhere) == checkpoints.repository(f"{house.elsewhere}/none") == ""
    assert checkpoints.repository("") == ""


def test_before_the_first_one_there_is_nothing(checkpoints, common):
    assert checkpoints.latest(common, "crew") is None
    assert checkpoints.commits(common, "crew", 10) == []
    assert checkpoints.on_remotes(common, "crew") == []
    assert checkpoints.thin(common, "crew", lambda known: known[:1]) == 0


def test_what_was_committed_comes_back_byte_for_byte(checkpoints, common):
    commit = checkpoints.commit(common, "crew", FILES, "first")
    assert checkpoints.latest(common, "crew") == FILES
    assert [each.commit for each in checkpoints.commits(common, "crew", 10)] == [commit]


def test_a_checkpoint_holds_its_own_files_and_none_of_the_one_before(checkpoints, common):
    checkpoints.commit(common, "crew", {**FILES, "bob_checkpoint.json": b"{}"}, "with bob")
    checkpoints.commit(common, "crew", FILES, "without bob")
    assert checkpoints.latest(common, "crew") == FILES
    assert checkpoints.commit(common, "crew", {}, "nothing")
    assert checkpoints.latest(common, "crew") is None


def test_the_same_again_makes_no_commit_and_the_same_later_does(checkpoints, common):
    assert checkpoints.commit(common, "crew", FILES, "first")
    assert checkpoints.commit(common, "crew", dict(reversed(FILES.items())), "again") == ""
    assert checkpoints.commit(common, "crew", {"state.json": b"{}"}, "other")
    assert checkpoints.commit(common, "crew", FILES, "as before")
    assert texts(checkpoints.commits(common, "crew", 10)) == ["as before", "other", "first"]


def test_they_are_listed_newest_first_with_their_times_and_first_lines(checkpoints, clock, common):
    clock.jump(0.75)  # git knows whole seconds
    began = int(clock.now())
    checkpoints.commit(common, "crew", {"a": b"1"}, "one  \nand more\n\nof it")
    clock.pass_time(MINUTE)
    checkpoints.commit(common, "crew", {"a": b"2"}, "\nzwei: grüße\0 \U0001f600\n")
    clock.jump(-3 * MINUTE)  # somebody set the clock
    checkpoints.commit(common, "crew", {"a": b"3"}, "")
    found = checkpoints.commits(common, "crew", 10)
    assert [(each.at, each.text.rstrip()) for each in found] == [
        (began - 2 * MINUTE, ""),
        (began + MINUTE, "zwei: grüße \U0001f600"),
        (began, "one"),
    ]


def test_no_more_are_listed_than_were_asked_for(checkpoints, clock, common):
    made = make(checkpoints, clock, common, 4)
    for most in (0, 1, 3, 9):
        assert [each.commit for each in checkpoints.commits(common, "crew", most)] == made[:most]
    assert checkpoints.commits(common, "crew", -1) == []


def test_each_team_has_its_own_branch(checkpoints, common):
    checkpoints.commit(common, "crew", FILES, "ours")
    checkpoints.commit(common, "crew+2", {"a": b"theirs"}, "theirs")
    assert checkpoints.latest(common, "crew") == FILES
    assert checkpoints.latest(common, "crew+2") == {"a": b"theirs"}
    assert checkpoints.latest(common, "cre") is None


@pytest.mark.parametrize("team", ["a..b", "x.lock", "-x", "@{1}", "50%ö^{tree}"])
def test_names_that_git_refuses_are_teams_like_others(checkpoints, clock, common, team):
    checkpoints.commit(common, team, FILES, "first")
    clock.pass_time(MINUTE)
    checkpoints.commit(common, team, {**FILES, "@{1}": b"-", "-x": b"x", "a..b": b""}, "second")
    assert checkpoints.latest(common, team) == {**FILES, "@{1}": b"-", "-x": b"x", "a..b": b""}
    assert checkpoints.thin(common, team, lambda known: known[:1]) == 1
    assert texts(checkpoints.commits(common, team, 9)) == ["second"]
    assert checkpoints.on_remotes(common, team) == []


def test_a_name_that_no_file_can_have_is_refused_and_nothing_is_written(checkpoints, common):
    for name in ("", ".", "..", ".git", ".GIT", "a/b", "a\0b", "a\nb", "\ud800"):
        with pytest.raises(BadName):
            checkpoints.commit(common, "crew", {name: b""}, "first")
        with pytest.raises(BadName):
            checkpoints.commit(common, name, FILES, "first")
    assert checkpoints.latest(common, "crew") is None


def test_a_folder_that_is_no_repository_is_trouble(house, checkpoints):
    for ask in (checkpoints.latest, lambda *where: checkpoints.commit(*where, FILES, "first")):
        with pytest.raises(GitTrouble) as told:
            ask(f"{house.elsewhere}/.git", "crew")
        assert told.value.remedy


# Thinning.


def test_thinning_keeps_those_that_were_picked_with_time_and_text(checkpoints, clock, common):
    make(checkpoints, clock, common, 6)
    before = checkpoints.commits(common, "crew", 10)
    seen: list[list[CheckpointCommit]] = []

    def keep(known: list[CheckpointCommit]) -> list[CheckpointCommit]:
        seen.append([*known])
        return [known[3], known[0]]

    assert checkpoints.thin(common, "crew", keep) == 4
    assert [each.commit for each in seen[0]] == [each.commit for each in before]
    found = checkpoints.commits(common, "crew", 10)
    assert [(each.at, each.text) for each in found] == [(before[n].at, before[n].text) for n in (0, 3)]
    assert checkpoints.latest(common, "crew") == {"state.json": b"5"}
    assert checkpoints.thin(common, "crew", lambda known: known) == 0
    assert checkpoints.commit(common, "crew", {"state.json": b"5"}, "the same") == ""


def test_the_newest_is_kept_whatever_is_picked(checkpoints, clock, common):
    make(checkpoints, clock, common, 3)
    stranger = CheckpointCommit("f" * 40, 0.0, "")
    assert checkpoints.thin(common, "crew", lambda _: [stranger]) == 2
    assert texts(checkpoints.commits(common, "crew", 10)) == ["number 2"]


def test_those_before_the_first_gap_are_the_same_commits_as_ever(checkpoints, clock, common):
    made = make(checkpoints, clock, common, 5)
    checkpoints.thin(common, "crew", lambda known: [known[0], known[3], known[4]])
    found = [each.commit for each in checkpoints.commits(common, "crew", 10)]
    assert found[1:] == made[3:]
    assert found[0] not in made


def test_whoever_writes_while_it_is_thinned_loses_nothing(checkpoints, clock, common):
    make(checkpoints, clock, common, 3)

    def keep(known: list[CheckpointCommit]) -> list[CheckpointCommit]:
        checkpoints.commit(common, "crew", FILES, "meanwhile")
        return known[:1]

    assert checkpoints.thin(common, "crew", keep) == 0
    assert texts(checkpoints.commits(common, "crew", 10)) == ["meanwhile", "number 2", "number 1", "number 0"]


# Remotes.


def test_remotes_that_have_the_branch_are_named(house, checkpoints, common):
    checkpoints.commit(common, "crew", FILES, "first")
    checkpoints.commit(common, "crew-2", FILES, "first")
    assert checkpoints.on_remotes(common, "crew") == []
    for remote in ("origin", "a/b"):
        house.fetched_from(remote, "crew")
    house.fetched_from("origin", "crew-2")
    assert checkpoints.on_remotes(common, "crew") == ["a/b", "origin"]
    assert checkpoints.on_remotes(common, "crew-2") == ["origin"]

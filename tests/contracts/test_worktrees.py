"""Worktrees and salvage: one suite for the twin and for git."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.crew.repositories import Bench, alone, git
from tests.proving import proves

from atm.core.errors import AtmError, RequestError
from atm.crew.ports.worktrees import Repository, Saved, Worktree, Worktrees
from atm.crew.services.salvaging import NoSuchSalvage, find_saved, saved_around
from atm.testing.crew import MemoryWorktrees

FILES = {"a.txt": "one\n", "src/b.txt": "two\n"}


class Twin:
    """A repository in memory."""

    def __init__(self) -> None:
        self.memory = MemoryWorktrees()
        self.worktrees: Worktrees = self.memory
        self.folder, self.elsewhere = "/r", "/elsewhere"
        self.memory.add_repository("/r", FILES)
        self.memory.add_repository("/empty", {})
        self.empty = "/empty"

    def write(self, worktree: Worktree, path: str, text: str | None) -> None:
        if text is None:
            del self.memory.trees[worktree.path][path]
        else:
            self.memory.trees[worktree.path][path] = text

    def read(self, worktree: Worktree) -> dict[str, str]:
        return dict(self.memory.trees.get(worktree.path, {}))

    def branches(self) -> dict[str, str]:
        return dict(self.memory.branches["/r/.git"])

    def committed(self, commit: str) -> dict[str, str]:
        return dict(self.memory.commits[commit].files)

    def restored(self, folder: str) -> dict[str, str]:
        return self.memory.restored[folder]

    def new_folder(self, name: str) -> str:
        return f"/new/{name}"


class Real:
    """A repository of git."""

    def __init__(self, tmp_path: Path, layout) -> None:
        self.root = tmp_path
        repository = tmp_path / "r"
        for name in ("r", "empty", "elsewhere"):
            (tmp_path / name).mkdir()
        for name in ("r", "empty"):
            git(tmp_path / name, "init", "-q")
        (repository / "src").mkdir()
        for name, text in FILES.items():
            (repository / name).write_text(text)
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "first")
        self.worktrees: Worktrees = Bench(repository, layout).worktrees
        self.folder, self.empty, self.elsewhere = str(repository), str(tmp_path / "empty"), str(tmp_path / "elsewhere")

    def write(self, worktree: Worktree, path: str, text: str | None) -> None:
        if text is None:
            (Path(worktree.path) / path).unlink()
        else:
            (Path(worktree.path) / path).write_text(text)

    def read(self, worktree: Worktree) -> dict[str, str]:
        return _files(Path(worktree.path))

    def branches(self) -> dict[str, str]:
        said = git(self.folder, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads")
        return dict(line.split(" ") for line in said.split("\n"))

    def committed(self, commit: str) -> dict[str, str]:
        names = git(self.folder, "ls-tree", "-r", "--name-only", commit).split("\n")
        return {name: git(self.folder, "cat-file", "blob", f"{commit}:{name}") + "\n" for name in names}

    def restored(self, folder: str) -> dict[str, str]:
        return _files(Path(folder))

    def new_folder(self, name: str) -> str:
        return str(self.root / "new" / name)


def _files(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != ".git")
    return {str(path.relative_to(folder)): path.read_text() for path in found}


@pytest.fixture(params=["twin", "git"])
def house(request: pytest.FixtureRequest, tmp_path, home, layout, monkeypatch) -> Twin | Real:
    if request.param == "twin":
        return Twin()
    alone(monkeypatch, home)
    return Real(tmp_path, layout)


@pytest.fixture
def worktrees(house) -> Worktrees:
    found: Worktrees = house.worktrees
    return found


@pytest.fixture
def repository(house, worktrees) -> Repository:
    found: Repository | None = worktrees.repository(house.folder)
    assert found is not None
    return found


@pytest.fixture
def worktree(worktrees, repository) -> Worktree:
    made: Worktree = worktrees.make(repository, "crew", "7", "ann")
    return made


def saved(worktrees: Worktrees, worktree: Worktree, task: str = "7", why: str = "the agent ended") -> Saved:
    found = worktrees.save(worktree, "crew", task, why)
    assert found is not None
    return found


def test_a_branch_with_nothing_on_it_goes_with_its_worktree(house, worktrees, worktree):
    worktrees.remove(worktree, branch=False)
    assert sorted(house.branches()) == ["main"]


def test_branches_with_work_on_them_are_found_without_their_worktrees_and_can_be_removed(house, worktrees, worktree):
    assert worktrees.unused("crew") == []
    house.write(worktree, "new.txt", "new\n")
    commit = worktrees.commit(worktree, "ann", "work")
    worktrees.remove(worktree, branch=False)
    assert [(one.path, one.branch) for one in worktrees.unused("crew")] == [(worktree.path, worktree.branch)]
    assert worktrees.unused("other") == []
    worktrees.remove(worktrees.unused("crew")[0], branch=True)
    assert sorted(house.branches()) == ["main"]
    assert worktrees.unused("crew") == []
    kept = worktrees.saved(worktree.common, "crew")
    assert len(kept) == 1
    assert "new.txt" in house.committed(kept[0].commit)
    assert commit


# Finding and making.


def test_a_folder_that_belongs_to_no_repository_has_none(house, worktrees):
    assert worktrees.repository(house.elsewhere) is None


def test_a_repository_is_found_from_its_folders(house, worktrees, repository):
    inner = worktrees.repository(f"{house.folder}/src")
    assert inner is not None
    assert (inner.common, inner.key, inner.root) == (repository.common, repository.key, house.folder)
    assert (inner.head, inner.branch) == (house.branches()["main"], "main")


def test_a_worktree_has_the_files_of_the_commit_on_a_branch_of_its_own(house, repository, worktree):
    assert house.read(worktree) == FILES
    assert (worktree.branch, worktree.common) == ("atm/work/crew/7-ann", repository.common)
    assert worktree.path.endswith(f"/worktrees/{repository.key}/crew/7-ann")
    assert house.branches() == {"main": repository.head, "atm/work/crew/7-ann": repository.head}
    assert worktree.base == repository.head


def test_it_begins_with_the_base_that_was_chosen(house, worktrees, repository, worktree):
    house.write(worktree, "a.txt", "more\n")
    commit = worktrees.commit(worktree, "ann", "more")
    for number, base in enumerate((commit, worktree.branch)):
        made = worktrees.make(repository, "crew", f"8{number}", "bob", base)
        assert (made.base, house.read(made)["a.txt"]) == (commit, "more\n")


def test_one_that_is_there_is_taken_over_as_it_is(house, worktrees, repository, worktree):
    house.write(worktree, "a.txt", "changed\n")
    again = worktrees.make(repository, "crew", "7", "ann")
    assert (again.path, again.branch, again.base) == (worktree.path, worktree.branch, worktree.base)
    assert house.read(again)["a.txt"] == "changed\n"


def test_there_is_one_for_each_task_agent_and_team(worktrees, repository, worktree):
    others = [
        ("crew", "8", "ann"),
        ("crew", "7", "bob"),
        ("other", "7", "ann"),
        ("a..b", "x.lock", "a."),
        ("t", "1-2", "3"),
    ]
    made = [
        worktree,
        *(worktrees.make(repository, *names) for names in others),
        worktrees.make(repository, "t", "1", "2-3"),
    ]
    assert len({one.path for one in made}) == len({one.branch for one in made}) == 7


def test_a_base_that_is_not_there_makes_nothing(house, worktrees, repository):
    with pytest.raises(RequestError):
        worktrees.make(repository, "crew", "7", "ann", "no-such-branch")
    assert list(house.branches()) == ["main"]
    assert worktrees.left("crew") == []


def test_a_repository_without_a_commit_gets_no_worktree(house, worktrees):
    empty = worktrees.repository(house.empty)
    assert empty is not None
    assert empty.head == ""
    with pytest.raises(RequestError):
        worktrees.make(empty, "crew", "7", "ann")
    assert worktrees.left("crew") == []


@proves("R004-defects-10")
def test_a_branch_with_commits_of_its_own_is_not_reset(house, worktrees, repository, worktree):
    house.write(worktree, "a.txt", "work\n")
    commit = worktrees.commit(worktree, "ann", "work")
    worktrees.remove(worktree, branch=False)
    second = worktrees.make(repository, "crew", "7", "ann")
    assert second.branch == "atm/work/crew/7-ann-2"
    assert house.read(second) == FILES
    assert house.branches()[worktree.branch] == commit


def test_a_name_whose_branch_had_nothing_on_it_is_used_again(worktrees, repository, worktree):
    worktrees.remove(worktree, branch=False)
    assert worktrees.make(repository, "crew", "7", "ann").branch == worktree.branch


# Committing.


def test_a_commit_has_all_that_is_dirty(house, worktrees, worktree):
    house.write(worktree, "a.txt", "changed\n")
    house.write(worktree, "src/b.txt", None)
    house.write(worktree, "c.txt", "new\n")
    commit = worktrees.commit(worktree, "ann", "work")
    assert house.branches()[worktree.branch] == commit != worktree.base
    assert house.committed(commit) == {"a.txt": "changed\n", "c.txt": "new\n"}
    assert worktrees.save(worktree, "crew", "7", "nothing is dirty") is None


def test_nothing_dirty_makes_no_commit(worktrees, worktree):
    assert worktrees.commit(worktree, "ann", "nothing") == worktree.base


def test_patterns_that_were_given_are_neither_committed_nor_saved(house, worktrees, repository):
    worktree = worktrees.make(repository, "crew", "7", "ann", ignored=["vendor.json"])
    house.write(worktree, "vendor.json", "{}\n")
    assert worktrees.commit(worktree, "ann", "nothing") == worktree.base
    assert worktrees.save(worktree, "crew", "7", "nothing") is None


def test_there_is_nothing_to_commit_where_no_worktree_is(worktrees, worktree):
    worktrees.remove(worktree, branch=True)
    with pytest.raises(AtmError):
        worktrees.commit(worktree, "ann", "work")


# Saving.


def test_a_clean_worktree_has_nothing_to_save(worktrees, repository, worktree):
    assert worktrees.save(worktree, "crew", "7", "nothing") is None
    assert worktrees.saved(repository.common) == []


def test_what_is_dirty_and_untracked_is_saved_and_stays_where_it_is(house, worktrees, repository, worktree):
    house.write(worktree, "a.txt", "changed\n")
    house.write(worktree, "src/b.txt", None)
    house.write(worktree, "c.txt", "new\n")
    before = house.read(worktree)
    found = saved(worktrees, worktree)
    assert (found.dirty, found.untracked, found.why) == (["a.txt", "src/b.txt"], ["c.txt"], "the agent ended")
    assert found.ref.startswith("refs/atm/salvage/crew/7/")
    assert house.committed(found.commit) == {"a.txt": "changed\n", "c.txt": "new\n"}
    assert house.read(worktree) == before
    assert house.branches()[worktree.branch] == repository.head


def test_the_same_work_is_saved_once_whoever_asks(house, worktrees, repository, worktree):
    house.write(worktree, "a.txt", "changed\n")
    first = saved(worktrees, worktree)
    assert saved(worktrees, worktree, "8", "again").ref == first.ref
    worktrees.remove(worktree, branch=True)
    assert [one.ref for one in worktrees.saved(repository.common)] == [first.ref]


def test_the_newest_comes_first_and_a_team_has_its_own(house, worktrees, repository, worktree):
    refs = []
    for text in ("first\n", "second\n", "third\n"):
        house.write(worktree, "a.txt", text)
        refs.append(saved(worktrees, worktree).ref)
    other = worktrees.make(repository, "other", "1", "cat")
    house.write(other, "x", "x\n")
    theirs = worktrees.save(other, "other", "1", "theirs")
    assert theirs is not None
    assert [one.ref for one in worktrees.saved(repository.common, "crew")] == refs[::-1]
    assert [one.ref for one in worktrees.saved(repository.common, "other")] == [theirs.ref]
    assert len(worktrees.saved(repository.common)) == 4
    assert worktrees.saved(repository.common, "nobody") == []


def test_what_was_saved_can_be_looked_at(house, worktrees, worktree):
    house.write(worktree, "a.txt", "changed\n")
    house.write(worktree, "c.txt", "new\n")
    told = worktrees.show(saved(worktrees, worktree)).split("\n")
    assert {"-one", "+changed", "+new"} <= set(told)


def test_what_was_done_in_a_worktree_can_be_looked_at_committed_or_not(house, worktrees, worktree):
    assert worktrees.diff(worktree) == ""
    house.write(worktree, "a.txt", "changed\n")
    worktrees.commit(worktree, "ann", "a change")
    house.write(worktree, "c.txt", "new\n")
    assert {"-one", "+changed", "+new"} <= set(worktrees.diff(worktree).split("\n"))
    worktrees.remove(worktree, branch=True)
    assert worktrees.diff(worktree) == ""


def test_and_written_into_a_new_folder_but_not_over_anything(house, worktrees, worktree):
    house.write(worktree, "a.txt", "changed\n")
    found = saved(worktrees, worktree)
    folder = house.new_folder("rescued")
    assert sorted(worktrees.restore(found, folder)) == ["a.txt", "src/b.txt"]
    assert house.restored(folder) == {**FILES, "a.txt": "changed\n"}
    with pytest.raises(RequestError, match="not empty"):
        worktrees.restore(found, folder)


def test_what_is_dropped_is_not_listed_any_more(house, worktrees, repository, worktree):
    house.write(worktree, "a.txt", "changed\n")
    first = saved(worktrees, worktree)
    house.write(worktree, "a.txt", "changed again\n")
    second = saved(worktrees, worktree)
    worktrees.drop(first)
    assert [one.ref for one in worktrees.saved(repository.common)] == [second.ref]
    with pytest.raises(AtmError):
        worktrees.drop(first)


# Removing.


def test_a_removed_worktree_is_gone_and_its_branch_if_asked(house, worktrees, repository, worktree):
    worktrees.remove(worktree, branch=True)
    assert house.read(worktree) == {}
    assert list(house.branches()) == ["main"]
    assert worktrees.left("crew") == []
    assert worktrees.saved(repository.common) == []


def test_removing_twice_is_fine(worktrees, worktree):
    worktrees.remove(worktree, branch=True)
    worktrees.remove(worktree, branch=True)
    assert worktrees.left("crew") == []


def test_what_nobody_saved_is_saved_by_removing(house, worktrees, repository, worktree):
    house.write(worktree, "c.txt", "new\n")
    worktrees.remove(worktree, branch=True)
    (found,) = worktrees.saved(repository.common)
    assert house.committed(found.commit)["c.txt"] == "new\n"


def test_commits_that_only_the_branch_has_are_saved_before_it_goes(house, worktrees, repository, worktree):
    house.write(worktree, "a.txt", "work\n")
    worktrees.commit(worktree, "ann", "work")
    worktrees.remove(worktree, branch=True)
    (found,) = worktrees.saved(repository.common)
    assert (found.dirty, found.untracked) == ([], [])
    assert house.committed(found.commit)["a.txt"] == "work\n"
    assert "+work" in worktrees.show(found)


def test_commits_on_a_branch_that_stays_are_not_saved_again(house, worktrees, repository, worktree):
    house.write(worktree, "a.txt", "work\n")
    worktrees.commit(worktree, "ann", "work")
    worktrees.remove(worktree, branch=False)
    assert worktrees.saved(repository.common) == []


def test_those_that_are_left_are_those_of_the_team(worktrees, repository, worktree):
    other = worktrees.make(repository, "other", "1", "cat")
    (found,) = worktrees.left("crew")
    assert (found.path, found.branch, found.base, found.common) == (
        worktree.path,
        worktree.branch,
        worktree.base,
        worktree.common,
    )
    assert [one.path for one in worktrees.left("other")] == [other.path]
    assert worktrees.left("cre") == worktrees.left("nobody") == []


# Going on.


def test_work_that_was_saved_is_gone_on_with_and_its_base_stays(house, worktrees, repository, worktree):
    house.write(worktree, "mine.txt", "committed\n")
    tip = worktrees.commit(worktree, "ann", "half of it")
    house.write(worktree, "a.txt", "changed\n")
    house.write(worktree, "new.txt", "new\n")
    house.write(worktree, "src/b.txt", None)
    kept = saved(worktrees, worktree)
    worktrees.remove(worktree, branch=False)
    again = worktrees.make(repository, "crew", "7", "bob")
    worktrees.go_on(again, kept)
    assert house.read(again) == {"a.txt": "changed\n", "mine.txt": "committed\n", "new.txt": "new\n"}
    assert (house.branches()[again.branch], again.base) == (tip, worktree.base)
    commit = worktrees.commit(again, "bob", "all of it")
    assert house.committed(commit) == house.read(again)
    worktrees.remove(again, branch=False)
    assert house.branches()[again.branch] == commit


def test_work_that_is_on_a_branch_is_gone_on_with(house, worktrees, repository, worktree):
    house.write(worktree, "mine.txt", "committed\n")
    tip = worktrees.commit(worktree, "ann", "all of it")
    worktrees.remove(worktree, branch=False)
    again = worktrees.make(repository, "crew", "7", "bob")
    worktrees.go_on(again, worktrees.unused("crew")[0])
    assert house.read(again) == {**FILES, "mine.txt": "committed\n"}
    worktrees.remove(again, branch=False)
    assert house.branches()[again.branch] == tip


# The service over it.


def test_an_item_is_found_by_the_beginning_of_its_id(house, worktrees, worktree):
    house.write(worktree, "a.txt", "changed\n")
    found = saved(worktrees, worktree)
    listed = saved_around(worktrees, house.folder)
    for id in (found.id, found.id[:-1], found.id.upper(), found.commit, found.ref):
        assert find_saved(listed, id).ref == found.ref
    for wrong in ("", found.id[:3], "ffffffffffff1", "refs/atm/salvage/crew/7/"):
        with pytest.raises(NoSuchSalvage):
            find_saved(listed, wrong)


def test_a_beginning_that_several_have_is_not_guessed():
    two = [
        Saved(id=f"abcd{n}", ref=f"r{n}", commit=f"abcd{n}", common="", why="", dirty=[], untracked=[]) for n in (1, 2)
    ]
    assert find_saved(two, "abcd2").ref == "r2"
    with pytest.raises(NoSuchSalvage, match="2 begin"):
        find_saved(two, "abcd")


def test_outside_of_a_repository_there_is_a_word_about_it(house, worktrees):
    with pytest.raises(RequestError, match="no git repository"):
        saved_around(worktrees, house.elsewhere)


# Joining.


def committed_in(house, worktrees, repository, task: str, path: str, text: str) -> str:
    made = worktrees.make(repository, "crew", task, "ann")
    house.write(made, path, text)
    commit: str = worktrees.commit(made, "ann", f"task {task}")
    return commit


def test_work_of_two_branches_becomes_one_commit_that_is_always_the_same(house, worktrees, repository):
    one = committed_in(house, worktrees, repository, "1", "x.txt", "1\n")
    two = committed_in(house, worktrees, repository, "2", "y.txt", "2\n")
    before = house.branches()
    joined = worktrees.join(repository, [repository.head, one, two], "both")
    assert joined.conflicts == []
    files = house.committed(joined.commit)
    assert (files["x.txt"], files["y.txt"], files["a.txt"]) == ("1\n", "2\n", "one\n")
    assert worktrees.join(repository, [repository.head, one, two], "both").commit == joined.commit
    assert house.branches() == before  # nothing of the user's was touched


def test_what_another_contains_adds_nothing(house, worktrees, repository):
    one = committed_in(house, worktrees, repository, "1", "x.txt", "1\n")
    assert worktrees.join(repository, [repository.head, one], "both").commit == one
    assert worktrees.join(repository, [one, one], "both").commit == one


def test_work_that_does_not_go_together_is_told_by_its_files(house, worktrees, repository):
    one = committed_in(house, worktrees, repository, "1", "a.txt", "1\n")
    two = committed_in(house, worktrees, repository, "2", "a.txt", "2\n")
    joined = worktrees.join(repository, [one, two], "both")
    assert (joined.commit, joined.conflicts) == ("", ["a.txt"])


def test_what_was_committed_for_checks_that_failed_is_saved_too_if_that_is_wanted(house, worktrees, worktree):
    house.write(worktree, "b.txt", "b\n")
    commit = worktrees.commit(worktree, "ann", "work")
    assert worktrees.save(worktree, "crew", "7", "checks failed") is None  # its branch has it
    kept = worktrees.save(worktree, "crew", "7", "checks failed", branch=True)
    assert house.committed(kept.commit) == house.committed(commit)

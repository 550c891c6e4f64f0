"""
A worktree whose agent has overwritten what git needs to know of it: work goes on, is saved, and nothing of it wedges.

Whatever an agent writes there, no git of ours runs in another repository, and nothing of the user's changes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.crew.conftest import NOTHING, Crew
from tests.crew.repositories import Bench, Users, alone, git, new_repository
from tests.crew.test_stop import forge

from atm.core.errors import AtmError
from atm.core.work_errors import GitTrouble
from atm.crew.ports.worktrees import Worktree

PROGRAMS = """
[core]
\tfsmonitor = {run}
\tsshCommand = {run}
\teditor = {run}
\tpager = {run}
\thooksPath = {hooks}
[filter "evil"]
\tclean = {run}
\tsmudge = {run}
\trequired = true
[diff "evil"]
\ttextconv = {run}
[alias]
\tstatus = !{run}
"""


class Other:
    """Another repository, of a hostile agent: every program that its settings can name leaves a mark."""

    def __init__(self, folder: Path) -> None:
        self.folder = new_repository(folder / "other")
        self.mark = folder / "it-ran"
        run, hooks = folder / "run.sh", folder / "hooks"
        run.write_text(f"#!/bin/sh\ntouch {self.mark}\ncat\n")
        run.chmod(0o755)
        hooks.mkdir()
        for name in ("pre-commit", "post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"):
            shutil.copy(run, hooks / name)
        with (self.folder / ".git" / "config").open("a") as file:
            file.write(PROGRAMS.format(run=run, hooks=hooks))
        (self.folder / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")
        self.before = self.look()

    def look(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


class Stage:
    """A user's repository, a worktree with work in it, and another repository."""

    def __init__(self, bench: Bench, other: Other) -> None:
        self.bench = bench
        self.other = other
        self.worktree: Worktree = bench.make()
        self.folder = Path(self.worktree.path)
        self.notes = Path(self.worktree.common) / "worktrees" / self.folder.name
        (self.folder / "a.txt").write_text("precious change\n")
        (self.folder / "new.txt").write_text("precious file\n")


@pytest.fixture
def stage(tmp_path: Path, home: Path, layout: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    alone(monkeypatch, home)
    bench = Bench(new_repository(tmp_path / "r"), layout)
    before = Users(bench.folder).look()
    made = Stage(bench, Other(tmp_path))
    yield made
    assert Users(bench.folder).look() == before
    assert not made.other.mark.exists(), "a program of the other repository ran"
    assert made.other.look() == made.other.before


# Of the worktree.


def overwrite_the_pointer(stage: Stage) -> None:
    (stage.folder / ".git").write_text("nonsense\n")


def empty_the_pointer(stage: Stage) -> None:
    (stage.folder / ".git").write_text("")


def delete_the_pointer(stage: Stage) -> None:
    (stage.folder / ".git").unlink()


def name_another_repository(stage: Stage) -> None:
    (stage.folder / ".git").write_text(f"gitdir: {stage.other.folder}/.git\n")


def link_to_another_repository(stage: Stage) -> None:
    (stage.folder / ".git").unlink()
    (stage.folder / ".git").symlink_to(stage.other.folder / ".git")


def link_to_the_users_own(stage: Stage) -> None:
    (stage.folder / ".git").unlink()
    (stage.folder / ".git").symlink_to(stage.bench.folder / ".git")


def name_the_users_own(stage: Stage) -> None:
    (stage.folder / ".git").write_text(f"gitdir: {stage.bench.folder}/.git\n")


def begin_another_repository(stage: Stage) -> None:
    (stage.folder / ".git").unlink()
    git(stage.folder, "init", "-q")
    git(stage.folder, "add", "new.txt")
    git(stage.folder, "commit", "-q", "-m", "inside")


def copy_the_other_repository(stage: Stage) -> None:
    (stage.folder / ".git").unlink()
    shutil.copytree(stage.other.folder / ".git", stage.folder / ".git")


def make_the_pointer_a_pipe(stage: Stage) -> None:
    (stage.folder / ".git").unlink()
    os.mkfifo(stage.folder / ".git")


# Of git's notes on it.


def empty_the_common_folder(stage: Stage) -> None:
    (stage.notes / "commondir").write_text("")


def lead_the_common_folder_nowhere(stage: Stage) -> None:
    (stage.notes / "commondir").write_text("/nowhere\n")


def lead_the_common_folder_elsewhere(stage: Stage) -> None:
    (stage.notes / "commondir").write_text(f"{stage.other.folder}/.git\n")


def delete_the_common_folder(stage: Stage) -> None:
    (stage.notes / "commondir").unlink()


def make_the_common_folder_a_folder(stage: Stage) -> None:
    (stage.notes / "commondir").unlink()
    (stage.notes / "commondir").mkdir()


def make_the_common_folder_a_pipe(stage: Stage) -> None:
    (stage.notes / "commondir").unlink()
    os.mkfifo(stage.notes / "commondir")


def overwrite_the_way_back(stage: Stage) -> None:
    (stage.notes / "gitdir").write_text("nonsense\n")


def lead_the_way_back_to_the_user(stage: Stage) -> None:
    (stage.notes / "gitdir").write_text(f"{stage.bench.folder}/.git\n")


def empty_the_head(stage: Stage) -> None:
    (stage.notes / "HEAD").write_text("")


def break_the_head(stage: Stage) -> None:
    (stage.notes / "HEAD").write_text("ref: ../../../../etc/passwd\n")


def link_the_head_to_the_users(stage: Stage) -> None:
    (stage.notes / "HEAD").unlink()
    (stage.notes / "HEAD").symlink_to(stage.bench.folder / ".git" / "HEAD")


def make_the_head_a_pipe(stage: Stage) -> None:
    (stage.notes / "HEAD").unlink()
    os.mkfifo(stage.notes / "HEAD")


def make_the_lock_of_the_list_a_pipe(stage: Stage) -> None:
    (stage.notes / "locked").unlink(missing_ok=True)
    os.mkfifo(stage.notes / "locked")


def lead_the_head_to_a_pipe(stage: Stage) -> None:
    os.mkfifo(stage.notes / "pipe")
    (stage.notes / "HEAD").unlink()
    (stage.notes / "HEAD").symlink_to(stage.notes / "pipe")


def stand_on_the_users_branch(stage: Stage) -> None:
    (stage.notes / "HEAD").write_text("ref: refs/heads/main\n")


def stand_on_another_branch(stage: Stage) -> None:
    git(stage.folder, "checkout", "-q", "-b", "atm-other")
    git(stage.folder, "update-ref", "-d", "refs/heads/atm-other")


def leave_locks(stage: Stage) -> None:
    for name in ("index.lock", "HEAD.lock"):
        (stage.notes / name).write_text("")
    (Path(stage.worktree.common) / "refs" / "heads" / f"{stage.worktree.branch}.lock").write_text("")


def break_the_index(stage: Stage) -> None:
    (stage.notes / "index").write_bytes(b"nonsense")


def break_the_index_inside(stage: Stage) -> None:
    data = (stage.notes / "index").read_bytes()
    (stage.notes / "index").write_bytes(data[:40])


def delete_the_index(stage: Stage) -> None:
    (stage.notes / "index").unlink()


def make_the_index_a_pipe(stage: Stage) -> None:
    (stage.notes / "index").unlink()
    os.mkfifo(stage.notes / "index")


def delete_the_notes(stage: Stage) -> None:
    shutil.rmtree(stage.notes)


def link_the_notes_elsewhere(stage: Stage) -> None:
    shutil.rmtree(stage.notes)
    stage.notes.symlink_to(stage.other.folder / ".git")


def delete_the_branch(stage: Stage) -> None:
    git(stage.bench.folder, "update-ref", "-d", f"refs/heads/{stage.worktree.branch}")


def settings_of_its_own(stage: Stage) -> None:
    git(stage.bench.folder, "config", "extensions.worktreeConfig", "true")
    (stage.notes / "config.worktree").write_text("[core]\n\tworktree = /nowhere\n\tbare = true\n")


DAMAGES: list[Callable[[Stage], None]] = [
    *(overwrite_the_pointer, empty_the_pointer, delete_the_pointer, name_another_repository),
    *(link_to_another_repository, link_to_the_users_own, name_the_users_own, begin_another_repository),
    *(copy_the_other_repository, make_the_pointer_a_pipe),
    *(empty_the_common_folder, lead_the_common_folder_nowhere, lead_the_common_folder_elsewhere),
    *(delete_the_common_folder, make_the_common_folder_a_folder, make_the_common_folder_a_pipe),
    *(overwrite_the_way_back, lead_the_way_back_to_the_user),
    *(empty_the_head, break_the_head, link_the_head_to_the_users, make_the_head_a_pipe, stand_on_the_users_branch),
    *(lead_the_head_to_a_pipe, make_the_lock_of_the_list_a_pipe),
    *(stand_on_another_branch, leave_locks, break_the_index, break_the_index_inside, delete_the_index),
    *(make_the_index_a_pipe, delete_the_notes, link_the_notes_elsewhere, delete_the_branch),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_work_is_committed_on_its_branch_all_the_same(stage: Stage, damage: Callable[[Stage], None]) -> None:
    damage(stage)
    trees = stage.bench.worktrees
    with suppress(AtmError):  # a look may fail, which those who look expect; it does not wait and harms nothing
        trees.touched(stage.worktree)
        trees.now(stage.worktree)
    commit = trees.commit(stage.worktree, "ann", "work")
    assert stage.bench.file(commit, "a.txt") == "precious change"
    assert stage.bench.file(commit, "new.txt") == "precious file"
    assert git(stage.bench.folder, "rev-parse", stage.worktree.branch) == commit
    assert git(stage.bench.folder, "merge-base", stage.worktree.base, commit) == stage.worktree.base
    assert git(stage.folder, "rev-parse", "HEAD") == commit  # what checks see there is its own repository again
    assert git(stage.folder, "status", "--porcelain") == ""
    assert trees.touched(stage.worktree) == ["a.txt", "new.txt"]
    (stage.folder / "new.txt").write_text("and more\n")
    assert trees.commit(stage.worktree, "ann", "more") != commit
    trees.remove(stage.worktree, branch=False)
    assert git(stage.bench.folder, "worktree", "list", "--porcelain").count("worktree ") == 1


@pytest.mark.parametrize("damage", [each for each in DAMAGES if each is not leave_locks])
def test_a_git_that_was_killed_in_a_damaged_worktree_left_locks(stage: Stage, damage: Callable[[Stage], None]) -> None:
    damage(stage)
    if stage.notes.is_dir() and not stage.notes.is_symlink():
        (Path(stage.worktree.common) / "refs" / "heads" / stage.worktree.branch).parent.mkdir(
            parents=True, exist_ok=True
        )
        leave_locks(stage)
        (stage.notes / "HEAD.lock").unlink()
        (stage.notes / "HEAD.lock").mkdir()
    commit = stage.bench.worktrees.commit(stage.worktree, "ann", "work")
    assert stage.bench.file(commit, "new.txt") == "precious file"
    assert git(stage.bench.folder, "rev-parse", stage.worktree.branch) == commit
    stage.bench.worktrees.remove(stage.worktree, branch=True)


@pytest.mark.parametrize("damage", DAMAGES)
def test_its_work_is_saved_and_it_is_removed_all_the_same(stage: Stage, damage: Callable[[Stage], None]) -> None:
    damage(stage)
    trees = stage.bench.worktrees
    (found,) = trees.left("crew")
    assert (found.path, found.branch, found.base) == (stage.worktree.path, stage.worktree.branch, stage.worktree.base)
    saved = trees.save(stage.worktree, "crew", "1", "its agent was ended")
    assert saved is not None
    trees.remove(stage.worktree, branch=True)
    for one in trees.saved(stage.worktree.common):
        assert stage.bench.file(one.commit, "a.txt") == "precious change"
        assert stage.bench.file(one.commit, "new.txt") == "precious file"
    assert trees.saved(stage.worktree.common)
    assert not os.path.lexists(stage.folder)
    assert trees.left("crew") == []
    assert stage.bench.branches() == ["main"]
    assert git(stage.bench.folder, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert [*Path(stage.bench.layout.worktrees).glob("*/.known-*")] == []
    again = stage.bench.make()
    assert (Path(again.path) / "a.txt").read_text() == "one and a half\n"
    trees.remove(again, branch=True)


@pytest.mark.parametrize(
    "damage",
    [
        *(empty_the_common_folder, make_the_common_folder_a_folder, make_the_common_folder_a_pipe),
        *(lead_the_common_folder_elsewhere, overwrite_the_way_back, empty_the_head, make_the_head_a_pipe),
        *(lead_the_head_to_a_pipe, make_the_lock_of_the_list_a_pipe),
        *(link_the_notes_elsewhere, begin_another_repository, leave_locks),
    ],
)
def test_other_agents_get_worktrees_meanwhile_and_lose_theirs(stage: Stage, damage: Callable[[Stage], None]) -> None:
    damage(stage)
    other = stage.bench.make("2", "bob")
    (Path(other.path) / "b.txt").write_text("bob's\n")
    commit = stage.bench.worktrees.commit(other, "bob", "work")
    assert stage.bench.file(commit, "b.txt") == "bob's"
    stage.bench.worktrees.remove(other, branch=True)
    assert (stage.folder / "new.txt").read_text() == "precious file\n"
    stage.bench.worktrees.remove(stage.worktree, branch=True)


def test_settings_that_an_agent_gives_its_worktree_lead_nowhere_else(stage: Stage) -> None:
    before = (stage.bench.folder / ".git" / "config").read_bytes()
    settings_of_its_own(stage)
    commit = stage.bench.worktrees.commit(stage.worktree, "ann", "work")
    assert stage.bench.file(commit, "new.txt") == "precious file"
    stage.bench.worktrees.remove(stage.worktree, branch=True)
    (stage.bench.folder / ".git" / "config").write_bytes(before)


def test_what_another_repository_in_its_place_holds_is_saved_with_its_history(stage: Stage, tmp_path: Path) -> None:
    begin_another_repository(stage)
    inside = git(stage.folder, "rev-parse", "HEAD")
    stage.bench.worktrees.commit(stage.worktree, "ann", "work")
    (saved,) = stage.bench.worktrees.saved(stage.worktree.common)
    assert saved.why == "another repository was in its place"
    assert ".git/" in saved.untracked
    restored = tmp_path / "restored"
    stage.bench.worktrees.restore(saved, str(restored))
    assert git(restored, "rev-parse", "HEAD") == inside
    stage.bench.worktrees.remove(stage.worktree, branch=True)


def test_a_link_to_another_repository_is_not_followed_when_work_is_saved(stage: Stage) -> None:
    (stage.other.folder / ".git" / "secret").write_text("of another")
    stage.other.before = stage.other.look()
    link_to_another_repository(stage)
    saved = stage.bench.worktrees.save(stage.worktree, "crew", "1", "the end")
    assert saved is not None
    assert [path for path in stage.bench.paths(saved.commit) if "secret" in path] == []
    stage.bench.worktrees.remove(stage.worktree, branch=True)


def test_a_submodule_that_names_another_repository_runs_no_git_there(stage: Stage) -> None:
    git(stage.folder, "update-index", "--add", "--cacheinfo", f"160000,{stage.worktree.base},lib")
    (stage.folder / "lib").mkdir()
    (stage.folder / "lib" / ".git").write_text(f"gitdir: {stage.other.folder}/.git\n")
    (stage.folder / "lib" / "x").write_text("precious")
    saved = stage.bench.worktrees.save(stage.worktree, "crew", "1", "the end")
    assert saved is not None
    assert stage.bench.file(saved.commit, "lib/x") == "precious"
    stage.bench.worktrees.remove(stage.worktree, branch=True)


def test_commits_of_a_branch_that_was_deleted_are_found_again(stage: Stage) -> None:
    commit = stage.bench.worktrees.commit(stage.worktree, "ann", "work")
    delete_the_branch(stage)
    (stage.folder / "new.txt").write_text("more\n")
    again = stage.bench.worktrees.commit(stage.worktree, "ann", "more")
    assert git(stage.bench.folder, "rev-parse", f"{again}^") == commit
    stage.bench.worktrees.remove(stage.worktree, branch=True)


def test_a_worktree_that_is_gone_gets_a_word_and_no_other_repository(stage: Stage) -> None:
    shutil.rmtree(stage.folder)
    with pytest.raises(GitTrouble, match="is gone"):
        stage.bench.worktrees.commit(stage.worktree, "ann", "work")
    stage.folder.symlink_to(stage.other.folder)
    with pytest.raises(GitTrouble, match="is gone"):
        stage.bench.worktrees.commit(stage.worktree, "ann", "work")
    stage.bench.worktrees.remove(stage.worktree, branch=True)
    assert (stage.other.folder / "a.txt").exists()


def test_a_record_that_names_another_repository_as_its_own_is_not_believed(stage: Stage) -> None:
    forged = Worktree(path=stage.worktree.path, branch="main", base="", common=f"{stage.other.folder}/.git")
    commit = stage.bench.worktrees.commit(forged, "ann", "work")
    assert git(stage.bench.folder, "rev-parse", stage.worktree.branch) == commit
    stage.bench.worktrees.remove(forged, branch=True)
    assert not stage.folder.exists()
    assert stage.bench.branches() == ["main"]


def test_notes_of_another_worktree_that_claim_the_folder_are_not_taken_for_its_own(stage: Stage) -> None:
    other = stage.bench.make("0", "eve")
    notes = Path(other.common) / "worktrees" / Path(other.path).name
    (notes / "gitdir").write_text(f"{stage.folder}/.git\n")
    (Path(other.path) / "eve.txt").write_text("eve's\n")
    commit = stage.bench.worktrees.commit(stage.worktree, "ann", "work")
    assert git(stage.bench.folder, "rev-parse", stage.worktree.branch) == commit
    stage.bench.worktrees.remove(stage.worktree, branch=True)
    assert notes.is_dir()
    assert stage.bench.file(stage.bench.worktrees.commit(other, "eve", "work"), "eve.txt") == "eve's"
    stage.bench.worktrees.remove(other, branch=True)


def test_where_the_repository_itself_is_damaged_that_is_said_and_nothing_is_removed(stage: Stage) -> None:
    head = Path(stage.worktree.common) / "HEAD"
    kept = head.read_bytes()
    head.write_bytes(b"")
    with pytest.raises(AtmError):
        stage.bench.worktrees.remove(stage.worktree, branch=True)
    assert (stage.folder / "new.txt").exists()
    head.write_bytes(kept)
    stage.bench.worktrees.remove(stage.worktree, branch=True)


# In a whole run, with real processes.

HARMS = {
    "the pointer": "echo nonsense > .git",
    "the pointer is gone": "rm .git",
    "another repository": "rm .git; git init -q",
    "a link elsewhere": "rm .git; ln -s /tmp .git",
    "the common folder": ": > $(git rev-parse --absolute-git-dir)/commondir",
    "the way back": "echo x > $(git rev-parse --absolute-git-dir)/gitdir",
    "the head": "echo x > $(git rev-parse --absolute-git-dir)/HEAD",
    "a lock": ": > $(git rev-parse --absolute-git-dir)/index.lock",
    "all notes": "rm -r $(git rev-parse --absolute-git-dir)",
}


def test_a_run_whose_tasks_damage_their_worktrees_ends_by_itself_with_their_work(crew: Crew) -> None:
    plan = crew.folder.parent / "plan.md"
    tasks = [f"- [ ] Damage {n} (run: echo {n} > f{n}.txt; {harm})\n" for n, harm in enumerate(HARMS.values())]
    last = "- [ ] Build on it (depends: 1, 5) (run: cat f0.txt f4.txt > all.txt) (accept: git rev-parse HEAD)\n"
    plan.write_text("".join([*tasks, last]))
    words = ("--runtime", "script", "--agents", "3", "--team", "crew", "--yes", "--json")
    said = crew.atm("run", "--plan", str(plan), *words, timeout=560)
    report = json.loads(said.out.splitlines()[-1])
    assert report["outcome"] == "success"
    assert len(report["merged"]) == len(report["tasks"]["completed"]) == len(HARMS) + 1
    for number in range(len(HARMS)):
        assert crew.git("show", f"atm/result/crew:f{number}.txt") == str(number)
    assert crew.left() == NOTHING
    assert crew.git("status", "--porcelain") == ""
    assert crew.git("fsck", "--no-dangling") == ""


@pytest.mark.parametrize("harm", ["cd /; rm -rf $ATM_WORKTREE", "rm -rf $PWD", "mv $PWD $AWAY/$$", "rm -rf ../*"])
def test_a_task_that_removes_its_own_worktree_fails_and_the_run_ends(crew: Crew, harm: str) -> None:
    plan = crew.folder.parent / "plan.md"
    away = crew.folder.parent / "away"
    away.mkdir()
    plan.write_text(f"- [ ] Go (run: {harm.replace('$AWAY', str(away))})\n- [ ] Good (run: echo g > g.txt)\n")
    words = ("--runtime", "script", "--agents", "1", "--team", "crew", "--yes", "--json")
    report = json.loads(crew("run", "--plan", str(plan), *words, code=2).out.splitlines()[-1])
    assert (report["outcome"], report["tasks"]["failed"], report["tasks"]["completed"]) == ("partial", ["1"], ["2"])
    assert "is gone" in crew.task("1")["error"]
    assert crew.task("1")["failures"] == 3
    assert crew.left() == NOTHING


def all_killed(crew: Crew) -> bool:
    """A host that sees the end of its command may start the next one before it is killed: that is killed, too."""
    for one in crew.running():
        try:
            os.kill(one.pid, 9)
        except ProcessLookupError:
            continue
    return crew.running() == []


@pytest.mark.parametrize("verb", ["stop", "doctor"])
@pytest.mark.parametrize("harm", ["echo nonsense > .git", ": > $(git rev-parse --absolute-git-dir)/commondir"])
def test_what_a_killed_agent_left_damaged_is_saved_and_cleared(crew: Crew, harm: str, verb: str) -> None:
    crew("tasks", "add", "Hang", "--run", f"echo precious > p.txt; {harm}; touch {crew.folder.parent}/done; sleep 1000")
    crew("up", "script:ann")
    crew.eventually((crew.folder.parent / "done").exists)
    crew.eventually(lambda: all_killed(crew))
    said = crew("stop", "--json") if verb == "stop" else crew("doctor", "--fix", "--json", code=None)
    assert not [one for one in said.json.get("stopped", []) if one["troubles"]]
    assert crew.left() == NOTHING
    (saved,) = crew("salvage", "list", "--json").json["items"]
    assert saved["untracked"] == ["p.txt"]
    crew.git("worktree", "list")


def test_a_record_that_names_the_users_folder_as_its_worktree_removes_nothing(crew: Crew) -> None:
    (crew.folder / "mine.txt").write_text("mine")
    before = Users(crew.folder).look()
    common = f"{crew.folder}/.git"
    forge(crew, "eve", worktree=str(crew.folder), branch="main", base="", common=common, slot=-1)
    crew("stop", "--team", "crew", code=None)
    crew("doctor", "--fix", code=None)
    assert Users(crew.folder).look() == before

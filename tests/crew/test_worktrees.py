"""
Worktrees in repositories as they are found: dirty, detached, unborn, shallow, with sub-modules, sparse, half gone.

Whatever state it is in, nothing of the user's changes: files, index, HEAD, branch, stash, settings.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crew.repositories import Bench, Users, alone, git, new_repository

from atm.core.errors import BadName, DiskError, RequestError
from atm.core.work_errors import ForeignFile, GitTrouble
from atm.crew.adapters import included
from atm.crew.ports.worktrees import Worktree
from atm.git.adapters import running

HOOKS = (
    *("pre-commit", "commit-msg", "post-checkout", "post-commit", "reference-transaction", "post-index-change"),
    *("prepare-commit-msg", "pre-auto-gc", "post-rewrite"),
)


@pytest.fixture
def user(tmp_path, home, monkeypatch) -> Path:
    alone(monkeypatch, home)
    return new_repository(tmp_path / "r")


@pytest.fixture
def bench(user, layout) -> Bench:
    return Bench(user, layout)


@pytest.fixture(autouse=True)
def untouched(request, user) -> Iterator[None]:
    """For every test: what the user had when the first worktree was asked for is there in the end."""
    seen: dict[str, dict[str, str]] = {}
    original = Bench.make

    def make(self: Bench, *words: str, **more) -> Worktree:
        if not seen and self.folder == user:
            seen["before"] = Users(user).look()
        return original(self, *words, **more)

    Bench.make = make  # type: ignore[method-assign]
    yield
    Bench.make = original  # type: ignore[method-assign]
    if seen and user.exists() and "changes_the_users" not in request.node.keywords:
        assert Users(user).look() == seen["before"]


def notes_of(bench: Bench, worktree: Worktree) -> Path:
    """Git's own folder about a worktree."""
    return Path(worktree.common) / "worktrees" / Path(worktree.path).name


def whole_life(bench: Bench, **more) -> Worktree:
    """Make, change, commit, change, save, remove: all of it works here."""
    worktree = bench.make(**more)
    folder = Path(worktree.path)
    (folder / "work.txt").write_text("done\n")
    commit = bench.worktrees.commit(worktree, "ann", "work")
    assert bench.file(commit, "work.txt") == "done"
    (folder / "more.txt").write_text("not committed\n")
    saved = bench.worktrees.save(worktree, "crew", "1", "the end")
    assert saved is not None
    assert saved.untracked == ["more.txt"]
    bench.worktrees.remove(worktree, branch=True)
    assert not folder.exists()
    assert bench.worktrees.left("crew") == []
    assert [name for name in bench.branches() if name.startswith("atm/")] == []
    return worktree


# The states of a repository.


def test_a_dirty_tree_stays_dirty_and_worktrees_do_not_have_it(user, bench):
    (user / "a.txt").write_text("half a thought\n")
    (user / "src" / "b.txt").write_text("staged\n")
    git(user, "add", "src/b.txt")
    (user / "new.txt").write_text("new\n")
    git(user, "stash", "push", "-q", "--", "a.txt")
    (user / "a.txt").write_text("another\n")
    assert "not committed, and so not in worktrees: changed or new files, 3 of them" in bench.repository.notes
    worktree = bench.make()
    assert (Path(worktree.path) / "a.txt").read_text() == "one and a half\n"
    assert not (Path(worktree.path) / "new.txt").exists()
    bench.worktrees.remove(worktree, branch=True)
    whole_life(bench)


def test_a_clean_repository_has_nothing_to_note(bench):
    assert bench.repository.notes == []


def test_a_detached_head(user, bench):
    git(user, "checkout", "-q", "--detach")
    git(user, "commit", "-q", "--allow-empty", "-m", "only HEAD leads here")
    found = bench.repository
    assert (found.branch, found.head) == ("", git(user, "rev-parse", "HEAD"))
    assert any("no branch is checked out" in note for note in found.notes)
    worktree = bench.make()
    assert worktree.base == found.head
    bench.worktrees.remove(worktree, branch=True)
    assert bench.worktrees.saved(found.common) == []  # it was the user's before, and is still
    whole_life(bench)


def test_an_unborn_branch_gets_an_answer(tmp_path, layout, home, monkeypatch):
    alone(monkeypatch, home)
    folder = tmp_path / "unborn"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "x").write_text("x")
    bench = Bench(folder, layout)
    found = bench.repository
    assert (found.head, found.branch) == ("", "main")
    assert any("no commit yet" in note for note in found.notes)
    with pytest.raises(RequestError, match="no commit yet") as caught:
        bench.make()
    assert "git commit" in caught.value.remedy
    assert git(folder, "for-each-ref") == ""


def test_a_shallow_clone(user, tmp_path, layout):
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{user}", "shallow")
    bench = Bench(tmp_path / "shallow", layout)
    assert any("shallow" in note for note in bench.repository.notes)
    whole_life(bench)


def test_a_sparse_checkout_has_the_same_folders_in_a_worktree(user, bench):
    git(user, "sparse-checkout", "set", "--cone", "src")
    (user / "src" / "b.txt").write_text("mine\n")
    git(user, "checkout", "-q", "src/b.txt")
    (bench.folder / "deep").mkdir()
    assert any("sparse" in note for note in bench.repository.notes)
    worktree = bench.make()
    assert (Path(worktree.path) / "src" / "b.txt").exists()
    assert bench.worktrees.save(worktree, "crew", "1", "what is not there was not deleted") is None
    assert bench.worktrees.commit(worktree, "ann", "nothing") == worktree.base
    bench.worktrees.remove(worktree, branch=True)
    whole_life(bench)


def test_a_file_outside_of_the_sparse_part_is_kept(user, bench):
    (user / "docs").mkdir()
    (user / "docs" / "c.txt").write_text("c\n")
    git(user, "add", ".")
    git(user, "commit", "-q", "-m", "third")
    git(user, "sparse-checkout", "set", "--cone", "src")
    worktree = bench.make()
    (Path(worktree.path) / "docs").mkdir(exist_ok=True)
    (Path(worktree.path) / "docs" / "c.txt").write_text("written all the same\n")
    saved = bench.worktrees.save(worktree, "crew", "1", "sparse")
    assert saved is not None
    assert bench.file(saved.commit, "docs/c.txt") == "written all the same"
    assert bench.file(saved.commit, "a.txt") == "one and a half"


@pytest.mark.parametrize("where", ["hooks", "core.hooksPath"])
def test_hooks_that_refuse_everything(user, bench, tmp_path, where):
    folder = user / ".git" / "hooks" if where == "hooks" else tmp_path / "own-hooks"
    folder.mkdir(exist_ok=True)
    for name in HOOKS:
        (folder / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
        (folder / name).chmod(0o755)
    if where != "hooks":
        git(user, "config", "core.hooksPath", str(folder))
    whole_life(bench)
    assert not (tmp_path / "ran").exists()


def test_a_user_without_a_name(user, bench):
    git(user, "config", "user.useConfigOnly", "true")
    worktree = bench.make()
    (Path(worktree.path) / "x").write_text("x")
    commit = bench.worktrees.commit(worktree, "ann", "work")
    assert git(user, "log", "-1", "--format=%an|%ae|%cn|%ce", commit) == "ann|ann@atm.invalid|ann|ann@atm.invalid"
    bench.worktrees.remove(worktree, branch=True)
    whole_life(bench)


@pytest.mark.parametrize("scope", ["--local", "--global"])
def test_a_user_with_a_name_is_the_committer(user, bench, scope):
    git(user, "config", scope, "user.name", "Uma User")
    git(user, "config", scope, "user.email", "uma@example.org")
    worktree = bench.make(agent="Zoë b")
    (Path(worktree.path) / "x").write_text("x")
    commit = bench.worktrees.commit(worktree, "Zoë b", "subject\n\nbody é")
    told = git(user, "log", "-1", "--format=%an|%ae|%cn|%ce|%s|%b", commit)
    assert told == "Zoë b|Zoë%20b@atm.invalid|Uma User|uma@example.org|subject|body é"


def test_signing_is_off(user, bench, tmp_path):
    program = tmp_path / "sign"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    program.chmod(0o755)
    for key, value in {"commit.gpgSign": "true", "gpg.program": str(program), "user.signingKey": "X"}.items():
        git(user, "config", "--global", key, value)
    whole_life(bench)
    assert not (tmp_path / "ran").exists()


def test_a_repository_of_another_user_is_not_used(bench, monkeypatch):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(ForeignFile) as caught:
        bench.worktrees.repository(str(bench.folder))
    assert "safe.directory" in caught.value.remedy
    git(bench.folder, "config", "--global", "--add", "safe.directory", str(bench.folder))
    assert bench.repository.branch == "main"


def test_a_bare_repository(user, tmp_path, layout):
    git(tmp_path, "clone", "-q", "--bare", str(user), "bare.git")
    bench = Bench(tmp_path / "bare.git", layout)
    assert (bench.repository.root, bench.repository.branch) == ("", "main")
    whole_life(bench)


def test_git_s_own_folder_is_no_place_to_work(bench):
    with pytest.raises(RequestError, match="no working tree"):
        bench.worktrees.repository(str(bench.folder / ".git"))


def test_a_worktree_of_the_user_belongs_to_the_same_repository(user, tmp_path, bench, layout):
    git(user, "worktree", "add", "-q", "-b", "theirs", str(tmp_path / "second"))
    (tmp_path / "second" / "a.txt").write_text("dirty\n")
    second = Bench(tmp_path / "second", layout)
    assert (second.repository.common, second.repository.key) == (bench.repository.common, bench.repository.key)
    assert second.repository.branch == "theirs"
    whole_life(second)
    assert (tmp_path / "second" / "a.txt").read_text() == "dirty\n"


def test_a_repository_with_the_other_kind_of_ids(tmp_path, layout, home, monkeypatch):
    alone(monkeypatch, home)
    bench = Bench(new_repository(tmp_path / "sha256", "--object-format=sha256"), layout)
    assert len(bench.repository.head) == 64
    worktree = bench.make()
    (Path(worktree.path) / "a.txt").unlink()
    saved = bench.worktrees.save(worktree, "crew", "1", "a deletion")
    assert saved is not None
    assert saved.dirty == ["a.txt"]
    assert "a.txt" not in bench.paths(saved.commit)
    bench.worktrees.remove(worktree, branch=True)
    whole_life(bench)


def test_where_git_is_not_installed_there_is_no_repository(bench, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert bench.worktrees.repository(str(bench.folder)) is None


def test_a_folder_that_is_not_there_has_no_repository(bench, tmp_path):
    assert bench.worktrees.repository(str(tmp_path / "nowhere")) is None


def test_a_repository_that_is_broken_gets_a_word(bench, user):
    (user / ".git" / "config").write_text("[nonsense\n")
    with pytest.raises(GitTrouble):
        bench.worktrees.repository(str(user))


# Sub-modules and git-lfs.


@pytest.fixture
def with_submodule(user: Path, tmp_path: Path, bench: Bench) -> Bench:
    library = new_repository(tmp_path / "library")
    git(user, "submodule", "--quiet", "add", str(library), "lib")
    git(user, "commit", "-q", "-m", "library")
    return bench


def fill_submodule(worktree: Worktree) -> Path:
    git(worktree.path, "submodule", "--quiet", "update", "--init")
    return Path(worktree.path) / "lib"


def test_submodules_are_empty_in_a_worktree_and_that_is_said(with_submodule):
    assert any("sub-modules are empty" in note for note in with_submodule.repository.notes)
    worktree = with_submodule.make()
    assert list((Path(worktree.path) / "lib").iterdir()) == []
    with_submodule.worktrees.remove(worktree, branch=True)
    whole_life(with_submodule)


def test_a_filled_submodule_that_is_as_it_was_fetched_is_not_saved(with_submodule):
    worktree = with_submodule.make()
    fill_submodule(worktree)
    assert with_submodule.worktrees.save(worktree, "crew", "1", "nothing") is None
    with_submodule.worktrees.remove(worktree, branch=True)
    assert with_submodule.worktrees.saved(worktree.common) == []


@pytest.mark.parametrize("change", ["dirty", "untracked", "committed", "committed elsewhere", "stashed"])
def test_work_in_a_submodule_is_saved_with_its_history(with_submodule, tmp_path, change):
    worktree = with_submodule.make()
    lib = fill_submodule(worktree)
    if change == "untracked":
        (lib / "new.txt").write_text("precious\n")
    else:
        (lib / "a.txt").write_text("precious\n")
    if change.startswith("committed"):
        git(lib, "commit", "-q", "-a", "-m", "precious commit")
    if change == "committed elsewhere":
        git(lib, "branch", "aside")
        git(lib, "reset", "-q", "--hard", "HEAD~1")
    if change == "stashed":
        git(lib, "stash", "push", "-q")
    with_submodule.worktrees.remove(worktree, branch=True)
    (saved,) = with_submodule.worktrees.saved(worktree.common)
    assert saved.dirty == ["lib"]
    files = with_submodule.saved_files(saved.commit, tmp_path / "out")
    if change in ("dirty", "untracked", "committed"):
        assert b"precious\n" in files.values()
    log = git(tmp_path / "out" / "lib", "--git-dir=.git", "--work-tree=.", "log", "--all", "-m", "-p")
    assert ("+precious" in log) == (change not in ("dirty", "untracked"))


def test_a_commit_takes_the_new_commit_of_a_submodule(with_submodule):
    worktree = with_submodule.make()
    lib = fill_submodule(worktree)
    git(lib, "commit", "-q", "--allow-empty", "-m", "on")
    commit = with_submodule.worktrees.commit(worktree, "ann", "library moves on")
    assert git(worktree.path, "rev-parse", f"{commit}:lib") == git(lib, "rev-parse", "HEAD")


LFS = """#!{python}
import sys
data = sys.stdin.buffer.read()
open({log!r}, "a").write(" ".join(sys.argv[1:]) + "\\n")
known = data.startswith(b"pointer ")
sys.stdout.buffer.write(data[8:] if sys.argv[1] == "smudge" and known else data if known else b"pointer " + data)
"""


@pytest.fixture
def lfs(user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of git-lfs, and a small program that stands for it. Its log."""
    log = tmp_path / "lfs.log"
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git-lfs").write_text(LFS.format(python=sys.executable, log=str(log)))
    (programs / "git-lfs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    for key, value in {"clean": "git-lfs clean -- %f", "smudge": "git-lfs smudge -- %f", "required": "true"}.items():
        git(user, "config", f"filter.lfs.{key}", value)
    (user / ".gitattributes").write_text("*.bin filter=lfs\n")
    (user / "big.bin").write_text("large")
    git(user, "add", ".")
    git(user, "commit", "-q", "-m", "lfs")
    assert git(user, "cat-file", "blob", "HEAD:big.bin") == "pointer large"
    log.write_text("")
    return log


def test_files_of_git_lfs_are_real_in_a_worktree_and_pointers_in_commits(bench, lfs):
    assert any("git-lfs" in note for note in bench.repository.notes)
    worktree = bench.make()
    assert (Path(worktree.path) / "big.bin").read_text() == "large"
    (Path(worktree.path) / "big.bin").write_text("larger")
    commit = bench.worktrees.commit(worktree, "ann", "larger")
    assert bench.file(commit, "big.bin") == "pointer larger"
    assert "smudge -- big.bin" in lfs.read_text()
    assert bench.worktrees.save(worktree, "crew", "1", "nothing") is None


def test_what_is_saved_of_git_lfs_is_the_file_itself(bench, lfs, tmp_path):
    worktree = bench.make()
    (Path(worktree.path) / "big.bin").write_text("larger")
    saved = bench.worktrees.save(worktree, "crew", "1", "dirty")
    assert saved is not None
    assert bench.saved_files(saved.commit, tmp_path / "out")["big.bin"] == b"larger"


def test_without_the_program_the_pointers_are_checked_out(bench, lfs, monkeypatch):
    monkeypatch.setenv("PATH", os.environ["PATH"].partition(os.pathsep)[2])
    if shutil.which("git-lfs"):
        pytest.skip("this machine has git-lfs")
    worktree = bench.make()
    assert (Path(worktree.path) / "big.bin").read_text() == "pointer large"
    assert any("filters that do not run here: lfs" in note for note in bench.repository.notes)
    bench.worktrees.remove(worktree, branch=True)
    whole_life(bench)


# Names.


@pytest.mark.parametrize("name", ["a..b", "a.", "x.lock", "a+b", "Zoë", "a b", "a~b", "-a", "%", "@{", "ann'; ls"])
def test_every_name_has_a_branch_and_a_folder(bench, name):
    worktree = bench.make(team=name, task=name, agent=name)
    (Path(worktree.path) / "x").write_text("x")
    assert bench.worktrees.commit(worktree, name, name) != worktree.base
    (Path(worktree.path) / "y").write_text("y")
    (found,) = bench.worktrees.left(name)
    assert found.branch == worktree.branch
    bench.worktrees.remove(found, branch=True)
    assert len(bench.worktrees.saved(worktree.common, name)) == 1
    assert bench.branches() == ["main"]


def test_a_branch_called_atm_is_in_the_way_and_the_answer_says_what_to_do(user, bench):
    git(user, "branch", "atm")
    with pytest.raises(RequestError, match="'atm' is in the way") as caught:
        bench.make()
    assert "git branch -m atm" in caught.value.remedy


@pytest.mark.parametrize(("branch", "ignores_case"), [("Atm", True), ("ATM/work", True), ("atm/work/crew", False)])
def test_so_is_one_in_other_letters_where_case_does_not_count(user, bench, branch, ignores_case):
    git(user, "config", "core.ignoreCase", str(ignores_case).lower())
    git(user, "branch", branch)
    with pytest.raises(RequestError, match="in the way"):
        bench.make()


@pytest.mark.parametrize("branch", ["atm/work/crew/1-ann/old", "atm/work/crew/1-Ann"])
def test_a_branch_below_ours_or_of_our_name_in_other_letters_gives_ours_a_number(user, bench, branch):
    git(user, "branch", branch)
    worktree = bench.make()
    assert worktree.branch == "atm/work/crew/1-ann-2"
    bench.worktrees.remove(worktree, branch=True)
    assert branch in bench.branches()


def test_a_branch_that_the_user_has_checked_out_is_neither_reset_nor_deleted(user, bench, tmp_path):
    worktree = bench.make()
    (Path(worktree.path) / "x").write_text("x")
    bench.worktrees.commit(worktree, "ann", "work")
    bench.worktrees.remove(worktree, branch=False)
    git(user, "worktree", "add", "-q", str(tmp_path / "mine"), worktree.branch)
    second = bench.make()
    assert second.branch == f"{worktree.branch}-2"
    bench.worktrees.remove(second, branch=True)
    bench.worktrees.remove(worktree, branch=True)
    assert bench.branches() == [worktree.branch, "main"]
    assert git(tmp_path / "mine", "status", "--porcelain", "--branch") == f"## {worktree.branch}"


# Half gone.


def take_the_folder(bench: Bench, worktree: Worktree) -> None:
    subprocess.run(["rm", "-rf", worktree.path], check=True)


def take_the_notes(bench: Bench, worktree: Worktree) -> None:
    subprocess.run(["rm", "-rf", str(notes_of(bench, worktree))], check=True)


def take_both(bench: Bench, worktree: Worktree) -> None:
    take_the_folder(bench, worktree)
    take_the_notes(bench, worktree)


def take_the_pointer(bench: Bench, worktree: Worktree) -> None:
    (Path(worktree.path) / ".git").unlink()


def lead_the_pointer_astray(bench: Bench, worktree: Worktree) -> None:
    (Path(worktree.path) / ".git").write_text(f"gitdir: {bench.folder}/.git\n")


def begin_anew(bench: Bench, worktree: Worktree) -> None:
    (Path(worktree.path) / ".git").unlink()
    git(worktree.path, "init", "-q")
    git(worktree.path, "commit", "-q", "--allow-empty", "-m", "another repository")


def break_the_index(bench: Bench, worktree: Worktree) -> None:
    (notes_of(bench, worktree) / "index").write_bytes(b"nonsense")


def take_the_index(bench: Bench, worktree: Worktree) -> None:
    (notes_of(bench, worktree) / "index").unlink()


def leave_locks(bench: Bench, worktree: Worktree) -> None:
    for name in ("index.lock", "HEAD.lock"):
        (notes_of(bench, worktree) / name).write_text("")


def take_the_head(bench: Bench, worktree: Worktree) -> None:
    (notes_of(bench, worktree) / "HEAD").write_text("")


def take_the_branch(bench: Bench, worktree: Worktree) -> None:
    git(bench.folder, "update-ref", "-d", f"refs/heads/{worktree.branch}")


def take_the_record(bench: Bench, worktree: Worktree) -> None:
    (notes_of(bench, worktree) / "atm-worktree").unlink()


def lock_it(bench: Bench, worktree: Worktree) -> None:
    git(bench.folder, "worktree", "unlock", worktree.path)
    git(bench.folder, "worktree", "lock", "--reason", "the user's own", worktree.path)


DAMAGES = [
    *(take_the_folder, take_the_notes, take_both, take_the_pointer, lead_the_pointer_astray, begin_anew),
    *(break_the_index, take_the_index, leave_locks, take_the_head, take_the_branch, take_the_record, lock_it),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_one_that_is_half_gone_can_be_removed_and_what_was_in_it_is_saved(bench, damage):
    worktree = bench.make()
    folder = Path(worktree.path)
    (folder / "a.txt").write_text("precious change\n")
    (folder / "new.txt").write_text("precious file\n")
    damage(bench, worktree)
    was_there = folder.exists()
    for found in bench.worktrees.left("crew"):
        assert (found.path, found.branch) == (worktree.path, worktree.branch)
    bench.worktrees.remove(worktree, branch=True)
    assert not folder.exists()
    assert bench.worktrees.left("crew") == []
    assert git(bench.folder, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert bench.branches() == ["main"]
    commits = [one.commit for one in bench.worktrees.saved(worktree.common)]
    assert len(commits) == was_there
    for commit in commits:
        assert bench.file(commit, "a.txt") == "precious change"
        assert bench.file(commit, "new.txt") == "precious file"


@pytest.mark.parametrize("damage", DAMAGES)
def test_or_made_anew(bench, damage):
    worktree = bench.make()
    folder = Path(worktree.path)
    (folder / "new.txt").write_text("precious file\n")
    damage(bench, worktree)
    was_there = folder.exists()
    again = bench.make()
    assert again.path == worktree.path
    assert (folder / "a.txt").read_text() == "one and a half\n"
    assert git(folder, "symbolic-ref", "--short", "HEAD") == again.branch
    kept = [bench.file(one.commit, "new.txt") for one in bench.worktrees.saved(worktree.common)]
    is_taken_over = (folder / "new.txt").exists()
    assert (["precious file"] if was_there and not is_taken_over else []) == kept
    bench.worktrees.remove(again, branch=True)
    assert bench.branches() == ["main"]


def test_what_was_staged_in_a_folder_that_is_gone_is_saved(bench):
    worktree = bench.make()
    (Path(worktree.path) / "new.txt").write_text("precious file\n")
    git(worktree.path, "add", "new.txt")
    take_the_folder(bench, worktree)
    bench.worktrees.remove(worktree, branch=True)
    (saved,) = bench.worktrees.saved(worktree.common)
    assert (saved.dirty, bench.file(saved.commit, "new.txt")) == (["new.txt"], "precious file")


def test_a_link_in_the_place_of_a_worktree_is_removed_and_not_followed(bench, tmp_path):
    worktree = bench.make()
    take_the_folder(bench, worktree)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "x").write_text("x")
    Path(worktree.path).symlink_to(tmp_path / "theirs")
    bench.worktrees.remove(worktree, branch=True)
    assert not Path(worktree.path).is_symlink()
    assert (tmp_path / "theirs" / "x").read_text() == "x"


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may do everything")
def test_folders_without_rights_are_saved_and_removed(bench):
    worktree = bench.make()
    folder = Path(worktree.path) / "closed"
    folder.mkdir()
    (folder / "x").write_text("precious")
    (folder / "x").chmod(0o000)
    folder.chmod(0o000)
    bench.worktrees.remove(worktree, branch=True)
    (saved,) = bench.worktrees.saved(worktree.common)
    assert bench.file(saved.commit, "closed/x") == "precious"
    assert not folder.exists()


def test_where_the_repository_is_gone_nothing_is_deleted(bench, user):
    worktree = bench.make()
    subprocess.run(["rm", "-rf", str(user)], check=True)
    with pytest.raises(DiskError, match="is gone"):
        bench.worktrees.remove(worktree, branch=True)
    assert (Path(worktree.path) / "a.txt").exists()
    subprocess.run(["rm", "-rf", worktree.path], check=True)
    bench.worktrees.remove(worktree, branch=True)
    assert bench.worktrees.left("crew") == []


@pytest.mark.parametrize(
    "path", ["{user}", "{user}/src", "{state}/worktrees", "{state}/worktrees/k/t", "/", "", "{up}"]
)
def test_only_what_lies_where_we_make_worktrees_is_ever_removed(bench, layout, path):
    given = path.format(user=bench.folder, state=layout.state_root, up=f"{layout.worktrees}/k/../1-a")
    fake = Worktree(path=given, branch="main", base="", common=bench.repository.common)
    with pytest.raises(BadName):
        bench.worktrees.remove(fake, branch=True)
    assert bench.branches() == ["main"]
    assert (bench.folder / "src" / "b.txt").exists()


def test_nobody_s_prune_takes_a_worktree_of_ours(user, bench):
    worktree = bench.make()
    assert "atm: 1-ann of crew" in git(user, "worktree", "list", "--porcelain")
    Path(worktree.path).rename(f"{worktree.path}-away")
    git(user, "worktree", "prune", "--expire=now")
    Path(f"{worktree.path}-away").rename(worktree.path)
    assert git(worktree.path, "status", "--porcelain") == ""


def test_a_worktree_that_cannot_be_filled_leaves_nothing(user, bench, monkeypatch):
    (user / ".worktreeinclude").write_text("*.log\n")
    for number in range(4):
        (user / f"{number}.log").write_text("x")
    monkeypatch.setattr(included, "MOST_FILES", 3)
    with pytest.raises(RequestError, match="asks for 4 files"):
        bench.make()
    assert bench.branches() == ["main"]
    assert bench.worktrees.left("crew") == []
    assert git(user, "worktree", "list").count("\n") == 0


def test_one_whose_commit_is_damaged_leaves_nothing_either(user, bench):
    blob = git(user, "rev-parse", "HEAD:a.txt")
    path = user / ".git" / "objects" / blob[:2] / blob[2:]
    data = path.read_bytes()
    path.unlink()
    with pytest.raises(GitTrouble):
        bench.make()
    assert bench.branches() == ["main"]
    assert bench.worktrees.left("crew") == []
    path.write_bytes(data)


# Committing.


def test_a_commit_keeps_modes_links_and_odd_names(bench):
    worktree = bench.make()
    folder = Path(worktree.path)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("/etc/passwd")
    (folder / 'new\nline\t"q"').write_text("odd")
    (folder / ":(exclude)x").write_text("magic")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe")).write_text("bytes")
    (folder / "a.txt").unlink()
    (folder / "a.txt").mkdir()
    (folder / "a.txt" / "inner").write_text("a file became a folder")
    commit = bench.worktrees.commit(worktree, "ann", "")
    listed = git(bench.folder, "ls-tree", "-r", "-z", commit)
    assert "100755" in listed
    assert "120000" in listed
    assert {*bench.paths(commit)} == {
        *(".gitignore", "src/b.txt", "run.sh", "link", 'new\nline\t"q"', ":(exclude)x", "a.txt/inner"),
        os.fsdecode(b"\xff\xfe"),
    }
    assert git(worktree.path, "status", "--porcelain") == ""
    assert git(bench.folder, "log", "-1", "--format=%s", commit) == "work"


def test_a_repository_inside_stays_untracked(bench):
    worktree = bench.make()
    inner = Path(worktree.path) / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "x").write_text("x")
    (Path(worktree.path) / "y").write_text("y")
    commit = bench.worktrees.commit(worktree, "ann", "work")
    assert "y" in bench.paths(commit)
    assert [path for path in bench.paths(commit) if path.startswith("inner")] == []
    assert bench.worktrees.commit(worktree, "ann", "nothing new") == commit


def conflict(worktree: Worktree) -> None:
    git(worktree.path, "checkout", "-q", "-b", "other", "HEAD~1")
    (Path(worktree.path) / "a.txt").write_text("theirs\n")
    git(worktree.path, "commit", "-q", "-a", "-m", "theirs")
    git(worktree.path, "checkout", "-q", worktree.branch)
    git(worktree.path, "merge", "-q", "other", check=False)


def test_conflicts_are_not_committed(bench):
    worktree = bench.make()
    conflict(worktree)
    with pytest.raises(RequestError, match=r"not resolved: a\.txt"):
        bench.worktrees.commit(worktree, "ann", "merge")
    git(bench.folder, "branch", "-D", "-q", "other")


def test_a_merge_that_was_resolved_is_finished(bench):
    worktree = bench.make()
    conflict(worktree)
    (Path(worktree.path) / "a.txt").write_text("both\n")
    git(worktree.path, "add", "a.txt")
    commit = bench.worktrees.commit(worktree, "ann", "merge")
    parents = git(bench.folder, "log", "-1", "--format=%P", commit).split()
    assert parents == [worktree.base, git(bench.folder, "rev-parse", "other")]
    assert git(worktree.path, "status", "--porcelain", "--branch") == f"## {worktree.branch}"
    assert not (notes_of(bench, worktree) / "MERGE_HEAD").exists()
    git(bench.folder, "branch", "-D", "-q", "other")


def test_a_rebase_is_not_disturbed(bench):
    worktree = bench.make()
    conflict(worktree)
    git(worktree.path, "merge", "--abort")
    git(worktree.path, "rebase", "other", check=False)
    with pytest.raises(RequestError, match="rebase"):
        bench.worktrees.commit(worktree, "ann", "work")
    git(worktree.path, "rebase", "--abort")
    git(bench.folder, "branch", "-D", "-q", "other")


def test_the_user_s_branch_is_not_moved_even_if_an_agent_is_on_it(user, bench):
    worktree = bench.make()
    git(worktree.path, "checkout", "-q", "--ignore-other-worktrees", "main")
    (Path(worktree.path) / "x").write_text("x")
    commit = bench.worktrees.commit(worktree, "ann", "work")
    assert git(user, "rev-parse", "main") == worktree.base
    assert git(user, "rev-parse", worktree.branch) == commit
    assert git(worktree.path, "symbolic-ref", "--short", "HEAD") == worktree.branch


def test_work_on_a_detached_head_comes_to_the_branch(user, bench):
    worktree = bench.make()
    git(worktree.path, "checkout", "-q", "--detach")
    git(worktree.path, "commit", "-q", "--allow-empty", "-m", "on no branch")
    (Path(worktree.path) / "x").write_text("x")
    commit = bench.worktrees.commit(worktree, "ann", "work")
    assert git(user, "rev-parse", worktree.branch) == commit
    assert git(user, "log", "--format=%s", "-2", commit) == "work\non no branch"


def test_but_not_where_the_branch_has_gone_another_way(user, bench):
    worktree = bench.make()
    git(worktree.path, "commit", "-q", "--allow-empty", "-m", "on the branch")
    tip = git(user, "rev-parse", worktree.branch)
    git(worktree.path, "checkout", "-q", "--detach", "HEAD~1")
    (Path(worktree.path) / "x").write_text("x")
    commit = bench.worktrees.commit(worktree, "ann", "work")
    assert git(user, "rev-parse", worktree.branch) == tip
    assert git(worktree.path, "rev-parse", "HEAD") == commit
    bench.worktrees.remove(worktree, branch=False)
    (saved,) = bench.worktrees.saved(worktree.common)
    assert git(user, "merge-base", "--is-ancestor", commit, saved.commit) == ""


def test_git_that_is_at_work_there_is_waited_for_and_not_for_ever(bench, monkeypatch):
    worktree = bench.make()
    (Path(worktree.path) / "x").write_text("x")
    lock = notes_of(bench, worktree) / "index.lock"
    monkeypatch.setattr(running, "TRIES", 3)
    with lock.open("w"), pytest.raises(GitTrouble, match=r"index\.lock") as caught:
        bench.worktrees.commit(worktree, "ann", "work")
    assert "remove the lock" in caught.value.remedy
    lock.unlink()
    assert bench.worktrees.commit(worktree, "ann", "work") != worktree.base


# `.worktreeinclude`.


def test_files_that_git_does_not_have_are_copied_if_the_list_says_so(user, bench):
    (user / ".worktreeinclude").write_text("# secrets\n.env\nlocal/*\n!local/not.txt\n*.txt\n")
    (user / ".env").write_text("KEY=1")
    (user / ".env").chmod(0o600)
    (user / "local").mkdir()
    (user / "local" / "run").write_text("#!/bin/sh\n")
    (user / "local" / "run").chmod(0o755)
    (user / "local" / "not.txt").write_text("no")
    (user / "other.log").write_text("ignored, and not asked for")
    worktree = bench.make()
    folder = Path(worktree.path)
    assert (folder / ".env").read_text() == "KEY=1"
    assert os.access(folder / "local" / "run", os.X_OK)
    assert not (folder / "other.log").exists()
    assert (folder / "a.txt").read_text() == "one and a half\n"
    assert not (folder / ".worktreeinclude").exists()  # it is not committed


def test_what_was_copied_is_committed_and_saved_only_if_it_was_changed(user, bench):
    (user / ".worktreeinclude").write_text("local.json\n")
    (user / "local.json").write_text("{}")
    worktree = bench.make()
    assert bench.worktrees.commit(worktree, "ann", "nothing") == worktree.base
    assert bench.worktrees.save(worktree, "crew", "1", "nothing") is None
    (Path(worktree.path) / "local.json").write_text("{1}")
    saved = bench.worktrees.save(worktree, "crew", "1", "changed")
    assert saved is not None
    assert saved.untracked == ["local.json"]


def test_the_list_leads_nowhere_else(user, bench, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    (user / ".worktreeinclude").write_text("*\n/../secret/key\n../secret/*\n.git/config\n.git\n")
    (user / "link").symlink_to(secret / "key")
    (user / "folder").symlink_to(secret)
    (user / "pipe.log").write_text("")
    os.mkfifo(user / "fifo.log")
    inner = user / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "x").write_text("of another repository")
    worktree = bench.make()
    found = {path.name for path in Path(worktree.path).rglob("*")}
    assert found == {".git", ".gitignore", ".worktreeinclude", "a.txt", "src", "b.txt", "pipe.log"}
    assert (Path(worktree.path) / ".git").is_file()


def test_nor_does_a_link_that_the_commit_brings(user, bench, tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    (user / "conf").symlink_to(target)
    git(user, "add", "conf")
    git(user, "commit", "-q", "-m", "a link")
    (user / "conf").unlink()
    (user / "conf").mkdir()
    (user / "conf" / "authorized_keys").write_text("evil")
    (user / ".worktreeinclude").write_text("authorized_keys\n")
    bench.make()
    assert list(target.iterdir()) == []


def test_a_list_that_is_a_link_is_none(user, bench, tmp_path):
    (tmp_path / "list").write_text("*.log\n")
    (user / ".worktreeinclude").symlink_to(tmp_path / "list")
    (user / "x.log").write_text("x")
    assert not (Path(bench.make().path) / "x.log").exists()


def test_there_is_an_end_to_how_much_is_copied(user, bench, monkeypatch):
    (user / ".worktreeinclude").write_text("*.log\n")
    (user / "x.log").write_text("x" * 100)
    monkeypatch.setattr(included, "MOST_BYTES", 99)
    with pytest.raises(RequestError, match="asks for 1 files"):
        bench.make()


# Many at once.

MAKE = """
import sys
from atm.files.adapters.machine import find_layout
from atm.wiring.crew import build_worktrees
worktrees = build_worktrees(find_layout({"ATM_HOME": sys.argv[1]}))
repository = worktrees.repository(sys.argv[2])
for turn in ("a", "b"):
    made = worktrees.make(repository, "crew", sys.argv[3], turn)
    open(made.path + "/work.txt", "w").write(sys.argv[3])
    worktrees.commit(made, turn, "work")
    if turn == "a":
        worktrees.remove(made, branch=True)
print(made.branch)
"""


def test_ten_processes_make_worktrees_of_one_repository_at_once(bench, home):
    words = [sys.executable, "-c", MAKE, str(home), str(bench.folder)]
    before = Users(bench.folder).look()
    running_now = [
        subprocess.Popen([*words, str(number)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ})
        for number in range(10)
    ]
    said = [process.communicate(timeout=300) for process in running_now]
    assert [process.returncode for process in running_now] == [0] * 10, said
    assert sorted(out.decode().strip() for out, _ in said) == [f"atm/work/crew/{number}-b" for number in range(10)]
    assert len(bench.worktrees.left("crew")) == 10
    assert len(bench.worktrees.saved(bench.repository.common)) == 10
    assert git(bench.folder, "fsck", "--strict", "--no-dangling") == ""
    assert Users(bench.folder).look() == before


def test_what_another_process_has_just_removed_is_no_obstacle(bench, monkeypatch):
    """The list of a folder may name a record that is gone when it is read."""
    bench.make()
    disk = type(bench.worktrees._disk)
    names = disk.names
    monkeypatch.setattr(disk, "names", lambda self, folder: [*names(self, folder), ".known-gone"])
    made = bench.worktrees.make(bench.repository, "crew", "8", "bob")
    assert Path(made.path, ".git").exists()


def test_two_that_want_the_same_one_get_it(bench, home):
    words = [sys.executable, "-c", MAKE.replace('"a", "b"', '"b"'), str(home), str(bench.folder), "1"]
    racing = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    said = [process.communicate(timeout=300) for process in racing]
    assert [process.returncode for process in racing] == [0] * 3, said
    assert {out.decode().strip() for out, _ in said} == {"atm/work/crew/1-b"}
    assert len(bench.worktrees.left("crew")) == 1

"""Where a repository is, as its own files tell, is what git says; and nothing that it names is run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.crew.repositories import alone, git

from atm.team.adapters.repositories import RepositoriesOnDisk
from atm.team.rules.repositories import CUT_OFF, GONE, MISSING, PRESENT, UNKNOWN

DISK = RepositoriesOnDisk()


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    alone(monkeypatch, tmp_path)
    folder = tmp_path / "top"
    git(tmp_path, "init", "-q", str(tmp_path / "main"))
    git(tmp_path / "main", "commit", "-q", "--allow-empty", "-m", "first")
    git(tmp_path / "main", "commit", "-q", "--allow-empty", "-m", "second")
    folder.mkdir()
    return folder


def every_kind(top: Path) -> list[Path]:
    """A repository, a folder in it, a linked worktree, a clone of another folder, a sub-module, one kept apart."""
    main = top.parent / "main"
    (main / "deep" / "er").mkdir(parents=True)
    git(main, "worktree", "add", "-q", str(top / "linked"))
    git(top, "clone", "-q", str(main), "clone")
    git(top / "clone", "submodule", "--quiet", "add", str(main), "lib")
    git(top, "clone", "-q", "--bare", str(main), "bare.git")
    git(top / "bare.git", "worktree", "add", "-q", str(top / "of-bare"))
    git(top, "init", "-q", "--separate-git-dir", str(top / "store"), "apart")
    return [
        main,
        main / "deep" / "er",
        top / "linked",
        top / "clone",
        top / "clone/lib",
        top / "of-bare",
        top / "apart",
    ]


def test_it_finds_the_git_folder_that_git_names(top: Path) -> None:
    for folder in every_kind(top):
        found = DISK.around(str(folder))
        assert found is not None
        said = git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
        assert found.common_dir == os.path.realpath(said), folder
        assert found.root == git(folder, "rev-parse", "--show-toplevel")
        status = Path(said).stat()
        assert found.place == (status.st_dev, status.st_ino)
        assert found.is_linked == (folder.name in ("linked", "of-bare"))


def test_a_bare_repository_has_no_working_tree(top: Path) -> None:
    git(top, "clone", "-q", "--bare", str(top.parent / "main"), "bare.git")
    found = DISK.around(str(top / "bare.git"))
    assert found is not None
    assert (found.common_dir, found.root) == (str(top / "bare.git"), "")


def test_what_is_no_repository_is_none(top: Path) -> None:
    for number, text in enumerate((b"", b"gitdir: /nowhere", b"gitdir: \0", b"\xff" * 20_000, b"not a pointer")):
        folder = top / str(number)
        folder.mkdir()
        (folder / ".git").write_bytes(text)
        assert DISK.around(str(folder)) is None
    empty = top / "empty"
    (empty / ".git").mkdir(parents=True)
    assert DISK.around(str(empty)) is None
    pipe = top / "pipe"
    pipe.mkdir()
    os.mkfifo(pipe / ".git")
    assert DISK.around(str(pipe)) is None
    assert DISK.around("a\0b") is None
    assert DISK.look(str(top / "nowhere")) == GONE


def test_a_root_commit_is_the_first_of_its_own_history(top: Path) -> None:
    main = top.parent / "main"
    root = git(main, "rev-list", "--max-parents=0", "HEAD")
    assert DISK.root_commit(f"{main}/.git") == root
    other = top / "other"
    git(top, "init", "-q", str(other))
    assert DISK.root_commit(f"{other}/.git") is None
    git(other, "commit", "-q", "--allow-empty", "-m", "other")
    own = git(other, "rev-parse", "HEAD")
    git(other, "fetch", "-q", str(main), "HEAD")
    git(other, "merge", "-q", "--allow-unrelated-histories", "-m", "both", "FETCH_HEAD")
    assert DISK.root_commit(f"{other}/.git") == own
    assert DISK.find_commit(f"{other}/.git", root) == PRESENT
    assert DISK.find_commit(f"{main}/.git", own) == MISSING


def test_a_shallow_clone_proves_nothing(top: Path) -> None:
    main = top.parent / "main"
    git(top, "clone", "-q", "--depth", "1", f"file://{main}", "shallow")
    common = f"{top}/shallow/.git"
    root = git(main, "rev-list", "--max-parents=0", "HEAD")
    assert DISK.root_commit(common) is None
    assert DISK.find_commit(common, root) == CUT_OFF
    assert DISK.find_commit(common, git(main, "rev-parse", "HEAD")) == PRESENT
    shutil.rmtree(top / "shallow")
    assert DISK.find_commit(common, root) == UNKNOWN


def test_the_commit_that_is_checked_out_is_known_as_soon_as_there_is_one(top: Path) -> None:
    main = top.parent / "main"
    git(top, "clone", "-q", "--depth", "1", f"file://{main}", "shallow")
    git(top, "init", "-q", "empty")
    last = git(main, "rev-parse", "HEAD")
    assert [DISK.head_commit(f"{folder}/.git") for folder in (main, top / "shallow", top / "empty", top / "none")] == [
        last,
        last,
        None,
        None,
    ]


def test_a_replaced_commit_is_not_the_root(top: Path) -> None:
    main = top.parent / "main"
    root, last = git(main, "rev-list", "--max-parents=0", "HEAD"), git(main, "rev-parse", "HEAD")
    git(main, "replace", "--graft", last)
    assert DISK.root_commit(f"{main}/.git") == root

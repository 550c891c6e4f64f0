"""Repositories as users have them, made by git itself; and a look that sees whether anything of the user's changed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from atm.crew.ports.worktrees import Repository, Worktree, Worktrees
from atm.files.formats.layout import Layout
from atm.wiring.crew import build_worktrees

WHO = ("-c", "user.name=Uma User", "-c", "user.email=uma@example.org", "-c", "init.defaultBranch=main")
ALLOWED = ("-c", "protocol.file.allow=always")
GIT = shutil.which("git") or "git"
"""Itself, whatever a test does to the PATH."""


def git(folder: Path | str, *words: str, check: bool = True) -> str:
    """Git as the user or an agent types it."""
    done = subprocess.run([GIT, *WHO, *ALLOWED, *words], cwd=folder, check=False, capture_output=True)
    if check:
        assert done.returncode == 0, f"git {words}: {done.stderr.decode()}"
    return os.fsdecode(done.stdout).strip("\n")


def alone(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Git as on a machine where nobody has set anything up."""
    for key in [key for key in os.environ if key.startswith("GIT_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def copy_of(make: Callable[[Path], object], folder: Path) -> Path:
    """
    A repository as `make` makes it. Git makes it once for all tests of this runner; nothing in it says where it lies.
    """
    folders, files = _made_by(make)
    for name in folders:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, (mode, data) in files.items():
        number = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(number, "wb") as file:
            file.write(data)
    git(folder, "update-index", "-q", "--refresh")  # it has the times of the files in it
    return folder


@cache
def _made_by(make: Callable[[Path], object]) -> tuple[list[str], dict[str, tuple[int, bytes]]]:
    """Its folders, and its files with their modes; without git's samples of hooks."""
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        alone(patch, Path(place))
        root = Path(place) / "r"
        root.mkdir()
        make(root)
        paths = [path for path in root.rglob("*") if path.suffix != ".sample"]
        folders = [str(path.relative_to(root)) for path in paths if path.is_dir()]
        files = {
            str(path.relative_to(root)): (path.stat().st_mode, path.read_bytes()) for path in paths if path.is_file()
        }
    return ["", *folders], files


def new_repository(folder: Path, *words: str) -> Path:
    """Two files, one of them in a folder, and an ignored one; two commits."""
    if words:
        folder.mkdir(parents=True)
        _begin(folder, *words)
        return folder
    return copy_of(_begin, folder)


def _begin(folder: Path, *words: str) -> None:
    git(folder, "init", "-q", *words)
    (folder / "a.txt").write_text("one\n")
    (folder / "src").mkdir()
    (folder / "src" / "b.txt").write_text("two\n")
    (folder / ".gitignore").write_text("*.log\n.env\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    (folder / "a.txt").write_text("one and a half\n")
    git(folder, "commit", "-q", "-a", "-m", "second")


class Users:
    """Everything of the user's in a repository, to be compared: files, index, HEAD, branch, stash, settings, hooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def look(self) -> dict[str, str]:
        seen = {str(path.relative_to(self.folder)): _digest(path) for path in self._paths()}
        branches = git(
            self.folder, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags", "refs/stash"
        )
        seen["refs"] = "\n".join(line for line in branches.split("\n") if "refs/heads/atm/" not in line)
        seen["status"] = git(self.folder, "--no-optional-locks", "status", "--porcelain", "--ignored", check=False)
        return seen

    def _paths(self) -> list[Path]:
        own = [path for path in self.folder.rglob("*") if ".git" not in path.relative_to(self.folder).parts]
        inner = [
            self.folder / ".git" / name
            for name in ("HEAD", "index", "config", "info/exclude", "MERGE_HEAD", "logs/refs/stash")
        ]
        return sorted(path for path in (*own, *inner) if path.is_symlink() or path.is_file())


def _digest(path: Path) -> str:
    data = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
    return hashlib.sha256(data).hexdigest() + oct(path.lstat().st_mode)


class Bench:
    """A user's repository, and the worktrees of a team `crew`."""

    def __init__(self, folder: Path, layout: Layout) -> None:
        self.folder = folder
        self.layout = layout
        self.worktrees: Worktrees = build_worktrees(layout)

    @property
    def repository(self) -> Repository:
        found = self.worktrees.repository(str(self.folder))
        assert found is not None
        return found

    def make(
        self, task: str = "1", agent: str = "ann", base: str = "", team: str = "crew", **more: list[str]
    ) -> Worktree:
        return self.worktrees.make(self.repository, team, task, agent, base, **more)

    def branches(self) -> list[str]:
        return git(self.folder, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").split()

    def file(self, commit: str, path: str) -> str:
        return git(self.folder, "cat-file", "blob", f"{commit}:{path}")

    def paths(self, commit: str) -> list[str]:
        said = git(self.folder, "ls-tree", "-r", "-z", "--name-only", commit)
        return [path for path in said.split("\0") if path]

    def saved_files(self, commit: str, folder: Path) -> dict[str, bytes]:
        """What a restore brings back, links as what they say."""
        (found,) = [one for one in self.worktrees.saved(self.repository.common) if one.commit == commit]
        self.worktrees.restore(found, str(folder))
        return {
            os.fsdecode(os.path.relpath(os.fsencode(path), os.fsencode(folder))): _bytes(path)
            for path in folder.rglob("*")
            if path.is_symlink() or path.is_file()
        }


def _bytes(path: Path) -> bytes:
    return os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()


def reachable(folder: Path) -> bytes:
    """All that some ref leads to: every commit, tree and file."""
    listed = git(folder, "rev-list", "--objects", "--no-object-names", "--glob=refs/*")
    done = subprocess.run(
        [GIT, "cat-file", "--batch"], cwd=folder, input=listed.encode(), capture_output=True, check=True
    )
    return done.stdout

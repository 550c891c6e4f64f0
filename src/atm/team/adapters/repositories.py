"""
Repositories on disk: implements `team.ports.repositories.Repositories`.

Where a repository is, its own small files tell; git is started only for its history.
"""

from __future__ import annotations

import os

from atm.team.rules.repositories import CUT_OFF, GONE, MISSING, PRESENT, UNKNOWN, UNREADABLE, RepositoryHere

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.team.rules.repositories import Place

SECONDS = 20.0
"""For a question about history; a first parent is followed to the end."""

LARGEST = 8192


class RepositoriesOnDisk:
    """Looks at `.git`, as a folder or as the file of a worktree or a sub-module."""

    def around(self, folder: str) -> RepositoryHere | None:
        if "\0" in folder:
            return None
        at = os.path.realpath(folder)
        while True:
            found = _in(at)
            if found is not None:
                return found
            above = os.path.dirname(at)
            if above == at:
                return None
            at = above

    def look(self, folder: str) -> Place:
        try:
            found = os.stat(folder)
        except (FileNotFoundError, NotADirectoryError):
            return GONE
        except (OSError, ValueError):
            return UNREADABLE
        return found.st_dev, found.st_ino

    def root_commit(self, common_dir: str) -> str | None:
        if self._is_shallow(common_dir):
            return None
        said = self._ask(common_dir, "rev-list", "--first-parent", "--max-parents=0", "HEAD", "--")
        return said.split()[-1] if said else None

    def head_commit(self, common_dir: str) -> str | None:
        return self._ask(common_dir, "rev-parse", "--verify", "--quiet", "HEAD^{commit}") or None

    def find_commit(self, common_dir: str, commit: str) -> str:
        if self._ask(common_dir, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
            return PRESENT
        if not self._ask(common_dir, "rev-parse", "--git-dir"):
            return UNKNOWN
        return CUT_OFF if self._is_shallow(common_dir) else MISSING

    def _is_shallow(self, common_dir: str) -> bool:
        return os.path.exists(f"{common_dir}/shallow")

    def _ask(self, common_dir: str, *words: str) -> str:
        """Empty if git does not say. It may name a commit only by its real history: replacements count for nothing."""
        from atm.git.adapters.asking import start_git

        where = (f"--git-dir={common_dir}", "--no-replace-objects")
        done = start_git("/", *where, *words, seconds=SECONDS)
        return done.out.decode("utf-8", "replace").strip() if done.code == 0 else ""


def _in(folder: str) -> RepositoryHere | None:
    """The repository whose working tree, or bare folder, this is."""
    git = f"{folder}/.git"
    if os.path.isdir(git):
        return _made(git, root=folder) if _is_git_folder(git) else None
    if os.path.isfile(git):
        notes = _pointed(git, folder)
        if not notes or not os.path.isdir(notes):
            return None
        common = _line(f"{notes}/commondir")
        path = os.path.join(notes, common) if common else notes
        return _made(path, root=folder, is_linked=bool(common)) if _is_git_folder(path) else None
    return _made(folder) if _is_git_folder(folder) else None


def _made(common: str, *, root: str = "", is_linked: bool = False) -> RepositoryHere | None:
    path = os.path.realpath(common)
    try:
        found = os.stat(path)
    except OSError:
        return None
    return RepositoryHere(path, (found.st_dev, found.st_ino), root=root, is_linked=is_linked)


def _is_git_folder(path: str) -> bool:
    """As git itself tells: an empty `.git` is none."""
    return all(os.path.lexists(f"{path}/{name}") for name in ("HEAD", "objects", "refs"))


def _pointed(file: str, folder: str) -> str:
    said = _line(file)
    return os.path.join(folder, said.removeprefix("gitdir:").strip()) if said.startswith("gitdir:") else ""


def _line(path: str) -> str:
    if not os.path.isfile(path):  # a pipe would be waited for
        return ""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(LARGEST)
    except (OSError, ValueError):
        return ""
    return "" if "\0" in text else text.strip("\n")

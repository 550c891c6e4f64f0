"""Merging by git: implements `merges.ports.MergeGit`."""

from __future__ import annotations

import os
import re

from atm.crew.adapters.kept_work import keep_once
from atm.crew.formats.salvage_note import SalvageNote
from atm.crew.ports.worktrees import JoinedWork
from atm.crew.rules.refs import encode
from atm.files.adapters.refusals import explained
from atm.git.adapters import checkouts, merging
from atm.git.adapters.commits import UNMERGED, CommitAuthor
from atm.git.adapters.joining import merge_trees
from atm.git.adapters.remembering import ConflictMemory
from atm.git.adapters.running import LONG, Git, names_in, refusal
from atm.git.adapters.salvage import US
from atm.merges.rules.items import MERGE, REBASE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.crew.ports.worktrees import Repository, Saved, Worktree
    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk
    from atm.merges.ports import MergePiece

PATIENT = 60.0
LONGEST_PREVIEWED = 64 << 10
MARKERS = (b"<<<<<<< ", b">>>>>>> ")


class GitMerging:
    """Of any repository."""

    def __init__(self, disk: Disk, clock: Clock, locks: Locks, layout: Layout) -> None:
        self._disk = disk
        self._clock = clock
        self._locks = locks
        self._layout = layout

    def _git(self, repository: Repository) -> Git:
        return Git(git_dir=repository.common, sleep=self._clock.sleep)

    # The target.

    def head(self, repository: Repository, branch: str) -> str:
        return self._git(repository).commit_of(f"refs/heads/{branch}")

    def open_target(self, repository: Repository, branch: str, base: str) -> str:
        with explained(repository.common):
            return merging.open_target(self._git(repository), branch, base)

    def land(self, repository: Repository, branch: str, commit: str, former: str) -> bool:
        with explained(repository.common):
            return merging.land(self._git(repository), branch, commit, former)

    def contains(self, repository: Repository, branch: str, commit: str) -> bool:
        return merging.is_in(self._git(repository), commit, f"refs/heads/{branch}")

    # Making commits.

    def combine(self, repository: Repository, piece: MergePiece, onto: str) -> JoinedWork:
        git = self._git(repository)
        if merging.is_in(git, piece.head, onto):
            return JoinedWork(onto)  # and not its head: the target would be moved back to that
        if _follows(git, piece, onto):
            return JoinedWork(piece.head)
        if piece.strategy == REBASE and (made := merging.replay(git, piece.base, onto, piece.head)):
            return JoinedWork(made)
        if piece.strategy == MERGE:
            tree, conflicts = merge_trees(git, onto, piece.head)
        else:
            tree, conflicts = merging.merge_whole(git, piece.base, onto, piece.head)
        return JoinedWork("", conflicts) if conflicts else JoinedWork(self._made(git, piece, onto, tree))

    def seal(self, repository: Repository, piece: MergePiece, onto: str, resolved: str) -> str:
        """Also where nothing of it was kept: the commit says what was lost."""
        git = self._git(repository)
        return self._commit(git, piece, onto, merging.tree_of(git, resolved))

    def _made(self, git: Git, piece: MergePiece, onto: str, tree: str) -> str:
        """One commit, but for what is there already."""
        is_there = piece.strategy != MERGE and tree == merging.tree_of(git, onto)
        return onto if is_there else self._commit(git, piece, onto, tree)

    def _commit(self, git: Git, piece: MergePiece, onto: str, tree: str) -> str:
        author = CommitAuthor(piece.agent or "atm", f"{encode(piece.agent or 'atm')}@atm.invalid")
        parents = [onto, piece.head] if piece.strategy == MERGE else [onto]
        return merging.make(git, tree, parents, piece.message, author)

    # Looking.

    def changed(self, repository: Repository, base: str, head: str) -> list[str]:
        return merging.changed_paths(self._git(repository), base, head)

    def diff(self, repository: Repository, base: str, head: str, paths: Sequence[str] = (), context: int = 3) -> str:
        return merging.patch(self._git(repository), base, head, paths, context)

    def would_conflict(self, repository: Repository, base: str, onto: str, head: str) -> list[str]:
        return merging.merge_whole(self._git(repository), base, onto, head)[1]

    def same_in(self, repository: Repository, one: str, other: str, paths: Sequence[str]) -> list[str]:
        different = {*merging.changed_paths(self._git(repository), one, other)}
        return [path for path in paths if path not in different]

    # Resolving.

    def side(self, repository: Repository, piece: MergePiece, onto: str) -> str:
        return onto if piece.strategy == MERGE else merging.as_seen_from(self._git(repository), piece.base, onto)

    def begin(self, place: Worktree, head: str) -> list[str]:
        with explained(place.path), self._locks.private(place.path, PATIENT):
            notes, git = self._there(place)
            if not os.path.exists(f"{notes}/MERGE_HEAD"):
                how = ("--no-ff", "--no-commit", "--no-edit", "--no-verify-signatures", "--quiet", "-s", "ort")
                done = git.run("merge", *how, head, facts=US, seconds=LONG)  # the user may have no name here
                if done.code not in (0, 1):
                    raise refusal(("merge", *how), done, place.path)
            with self._locks.private(self._memory_folder(place), PATIENT):
                self._memory(place).recall(notes, place.path)
            return self._open(git, place, head)

    def settle(self, place: Worktree, head: str) -> list[str]:
        with explained(place.path), self._locks.private(place.path, PATIENT):
            notes, git = self._there(place)
            left = self._open(git, place, head)
            is_begun = os.path.exists(f"{notes}/MERGE_HEAD")
            if left or not (is_begun or merging.is_in(git, head, "HEAD")):
                return left or ["(the merge was taken back)"]
            with self._locks.private(self._memory_folder(place), PATIENT):
                self._memory(place).learn(notes, place.path)
            done = "".join(f"{path}\0" for path in _unmerged(git))
            if done:
                git.need("update-index", "--add", "--remove", "-z", "--stdin", stdin=os.fsencode(done))
            return []

    def _there(self, place: Worktree) -> tuple[str, Git]:
        notes = checkouts.folder_of_notes(place.common, place.path)
        return notes, Git(git_dir=notes, work_tree=place.path, common=place.common, sleep=self._clock.sleep)

    def _memory_folder(self, place: Worktree) -> str:
        key = place.path.removeprefix(f"{self._layout.worktrees}/").partition("/")[0]
        return f"{self._layout.state_root}/merges/{key}"

    def _memory(self, place: Worktree) -> ConflictMemory:
        folder = self._memory_folder(place)
        for name in ("objects", "refs"):
            self._disk.make_folders(f"{folder}/{name}", private=True)
        return ConflictMemory(folder, place.common, self._clock.sleep)

    def _open(self, git: Git, place: Worktree, head: str) -> list[str]:
        """
        Files that nobody has resolved. One in which git put marks is, when these are gone; one in which it could put
        none (a picture, a link, a file that one side deleted) only when somebody has staged it. Staged or committed
        with the marks of this very merge, a file is not resolved either.
        """
        left = _marked(git, place.base, head)
        for path in _unmerged(git):
            file = f"{git.work_tree}/{path}"
            was = git.run("cat-file", "blob", f"AUTO_MERGE:{path}").out
            if not os.path.lexists(file):
                is_done = bool(was)
            else:
                is_done = _has_marks(was) and os.path.isfile(file) and not _has_marks(_bytes(file))
            if not is_done and path not in left:
                left.append(path)
        return left

    def preview(self, place: Worktree, path: str) -> str:
        file = f"{place.path}/{path}"
        if os.path.islink(file) or not os.path.isfile(file):
            return ""
        data = _bytes(file)[:LONGEST_PREVIEWED]
        return "" if b"\0" in data else data.decode("utf-8", "replace")

    # Checking and keeping.

    def stand(self, place: Worktree, commit: str) -> None:
        with explained(place.path), self._locks.private(place.path, PATIENT):
            _, git = self._there(place)
            git.need("reset", "--hard", "--quiet", "--no-recurse-submodules", commit, seconds=LONG)
            git.need("clean", "-ffdq", seconds=LONG)

    def keep(self, repository: Repository, team: str, task: str, commit: str, why: str) -> Saved:
        git = self._git(repository)
        note = SalvageNote(why=why, base=git.ask("merge-base", commit, "HEAD"), dirty=[], untracked=[])
        tree = merging.tree_of(git, commit)
        return keep_once(git, team, task, note, tree=tree, parents=[commit], now=self._clock.now())


def _follows(git: Git, piece: MergePiece, onto: str) -> bool:
    """
    Does the work stand on just this commit already? Then it is what it shall be; also a merge that was resolved. Not if
    it began with work that is not there, and was left out.
    """
    if piece.strategy == REBASE:
        return merging.is_in(git, onto, piece.head) and merging.is_in(git, piece.base, onto)
    return (
        piece.strategy == MERGE
        and git.ask("rev-parse", "--verify", "--quiet", f"{piece.head}^2^0") != ""
        and (git.commit_of(f"{piece.head}^1") == onto)
    )


def _unmerged(git: Git) -> list[str]:
    words = ("status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames")
    return [line[3:] for line in names_in(git.need(*words, seconds=LONG)) if line[:2] in UNMERGED]


def _marked(git: Git, base: str, head: str) -> list[str]:
    """Files with a mark that names what is merged: no text about merging has that by chance."""
    if not base:
        return []
    words = ("diff-index", "-z", "--name-only", "--no-renames", "--diff-filter=d", base, "--")
    mark = re.compile(rb"^>{7,} " + head.encode() + rb"\r?$", re.MULTILINE)
    changed = [path for path in names_in(git.need(*words, seconds=LONG)) if _is_plain(f"{git.work_tree}/{path}")]
    return [path for path in changed if mark.search(_bytes(f"{git.work_tree}/{path}"))]


def _is_plain(file: str) -> bool:
    return os.path.isfile(file) and not os.path.islink(file)


def _has_marks(data: bytes) -> bool:
    lines = data.split(b"\n")
    return all(any(line.startswith(mark) for line in lines) for mark in MARKERS)


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()

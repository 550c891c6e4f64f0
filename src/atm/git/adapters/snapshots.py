"""
Snapshots: a working tree as one tree object, made beside it.

With an index of its own: what is staged, HEAD, the stash and the files stay as they are, in whatever state they are.
Files are kept byte for byte: no filter runs, so none can fail or change anything. Repositories inside the tree are kept
as plain files, their git folders too, under a name that git accepts (see `plain_files`).
"""

from __future__ import annotations

import os

from atm.core.work_errors import GitTrouble
from atm.git.adapters.changes import Beginning, Looking, write_private
from atm.git.adapters.plain_files import TreeEntry, entries_below, entry_of, escaped
from atm.git.adapters.running import LONG, Git, names_in, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REPOSITORY = "160000"
"""The mode of a sub-module in a tree."""

DURABLE = {
    "core.fsync": "committed,loose-object,reference",  # what follows may delete the files
    "core.checkStat": "default",  # a change is a change, however well it is hidden
    "core.trustctime": "true",
    "core.protectNTFS": "false",  # a file called `a\b` is kept too
    "core.protectHFS": "false",
}


class Snapshot:
    """What a working tree held."""

    __slots__ = ("dirty", "staged", "tree", "untracked")

    def __init__(self, tree: str, staged: str, dirty: Sequence[str], untracked: Sequence[str]) -> None:
        self.tree = tree
        self.staged = staged
        """The tree that was staged; empty if it cannot be told, as in the middle of a merge."""
        self.dirty = [*dirty]
        self.untracked = [*untracked]

    @property
    def is_clean(self) -> bool:
        return not self.dirty and not self.untracked


def take(git: Git, scratch: str, known: Beginning) -> Snapshot:
    """The working tree of `git`, or what is staged, if its folder is gone. `scratch`: an empty folder of ours."""
    return _Taking(git, scratch, known).take()


class _Taking(Looking):
    """One snapshot on its way."""

    def __init__(self, git: Git, scratch: str, known: Beginning) -> None:
        root = git.work_tree if os.path.isdir(git.work_tree) else ""  # git cannot stand where nothing is
        durable = git.with_more(DURABLE, root)
        super().__init__(durable, scratch, known, {"GIT_INDEX_FILE": f"{scratch}/index"})
        self._in_conflict: dict[str, str] = {}
        """Sub-modules of which a merge could not tell the commit, and one of the two. No look at files shows these."""

    def take(self) -> Snapshot:
        self._begin()
        staged = self._staged_tree()
        if not self.root:
            return Snapshot(staged or self._head_tree(), staged, self._staged_paths(staged), [])
        submodules = self._look_behind_flags()
        dirty, untracked = self.changes()
        nested = [path for path in untracked if path.endswith("/")]
        entries = [each for path in (*dirty, *untracked) if (each := entry_of(f"{self.root}/{path}", path))]
        dirty += [path for path in self._in_conflict if path not in dirty]
        for path, commit in submodules.items():
            if not self._is_elsewhere(path, commit):
                dirty.append(path)
                entries.append(TreeEntry.gone(path))
                nested.append(f"{path}/")
        entries += [each for path in nested for each in self._nested(path.rstrip("/"))]
        own = f"{self.root}/.git"
        if (
            os.path.isdir(own)
            and not os.path.islink(own)
            and os.path.realpath(own) != os.path.realpath(self.git.git_dir)
        ):
            # somebody made another repository in the place of ours
            entries += entries_below(f"{self.root}/.git", ".git")
            untracked.append(".git/")
        self._enter(entries)
        return Snapshot(self.need("write-tree", "--missing-ok").strip(), staged, dirty, untracked)

    # The index.

    def _begin(self) -> None:
        """
        A copy, for what it knows about unchanged files. One that is missing or broken is made from the commit.

        The copy is as old as the index: git looks into files that were changed in the second in which the index was
        written, or later. Into a younger copy's it would not look, and a change of the same length would be lost.
        """
        copy = f"{self.scratch}/index"
        try:
            if not os.path.isfile(self.known.index):
                raise FileNotFoundError(self.known.index)
            with open(self.known.index, "rb") as file:
                data, facts = file.read(), os.fstat(file.fileno())
        except OSError:
            data = b""
        if data:
            write_private(copy, data)
            os.utime(copy, ns=(facts.st_mtime_ns, facts.st_mtime_ns))
            if self.git.run("ls-files", "-s", "-z", facts=self.facts, seconds=LONG).code == 0:
                return
            os.unlink(copy)
        if self.known.head:
            self.need("read-tree", self.known.head)

    def _staged_tree(self) -> str:
        done = self.git.run("write-tree", "--missing-ok", facts=self.facts, seconds=LONG)
        return text_of(done.out).strip() if done.code == 0 else ""

    def _head_tree(self) -> str:
        return self.need("rev-parse", "--verify", f"{self.known.head}^{{tree}}").strip()

    def _staged_paths(self, staged: str) -> list[str]:
        if not staged or not self.known.head or self.known.is_half_made:
            return []
        return names_in(self.need("diff-tree", "-r", "-z", "--name-only", "--no-renames", self.known.head, staged))

    def _look_behind_flags(self) -> dict[str, str]:
        """
        Sub-modules and their commits. On the way, flags that hide changes are taken off in our index: a file that is
        marked as unchanged, and one that should not be there and is.
        """
        unchanged, unwanted, submodules = [], [], {}
        for line in names_in(self.need("ls-files", "-v", "-s", "-z")):
            facts, _, path = line.partition("\t")
            flag, mode, commit, stage = facts.split(" ")
            if flag.islower():
                unchanged.append(path)
            if flag in "Ss" and os.path.lexists(f"{self.root}/{path}"):
                unwanted.append(path)
            if mode == REPOSITORY:
                submodules[path] = commit
                if stage != "0":
                    self._in_conflict[path] = commit
        for flag, paths in (("--no-assume-unchanged", unchanged), ("--no-skip-worktree", unwanted)):
            if paths:
                self.need("update-index", flag, "-z", "--stdin", stdin=_joined(paths))
        return submodules

    # Repositories in it.

    def _is_elsewhere(self, path: str, commit: str) -> bool:
        """Is a sub-module as its commit says, and does it hold nothing that was not fetched?"""
        folder = git_folder(f"{self.root}/{path}")
        if not folder:
            return True  # not there, as in every new worktree
        if not _lies_in(folder, (self.root, self.git.git_dir, self.git.common or self.git.git_dir)):
            return False  # an agent wrote where it is: no git runs in a repository that is none of ours
        inner = Git(git_dir=folder, work_tree=f"{self.root}/{path}", sleep=self.git.sleep)
        try:
            status = inner.need("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty")
            own = inner.need("rev-list", "-n1", "--all", "--not", "--remotes", "--tags", commit)
            listed = names_in(inner.need("ls-files", "-s", "-z"))
        except GitTrouble:
            return False
        deeper = [line.partition("\t")[2] for line in listed if line.startswith(REPOSITORY)]
        if any(git_folder(f"{self.root}/{path}/{each}") for each in deeper):
            return False  # nobody has looked into these
        return not status and not own.strip() and inner.commit_of("HEAD") == commit

    def _nested(self, path: str) -> Iterator[TreeEntry]:
        """A repository as plain files: what it does not ignore, and its git folder if that goes with the tree."""
        folder = f"{self.root}/{path}"
        inner = Git(git_dir=self.git.git_dir, work_tree=folder, common=self.git.common, sleep=self.git.sleep)
        facts = {"GIT_INDEX_FILE": f"{self.scratch}/none"}
        for name in names_in(inner.need("ls-files", "-o", "-z", "--exclude-standard", facts=facts, seconds=LONG)):
            if name.endswith("/"):
                yield from self._nested(f"{path}/{name}".rstrip("/"))
            elif (entry := entry_of(f"{folder}/{name}", f"{path}/{name}")) is not None:
                yield entry
        own = git_folder(folder)
        if own and _lies_in(own, (self.root, self.git.git_dir)):
            yield from entries_below(own, f"{path}/.git")

    # Into the index.

    def _enter(self, entries: Sequence[TreeEntry]) -> None:
        nothing = "0" * (len(self.known.head) or 40)
        lines = [f"{REPOSITORY} {commit}\t{path}" for path, commit in self._in_conflict.items()]
        lines += [f"0 {nothing}\t{entry.path}" for entry in entries if not entry.mode]
        wanted = {escaped(entry.path, entry.mode): entry for entry in entries if entry.mode}
        modes = {entry.path: (entry.mode, path) for path, entry in wanted.items()}
        for path, found in self.objects([*wanted.values()]):
            mode, name = modes[path]
            lines.append(f"{mode} {found}\t{name}")
        if lines:
            self.need("update-index", "-z", "--replace", "--index-info", stdin=_joined(lines))


def git_folder(folder: str) -> str:
    """The git folder of a repository in a folder: it lies there, or a small file says where; empty if there is none."""
    path = f"{folder}/.git"
    if os.path.isfile(path):
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            path = os.path.join(folder, file.read(4096).removeprefix("gitdir:").strip())
    return os.path.realpath(path) if os.path.isdir(path) else ""


def _lies_in(path: str, folders: Sequence[str]) -> bool:
    return any(f"{path}/".startswith(f"{os.path.realpath(folder)}/") for folder in folders)


def _joined(words: Sequence[str]) -> bytes:
    return os.fsencode("".join(f"{word}\0" for word in words))

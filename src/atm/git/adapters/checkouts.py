"""
Checkouts: the repository that a folder belongs to, and worktrees of it that are ours.

The user's working tree, index, HEAD and checked-out branch are looked at and never touched. Git is told where things
lie instead of finding them: what an agent writes into its worktree leads nowhere else.
"""

from __future__ import annotations

import os

from atm.core.errors import RequestError
from atm.core.work_errors import ForeignFile, GitTrouble
from atm.git.adapters.running import LONG, Git, refusal, switched_off, text_of
from atm.git.adapters.snapshots import git_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atm.git.adapters.asking import GitOutput

NOT_HERE = ("not a git repository", "cannot change to", "No such file or directory: 'git'", "Not a directory: 'git'")
NOT_OURS = "dubious ownership"
BARE = "cannot use bare repository"


class Checkout:
    """The repository that a folder belongs to."""

    __slots__ = ("branch", "common", "git", "git_dir", "head", "root")

    def __init__(self, git: Git, *, root: str, git_dir: str, common: str) -> None:
        self.git = git
        self.root = root
        """Empty for a bare one."""
        self.git_dir = git_dir
        self.common = common
        self.head = git.commit_of("HEAD")
        self.branch = git.ask("symbolic-ref", "--quiet", "--short", "HEAD")


def find(folder: str, sleep: Callable[[float], None]) -> Checkout | None:
    """None where there is no repository, or git is not there."""
    git = Git(folder, sleep=sleep)
    words = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    try:
        done = git.run(*words)
    except GitTrouble as error:
        return _explained(str(error), folder, sleep)
    if done.code != 0:
        return _explained(text_of(done.errors), folder, sleep)
    root, git_dir, common = text_of(done.out).rstrip("\n").split("\n")
    return Checkout(git, root=root, git_dir=git_dir, common=os.path.realpath(common))


def _explained(said: str, folder: str, sleep: Callable[[float], None]) -> Checkout | None:
    if any(word in said for word in NOT_HERE):
        return None
    if NOT_OURS in said:
        at = said.partition(" at '")[2].partition("'")[0] or folder
        remedy = f"if you trust it: git config --global --add safe.directory {at}"
        raise ForeignFile(f"the repository {at} belongs to another user", remedy, at)
    if BARE in said or "must be run in a work tree" in said:
        return _bare(said, folder, sleep)
    raise GitTrouble(f"git cannot use {folder}: {said.strip()}", "mend that, and try again", folder)


def _bare(said: str, folder: str, sleep: Callable[[float], None]) -> Checkout | None:
    """A bare repository, if it is not one that lies as plain files in another: that may be a trap."""
    at = os.path.realpath(said.partition(f"{BARE} '")[2].partition("'")[0] or folder)
    above = at
    while above != os.path.dirname(above):
        if os.path.lexists(f"{above}/.git") or os.path.basename(above) == ".git":
            raise RequestError(f"{folder} is no working tree", "go to the folder with the files", folder)
        above = os.path.dirname(above)
    if hasattr(os, "geteuid") and os.stat(at).st_uid != os.geteuid():
        raise ForeignFile(f"the repository {at} belongs to another user", "work in a clone of your own", at)
    return Checkout(Git(git_dir=at, sleep=sleep), root="", git_dir=at, common=at)


def notes_on(place: Checkout) -> list[str]:
    """What somebody should know who works in a copy of it."""
    git = place.git
    notes = []
    if not place.head:
        notes.append("there is no commit yet, so there is nothing to make a worktree from")
    elif not place.branch:
        notes.append("no branch is checked out: worktrees begin with the commit that is")
    if place.root and (count := _count_changes(git)):
        notes.append(f"not committed, and so not in worktrees: changed or new files, {count} of them")
    if git.ask("rev-parse", "--is-shallow-repository") == "true":
        notes.append("the clone is shallow: older history is not there")
    if git.is_on("core.sparsecheckout"):
        notes.append("the checkout is sparse: worktrees have the same folders")
    if place.head and git.ask("rev-parse", "--verify", "--quiet", f"{place.head}:.gitmodules"):
        notes.append("sub-modules are empty in a worktree; fill them with `git submodule update --init`")
    if place.head and "filter=lfs" in git.ask("cat-file", "blob", f"{place.head}:.gitattributes"):
        notes.append("files of git-lfs that are not on this machine stay pointers; `git lfs pull` fetches them")
    if off := switched_off(git.settings):
        notes.append(f"filters that do not run here: {', '.join(off)}")
    return notes


def _count_changes(git: Git) -> int:
    words = ("status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames")
    done = git.run(*words, seconds=LONG)
    return done.out.count(b"\0") if done.code == 0 else 0


# Worktrees.


def folder_of_notes(common: str, path: str) -> str:
    """Where git keeps what it knows of a worktree; empty if it knows none there. Not asked of the worktree itself."""
    for notes, at in worktrees_of(common):
        if at == path or at == os.path.realpath(path):
            return notes
    return ""


def worktrees_of(common: str) -> Iterator[tuple[str, str]]:
    """Git's folder of notes on each worktree, and where that lies, or lay."""
    parent = f"{common}/worktrees"
    for name in sorted(os.listdir(parent)) if os.path.isdir(parent) else []:
        notes = f"{parent}/{name}"
        try:
            if not os.path.isfile(f"{notes}/gitdir"):
                continue  # half made, or half gone
            with open(f"{notes}/gitdir", encoding="utf-8", errors="surrogateescape") as file:
                pointer = file.read(8192).strip()
        except OSError:
            continue
        if pointer:
            yield notes, os.path.normpath(os.path.join(notes, pointer)).removesuffix("/.git")


def stands_at(notes: str, common: str, commit: str) -> bool:
    """Does git's own file say plainly that HEAD is this commit? If not, git has to be asked: it may be there too."""
    said = _line(f"{notes}/HEAD")
    return bool(commit) and commit == (_line(f"{common}/{said[5:]}") if said.startswith("ref: ") else said)


def _line(path: str) -> str:
    if not os.path.isfile(path):  # a pipe would be waited for
        return ""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(4096).strip()
    except (OSError, ValueError):
        return ""


def is_whole(notes: str, path: str, common: str) -> bool:
    """Do both sides know each other, and is there a commit?"""
    if os.path.islink(path) or not notes or git_folder(path) != os.path.realpath(notes):
        return False
    return bool(Git(git_dir=notes, work_tree=path, common=common).commit_of("HEAD"))


def add(place_git: Git, path: str, branch: str, base: str, *, reason: str) -> None:
    """Git's notes and the branch; no files yet. Locked, so that nobody's `git worktree prune` takes it."""
    words = ("worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", reason)
    done = place_git.run(*words, "--no-track", "-b", branch, path, base, seconds=LONG)
    if (
        done.code != 0
        and "already exists" in text_of(done.errors)
        and place_git.commit_of(f"refs/heads/{branch}") == base
    ):
        # Where another git is at work the first try may have made the branch, and no more.
        done = place_git.run(*words, path, branch, seconds=LONG)
    if done.code != 0:
        raise refusal(words, done, path)


def fill(notes: str, path: str, common: str, sleep: Callable[[float], None]) -> None:
    """The files of its commit. Only for one that is new and empty."""
    git = Git(git_dir=notes, work_tree=path, common=common, sleep=sleep)
    git.need("reset", "--hard", "--quiet", "--no-recurse-submodules", seconds=LONG)


def go_on(git: Git, commit: str, *, is_saved: bool) -> None:
    """
    To the commits of that work. Of saved work the last one is no commit of its agent's: its files lie there as changes.
    Neither step writes over anything.
    """
    git.need("reset", "--keep", "--quiet", f"{commit}^1" if is_saved else commit, seconds=LONG)
    if is_saved:
        git.need("read-tree", "-m", "-u", "HEAD", commit, seconds=LONG)


def take_off_the_list(common: str, path: str, sleep: Callable[[float], None]) -> GitOutput:
    """Git's own way to remove a worktree, also a locked one. It refuses if half of it is gone."""
    return Git(git_dir=common, sleep=sleep).run("worktree", "remove", "--force", "--force", path, seconds=LONG)


# Branches.


def branches(git: Git) -> list[str]:
    return git.need("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").split("\n")[:-1]


def where_checked_out(git: Git, branch: str) -> str:
    """The worktree that is on a branch; empty if none is."""
    for block in git.need("worktree", "list", "--porcelain").split("\n\n"):
        lines = block.strip("\n").split("\n")
        if f"branch refs/heads/{branch}" in lines:
            return lines[0].removeprefix("worktree ")
    return ""


def has_own_commits(git: Git, branch: str, base: str = "") -> bool:
    """Has it commits that no other branch or tag has? Those up to `base` are not of its own; salvage is no branch."""
    others = (f"--exclude=refs/heads/{branch}", "--exclude=refs/atm/*", "--glob=refs/*")
    known = [base] if base and git.commit_of(base) else []
    return bool(git.need("rev-list", "-n1", f"refs/heads/{branch}", "--not", *known, *others, "--").strip())


def delete_branch(git: Git, branch: str, commit: str) -> None:
    """If it is still at that commit. Whoever calls this has made sure that nothing becomes unreachable."""
    git.need("update-ref", "--no-deref", "-d", f"refs/heads/{branch}", commit)

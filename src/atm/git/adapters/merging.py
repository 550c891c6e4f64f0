"""
Merging by git alone: trees are joined and commits made without any working tree, and a branch is moved only from the
commit that it was at. No hook runs, nothing is signed.
"""

from __future__ import annotations

from atm.core.errors import RequestError
from atm.core.untrusted_text import shell_word
from atm.core.work_errors import GitTrouble, commit_gone
from atm.git.adapters.checkouts import branches, where_checked_out
from atm.git.adapters.commits import CommitAuthor, idents
from atm.git.adapters.joining import join, merge_trees
from atm.git.adapters.running import LONG, Git, names_in, refusal, text_of
from atm.git.adapters.salvage import US, commit_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_REPLAYED = 200
"""Commits of one task that are put onto the target one by one. More come as one."""

FIELDS = "%H%x00%T%x00%P%x00%an%x00%ae%x00%ad%x00%B%x00"
WHY = ("-m", "atm merge")
ELSEWHERE = ("cannot lock ref", "reference already exists")


class OwnCommit:
    """One commit of a task's own."""

    __slots__ = ("author", "date", "id", "message", "parents", "tree")

    def __init__(self, id: str, tree: str, parents: Sequence[str], author: CommitAuthor, date: str, text: str) -> None:
        self.id = id
        self.tree = tree
        self.parents = [*parents]
        self.author = author
        self.date = date
        self.message = text


def tree_of(git: Git, commit: str) -> str:
    found = git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}")
    if not found:
        raise commit_gone(commit, git.git_dir)
    return found


def is_in(git: Git, commit: str, other: str) -> bool:
    return bool(commit and other) and git.run("merge-base", "--is-ancestor", commit, other).code == 0


def as_seen_from(git: Git, base: str, onto: str) -> str:
    """
    The files of `onto` as a commit that comes right after `base`: merged with it, a task's own changes count from its
    base on, whatever else lies between the two. (git can be told a base since 2.40; this every git can.)
    """
    return onto if onto == base else commit_tree(git, tree_of(git, onto), [base], "as seen from where the work began")


def merge_whole(git: Git, base: str, onto: str, head: str) -> tuple[str, list[str]]:
    """What came after `base`, onto a commit, as one change."""
    theirs = head if is_in(git, base, head) else commit_tree(git, tree_of(git, head), [base], "the work")
    return merge_trees(git, as_seen_from(git, base, onto), theirs)


def own_commits(git: Git, base: str, head: str) -> list[OwnCommit]:
    """Oldest first."""
    said = git.need("log", "--reverse", "--topo-order", "--date=raw", f"--format={FIELDS}", head, f"^{base}", "--")
    words = said.split("\0")
    found = []
    for begin in range(0, len(words) - 7, 7):
        id, tree, parents, name, email, date, text = words[begin : begin + 7]
        author = CommitAuthor(name or "unknown", email or "unknown@atm.invalid")
        found.append(OwnCommit(id.lstrip("\n"), tree, parents.split(), author, date, text))
    return found


def replay(git: Git, base: str, onto: str, head: str) -> str:
    """The task's commits one after the other on top of `onto`; empty if they cannot be had like that."""
    commits = own_commits(git, base, head)
    if len(commits) > MOST_REPLAYED or not all(len(one.parents) == 1 for one in commits):
        return ""
    now = onto
    for one in commits:
        if one.parents == [now]:
            now = one.id
            continue
        tree, conflicts = merge_trees(git, as_seen_from(git, one.parents[0], now), one.id)
        if conflicts:
            return ""
        if tree != tree_of(git, now):  # what is there already is no commit of its own
            now = make(git, tree, [now], one.message, one.author, one.date)
    return now


def make(git: Git, tree: str, parents: Sequence[str], message: str, author: CommitAuthor, date: str = "") -> str:
    facts = {**idents(git, author), **({"GIT_AUTHOR_DATE": date} if date else {})}
    words = [word for parent in parents for word in ("-p", parent)]
    data = message.replace("\0", "").encode("utf-8", "replace")
    return git.need("commit-tree", "--no-gpg-sign", *words, "-F", "-", tree, stdin=data, facts=facts).strip()


# The target.


def open_target(git: Git, branch: str, base: str) -> str:
    ref = f"refs/heads/{branch}"
    # With --branch git also refuses what it would read as another name, as `git branch` does.
    is_option = branch.startswith("-") or branch == "HEAD"
    if (
        is_option
        or git.run("check-ref-format", ref).code != 0
        or git.run("check-ref-format", "--branch", branch).code != 0
    ):
        raise RequestError(f"{branch!r} is no name for a branch", "choose another with --into")
    if git.commit_of(f"refs/{branch}"):
        raise RequestError(
            f"{branch!r} is no name for a branch here: git means refs/{branch}", "choose another with --into"
        )
    if git.commit_of(f"refs/tags/{branch}"):
        raise RequestError(f"{branch!r} is a tag, and git would mean the tag by it", "choose another with --into")
    if not git.commit_of(ref) and not move(git, branch, base, ""):
        other = next(
            (one for one in branches(git) if f"{branch}/".startswith(f"{one}/") or one.startswith(f"{branch}/")), ""
        )
        if other and not git.commit_of(ref):
            remedy = f"rename it (git branch -m {shell_word(other)} NEW-NAME), or choose another with --into"
            raise RequestError(f"the branch {other!r} is in the way of {branch!r}: git cannot have both", remedy)
    now = git.commit_of(ref)
    if is_in(git, base, now):
        return now
    commit, conflicts = join(git, [now, base], f"What {branch} and the beginning of the run have")
    if not commit:
        raise GitTrouble(
            f"{branch} and what this run begins with do not go together: {', '.join(conflicts[:5])}",
            "merge them yourself, or choose another target with --into",
        )
    return commit if land(git, branch, commit, now) else open_target(git, branch, base)


def move(git: Git, branch: str, commit: str, former: str) -> bool:
    """If it is at `former`, or is not there and `former` is empty. False if somebody else was quicker."""
    done = git.run(
        "update-ref", "--no-deref", *WHY, f"refs/heads/{branch}", commit, former or "0" * len(commit), facts=US
    )
    if done.code == 0:
        return True
    if any(word in text_of(done.errors) for word in ELSEWHERE):
        return False
    raise refusal(("update-ref",), done)


def land(git: Git, branch: str, commit: str, former: str) -> bool:
    """Where it is checked out, its files move with it, if none of them was changed."""
    if git.commit_of(f"refs/heads/{branch}") != former:
        return False
    path = where_checked_out(git, branch)
    if not path:
        return move(git, branch, commit, former)
    there = Git(path, sleep=git.sleep)
    words = ("status", "--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=all")
    if there.need(*words, seconds=LONG):
        raise RequestError(
            f"{branch} is checked out in {path} with changes that are not committed",
            "commit or stash them, then: atm merge retry",
            path,
        )
    # Git would overwrite ignored files without a word: the user's own, if the work has one of that name.
    how = ("--ff-only", "--no-overwrite-ignore", "--no-verify-signatures", "--quiet", "--no-stat")
    done = there.run("merge", *how, commit, facts=US, seconds=LONG)
    if done.code != 0 and git.commit_of(f"refs/heads/{branch}") == former:
        raise RequestError(
            f"{branch} is checked out in {path}, and git cannot move it on: {text_of(done.errors).strip()[:300]}",
            "mend that, then: atm merge retry",
            path,
        )
    return done.code == 0


# Looking.


def changed_paths(git: Git, base: str, head: str) -> list[str]:
    need_commits(git, base, head)
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, head)
    return names_in(git.need(*words, seconds=LONG))


def need_commits(git: Git, *commits: str) -> None:
    """Raises CommitGone for the first that is not there: git's own words name neither the cause nor a way out."""
    for commit in commits:
        if not git.commit_of(commit):
            raise commit_gone(commit, git.git_dir)


def patch(git: Git, base: str, head: str, paths: Sequence[str], context: int) -> str:
    need_commits(git, base, head)
    words = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", f"-U{context}")
    return git.need(
        "diff-tree", "-r", "-p", *words, base, head, "--", *(f":(literal){one}" for one in paths), seconds=LONG
    )

"""Commits: what an agent has done, committed on its branch; and commits that would be lost with a worktree."""

from __future__ import annotations

import os
import re

from atm.core.errors import RequestError
from atm.git.adapters.checkouts import where_checked_out
from atm.git.adapters.running import LONG, Git, names_in, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.git.adapters.changes import Looking

HALF_REBASED = ("rebase-merge", "rebase-apply")
MERGING = ("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE")
UNMERGED = ("DD", "AU", "UD", "UA", "DU", "AA", "UU")
ID = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
MOST_IDS = 20_000
PASSING_REFS = ("refs/bisect", "refs/worktree", "refs/rewritten")
"""Refs that belong to one worktree and go with it."""


class CommitAuthor:
    """Whose work it is."""

    __slots__ = ("email", "name")

    def __init__(self, name: str, email: str) -> None:
        self.name = name
        self.email = email


def commit_all(looking: Looking, branch: str, author: CommitAuthor, message: str) -> str:
    """
    All that is dirty or untracked as one commit; the commit that is the head now. No hook runs, nothing is signed.

    Repositories inside the tree stay what they are: untracked. A merge that was begun and resolved is finished.
    """
    git, head = looking.git, looking.known.head
    _check_nothing_is_half_done(looking)
    dirty, untracked = looking.changes(submodules="dirty")
    wanted = [*dirty, *(path for path in untracked if not path.endswith("/"))]
    if wanted:
        data = os.fsencode("".join(f"{path}\0" for path in wanted))
        looking.need("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=data)
    merged = ids_in(f"{git.git_dir}/MERGE_HEAD")
    tree = looking.need("write-tree").strip()
    if not merged and tree == git.ask("rev-parse", "--verify", "--quiet", f"{head}^{{tree}}"):
        return head
    words = [word for parent in (head, *merged) for word in ("-p", parent)]
    data = message.replace("\0", "").encode("utf-8", "replace")
    facts = idents(git, author)
    commit = git.need("commit-tree", "--no-gpg-sign", *words, "-F", "-", tree, stdin=data, facts=facts).strip()
    _move_on(git, branch, head, commit, facts)
    for name in MERGING if merged else ():
        _unlink(f"{git.git_dir}/{name}")
    return commit


def _check_nothing_is_half_done(looking: Looking) -> None:
    path = looking.root
    if any(os.path.isdir(f"{looking.git.git_dir}/{name}") for name in HALF_REBASED):
        raise RequestError("a rebase is not finished there", "`git rebase --continue` or `--abort`", path)
    unmerged = [line[3:] for line in names_in(looking.status("all")) if line[:2] in UNMERGED]
    if unmerged:
        raise RequestError(
            f"conflicts are not resolved: {', '.join(unmerged[:5])}", "resolve them, and `git add`", path
        )


def idents(git: Git, author: CommitAuthor) -> dict[str, str]:
    """The agent as the author; as the committer the user, or the agent where the user has no name."""
    names = {"NAME": author.name, "EMAIL": author.email}
    facts = {f"GIT_AUTHOR_{what}": value for what, value in names.items()}
    known = {
        what: os.environ.get(f"GIT_COMMITTER_{what}")
        or git.setting(f"committer.{what.lower()}")
        or git.setting(f"user.{what.lower()}")
        for what in names
    }
    chosen = known if all(known.values()) else names
    return {**facts, **{f"GIT_COMMITTER_{what}": value for what, value in chosen.items()}}


def _move_on(git: Git, branch: str, head: str, commit: str, facts: dict[str, str]) -> None:
    """
    Our branch, and the worktree's HEAD. Another branch that an agent has checked out there is not moved: it may be the
    user's.
    """
    ours, why = f"refs/heads/{branch}", ("-m", "commit (atm)")
    if git.ask("symbolic-ref", "--quiet", "HEAD") == ours:
        git.need("update-ref", *why, ours, commit, head, facts=facts)
        return
    tip = git.commit_of(ours)
    follows = tip and git.run("merge-base", "--is-ancestor", tip, commit).code == 0
    if follows and not where_checked_out(git, branch):
        git.need("update-ref", *why, ours, commit, tip, facts=facts)
        git.need("symbolic-ref", *why, "HEAD", ours, facts=facts)
    else:
        git.need("update-ref", "--no-deref", *why, "HEAD", commit, head, facts=facts)


# What would be lost.


def lost_tips(common: Git, notes: str, branch: str, base: str, *, keeps_branch: bool) -> list[str]:
    """
    Commits that nothing would lead to any more, if a worktree went, and its branch with it, if that is not kept.

    Also those that only a log of git's or an unfinished merge or rebase leads to. What `base` has is elsewhere.
    """
    found = dict.fromkeys(_mentioned(common, notes, branch, keeps_branch))
    if base:
        found.pop(base, None)
    if not found:
        return []
    others = ["--glob=refs/*"] if keeps_branch else [f"--exclude=refs/heads/{branch}", "--glob=refs/*"]
    known = [base] if base and common.commit_of(base) else []
    asked = "".join(f"{each}\n" for each in [*found][:MOST_IDS]).encode()
    words = ("rev-list", "--ignore-missing", "--parents", "--stdin", "--not", *known, *others, "--")
    rows = [line.split() for line in common.need(*words, stdin=asked, seconds=LONG).splitlines()]
    inner = {parent for row in rows for parent in row[1:]}
    return [row[0] for row in rows if row[0] not in inner]


def _mentioned(common: Git, notes: str, branch: str, keeps_branch: bool) -> Iterator[str]:
    if not keeps_branch:
        yield from filter(None, [common.commit_of(f"refs/heads/{branch}")])
        yield from _logged(common, f"refs/heads/{branch}", f"{common.git_dir}/logs/refs/heads/{branch}")
    if not notes:
        return
    own = Git(git_dir=notes, common=common.git_dir, sleep=common.sleep)
    yield from filter(None, [own.commit_of("HEAD")])
    yield from _logged(own, "HEAD", f"{notes}/logs/HEAD")
    yield from text_of(own.run("for-each-ref", "--format=%(objectname)", *PASSING_REFS).out).split()
    for name in os.listdir(notes):
        if (name.endswith("_HEAD") and name != "FETCH_HEAD") or name == "MERGE_AUTOSTASH":
            yield from ids_in(f"{notes}/{name}")
    for folder in HALF_REBASED:
        for name in ("orig-head", "autostash", "stopped-sha"):
            yield from ids_in(f"{notes}/{folder}/{name}")


def _logged(git: Git, ref: str, path: str) -> list[str]:
    """From the file, or from git where logs are no files."""
    return ids_in(path) or text_of(git.run("rev-list", "-g", "--ignore-missing", ref, "--").out).split()


def ids_in(path: str) -> list[str]:
    """The newest first. Of a regular file: a pipe would be waited for."""
    try:
        if not os.path.isfile(path):
            return []
        with open(path, encoding="utf-8", errors="replace") as file:
            found = ID.findall(file.read())
    except OSError:
        return []
    return [each for each in reversed(found) if set(each) != {"0"}]


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return

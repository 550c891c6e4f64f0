"""
Salvage: work that is kept under a ref of its own, before anything is taken away.

A ref is made only where none was, and taken away only if it is what we saw. Nobody's branch, index, stash or files are
touched.
"""

from __future__ import annotations

import os

from atm.core.work_errors import GitTrouble
from atm.git.adapters.plain_files import FILE, LINK, PROGRAM, unescaped
from atm.git.adapters.running import LONG, Git, names_in, text_of
from atm.git.adapters.snapshots import DURABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

US = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "atm"), ("EMAIL", "atm@atm.invalid"))
}
"""Who keeps it: not the user, who may have no name here, and whose name may be signed."""

LONG_AGO = "@1 +0000"
"""The time of commits that must be the same however often they are made."""

AT_ONCE = 32 << 20
"""Bytes that are fetched from git together."""

FORMAT = "%00".join(("%(refname)", "%(objectname)", "%(objecttype)", "%(tree)", "%(parent)", "%(contents)", ""))


class Salvage:
    """A commit that is kept, and its message."""

    __slots__ = ("commit", "message", "parents", "ref", "tree")

    def __init__(self, *, ref: str, commit: str, tree: str, parents: Sequence[str], message: str) -> None:
        self.ref = ref
        self.commit = commit
        self.tree = tree
        self.parents = [*parents]
        self.message = message


class TreeFile:
    """One file of a tree, with its bytes."""

    __slots__ = ("data", "mode", "path")

    def __init__(self, path: str, mode: str, data: bytes) -> None:
        self.path = path
        self.mode = mode
        self.data = data

    @property
    def is_link(self) -> bool:
        return self.mode == LINK

    @property
    def is_program(self) -> bool:
        return self.mode == PROGRAM


def keep(git: Git, refs: Iterable[str], *, tree: str, parents: Sequence[str], message: str, now: float) -> Salvage:
    """A commit of a tree under the first of `refs` that is free."""
    durable = git.with_more(DURABLE)
    commit = commit_tree(durable, tree, parents, message, when=f"@{int(now)} +0000")
    for ref in refs:
        done = durable.run("update-ref", "--no-deref", ref, commit, "0" * len(commit), facts=US)
        if done.code == 0:
            return Salvage(ref=ref, commit=commit, tree=tree, parents=parents, message=message)
        if "exist" not in text_of(done.errors):
            break
    raise GitTrouble(f"{ref} cannot be made: {text_of(done.errors).strip()}", "see `git for-each-ref refs/atm`")


def commit_tree(git: Git, tree: str, parents: Sequence[str], message: str, *, when: str = LONG_AGO) -> str:
    """A commit of ours that no ref leads to yet."""
    facts = {**US, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    words = [word for parent in parents for word in ("-p", parent)]
    data = message.encode("utf-8", "replace")
    return git.need("commit-tree", "--no-gpg-sign", *words, "-F", "-", tree, stdin=data, facts=facts).strip()


def kept(git: Git, under: str) -> list[Salvage]:
    """All that is kept below a folder of refs. What others put there is passed over."""
    words = git.need("for-each-ref", f"--format={FORMAT}", under).split("\0")
    found = []
    for begin in range(0, len(words) - 6, 6):
        ref, commit, kind, tree, parents, message = words[begin : begin + 6]
        ref = ref.lstrip("\n")
        if kind == "commit" and ref.startswith(under):
            found.append(Salvage(ref=ref, commit=commit, tree=tree, parents=parents.split(), message=message))
    return found


def changes(git: Git, base: str, commit: str) -> str:
    """What a commit has that another has not, as a patch."""
    words = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/")
    return git.need("diff-tree", "-r", "-p", *words, base, commit, "--", seconds=LONG)


def files_of(git: Git, commit: str) -> Iterator[TreeFile]:
    """Its files with their bytes, links last: nothing can be written through one of them."""
    rows = [_row(line) for line in names_in(git.need("ls-tree", "-r", "-l", "-z", "--full-tree", commit))]
    wanted = [row for row in rows if row[0] in (FILE, PROGRAM, LINK)]
    group: list[tuple[str, str, int, str]] = []
    for row in sorted(wanted, key=lambda row: row[0] == LINK):
        if group and sum(each[2] for each in group) + row[2] > AT_ONCE:
            yield from _with_bytes(git, group)
            group = []
        group.append(row)
    if group:
        yield from _with_bytes(git, group)


def _row(line: str) -> tuple[str, str, int, str]:
    """Mode, object, size and path."""
    facts, _, path = line.partition("\t")
    mode, _, found, size = facts.split()
    return mode, found, int(size) if size.isdecimal() else 0, path


def _with_bytes(git: Git, rows: Sequence[tuple[str, str, int, str]]) -> Iterator[TreeFile]:
    asked = "".join(f"{row[1]}\n" for row in rows).encode()
    done = git.run("cat-file", "--batch", stdin=asked, seconds=LONG)
    at = 0
    for mode, found, size, path in rows:
        head, _, _ = done.out[at : at + 200].partition(b"\n")
        if head != f"{found} blob {size}".encode():
            raise GitTrouble(f"{path} is not to be had: {os.fsdecode(head)}", "see `git fsck`")
        at += len(head) + 1
        yield TreeFile(unescaped(path), mode, done.out[at : at + size])
        at += size + 1


def forget(git: Git, ref: str, commit: str) -> None:
    """If it is still that commit."""
    git.need("update-ref", "--no-deref", "-d", ref, commit, facts=US)

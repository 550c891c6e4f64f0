"""
Generated histories of a team: a tree to begin with, and tasks whose branches change it in every way that git knows.

A tree is a dictionary here, so what each task changed is known without asking git. All of a history is written by one
`git fast-import`: thousands of them are made.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import strategies as st
from tests.crew.repositories import GIT

FILE, PROGRAM, LINK, MODULE = "100644", "100755", "120000", "160000"
Entry = tuple[str, bytes]
Tree = dict[str, Entry]
"""Paths with their mode and bytes; of a sub-module its commit."""

LINES = b"".join(b"line %d\n" % number for number in range(1, 13))
POOL: Tree = {
    "a.txt": (FILE, LINES),
    "b.txt": (FILE, LINES.replace(b"line", b"row")),
    "dir/c.txt": (FILE, LINES.replace(b"line", b"verse")),
    "dir/d.txt": (FILE, b"short\n"),
    "dos.txt": (FILE, LINES.replace(b"\n", b"\r\n")),
    "picture": (FILE, bytes(range(256)) * 4),
    "run.sh": (PROGRAM, b"#!/bin/sh\nexit 0\n"),
    "link": (LINK, b"a.txt"),
    "module": (MODULE, b"1" * 40),
    "empty": (FILE, b""),
    'odd \udcff"name': (FILE, LINES),
    ".gitattributes": (FILE, b"dos.txt -text\n*.sh -diff\n"),
}
PATHS = [*POOL, "A.TXT", "dir/new.txt", "new.txt", "dir2/moved.txt", "a.txt/inside", "Dir/c.txt"]
"""Also names that differ in their case alone, and a folder where a file was."""

RED = ("red one", "red two")
"""Each is fine. Both together fail the check."""
CHECK = '! { test -e "red one" && test -e "red two"; }'

_EACH = 'printf "%s\\n" "$ATM_CONFLICTS" | while IFS= read -r path; do '
RESOLVERS = {
    "nobody": "",
    "ours": _EACH + 'git checkout -q --ours -- "$path" && git add -- "$path" || git rm -q --cached -- "$path"; done',
    "theirs": _EACH + 'git checkout -q --theirs -- "$path" && git add -- "$path" || git rm -q -- "$path"; done',
    "stages marks": "git add -A; echo DONE",
    "commits marks": "git add -A; git -c user.name=x -c user.email=x@x commit -q --no-verify -m resolved; true",
    "does nothing": "echo DONE",
    "gives up": "exit 7",
    "breaks the merge off": "git merge --abort",
    "deletes all": "git rm -q -r -f .; true",
}


@dataclass(frozen=True)
class Edit:
    """One commit of a task; `number` and `text` say where and what."""

    kind: str
    path: str
    number: int
    text: str


@dataclass(frozen=True)
class Job:
    """A task: what it does, and the tasks with whose work it begins."""

    edits: tuple[Edit, ...]
    needs: tuple[int, ...] = ()


@dataclass(frozen=True)
class History:
    """All of a team, and how its work is merged."""

    base: tuple[str, ...]
    jobs: tuple[Job, ...]
    strategy: str = "rebase"
    at_once: int = 1
    resolver: str = "nobody"
    is_checked: bool = False
    sends_back: int = 0
    target: str = ""
    """A branch that is there already; empty for the team's own."""
    by_hand: int = -1
    """A task whose work the user has merged into that branch already."""
    rivals: tuple[int, ...] = ()
    """Which of our moves of the target somebody comes before."""
    user: str = "clean"


KINDS = ("line", "line", "line", "append", "add", "delete", "rename", "mode", "binary", "crlf", "link", "module")
EDITS = st.builds(
    Edit,
    kind=st.sampled_from((*KINDS, "nothing", "fork", "red")),
    path=st.sampled_from(PATHS),
    number=st.integers(0, 11),
    text=st.sampled_from(("one", "two", "three")),
)


@st.composite
def histories(draw: st.DrawFn) -> History:
    base = draw(st.lists(st.sampled_from([*POOL]), unique=True, min_size=1))
    jobs = []
    for number in range(draw(st.integers(2, 6))):
        needs = draw(st.lists(st.integers(0, number - 1), unique=True, max_size=2)) if number else []
        edits = draw(st.lists(EDITS, min_size=1, max_size=4))
        jobs.append(Job(tuple(edits), tuple(needs if draw(st.booleans()) else ())))
    return History(
        base=tuple(base),
        jobs=tuple(jobs),
        strategy=draw(st.sampled_from(("rebase", "merge", "squash"))),
        at_once=draw(st.integers(1, 4)),
        resolver=draw(st.sampled_from([*RESOLVERS])),
        is_checked=draw(st.booleans()),
        sends_back=draw(st.integers(0, 1)),
        target=draw(st.sampled_from(("", "", "release"))),
        by_hand=draw(st.integers(-1, 1)),
        rivals=tuple(draw(st.sets(st.integers(0, 5), max_size=2))),
        user=draw(st.sampled_from(("clean", "dirty", "detached"))),
    )


# What edits do to a tree.


def edited(tree: Tree, edit: Edit) -> Tree:
    made, path = dict(tree), edit.path
    mode, data = tree.get(path, (FILE, b""))
    words = edit.text.encode()
    is_text = mode in (FILE, PROGRAM) and b"\0" not in data
    if edit.kind in ("line", "append", "crlf") and path in tree and is_text:
        return {**made, path: (mode, _rewritten(data, edit, words))}
    if edit.kind == "delete":
        made.pop(path, None)
        return made
    if edit.kind == "rename" and path in tree:
        return put(_without(made, path), PATHS[(PATHS.index(path) + edit.number + 1) % len(PATHS)], tree[path])
    if edit.kind == "mode" and mode in (FILE, PROGRAM) and path in tree:
        return {**made, path: (FILE if mode == PROGRAM else PROGRAM, data)}
    if edit.kind == "binary":
        return put(made, path, (FILE, b"\0" + words * 9))
    if edit.kind == "link":
        return put(made, path, (LINK, words))
    if edit.kind == "module":
        return put(made, path if mode == MODULE else "module", (MODULE, b"%x" % (edit.number + 2) * 40))
    if edit.kind == "red":
        return put(made, RED[edit.number % 2], (FILE, words))
    if edit.kind in ("line", "append", "add", "crlf"):
        return put(made, path, (FILE, words + b"\n"))
    return made


def _rewritten(data: bytes, edit: Edit, words: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    if edit.kind == "crlf":
        return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if edit.kind == "append" or not lines:
        return data + words + b"\n"
    at = edit.number % len(lines)
    lines[at] = words + (b"\r\n" if lines[at].endswith(b"\r\n") else b"\n")
    return b"".join(lines)


def put(tree: Tree, path: str, entry: Entry) -> Tree:
    """Where a folder was there, or a file where the path needs a folder, that goes."""
    kept = {one: found for one, found in tree.items() if not f"{one}/".startswith(f"{path}/")}
    return {**{one: found for one, found in kept.items() if not path.startswith(f"{one}/")}, path: entry}


def _without(tree: Tree, path: str) -> Tree:
    return {one: found for one, found in tree.items() if one != path}


# The same, in git.


@dataclass
class Written:
    """A task in git: where its work begins and ends, as commits and as trees."""

    base: str
    head: str
    before: Tree
    after: Tree

    @property
    def changed(self) -> set[str]:
        both = {*self.before, *self.after}
        return {path for path in both if self.before.get(path) != self.after.get(path)}

    @property
    def deleted(self) -> set[str]:
        return {*self.before} - {*self.after}


@dataclass
class _Stream:
    """What `git fast-import` reads."""

    parts: list[bytes] = field(default_factory=list)
    trees: dict[int, Tree] = field(default_factory=dict)

    def commit(self, ref: str, tree: Tree, parents: list[int], message: str) -> int:
        mark = len(self.trees) + 1
        said = message.encode()
        who = f"ann <ann@atm.invalid> {1_700_000_000 + mark} +0000"
        lines = [f"commit {ref}", f"mark :{mark}", f"author {who}", f"committer {who}", f"data {len(said)}"]
        self.parts += ["\n".join(lines).encode() + b"\n" + said + b"\n"]
        self.parts += [b"%s :%d\n" % (b"merge" if at else b"from", one) for at, one in enumerate(parents)]
        self.parts += [b"deleteall\n", *(_file(path, *entry) for path, entry in tree.items()), b"\n"]
        self.trees[mark] = tree
        return mark


def _file(path: str, mode: str, data: bytes) -> bytes:
    name = b'"%s"' % b"".join(b"\\%03o" % byte for byte in path.encode("utf-8", "surrogateescape"))
    if mode == MODULE:
        return b"M %s %s %s\n" % (mode.encode(), data, name)
    return b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), name, len(data), data)


def write(history: History, folder: Path, branch: str) -> list[Written]:
    """The tree on `main`, and a branch for each task: `branch` with its number from 1."""
    stream = _Stream()
    first = {path: POOL[path] for path in history.base}
    root = stream.commit("refs/heads/main", first, [], "begin")
    target = stream.commit(f"refs/heads/{history.target}", first, [root], "the target") if history.target else root
    ends: list[tuple[int, int]] = []
    for number, job in enumerate(history.jobs):
        ref = f"refs/heads/{branch.format(number + 1)}"
        begin = _begin(stream, ref, [ends[one][1] for one in job.needs], root)
        ends.append((begin, _work(stream, ref, begin, job)))
        if history.target and number == history.by_hand:
            end = ends[number][1]
            stream.commit(f"refs/heads/{history.target}", stream.trees[end], [target, end], "merged by hand")
    subprocess.run([GIT, "init", "-q", "-b", "main", folder], check=True)
    marks = folder / ".git" / "marks"
    words = [GIT, "fast-import", "--quiet", f"--export-marks={marks}"]
    subprocess.run(words, input=b"".join(stream.parts), cwd=folder, check=True)
    known = dict(line.split() for line in marks.read_text().splitlines())
    marks.unlink()
    return [
        Written(known[f":{begin}"], known[f":{end}"], stream.trees[begin], stream.trees[end]) for begin, end in ends
    ]


def _begin(stream: _Stream, ref: str, needed: list[int], root: int) -> int:
    """What a task begins with: the work of another, or of two that are joined."""
    if len(needed) < 2:
        return needed[0] if needed else root
    tree, other, first = *(stream.trees[one] for one in needed), stream.trees[root]
    tree = {path: entry for path, entry in tree.items() if path in other or path not in first}
    for path, entry in other.items():
        if first.get(path) != entry:
            tree = put(tree, path, entry)
    return stream.commit(ref, tree, needed, "two that belong together")


def _work(stream: _Stream, ref: str, begin: int, job: Job) -> int:
    now = begin
    for count, edit in enumerate(job.edits):
        told = f"{edit.kind} {count}"
        if edit.kind == "fork":  # a merge inside the branch
            tree = stream.trees[now]
            other = stream.commit(ref, edited(tree, replace(edit, kind="add", path="new.txt")), [now], f"{told} left")
            one = stream.commit(ref, edited(tree, replace(edit, kind="append")), [now], f"{told} right")
            both = edited(stream.trees[one], replace(edit, kind="add", path="new.txt"))
            now = stream.commit(ref, both, [one, other], told)
        else:
            now = stream.commit(ref, edited(stream.trees[now], edit), [now], told)
    return now


def alone(work: list[Written], number: int) -> Iterator[tuple[str, Entry | None]]:
    """
    Paths of which one task alone decides, and what they must be. Git follows renames, so what is new somewhere, or gone
    and new elsewhere, says nothing where others changed files that moved.
    """
    mine = work[number]
    others = [one for at, one in enumerate(work) if at != number]
    touched = {path for one in others for path in one.changed}
    somebody_moves = any(one.deleted for one in work)
    for path in mine.changed - touched:
        is_old = path in mine.before
        clashes = any(f"{one}/".startswith(f"{path}/") or f"{path}/".startswith(f"{one}/") for one in touched)
        if not clashes and (is_old or not somebody_moves):
            yield path, mine.after.get(path)

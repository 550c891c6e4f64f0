"""
Checkpoints on a branch of their own: implements `sessions.ports.checkpoints.GitCheckpoints`.

Objects are made here and handed to git all at once, as a pack; then the branch moves, if it is still where it was seen.
Whoever is killed in between leaves objects that nothing leads to, and git clears them away. Git is told where its
folder is, so that no index, no HEAD and no working tree is ever looked for.
"""

from __future__ import annotations

import hashlib
import re
import zlib

from atm.core.errors import BadName, WriteRefused
from atm.core.work_errors import GitTrouble
from atm.crew.rules.refs import checkpoint_branch
from atm.files.adapters.refusals import explained
from atm.git.adapters import checkouts
from atm.git.adapters.running import LONG, Git, names_in, refusal, text_of
from atm.sessions.ports.checkpoints import CheckpointCommit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atm.files.ports.clock import Clock
    from atm.git.adapters.asking import GitOutput

FOLDERS = (".claude", "teams")
"""In the tree the files lie where Claude Code has them below the user's home: there they can be compared."""

WHO = "atm <atm@localhost>"
"""Not the user, who may have no name here, and whose name may be signed."""

US = {
    "GIT_COMMITTER_NAME": "atm",
    "GIT_COMMITTER_EMAIL": "atm@localhost",
}
"""For a log of the branch, where somebody keeps one: without a name git would refuse to write into it."""

CAREFUL = {
    "core.fsync": "committed,loose-object,reference",  # a branch that leads nowhere would break the user's `git gc`
    "core.fsyncMethod": "batch",  # one wait for all objects together
    "core.logAllRefUpdates": "false",  # a log would keep for months what was thinned out
    "core.useReplaceRefs": "false",  # what is written anew is what is there, not what somebody put in its place
}

MOST_TRIES = 3
"""Checkpoints are minutes apart. Whoever meets three other writers in a row should hear of it."""

COMMIT, TREE, BLOB = 1, 2, 3
"""Kinds of objects, by their numbers in a pack."""

WORDS = {COMMIT: "commit", TREE: "tree", BLOB: "blob"}

FILE, PROGRAM, SUBFOLDER = "100644", "100755", "40000"

FORMAT = "%00".join(("%(refname)", "%(objectname)", "%(tree)", "%(symref)", "%(worktreepath)"))

IN_THE_WAY = re.compile(r"'refs/heads/([^']+)' exists; cannot create")

DISK_SAYS_NO = re.compile(
    r"No space left|Read-only file system|Permission denied|insufficient permission|[Qq]uota exceeded|"
    r"File too large|Input/output error"
)

UNSIGNED_HEADERS = (b"tree ", b"author ", b"committer ", b"encoding ")
"""What a commit is written anew with, beside its parent. A signature would not be true any more."""


def check_part(name: str) -> str:
    """A name as it stands in the tree. Raises BadName for what git could not check out, or only over something else."""
    if not name.isprintable() or "/" in name or name.casefold() in ("", ".", "..", ".git"):
        raise BadName(f"{name[:80]!r} cannot be a name in a checkpoint", "use the plain name of a team or a file")
    return name


class CheckpointBranches:
    """Branches of checkpoints in any repository."""

    __slots__ = ("_clock",)

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def _git(self, common: str) -> Git:
        # Standing there too: wherever we stand ourselves may be gone.
        return Git(common, git_dir=common, more=CAREFUL, sleep=self._clock.sleep)

    def repository(self, folder: str) -> str:
        if not folder:
            return ""  # git would take it for where we are
        with explained(folder):
            place = checkouts.find(folder, self._clock.sleep)
        return place.common if place is not None else ""

    # Writing.

    def commit(self, common: str, team: str, files: Mapping[str, bytes], text: str) -> str:
        git, branch = self._git(common), checkpoint_branch(team)
        content = ObjectsToBe(git)
        tree = _tree_of(content, team, files)
        for _ in range(MOST_TRIES):
            tip = BranchTip(git, branch)
            if tip.tree == tree:
                return ""
            tip.check_movable(git)
            made = ObjectsToBe(git, content)
            commit = made.add(COMMIT, _commit_of(tree, tip.commit, text, int(self._clock.now())))
            made.write(git)
            if tip.move(git, commit):
                return commit
        what = f"others wrote to the branch {branch} of {common} at the same moment, {MOST_TRIES} times in a row"
        raise GitTrouble(what, "try again; if nobody else should, see `git log` of that branch", common)

    def thin(self, common: str, team: str, keep: Callable[[list[CheckpointCommit]], list[CheckpointCommit]]) -> int:
        git = self._git(common)
        tip = BranchTip(git, checkpoint_branch(team))
        known = _history(git, tip.commit, most=-1)  # all of them
        if not known:
            return 0
        picked = {known[0].commit, *(each.commit for each in keep([*known]))}
        kept = [each.commit for each in known if each.commit in picked]
        if len(kept) == len(known):
            return 0
        tip.check_movable(git)
        made = ObjectsToBe(git)
        commit = _rewritten(made, _contents(git, kept[::-1]))
        made.write(git)
        return len(known) - len(kept) if tip.move(git, commit) else 0

    # Looking.

    def latest(self, common: str, team: str) -> dict[str, bytes] | None:
        git = self._git(common)
        tip = BranchTip(git, checkpoint_branch(team))
        if not tip.commit:
            return None
        folder = "/".join((*FOLDERS, check_part(team), ""))
        rows = [line.partition("\t") for line in names_in(git.need("ls-tree", "-z", "--full-tree", tip.commit, folder))]
        found = {path.removeprefix(folder): facts.split()[2] for facts, _, path in rows if _is_file(facts)}
        return dict(zip(found, _contents(git, [*found.values()]), strict=True)) or None

    def commits(self, common: str, team: str, most: int) -> list[CheckpointCommit]:
        git = self._git(common)
        return _history(git, BranchTip(git, checkpoint_branch(team)).commit, max(most, 0))

    def on_remotes(self, common: str, team: str) -> list[str]:
        begin, end = "refs/remotes/", f"/{checkpoint_branch(team)}"
        said = self._git(common).need("for-each-ref", "--format=%(refname)", f"{begin}**{end}")
        return sorted(ref.removeprefix(begin).removesuffix(end) for ref in said.split("\n") if ref.endswith(end))


# The branch.


class BranchTip:
    """Where a branch is, as it was seen once."""

    __slots__ = ("branch", "commit", "leads_to", "ref", "tree", "worktree")

    def __init__(self, git: Git, branch: str) -> None:
        self.branch = branch
        self.ref = f"refs/heads/{branch}"
        rows = git.need("for-each-ref", f"--format={FORMAT}", self.ref)
        if not rows.startswith(f"{self.ref}\0"):  # nothing, or branches below one of that name
            rows = "\0" * 4
        # Without such a branch everything is empty.
        _, self.commit, self.tree, self.leads_to, self.worktree = rows.removesuffix("\n").split("\0")

    def check_movable(self, git: Git) -> None:
        """A branch that somebody looks at stays: all their files would seem to be changed."""
        if self.leads_to:
            what = f"the branch {self.branch} of {git.git_dir} is another name of {self.leads_to}"
            raise GitTrouble(what, f"remove it: git symbolic-ref --delete {self.ref}", git.git_dir)
        # Without a commit a worktree can still be on it; only the longer question tells.
        worktree = self.worktree if self.commit else checkouts.where_checked_out(git, self.branch)
        if worktree:
            what = f"the branch {self.branch} is checked out in {worktree}, so no checkpoint is written to it"
            remedy = "check out another branch there (`git switch`); `git worktree prune` if that folder is gone"
            raise GitTrouble(what, remedy, worktree)

    def move(self, git: Git, commit: str) -> bool:
        """False if somebody else moved it meanwhile."""
        expected = self.commit or "0" * len(commit)
        words = ("update-ref", "--no-deref", "-m", "checkpoint (atm)", self.ref, commit, expected)
        done = git.run(*words, facts=US)
        if done.code == 0:
            return True
        if BranchTip(git, self.branch).commit != self.commit:
            return False
        other = IN_THE_WAY.search(text_of(done.errors))
        if other is None:
            raise _not_written(words, done, git.git_dir)
        what = f"the branch {other[1]!r} is in the way of {self.branch!r} in {git.git_dir}: git cannot have both"
        raise GitTrouble(what, f"rename it: git branch -m {other[1]} NEW-NAME", git.git_dir)


def _history(git: Git, tip: str, most: int) -> list[CheckpointCommit]:
    if not tip:
        return []
    words = ("--first-parent", "--no-notes", "--no-mailmap", "--no-decorate", "--no-color", "-z")
    said = git.need("log", *words, f"--max-count={most}", "--format=%H %ct%n%B", tip, "--", seconds=LONG)
    return [_checkpoint(row) for row in names_in(said)]


def _checkpoint(row: str) -> CheckpointCommit:
    facts, text, *_ = f"{row}\n".split("\n")
    commit, at = facts.split(" ")
    return CheckpointCommit(commit, float(at), text)


# Objects.


class ObjectsToBe:
    """
    Objects on their way into a repository, with the names that they will have there.

    One process of git for all of them: `hash-object` and `mktree` would be one for each file and each folder.
    """

    __slots__ = ("_known", "_new_digest")

    def __init__(self, git: Git, others: ObjectsToBe | None = None) -> None:
        self._new_digest = hashlib.sha256 if git.setting("extensions.objectformat") == "sha256" else hashlib.sha1
        self._known: dict[str, tuple[int, bytes]] = dict(others._known) if others is not None else {}

    def add(self, kind: int, data: bytes) -> str:
        id = self._new_digest(f"{WORDS[kind]} {len(data)}\0".encode() + data).hexdigest()
        self._known[id] = (kind, data)
        return id

    def write(self, git: Git) -> None:
        """Those that are there already are not written again."""
        pack = bytearray(b"PACK\0\0\0\2" + len(self._known).to_bytes(4, "big"))
        for kind, data in self._known.values():
            pack += _head_in_pack(kind, len(data))
            pack += zlib.compress(data, 0)  # git packs it as it likes; twice would be for nothing
        pack += self._new_digest(pack).digest()
        done = git.run("unpack-objects", "-q", stdin=bytes(pack), seconds=LONG)
        if done.code != 0:
            raise _not_written(("unpack-objects",), done, git.git_dir)


def _head_in_pack(kind: int, size: int) -> bytes:
    """Four bits of the size beside the kind, then seven in each byte; the highest bit says that more follow."""
    head, rest = [kind << 4 | size & 15], size >> 4
    while rest:
        head[-1] |= 128
        head.append(rest & 127)
        rest >>= 7
    return bytes(head)


def _tree_of(made: ObjectsToBe, team: str, files: Mapping[str, bytes]) -> str:
    entries = [(check_part(name), FILE, made.add(BLOB, data)) for name, data in files.items()]
    tree = made.add(TREE, _entries(entries))
    for name in (check_part(team), *reversed(FOLDERS)):
        tree = made.add(TREE, _entries([(name, SUBFOLDER, tree)]))
    return tree


def _entries(entries: Sequence[tuple[str, str, str]]) -> bytes:
    """In the order of their bytes. Files and folders, which git sorts by other rules, never lie together here."""
    rows = sorted((name.encode(), mode.encode(), bytes.fromhex(id)) for name, mode, id in entries)
    return b"".join(b"%s %s\0%s" % (mode, name, id) for name, mode, id in rows)


def _commit_of(tree: str, parent: str, text: str, at: int) -> bytes:
    lines = [f"tree {tree}", *([f"parent {parent}"] if parent else [])]
    lines += [f"author {WHO} {at} +0000", f"committer {WHO} {at} +0000", "", text.replace("\0", "").strip(), ""]
    return "\n".join(lines).encode("utf-8", "replace")


def _rewritten(made: ObjectsToBe, commits: Sequence[bytes]) -> str:
    """The oldest first, each with the one before as its only parent; what the last one will be called."""
    parent = ""
    for content in commits:
        parent = made.add(COMMIT, _with_parent(content, parent))
    return parent


def _with_parent(content: bytes, parent: str) -> bytes:
    head, _, message = content.partition(b"\n\n")
    tree, *others = [line for line in head.split(b"\n") if line.startswith(UNSIGNED_HEADERS)]
    parents = [b"parent " + parent.encode()] if parent else []
    return b"\n".join((tree, *parents, *others)) + b"\n\n" + message


def _contents(git: Git, ids: Sequence[str]) -> list[bytes]:
    if not ids:
        return []
    done = git.run("cat-file", "--batch", stdin="".join(f"{id}\n" for id in ids).encode(), seconds=LONG)
    at, found = 0, list[bytes]()
    for id in ids:
        head = done.out[at : at + 200].partition(b"\n")[0]
        name, _, size = text_of(head).rpartition(" ")
        if done.code != 0 or not name.startswith(id) or not size.isdecimal():
            raise GitTrouble(f"the object {id} of {git.git_dir} is not to be had", "see `git fsck`", git.git_dir)
        at += len(head) + 1
        found.append(done.out[at : at + int(size)])
        at += int(size) + 1
    return found


def _is_file(facts: str) -> bool:
    return facts.startswith((FILE, PROGRAM))


def _not_written(words: Sequence[str], done: GitOutput, path: str) -> GitTrouble | WriteRefused:
    trouble = refusal(words, done, path)
    if DISK_SAYS_NO.search(text_of(done.errors)):
        return WriteRefused(f"{path}: {trouble}", "check permissions and free space, then try again", path)
    return trouble

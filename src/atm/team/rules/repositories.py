"""
The repository that a team belongs to.

A team is bound to one git common directory, by its device and inode. The root commit only tells a repository that was
moved or restored from another one: clones share a root commit and are different repositories. A shallow clone has no
root commit to tell, and neither has a repository without commits: what cannot be told is no proof. File systems give
the inode of a deleted folder to the next one, so a folder without that proof must still have the commit that was
checked out when the team was bound.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SAME, MOVED, REPLACED, OTHER = "same", "moved", "replaced", "other"
"""The repository of the team; the same one at a new path; restored or cloned anew at its path; another repository."""

MOST_NUMBERS = 1000
LONGEST_BASE = 40

Place = tuple[int, int]
"""Device and inode of a folder."""

PRESENT, MISSING, CUT_OFF, UNKNOWN = "present", "missing", "cut off", "unknown"
"""Whether a repository has a commit: yes; no; no, but it is a shallow clone; git gives no answer."""

GONE: Place = (-1, -1)
"""There is no folder at that path."""

UNREADABLE: Place = (-2, -2)
"""A folder that cannot be looked at. It counts as there."""


class RepositoryBinding:
    """The repository of a team, as its `state.json` records it."""

    __slots__ = ("common_dir", "device", "head_commit", "inode", "root_commit")

    def __init__(
        self, common_dir: str, device: int, inode: int, root_commit: str | None = None, head_commit: str | None = None
    ) -> None:
        self.common_dir = common_dir
        """The git folder that all worktrees of the repository share, by its real path."""
        self.device = device
        self.inode = inode
        self.root_commit = root_commit
        """None without commits, and in a shallow clone."""
        self.head_commit = head_commit
        """The commit that was checked out when the team was last bound. None without commits."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RepositoryBinding) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(self.fields)

    @property
    def fields(self) -> tuple[str, int, int, str | None, str | None]:
        return self.common_dir, self.device, self.inode, self.root_commit, self.head_commit

    @property
    def place(self) -> Place:
        return self.device, self.inode

    @property
    def has_commits(self) -> bool:
        """Had the repository a commit when the team was bound?"""
        return self.root_commit is not None or self.head_commit is not None

    @property
    def folder(self) -> str:
        """The folder that a person knows the repository by."""
        return folder_of(self.common_dir)


class RepositoryHere:
    """The repository around a folder."""

    __slots__ = ("common_dir", "is_linked", "place", "root")

    def __init__(self, common_dir: str, place: Place, *, root: str = "", is_linked: bool = False) -> None:
        self.common_dir = common_dir
        self.place = place
        self.root = root
        """The working tree; empty in a bare repository."""
        self.is_linked = is_linked
        """Is the working tree a linked worktree, with its git folder elsewhere?"""

    def bound(self, root_commit: str | None, head_commit: str | None) -> RepositoryBinding:
        return RepositoryBinding(self.common_dir, *self.place, root_commit, head_commit)


class History:
    """Facts about the history of the repository that is here, each asked for only when it decides."""

    __slots__ = ("_ask_commit", "_ask_head", "_ask_root", "_head", "_root")

    def __init__(
        self,
        ask_root: Callable[[], str | None],
        ask_head: Callable[[], str | None],
        ask_commit: Callable[[str], str],
    ) -> None:
        self._ask_root = ask_root
        self._ask_head = ask_head
        self._ask_commit = ask_commit
        self._root: list[str | None] = []
        self._head: list[str | None] = []

    @property
    def root_commit(self) -> str | None:
        """None if it cannot be told."""
        if not self._root:
            self._root.append(self._ask_root())
        return self._root[0]

    @property
    def head_commit(self) -> str | None:
        """The commit that is checked out. None if there is none, or it cannot be told."""
        if not self._head:
            self._head.append(self._ask_head())
        return self._head[0]

    def contradicts(self, stored: RepositoryBinding) -> bool:
        """
        Does the history show that this is not the repository of that binding?

        A repository that lacks its root commit is another one. A shallow clone lacks it without proof; there the commit
        counts that was checked out when the team was bound: branches of the team keep it.
        """
        root = self._ask_commit(stored.root_commit) if stored.root_commit is not None else CUT_OFF
        if root != CUT_OFF:
            return root == MISSING
        return stored.head_commit is not None and self._ask_commit(stored.head_commit) in (MISSING, CUT_OFF)

    def begins_with(self, commit: str | None) -> bool:
        return commit is not None and self.root_commit == commit


def judge(stored: RepositoryBinding, here: RepositoryHere, history: History, look: Callable[[str], Place]) -> str:
    """
    What the repository here is to a team that is bound to `stored`. `look` gives the place of a folder now.

    Inodes are used again after a deletion, so an equal one counts only if the history does not contradict it. Away from
    the recorded path, a repository with commits is not the one that a team without any commit was bound to.
    Device numbers change when a machine starts again, so at the same path the inode alone counts.
    """
    is_same_path = stored.common_dir == here.common_dir
    is_same_folder = stored.place == here.place or (is_same_path and stored.inode == here.place[1])
    if is_same_folder:
        if history.contradicts(stored):
            return OTHER
        if is_same_path or look(stored.common_dir) == here.place:
            return SAME
        return MOVED if stored.has_commits or history.head_commit is None else OTHER
    if is_same_path:
        return REPLACED if history.begins_with(stored.root_commit) else OTHER
    there = look(stored.common_dir)
    if there == here.place:  # another name of the folder: other case, a mount; its numbers have changed
        return SAME if history.begins_with(stored.root_commit) else OTHER
    return MOVED if there == GONE and history.begins_with(stored.root_commit) else OTHER


def refreshed(stored: RepositoryBinding, here: RepositoryHere, history: History) -> RepositoryBinding | None:
    """The binding of the same repository with what became known since; None if nothing did."""
    path = stored.common_dir if stored.place == here.place else here.common_dir
    head = history.head_commit or stored.head_commit
    made = RepositoryBinding(path, *here.place, stored.root_commit or history.root_commit, head)
    return made if made != stored else None


def is_plainly_here(stored: RepositoryBinding, here: RepositoryHere) -> bool:
    """The same, for a command that only reads and starts no git."""
    return stored.place == here.place or (stored.common_dir == here.common_dir and stored.inode == here.place[1])


def folder_of(common_dir: str) -> str:
    """`/a/shop/.git` belongs to `/a/shop`; a bare repository, and the git folder of a sub-module, to itself."""
    parent, _, name = common_dir.rpartition("/")
    return parent if parent and name.startswith(".") else common_dir


def name_of_folder(path: str) -> str:
    """The name of a team that the user did not name: the name of the folder that it works in."""
    name = "".join(c if c.isalnum() and c.isascii() else "-" for c in path.rstrip("/").rpartition("/")[2].lower())
    return name.strip("-")[:LONGEST_BASE] or "crew"


def name_of_repository(common_dir: str) -> str:
    return name_of_folder(folder_of(common_dir).removesuffix(".git"))


def base_names(here: RepositoryHere, folder: str) -> list[str]:
    """
    Names for the team of a repository, the best first. All worktrees of a repository share one team.

    In a subfolder the name is that of the subfolder, as the teams of a repository with several projects are named.
    """
    own, root, common = name_of_folder(folder), name_of_folder(here.root or folder), name_of_repository(here.common_dir)
    is_top = folder in (here.root, "")
    first = [common, root, own] if here.is_linked and is_top else [own, root, common]
    return [*dict.fromkeys(first)]


def numbered(base: str) -> Iterator[str]:
    """`shop`, `shop-2`, `shop-3` …"""
    yield base
    for number in range(2, MOST_NUMBERS):
        yield f"{base}-{number}"


def rank(name: str, bases: Sequence[str]) -> tuple[int, int] | None:
    """How well a team's name fits: by the name it comes from, then by its number. None if it does not."""
    wanted = name.casefold()
    for position, base in enumerate(bases):
        number = wanted.removeprefix(f"{base}-") if wanted.startswith(f"{base}-") else ""
        if wanted == base:
            return position, 1
        if number.isascii() and number.isdecimal() and number[0] != "0" and 1 < int(number[:5]) < MOST_NUMBERS:
            return position, int(number[:5])
    return None

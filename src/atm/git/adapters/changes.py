"""
Changes: what is different in a working tree, and which of that counts.

Looking changes nothing. Sub-modules are not entered: they have settings of their own.
"""

from __future__ import annotations

import os

from atm.core.work_errors import GitTrouble
from atm.git.adapters.plain_files import entry_of, mend_modes, quoted
from atm.git.adapters.running import LONG, Git, names_in, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from atm.git.adapters.plain_files import TreeEntry

MANY = 2000
"""Files to a call of git."""

UNSEEN = "could not open directory"


class Beginning:
    """What is known of a working tree before one looks."""

    __slots__ = ("copies", "head", "index", "is_half_made", "passed_over")

    def __init__(
        self,
        *,
        head: str,
        index: str = "",
        passed_over: Sequence[str] = (),
        copies: Mapping[str, str] | None = None,
        is_half_made: bool = False,
    ) -> None:
        self.head = head
        self.index = index
        """Empty if it is gone."""
        self.passed_over = [*passed_over]
        """Patterns of untracked files that do not count, as in `.gitignore`."""
        self.copies = dict(copies or {})
        """Untracked files that count only if they are not what they were, with the object of each."""
        self.is_half_made = is_half_made
        """Nobody has worked there yet: what is missing was never there."""


class Looking:
    """One look at a working tree. `scratch`: an empty folder of ours."""

    def __init__(self, git: Git, scratch: str, known: Beginning, facts: Mapping[str, str] | None = None) -> None:
        self.git = git
        self.root = git.work_tree
        self.known = known
        self.scratch = scratch
        self.facts = dict(facts or {})

    def need(self, *words: str, stdin: bytes = b"") -> str:
        return self.git.need(*words, stdin=stdin, facts=self.facts, seconds=LONG)

    def changes(self, *, submodules: str = "all") -> tuple[list[str], list[str]]:
        """Paths that are dirty, and paths that are untracked. A repository among these ends with a slash."""
        lines = names_in(self.status(submodules))
        untracked = [line[3:] for line in lines if line.startswith("??")]
        dirty = [line[3:] for line in lines if not line.startswith("??")]
        if self.known.is_half_made:
            dirty = [path for path in dirty if os.path.lexists(f"{self.root}/{path}")]
        passed = self._passed_over() | self._copies(untracked)
        return dirty, [path for path in untracked if path not in passed]

    def status(self, submodules: str) -> str:
        """As git says it. `submodules`: which of their changes are passed over, `all` or `dirty`."""
        ignored = f"--ignore-submodules={submodules}"
        words = ("status", "--porcelain=v1", "-z", "--untracked-files=all", ignored, "--no-renames")
        done = self.git.run(*words, facts=self.facts, seconds=LONG)
        if UNSEEN in text_of(done.errors):
            mend_modes(self.root)
            done = self.git.run(*words, facts=self.facts, seconds=LONG)
        said = text_of(done.errors).strip()
        if done.code != 0 or UNSEEN in said:
            raise GitTrouble(f"not all files can be looked at: {said}", "mend that, and try again", self.root)
        return text_of(done.out)

    def _passed_over(self) -> set[str]:
        if not self.known.passed_over:
            return set()
        patterns = f"{self.scratch}/passed-over"
        write_private(patterns, os.fsencode("\n".join(self.known.passed_over) + "\n"))
        return {*names_in(self.need("ls-files", "-o", "-i", "-z", f"--exclude-from={patterns}"))}

    def _copies(self, untracked: Sequence[str]) -> set[str]:
        paths = [path for path in untracked if path in self.known.copies]
        entries = [entry for path in paths if (entry := entry_of(f"{self.root}/{path}", path)) and entry.mode]
        found = self.objects(entries, keep=False)
        return {path for path, each in found if each == self.known.copies[path]}

    def objects(self, entries: Sequence[TreeEntry], *, keep: bool = True) -> Iterator[tuple[str, str]]:
        """Each path, and the object that its bytes are now. No filter runs."""
        words = ("hash-object", "--no-filters", "--stdin-paths", *(("-w",) if keep else ()))
        for begin in range(0, len(entries), MANY):
            part = entries[begin : begin + MANY]
            paths = [self._file_of(number, entry) for number, entry in enumerate(part)]
            said = self.need(*words, stdin=os.fsencode("".join(f"{quoted(path)}\n" for path in paths)))
            yield from zip([entry.path for entry in part], said.split(), strict=True)

    def _file_of(self, number: int, entry: TreeEntry) -> str:
        """The file itself. What a link says is written into one: git would follow the link."""
        if not entry.is_link:
            return entry.file
        path = f"{self.scratch}/link-{number}"
        write_private(path, os.fsencode(os.readlink(entry.file)))
        return path


def write_private(path: str, data: bytes) -> None:
    """Into a folder of ours."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)

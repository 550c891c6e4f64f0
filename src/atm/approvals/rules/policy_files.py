"""
Which files may supply a policy: the user's own files, which no other user can change or replace.

A link is not accepted either: it can lead to a file that an agent may write, or to no file, and then a policy would be
gone without a word. A file without a policy is not judged.
"""

from __future__ import annotations

from atm.core.untrusted_text import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

WRITABLE_BY_OTHERS = 0o022
WRITABLE_BY_ALL, STICKY = 0o002, 0o1000


class PolicyPath:
    """A file or folder, as the system describes it."""

    __slots__ = ("is_dangling", "is_link", "mode", "owner", "path")

    def __init__(
        self, path: str, *, owner: int | None, mode: int, is_link: bool = False, is_dangling: bool = False
    ) -> None:
        self.path = path
        self.owner = owner
        """None where files have no owner that the system tells."""
        self.mode = mode
        self.is_link = is_link
        self.is_dangling = is_dangling


class PolicyFileProblem:
    """What is wrong with a file that supplies, or may supply, a policy; and the command that fixes it."""

    __slots__ = ("command", "path", "what")

    def __init__(self, path: str, what: str, command: str) -> None:
        self.path = path
        self.what = what
        self.command = command

    def __str__(self) -> str:
        return f"{self.what}; run: {self.command}"


def problem_of_link(path: PolicyPath) -> PolicyFileProblem | None:
    name = path.path
    if path.is_dangling:
        what = f"{name} is a link to a file that does not exist: put the policy there, or remove the link"
        return PolicyFileProblem(name, what, f"ls -l {shell_word(name)}")
    if path.is_link:
        word, copy = shell_word(name), shell_word(f"{name}.new")
        command = f"cp -RLp {word} {copy} && rm {word} && mv {copy} {word}"
        return PolicyFileProblem(name, f"{name} is a link, and a policy must be a file", command)
    return None


def problem_of_file(path: PolicyPath, own: Collection[int]) -> PolicyFileProblem | None:
    """`own`: the users whose files count, this user and root."""
    name = path.path
    if path.owner is not None and path.owner not in own:
        return foreign_file(name, path.owner)
    if path.owner is not None and path.mode & WRITABLE_BY_OTHERS:
        what = f"{name} can be changed by other users (mode {path.mode & 0o777:o})"
        return PolicyFileProblem(name, what, f"chmod go-w {shell_word(name)}")
    return None


def foreign_file(path: str, owner: int) -> PolicyFileProblem:
    return PolicyFileProblem(path, f"{path} belongs to another user ({owner})", f'chown "$(id -u)" {shell_word(path)}')


def problem_of_parents(folders: Sequence[PolicyPath], own: Collection[int]) -> PolicyFileProblem | None:
    """
    Another user who may change a folder can replace what is in it. A folder that a group may change is accepted: on
    many systems each user has a group of their own, and folders are made that way.
    """
    for folder in folders:
        if folder.owner is None:
            continue
        if folder.owner not in own:
            return foreign_file(folder.path, folder.owner)
        if folder.mode & WRITABLE_BY_ALL and not folder.mode & STICKY:
            what = f"every user can replace files in {folder.path}"
            return PolicyFileProblem(folder.path, what, f"chmod o-w {shell_word(folder.path)}")
    return None

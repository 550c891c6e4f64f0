"""What sessions need from the machine beside git's checkpoints: members' own, facts, transcripts, the working tree."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from atm.board.rules.acceptance import Ran
else:
    Protocol = object


class MemberCheckpoints(Protocol):
    """`{member}_checkpoint.json` of a team's members."""

    def read(self, team: str, member: str) -> bytes | None: ...

    def write(self, team: str, member: str, content: bytes) -> None: ...

    def all(self, team: str) -> dict[str, bytes]:
        """By the names of their files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSource:
    """Something that the state of a team rests on, and what renews it."""

    name: str
    paths: tuple[str, ...] = ()
    """Files or globs, from the folder of the lead's repository."""
    command: str = ""
    """Or what a command says."""
    renew: str = ""


class Facts(Protocol):
    """Checksums of what a state rests on."""

    def checksum(self, folder: str, source: FactSource) -> str:
        """`missing` where there is no such file, `failed` where the command does not end well."""


class Transcripts(Protocol):
    """Conversations that vendors keep."""

    def is_there(self, vendor: str, session: str) -> bool | None:
        """Is there one of this id? None where that cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeStatus:
    """What `git status` says of a working tree."""

    root: str
    branch: str
    head: str
    staged: Sequence[str]
    unstaged: Sequence[str]
    untracked: Sequence[str]
    is_half_done: str = ""
    """A merge or a rebase that waits there."""

    @property
    def is_clean(self) -> bool:
        return not (self.staged or self.unstaged or self.untracked)


class WorkingTree(Protocol):
    """The user's own checkout, which is touched only because the user asked for it. Raises AtmError."""

    def status(self, folder: str) -> TreeStatus | None:
        """None where there is no repository with a working tree."""

    def index(self, folder: str) -> str:
        """Keep the index as it is now; under which name."""

    def restore_index(self, folder: str, kept: str) -> None:
        """As it was before something was staged. No file of the working tree is changed."""

    def stage_all(self, folder: str) -> None: ...

    def hooks(self, folder: str, seconds: float) -> Ran:
        """The user's own pre-commit hook, if there is one."""

    def commit(self, folder: str, message: str) -> str:
        """What is staged, without running the hooks again; the new head."""

    def push(self, folder: str, remote: str) -> Ran: ...

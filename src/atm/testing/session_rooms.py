"""Twins of what sessions need from the machine, and a room of them."""

from __future__ import annotations

from dataclasses import replace

from atm.domain.board.acceptance import Ran
from atm.domain.sessions.policy import SessionPolicy
from atm.ports.sessions.surroundings import FactSource, TreeStatus
from atm.services.crew.crewroom import Crewroom
from atm.services.sessions.sessionroom import Caller, SessionRoom
from atm.testing.agents import memory_crewroom
from atm.testing.rooms import memory_boardroom
from atm.testing.sessions import MemoryCheckpoints


class MemoryMembers:
    """Twin of `MemberCheckpoints`."""

    def __init__(self) -> None:
        self.content: dict[tuple[str, str], bytes] = {}

    def read(self, team: str, member: str) -> bytes | None:
        return self.content.get((team, member))

    def write(self, team: str, member: str, content: bytes) -> None:
        self.content[team, member] = content

    def all(self, team: str) -> dict[str, bytes]:
        return {f"{member}_checkpoint.json": data for (where, member), data in self.content.items() if where == team}


class MemoryFacts:
    """Twin of `Facts`: what each source says."""

    def __init__(self) -> None:
        self.sums: dict[str, str] = {}

    def checksum(self, folder: str, source: FactSource) -> str:  # noqa: ARG002 - there are no folders in memory
        return self.sums.get(source.name, "missing")


class MemoryTranscripts:
    """Twin of `Transcripts`."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], bool] = {}

    def is_there(self, vendor: str, session: str) -> bool | None:
        return self.found.get((vendor, session))


class MemoryTree:
    """Twin of `WorkingTree`: one checkout, in `folder`."""

    def __init__(self, folder: str = "/r") -> None:
        self.folder = folder
        self.now = TreeStatus(root=folder, branch="main", head="c0", staged=[], unstaged=[], untracked=[])
        self.hook = Ran(0, "")
        self.pushes = Ran(0, "")
        self.pushed: list[str] = []
        self.messages: list[str] = []

    def status(self, folder: str) -> TreeStatus | None:
        return self.now if folder == self.folder else None

    def index(self, folder: str) -> str:  # noqa: ARG002 - there is one
        return f"index:{','.join(self.now.staged)}"

    def restore_index(self, folder: str, tree: str) -> None:  # noqa: ARG002
        staged = [name for name in tree.removeprefix("index:").split(",") if name]
        loose = sorted({*self.now.staged, *self.now.unstaged} - {*staged})
        self.now = replace(self.now, staged=staged, unstaged=loose)

    def stage_all(self, folder: str) -> None:  # noqa: ARG002
        everything = sorted({*self.now.staged, *self.now.unstaged, *self.now.untracked})
        self.now = replace(self.now, staged=everything, unstaged=[], untracked=[])

    def hooks(self, folder: str, seconds: float) -> Ran:  # noqa: ARG002
        return self.hook

    def commit(self, folder: str, message: str) -> str:  # noqa: ARG002
        self.messages.append(message)
        self.now = replace(self.now, staged=[], head=f"c{len(self.messages)}")
        return self.now.head

    def push(self, folder: str, remote: str) -> Ran:  # noqa: ARG002
        self.pushed.append(remote)
        return self.pushes


def memory_sessionroom(
    crew: Crewroom | None = None, *, session: str = "one", policy: SessionPolicy | None = None
) -> SessionRoom:
    """Sessions without a disk: the lead works in `/r`, whose git folder is `/r/.git`."""
    crew = crew or memory_crewroom(memory_boardroom())
    git = MemoryCheckpoints(crew.clock)
    git.add_repository("/r")
    return SessionRoom(
        crew=crew,
        git=git,
        members=MemoryMembers(),
        facts=MemoryFacts(),
        fact_sources=(),
        transcripts=MemoryTranscripts(),
        tree=MemoryTree(),
        caller=Caller(session=session, folder="/r"),
        policy=policy or SessionPolicy(),
    )

"""Twins of the sessions' ports, in memory."""

from __future__ import annotations

from dataclasses import replace

from atm.board.rules.acceptance import Ran
from atm.core.errors import AtmError
from atm.core.work_errors import GitTrouble
from atm.crew.rules.refs import checkpoint_branch
from atm.crew.services.crewroom import Crewroom
from atm.files.ports.clock import Clock
from atm.sessions.adapters.git_checkpoints import check_part
from atm.sessions.ports.checkpoints import CheckpointCommit
from atm.sessions.ports.surroundings import FactSource, TreeStatus
from atm.sessions.rules.policy import SessionPolicy
from atm.sessions.services.sessionroom import SessionCaller, SessionRoom
from atm.testing.agents import memory_crewroom
from atm.testing.rooms import memory_boardroom
from atm.testing.time_and_chance import FakeClock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class MemoryCheckpoint:
    """One commit: what is listed of it, and its files."""

    def __init__(self, listed: CheckpointCommit, files: Mapping[str, bytes]) -> None:
        self.listed = listed
        self.files = dict(files)


class MemoryCheckpoints:
    """
    Implements `sessions.ports.checkpoints.GitCheckpoints`.

    `add_repository` is the user; `remotes` is what a fetch or a push of theirs left; `trouble` is raised by whatever
    would write, as by a full disk or a branch that somebody has checked out.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.repositories: dict[str, str] = {}
        """By folder: the git folder."""
        self.branches: dict[str, dict[str, list[MemoryCheckpoint]]] = {}
        """By git folder and team: commits, the newest last."""
        self.remotes: dict[tuple[str, str], list[str]] = {}
        """By git folder and team."""
        self.trouble: AtmError | None = None
        self._made = 0

    def add_repository(self, folder: str) -> str:
        common = f"{folder}/.git"
        self.repositories[folder] = common
        self.branches[common] = {}
        return common

    def repository(self, folder: str) -> str:
        found = (common for root, common in self.repositories.items() if f"{folder}/".startswith(f"{root}/"))
        return next(found, "")

    # Writing.

    def commit(self, common: str, team: str, files: Mapping[str, bytes], text: str) -> str:
        branch = [*self._branch(common, team)]
        for name in (team, *files):
            check_part(name)
        if branch and branch[-1].files == files:
            return ""
        self._check_writable()
        line = text.replace("\0", "").strip().partition("\n")[0]
        made = MemoryCheckpoint(CheckpointCommit(self._new_id(), float(int(self.clock.now())), line), files)
        self.branches[common][team] = [*branch, made]
        return made.listed.commit

    def thin(self, common: str, team: str, keep: Callable[[list[CheckpointCommit]], list[CheckpointCommit]]) -> int:
        before = self._branch(common, team)
        if not before:
            return 0
        picked = {each.commit for each in keep([each.listed for each in reversed(before)])}
        kept = [each for each in before if each.listed.commit in picked or each is before[-1]]
        if len(kept) == len(before):
            return 0
        self._check_writable()
        if self._branch(common, team) is not before:
            return 0
        self.branches[common][team] = self._rewritten(before, kept)
        return len(before) - len(kept)

    def _rewritten(self, before: list[MemoryCheckpoint], kept: list[MemoryCheckpoint]) -> list[MemoryCheckpoint]:
        """From the first gap on they are other commits: each is known by those before it."""
        same = next((at for at, each in enumerate(kept) if each is not before[at]), len(kept))
        others = [
            MemoryCheckpoint(CheckpointCommit(self._new_id(), each.listed.at, each.listed.text), each.files)
            for each in kept[same:]
        ]
        return [*kept[:same], *others]

    def _new_id(self) -> str:
        self._made += 1
        return f"{self._made:040x}"

    def _check_writable(self) -> None:
        if self.trouble is not None:
            raise self.trouble

    # Looking.

    def latest(self, common: str, team: str) -> dict[str, bytes] | None:
        branch = self._branch(common, team)
        return dict(branch[-1].files) or None if branch else None

    def commits(self, common: str, team: str, most: int) -> list[CheckpointCommit]:
        return [each.listed for each in reversed(self._branch(common, team))][: max(most, 0)]

    def on_remotes(self, common: str, team: str) -> list[str]:
        return sorted(self.remotes.get((common, team), []))

    def _branch(self, common: str, team: str) -> list[MemoryCheckpoint]:
        checkpoint_branch(team)  # raises for a name that no branch can have
        if common not in self.branches:
            raise GitTrouble(f"{common} is no git folder", "see what git says about it", common)
        return self.branches[common].get(team, [])


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

    def restore_index(self, folder: str, kept: str) -> None:  # noqa: ARG002
        staged = [name for name in kept.removeprefix("index:").split(",") if name]
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
        caller=SessionCaller(session=session, folder="/r"),
        policy=policy or SessionPolicy(),
    )

"""Twins of the sessions' ports, in memory."""

from __future__ import annotations

from atm.domain.crew.refs import checkpoint_branch
from atm.domain.errors import AtmError, GitTrouble
from atm.ports.files.clock import Clock
from atm.ports.sessions.checkpoints import CheckpointCommit
from atm.system.sessions.git_checkpoints import check_part
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
    Implements `ports.sessions.checkpoints.GitCheckpoints`.

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

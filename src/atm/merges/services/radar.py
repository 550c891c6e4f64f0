"""Looking who changes what just now, and telling both when it does not go together."""

from __future__ import annotations

from functools import partial
from typing import Generic, TypeVar

from atm.core.errors import AtmError
from atm.core.untrusted_text import one_line
from atm.core.work_errors import CommitGone
from atm.crew.rules.agents import AgentRecord
from atm.crew.services.reaping import worktree_of
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.merges.rules.radar import TARGET, Collision, WorkNow, common_places, meeting, places_in, warning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atm.crew.ports.worktrees import Repository
    from atm.merges.services.mergeroom import Mergeroom

US = "atm"
T = TypeVar("T")


class Remembered(Generic[T]):
    """What git said about commits, which do not change. What one look does not ask for is forgotten by the next."""

    def __init__(self) -> None:
        self._now: dict[tuple[str, ...], T] = {}
        self._former: dict[tuple[str, ...], T] = {}

    def begin(self) -> None:
        self._now, self._former = {}, self._now

    def get(self, ask: Callable[[], T], *commits: str) -> T:
        if commits not in self._now:
            self._now[commits] = self._former[commits] if commits in self._former else ask()
        return self._now[commits]


class Radar:
    """Of one team. An agent that did nothing since the last look costs nothing."""

    def __init__(self, room: Mergeroom, team: str) -> None:
        self._room = room
        self._team = team
        self._known: dict[str, tuple[object, WorkNow]] = {}
        self._commits: dict[str, tuple[object, str]] = {}
        self._judged: Remembered[tuple[list[str], dict[str, list[list[int]]]]] = Remembered()
        """In which files two do not go together, and in which lines of these."""
        self._behind: Remembered[list[str]] = Remembered()
        """What the target has that a beginning has not."""
        self.unseen: list[str] = []
        """Agents whose work the last look could not see, because somebody else was at it."""

    def touched(self) -> dict[str, list[str]]:
        """By task: what was changed for it so far, as of the last look."""
        return {work.task: work.files for _, work in self._known.values()}

    def look(self, repository: Repository, branch: str) -> list[Collision]:
        """Those of all agents, and of the target since each began."""
        crew, records = self._room.crew, {}
        self.unseen = []
        for name in crew.records.names(self._team):
            record = crew.records.read(self._team, name)
            if record is not None and record.worktree and record.task and record.common == repository.common:
                records[record.task] = record
        self._known = {id: self._now(record) for id, record in records.items()}
        self._commits = {id: made for id, made in self._commits.items() if id in records}
        self._judged.begin()
        self._behind.begin()
        works = [work for _, work in self._known.values()]
        found = [self._collision(repository, records, a, b, paths) for a, b, paths in meeting(works)]
        return [*found, *self._with_target(repository, branch, records)]

    def _now(self, record: AgentRecord) -> tuple[object, WorkNow]:
        version: object = (record.generation, record.heard_at, record.turns, record.worktree)
        known = self._known.get(record.task)
        if known is not None and known[0] == version and record.heard_at:
            return known
        place = worktree_of(record)
        try:
            files = self._room.crew.worktrees.touched(place) if place is not None else []
        except (AtmError, OSError):
            files = known[1].files if known is not None else []
            version = None  # somebody is at it just now: it is looked at again
            self.unseen.append(record.member)
        return version, WorkNow(task=record.task, agent=record.member, files=files)

    def _collision(
        self, repository: Repository, records: Mapping[str, AgentRecord], one: WorkNow, other: WorkNow, paths: list[str]
    ) -> Collision:
        first, second = records[one.task], records[other.task]
        collision = Collision(tasks=[one.task, other.task], agents=[one.agent, other.agent], files=paths)
        mine, theirs = self._commit(first), self._commit(second)
        if mine and theirs:
            self._judge(repository, collision, first.base, theirs, mine, second.base)
        return collision

    def _with_target(self, repository: Repository, branch: str, records: Mapping[str, AgentRecord]) -> list[Collision]:
        git, found = self._room.git, []
        target = git.head(repository, branch) if branch else ""
        for task, record in records.items():
            if not target or record.base == target or not self._known[task][1].files:
                continue
            try:
                behind = self._behind.get(partial(git.changed, repository, record.base, target), record.base, target)
            except CommitGone:  # the user rewrote the branch and git removed where this work began
                self.unseen.append(record.member)
                continue
            theirs = WorkNow(task=TARGET, files=behind)
            for _, work, paths in meeting([theirs, self._known[task][1]]):
                collision = Collision(tasks=[task, TARGET], agents=[work.agent, ""], files=paths)
                if commit := self._commit(record):
                    self._judge(repository, collision, record.base, target, commit, record.base)
                found.append(collision)
        return found

    def _commit(self, record: AgentRecord) -> str:
        """All of its work; the same one, for as long as its agent did nothing."""
        version, known, place = self._known[record.task][0], self._commits.get(record.task), worktree_of(record)
        if known is not None and known[0] == version and version is not None and record.heard_at:
            return known[1]
        try:
            made = self._room.crew.worktrees.now(place) if place is not None else ""
        except (AtmError, OSError):
            self.unseen.append(record.member)
            return ""
        self._commits[record.task] = (version, made)
        return made

    def _judge(
        self, repository: Repository, collision: Collision, base: str, onto: str, head: str, base_of_onto: str
    ) -> None:
        """By a merge that nobody keeps; and in which lines."""

        def ask() -> tuple[list[str], dict[str, list[list[int]]]]:
            conflicts = self._room.git.would_conflict(repository, base, onto, head)
            # From different beginnings, their lines are counted differently.
            counted = conflicts if base == base_of_onto else []
            return conflicts, {
                path: places for path in counted if (places := self._places(repository, base, onto, head, path))
            }

        conflicts, lines = self._judged.get(ask, base, onto, head, base_of_onto)
        collision.conflicts, collision.lines = [*conflicts], {**lines}

    def _places(self, repository: Repository, base: str, onto: str, head: str, path: str) -> list[list[int]]:
        git = self._room.git
        one, other = (places_in(git.diff(repository, base, side, [path], context=0)) for side in (head, onto))
        return common_places(one, other)


def tell_both(room: Mergeroom, team: str, collision: Collision, titles: Mapping[str, str], target: str) -> None:
    """Early, and once: whoever calls this remembers that."""
    said = {task: one_line(title) for task, title in titles.items()}
    for agent in filter(None, collision.agents):
        draft = Draft(sender=US, text=warning(collision, agent, said, target), summary="you change the same lines")
        try:
            send(room.crew.room, team, agent, draft)
        except AtmError as error:
            room.crew.room.troubles.note(f"{agent} could not be told of a collision: {error}")

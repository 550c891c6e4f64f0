"""Looking who changes what just now, and telling both when it does not go together."""

from __future__ import annotations

from atm.domain.crew.agents import AgentRecord
from atm.domain.errors import AtmError
from atm.domain.merges.radar import TARGET, Collision, WorkNow, common_places, meeting, places_in, warning
from atm.domain.untrusted_text import one_line
from atm.services.crew.reaping import worktree_of
from atm.services.mail.posting import Draft
from atm.services.mail.sending import send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.ports.crew.worktrees import Repository
    from atm.services.merges.mergeroom import Mergeroom

US = "atm"


class Radar:
    """Of one team. An agent that did nothing since the last look costs nothing."""

    def __init__(self, room: Mergeroom, team: str) -> None:
        self._room = room
        self._team = team
        self._known: dict[str, tuple[object, WorkNow]] = {}
        self._judged: dict[tuple[str, ...], list[str]] = {}
        """By commits: in which files they do not go together."""

    def touched(self) -> dict[str, list[str]]:
        """By task: what was changed for it so far, as of the last look."""
        return {work.task: work.files for _, work in self._known.values()}

    def look(self, repository: Repository, branch: str) -> list[Collision]:
        """Those of all agents, and of the target since each began."""
        crew, records = self._room.crew, {}
        for name in crew.records.names(self._team):
            record = crew.records.read(self._team, name)
            if record is not None and record.worktree and record.task and record.common == repository.common:
                records[record.task] = record
        self._known = {id: self._now(record) for id, record in records.items()}
        works = [work for _, work in self._known.values()]
        found = [self._collision(repository, records, a, b, paths) for a, b, paths in meeting(works)]
        return [*found, *self._with_target(repository, branch, records)]

    def _now(self, record: AgentRecord) -> tuple[object, WorkNow]:
        version = (record.generation, record.heard_at, record.turns, record.worktree)
        known = self._known.get(record.task)
        if known is not None and known[0] == version and record.heard_at:
            return known
        place = worktree_of(record)
        try:
            files = self._room.crew.worktrees.touched(place) if place is not None else []
        except (AtmError, OSError):
            files = known[1].files if known is not None else []  # somebody writes there just now
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
            theirs = WorkNow(task=TARGET, files=git.changed(repository, record.base, target))
            for _, work, paths in meeting([theirs, self._known[task][1]]):
                collision = Collision(tasks=[task, TARGET], agents=[work.agent, ""], files=paths)
                if commit := self._commit(record):
                    self._judge(repository, collision, record.base, target, commit, record.base)
                found.append(collision)
        return found

    def _commit(self, record: AgentRecord) -> str:
        place = worktree_of(record)
        try:
            return self._room.crew.worktrees.now(place) if place is not None else ""
        except (AtmError, OSError):
            return ""

    def _judge(
        self, repository: Repository, collision: Collision, base: str, onto: str, head: str, base_of_onto: str
    ) -> None:
        """By a merge that nobody keeps; and in which lines."""
        git, key = self._room.git, (base, onto, head)
        if key not in self._judged:
            self._judged[key] = git.would_conflict(repository, base, onto, head)
        collision.conflicts = self._judged[key]
        if base != base_of_onto:
            return  # their lines are counted from different beginnings
        for path in collision.conflicts:
            one, other = (places_in(git.diff(repository, base, side, [path], context=0)) for side in (head, onto))
            if places := common_places(one, other):
                collision.lines[path] = places


def tell_both(room: Mergeroom, team: str, collision: Collision, titles: Mapping[str, str], target: str) -> None:
    """Early, and once: whoever calls this remembers that."""
    said = {task: one_line(title) for task, title in titles.items()}
    for agent in filter(None, collision.agents):
        draft = Draft(sender=US, text=warning(collision, agent, said, target), summary="you change the same lines")
        try:
            send(room.crew.room, team, agent, draft)
        except AtmError as error:
            room.crew.room.troubles.note(f"{agent} could not be told of a collision: {error}")

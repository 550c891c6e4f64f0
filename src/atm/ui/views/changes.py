"""What is different between two looks at a team, in words. Who shows them makes texts of others harmless."""

from __future__ import annotations

from dataclasses import dataclass

from atm.ui.views.looks import look, spelled
from atm.ui.views.team.seen import ShownSeen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.ui.views.team.seen import MemberSeen, TaskSeen, TeamSeen


@dataclass(frozen=True, slots=True)
class TeamChange:
    """One thing that is different now."""

    kind: str
    """`team`, `member`, `task` or `approval`."""
    subject: str
    """The team, the member's name, or the id."""
    words: str
    was: str = ""
    now: str = ""
    shown: str = ""
    """The shown state of a task."""


def changes(was: TeamSeen, now: TeamSeen) -> list[TeamChange]:
    """In the order in which they matter to whoever watches: who asks, what became of tasks, who comes and goes."""
    return [*_approvals(was, now), *_team(was, now), *_tasks(was, now), *_members(was, now)]


def _team(was: TeamSeen, now: TeamSeen) -> Iterator[TeamChange]:
    if was.status != now.status:
        words = f"{now.team} is {spelled(now.status)} now, and was {spelled(was.status)}"
        yield TeamChange("team", now.team, words, was.status, now.status)


def _approvals(was: TeamSeen, now: TeamSeen) -> Iterator[TeamChange]:
    before, after = ({one.id: one for one in seen.approvals} for seen in (was, now))
    for id, one in after.items():
        if id not in before:
            yield TeamChange("approval", id, f"{one.requester} asks for {one.tool}: {one.what}  ({id})", "", "waiting")
    for id in before.keys() - after.keys():
        yield TeamChange("approval", id, f"request {id} of {before[id].requester} waits no more", "waiting", "")


def _tasks(was: TeamSeen, now: TeamSeen) -> Iterator[TeamChange]:
    before = {task.id: task for task in was.tasks}
    for task in now.tasks:
        old = before.pop(task.id, None)
        if old is None or (old.state, old.owner, old.shown) != (task.state, task.owner, task.shown):
            former, word = (old.state, old.shown.word) if old else ("new", "new")
            yield _task(task, former, task.state, word, task.shown)
    for task in before.values():
        yield _task(task, task.state, "gone", task.shown.word, ShownSeen("gone", "gone"))


def _task(task: TaskSeen, was: str, now: str, word: str, shown: ShownSeen) -> TeamChange:
    owner = f"  @{task.owner}" if task.owner else ""
    moved = shown.word if word == shown.word else f"{word} → {shown.word}"
    words = f"{look(shown.state).symbol} #{task.id} {moved}{owner}  {task.subject}"
    return TeamChange("task", task.id, words, was, now, shown.state)


def _members(was: TeamSeen, now: TeamSeen) -> Iterator[TeamChange]:
    before = {member.name: member for member in was.members}
    for member in now.members:
        old = before.pop(member.name, None)
        if old is None:
            yield TeamChange("member", member.name, f"{member.name} is in the team", "", member.state)
        elif (old.liveness, old.state) != (member.liveness, member.state):
            yield TeamChange("member", member.name, _moved(old, member), old.state, member.state)
    for member in before.values():
        yield TeamChange("member", member.name, f"{member.name} has left the team", member.state, "")


def _moved(old: MemberSeen, new: MemberSeen) -> str:
    facts = [spelled(new.liveness)] if old.liveness != new.liveness else []
    facts += [spelled(new.state)] if old.state != new.state else []
    return f"{new.name} is {', '.join(dict.fromkeys(facts))}"

"""What the board and the lead hear of merges."""

from __future__ import annotations

from atm.board.rules import claims
from atm.board.rules.tasks import task_id
from atm.board.services.boardroom import open_team
from atm.core.errors import AtmError
from atm.core.untrusted_text import one_line, shell_words
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.tasks import Change, Task
    from atm.board.services.boardroom import Boardroom
    from atm.core.plain import Plain
    from atm.merges.rules.items import MergeCheck, MergeItem, MergeQueue
    from atm.merges.services.mergeroom import Mergeroom

US = "atm"


def note_merged(boardroom: Boardroom, queue: MergeQueue, item: MergeItem) -> None:
    """Where its work is now: what builds on it begins there."""
    team, by = open_team(boardroom, queue.team), boardroom.stamp(US)

    def rule(task: Task) -> Change | None:
        is_this = task.part("work").get("commit") == item.head
        return claims.note_merged(task, by, item.commit, queue.branch) if is_this else None

    with boardroom.tasks.turn(team.name) as turn:
        turn.change(task_id(item.task), rule)


def send_back(boardroom: Boardroom, queue: MergeQueue, item: MergeItem, why: str, check: MergeCheck) -> None:
    """Opened again, with the failing output; its work stays, and whoever takes it goes on from there."""
    team, by = open_team(boardroom, queue.team), boardroom.stamp(US)
    said: dict[str, Plain] = {
        "kind": "command",
        "command": check.command,
        "ok": False,
        "code": check.code,
        "output": check.output,
    }

    def rule(task: Task) -> Change | None:
        is_this = task.is_finished and task.part("work").get("commit") == item.head
        return claims.send_back(task, by, why, {**said, "at": by.at, "by": US}) if is_this else None

    with boardroom.tasks.turn(team.name) as turn:
        turn.change(task_id(item.task), rule)


def tell_lead(room: Mergeroom, queue: MergeQueue, item: MergeItem) -> None:
    """Agents, tasks and files by name, and what to type."""
    task, team = shell_words(item.task), shell_words(queue.team)
    lines = [f"#{item.task} {one_line(item.subject)}, by {one_line(item.agent)}: {one_line(item.reason)}"]
    if item.conflicts:
        others = ", ".join(f"#{one.task} {one_line(one.subject)} ({one_line(one.agent)})" for one in item.rivals)
        lines.append(f"Files: {', '.join(map(one_line, item.conflicts[:20]))}{f'; with {others}' if others else ''}.")
    lines.append(f"See `atm merge show {task} --team {team}`; `atm merge resolve {task} --team {team}`.")
    try:
        lead = find_team(room.crew.room, queue.team).lead
        draft = Draft(sender=US, text="\n".join(lines), summary=f"#{item.task} could not be merged")
        send(room.crew.room, queue.team, lead, draft)
    except AtmError as error:
        room.crew.room.troubles.note(f"the lead could not be told about #{item.task}: {error}")

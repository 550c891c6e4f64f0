"""What the board tells people by mail. A letter that cannot be sent is a warning: the board itself has changed."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.names import same_name
from atm.files.formats.json_record import encode
from atm.files.formats.times import to_iso
from atm.mail.rules.message_types import LONGEST_VALUE, NO, YES
from atm.mail.rules.messages import PLAIN, PLAN, PLAN_ANSWER
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.tasks import Task
    from atm.board.services.boardroom import Boardroom
    from atm.team.rules.team import Team

SHOWN = 2000


def tell_assigned(boardroom: Boardroom, team: Team, task: Task, who: str, to: str) -> list[str]:
    """As Claude Code tells the new owner of a task."""
    said = {
        "type": "task_assignment",
        "taskId": task.id,
        "subject": task.subject,
        "description": task.description[:SHOWN],
        "assignedBy": who,
        "timestamp": to_iso(boardroom.clock.now()),
    }
    return _tell(boardroom, team, who, to, encode(said), f"task #{task.id}: {task.subject}")


def tell(
    boardroom: Boardroom, team: Team, who: str, to: str, task: Task, text: str, *, type: str = PLAIN, **carries: str
) -> list[str]:
    """Words about a task; the warnings. Of a `type` that programs act on too, with what it `carries` for them."""
    head = f"#{task.id} {task.subject}"
    metadata = {"task_id": task.id, **carries} if type != PLAIN else {}
    return _tell(boardroom, team, who, to, f"{head}\n{text}", f"{text[:60]} ({head[:40]})", type, metadata)


def tell_plan(boardroom: Boardroom, team: Team, who: str, to: str, task: Task, text: str) -> list[str]:
    """Whoever decides hears of a plan."""
    return tell(boardroom, team, who, to, task, text, type=PLAN, revision=_revision(task))


def tell_decision(
    boardroom: Boardroom, team: Team, who: str, task: Task, text: str, *, approved: bool, feedback: str
) -> list[str]:
    """Whoever planned hears what was decided. This is all that makes a message which grants something (G8)."""
    said = {"feedback": feedback[:LONGEST_VALUE]} if feedback else {}
    carries = {"revision": _revision(task), "approved": YES if approved else NO, **said}
    return tell(boardroom, team, who, task.owner, task, text, type=PLAN_ANSWER, **carries)


def _revision(task: Task) -> str:
    return str(task.part("plan").get("revision") or 0)


def _tell(
    boardroom: Boardroom,
    team: Team,
    who: str,
    to: str,
    text: str,
    summary: str,
    type: str = PLAIN,
    metadata: dict[str, str] | None = None,
) -> list[str]:
    if same_name(who, to) or team.member(to) is None:
        return []  # oneself needs no letter; whoever is no member sees it on the board
    try:
        letter = Draft(sender=who, text=text, summary=summary[:100], type=type, metadata=metadata)
        send(boardroom.room, team.name, to, letter)
    except AtmError as error:
        return [f"{to} could not be told: {error}"]
    return []

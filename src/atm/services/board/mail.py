"""What the board tells people by mail. A letter that cannot be sent is a warning: the board itself has changed."""

from __future__ import annotations

from atm.domain.errors import AtmError
from atm.domain.names import same_name
from atm.formats.files.json_record import encode
from atm.formats.files.times import to_iso
from atm.services.mail.posting import Draft
from atm.services.mail.sending import send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.board.tasks import Task
    from atm.domain.team.team import Team
    from atm.services.board.boardroom import Boardroom

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


def tell(boardroom: Boardroom, team: Team, who: str, to: str, task: Task, text: str) -> list[str]:
    """Plain words about a task; the warnings."""
    head = f"#{task.id} {task.subject}"
    return _tell(boardroom, team, who, to, f"{head}\n{text}", f"{text[:60]} ({head[:40]})")


def _tell(boardroom: Boardroom, team: Team, who: str, to: str, text: str, summary: str) -> list[str]:
    if same_name(who, to) or team.member(to) is None:
        return []  # oneself needs no letter; whoever is no member sees it on the board
    try:
        send(boardroom.room, team.name, to, Draft(sender=who, text=text, summary=summary[:100]))
    except AtmError as error:
        return [f"{to} could not be told: {error}"]
    return []

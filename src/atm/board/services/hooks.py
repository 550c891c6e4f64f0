"""
Hooks: commands of the user's that are told of events and may say no, as Claude Code's hooks do.

Exit 0 lets it pass (its output may be JSON with a decision), exit 2 says no with what it wrote to standard error.
Anything else, a crash or a hook that does not end in time is a warning and blocks nobody.

A hook runs where its member works, but for a server that works for others: `python3 -m words` is whatever `words.py`
lies in the folder, and an agent could have anything run outside its sandbox. There it hears of the folder only.
"""

from __future__ import annotations

from atm.board.rules.acceptance import said_by
from atm.board.services.boardroom import own_folder
from atm.core.work_errors import HookBlocked
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes
from atm.files.formats.times import to_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.acceptance import Ran
    from atm.board.rules.tasks import Task
    from atm.board.services.boardroom import Boardroom
    from atm.core.plain import Plain

BLOCKED = 2
KEPT = 2000


class HookVerdict:
    """What all hooks of an event said together."""

    __slots__ = ("feedback", "is_blocked", "stop_reason", "warnings")

    def __init__(self) -> None:
        self.is_blocked = False
        self.feedback = ""
        self.stop_reason: str | None = None
        """Set when a hook wants the member to stop (`continue: false`)."""
        self.warnings: list[str] = []


def run_hooks(boardroom: Boardroom, event: str, team: str, who: str, task: Task | None = None) -> HookVerdict:
    """Ask every hook of an event, in order, until one says no."""
    verdict = HookVerdict()
    for command in boardroom.hooks.get(event, ()):
        works_in = own_folder(boardroom, boardroom.room.rosters.load(team), who)
        folder = "" if boardroom.is_server else works_in
        told = to_bytes(encode(_told(event, team, who, task, works_in or boardroom.programs.here())))
        facts = {"ATM_TEAM": team, "ATM_IDENTITY": who, "ATM_HOOK": event}
        ran = boardroom.programs.run(command, folder=folder, seconds=boardroom.hook_seconds, stdin=told, facts=facts)
        _judge(boardroom, verdict, event, command, ran)
        _log(boardroom, event, team, command, ran, verdict)
        if verdict.is_blocked:
            break
    return verdict


def check_not_blocked(verdict: HookVerdict, what: str) -> None:
    if verdict.is_blocked:
        raise HookBlocked(
            f"{what}: {verdict.feedback or 'a hook said no'}", "do what the hook asks for, then try again"
        )


def _told(event: str, team: str, who: str, task: Task | None, folder: str) -> dict[str, Plain]:
    """What the hook reads, in the shape of Claude Code's."""
    told: dict[str, Plain] = {
        "session_id": "",
        "transcript_path": "",
        "cwd": folder,
        "permission_mode": "default",
        "hook_event_name": event,
        "teammate_name": who,
        "team_name": team,
    }
    if task is not None:
        told |= {"task_id": task.id, "task_subject": task.subject, "task_description": task.description}
    return told


def _judge(boardroom: Boardroom, verdict: HookVerdict, event: str, command: str, ran: Ran) -> None:
    if ran.code == 0:
        _obey(verdict, event, ran.output)
    elif ran.code == BLOCKED:
        verdict.is_blocked, verdict.feedback = True, (ran.errors.strip() or ran.output.strip())[:KEPT]
    else:
        verdict.warnings.append(f"the {event} hook `{command[:80]}` {_went(boardroom, ran)}; it stops nobody")


def _went(boardroom: Boardroom, ran: Ran) -> str:
    if ran.timed_out:
        return f"did not end within {boardroom.hook_seconds:g} s"
    return "could not be started" if ran.code is None else f"ended with {ran.code}"


def _obey(verdict: HookVerdict, event: str, output: str) -> None:
    try:
        said = decode_object(output) if output.lstrip().startswith("{") else {}
    except NotJson:
        return
    if said.get("decision") == "block" and event != "TeammateIdle":
        verdict.is_blocked, verdict.feedback = True, str(said.get("reason") or "")[:KEPT]
    if said.get("continue") is False and event != "TaskCreated":
        verdict.stop_reason = str(said.get("stopReason") or "")[:KEPT]


def _log(boardroom: Boardroom, event: str, team: str, command: str, ran: Ran, verdict: HookVerdict) -> None:
    boardroom.programs.log(
        {
            "at": to_iso(boardroom.clock.now()),
            "event": event,
            "team": team,
            "command": command,
            "code": ran.code,
            "timedOut": ran.timed_out,
            "seconds": round(ran.seconds, 3),
            "blocked": verdict.is_blocked,
            "output": said_by(ran)[-KEPT:],
        }
    )

"""`atm approvals ask`: a script asks before it does something."""

from __future__ import annotations

from atm.approvals.formats.records import approval_json
from atm.approvals.rules.calls import AgentCall
from atm.approvals.rules.requests import APPROVED, WAITING
from atm.approvals.services.asking import ask, await_answer, judged, leave, use
from atm.team.services.registry import find_team
from atm.ui.cli.approvals.answering import NOTHING, room_of
from atm.ui.cli.board.view import task_meant
from atm.ui.cli.session import working_folder
from atm.ui.cli.waiting import Spinner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def call_in(args: Args, session: Session) -> AgentCall:
    path = args.text("path")
    return AgentCall(
        args.need("tool"),
        command=args.text("command") or "",
        paths=[path] if path else [],
        branch=args.text("branch") or "",
        folder=working_folder(),
        root=session.settings.root,
    )


def run(args: Args, session: Session) -> int:
    room, who = room_of(session), session.identity(args)
    team = find_team(session.room, session.team(args))
    call, task = call_in(args, session), args.text("task") or ""
    if task:
        task = task_meant(args, session, team.name, "task")
        session.boardroom.tasks.read(team.name, task)  # raises if there is none
    understood, verdict = judged(room, call)
    approval = ask(room, team, who, understood, verdict, task=task, minutes=args.number("minutes"))
    seconds = args.number("wait")
    if seconds and approval.state(room.clock.now()) == WAITING:
        session.need_daemon("answers")
        with Spinner(session, f"waiting for a yes or no to {approval.id}"):
            approval = await_answer(room, approval, seconds)
    state = approval.state(room.clock.now())
    is_used = state == APPROVED and use(room, approval)
    if state == WAITING:
        leave(room, approval)
    after = room.approvals.read(team.name, approval.id) or approval
    result: dict[str, object] = {"action": "approvals ask", "approval": approval_json(after, room.clock.now())}
    reason = f" ({after.answer.reason})" if after.answer is not None and after.answer.reason else ""
    words = f"{after.id}: {state}{reason}"
    if state == WAITING:
        words += f"; ask again with the same words, or see `atm approvals show {after.id}`"
    session.tell(result, words)
    if state == WAITING:
        return NOTHING
    return 0 if is_used else 1

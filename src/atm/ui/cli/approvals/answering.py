"""`atm approvals list`, `show`, `approve`, `deny`."""

from __future__ import annotations

import os

from atm.approvals.formats.records import approval_json
from atm.approvals.rules.requests import APPROVED, DENIED
from atm.approvals.services.answering import find_approval, give_answer
from atm.approvals.services.looking import everything_in, waiting_in
from atm.ui.views.approvals import HEADS, WHAT, detail, row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.rules.requests import Approval
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

NOTHING = 3


def room_of(session: Session) -> Approvalroom:
    from atm.wiring.approvals import build_approvalroom

    return build_approvalroom(session.layout, session.settings, session.room, lambda: session.boardroom)


def teams_meant(args: Args, session: Session) -> list[str]:
    """The team that is named, in whatever case; else all: a request is found wherever it waits."""
    named = args.text("team") or session.settings.text("core.default_team")
    rosters = session.room.rosters
    if named:
        return [rosters.load(rosters.find(named) or named).name]
    return rosters.teams()


def run(args: Args, session: Session) -> int:
    room, teams = room_of(session), teams_meant(args, session)
    verbs = {"approvals show": _show, "approvals approve": _approve, "approvals deny": _deny}
    verb = verbs.get(args.command.name)
    if verb is None:
        return _list(args, session, room, teams)
    return verb(args, session, room, find_approval(room, teams, args.need("id")))


def _list(args: Args, session: Session, room: Approvalroom, teams: list[str]) -> int:
    everything = args.flag("all")
    look = everything_in if everything else waiting_in
    found = [one for team in teams for one in look(room, team)]
    now = room.clock.now()
    if session.as_json:
        said: dict[str, object] = {"action": "approvals list", "approvals": [approval_json(one, now) for one in found]}
        if everything:
            said["audit"] = [{"team": team, **line} for team in teams for line in room.approvals.audit(team)]
        session.print_json(said)
    elif found:
        from atm.ui.views.tables import table

        session.print("\n".join(table(HEADS, [row(one, now) for one in found], drop=(4, 2, 5), whole=(WHAT,))))
    else:
        session.print("Nothing waits for an answer." if not everything else "Nothing was asked for.")
    return 0 if found else NOTHING


def _show(args: Args, session: Session, room: Approvalroom, one: Approval) -> int:  # noqa: ARG001 - all verbs alike
    now = room.clock.now()
    if session.as_json:
        session.print_json({"action": "approvals show", "approval": approval_json(one, now)})
    else:
        session.print("\n".join(detail(one, now)))
    return 0


def _approve(args: Args, session: Session, room: Approvalroom, one: Approval) -> int:
    return answer(args, session, room, one, APPROVED, args.text("note") or "")


def _deny(args: Args, session: Session, room: Approvalroom, one: Approval) -> int:
    return answer(args, session, room, one, DENIED, args.need("reason"))


def answer(args: Args, session: Session, room: Approvalroom, one: Approval, state: str, reason: str) -> int:
    who = session.identity(args)
    done = give_answer(room, one, who, state, reason, how_known())
    verb = "approve" if state == APPROVED else "deny"
    words = f"{state} {done.id}: {done.tool} for {done.requester}"
    said: dict[str, object] = {"action": f"approvals {verb}", "approval": approval_json(done, room.clock.now())}
    session.tell(said, words)
    return 0


def how_known() -> str:
    """What can be said of who answers: which process, at which terminal."""
    try:
        terminal = os.ttyname(0)
    except OSError:
        terminal = "no terminal"
    return f"atm approvals, process {os.getpid()}, {terminal}, user {os.getuid() if hasattr(os, 'getuid') else '?'}"

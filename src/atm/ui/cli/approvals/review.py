"""
`atm approvals review`: what waits, shown one by one to the person at a terminal, who answers in whole words.

A popup may open while somebody types elsewhere: so no single key approves anything, and what was typed before the
question was shown is thrown away.
"""

from __future__ import annotations

import sys

from atm.approvals.rules.requests import APPROVED, DENIED
from atm.approvals.services.answering import find_approval, give_answer
from atm.approvals.services.looking import waiting_in
from atm.core.errors import AtmError, UsageError
from atm.team.services.standing import check_person
from atm.ui.cli.approvals.answering import NOTHING, how_known, room_of, teams_meant
from atm.ui.views.approvals import detail
from atm.wiring.files import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.rules.requests import Approval
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def run(args: Args, session: Session) -> int:
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("there is no terminal to answer at", "use `atm approvals approve` or `atm approvals deny`")
    check_person(session.room, "answer at a terminal")
    room, who = room_of(session), session.identity(args)
    teams = teams_meant(args, session) if args.text("team") else session.room.rosters.teams()
    id = args.text("id")
    waiting = [find_approval(room, teams, id)] if id else [one for team in teams for one in waiting_in(room, team)]
    for number, one in enumerate(waiting, 1):
        session.print("\n".join([f"({number} of {len(waiting)})", *detail(one, room.clock.now()), ""]))
        if not _answered(session, room, one, who):
            return 0
    session.print("Nothing waits for an answer." if not waiting else "That was the last one.")
    return 0 if waiting else NOTHING


def _answered(session: Session, room: Approvalroom, one: Approval, who: str) -> bool:
    """False if the person has had enough."""
    while True:
        said = _typed("approve, deny REASON, skip or quit? ")
        verb, _, reason = said.partition(" ")
        if verb in ("", "skip"):
            return True
        if verb == "quit":
            return False
        if verb == "deny" and not reason.strip():
            session.print("Say why, on the same line: the agent reads it.")
        elif verb in ("approve", "deny"):
            try:
                give_answer(room, one, who, APPROVED if verb == "approve" else DENIED, reason, f"popup: {how_known()}")
            except AtmError as error:
                session.print(f"{error}; {error.remedy}")
            return True


def _typed(question: str) -> str:
    _forget_what_was_typed()
    sys.stdout.write(question)
    sys.stdout.flush()
    interruptions.until_readable(sys.stdin)
    with interruptions:
        line = sys.stdin.readline()
    return line.strip() if line else "quit"


def _forget_what_was_typed() -> None:
    try:
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (ImportError, OSError, ValueError):
        return

"""`atm broadcast`: one message to everybody else in a team."""

from __future__ import annotations

from atm.ui.cli.arguments import TEAM, Args, Argument, Command, Option
from atm.ui.cli.mail.send import KIND, SENDER, TYPE, URGENCY, send_to_everybody

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "broadcast",
    "send a message to everybody in a team",
    text="Everybody but the sender gets a copy under one id. Exit code 2: some copies failed; 1: all failed.",
    arguments=(Argument("message", "the text; - reads it from standard input", required=False),),
    options=(
        TEAM,
        Option("--stdin", help="read the text from standard input"),
        Option("--summary", value="TEXT", help="a summary instead of the first words"),
        Option("--offline-action", value="TEXT", help='tag for recipients who are away; "" for none'),
        SENDER,
        KIND,
        *TYPE,
        *URGENCY,
    ),
    examples=(
        'atm broadcast "main is frozen until noon"',
        'atm broadcast --team backend "standup" --from team-lead',
    ),
)


def execute(args: Args, session: Session) -> int:
    return send_to_everybody(args, session, session.team(args))

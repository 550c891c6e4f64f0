"""`atm prime`: the briefing that a session begins with."""

from __future__ import annotations

from atm.delivery.rules.briefing import in_words
from atm.delivery.services.briefing import brief
from atm.ui.cli.arguments import TEAM, Args, Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "prime",
    "the briefing that a session begins with",
    text="Who you are, your team, your unread mail and your work, in under 2,000 tokens. Nothing is marked read.",
    options=(TEAM, Option("--as", value="NAME", help="the member (default: ATM_IDENTITY, settings)")),
    examples=("atm prime", "atm prime --as ann --team crew"),
)


def execute(args: Args, session: Session) -> int:
    facts = brief(session.boardroom, session.team(args), session.identity(args))
    if session.as_json:
        session.print_json(
            {
                "action": "prime",
                "team": facts.team,
                "member": facts.me,
                "lead": facts.lead,
                "unread": facts.unread,
                "work": facts.work,
                "claimable": facts.claimable,
                "text": in_words(facts),
            }
        )
    else:
        session.print(in_words(facts))
    return 0

"""`atm spawn`: start one agent."""

from __future__ import annotations

from atm.crew.services.upping import Upped, up
from atm.ui.cli.arguments import Args, Argument, Command, Option
from atm.ui.cli.crew.new_team import taken_back_on_failure
from atm.ui.cli.crew.up import short
from atm.ui.cli.crew.welcome import Afterwards, steps_after
from atm.ui.cli.crew.wishes import OPTIONS, check_may_start, open_crew, report, team_for, wish_of
from atm.ui.cli.waiting import Spinner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "spawn",
    "start one agent",
    arguments=(Argument("agent", "RUNTIME:NAME"),),
    options=(Option("--resume", value="SESSION", help="go on with this conversation of its vendor's"), *OPTIONS),
    examples=(
        "atm spawn script:ann",
        'atm spawn claude:bob --prompt "Review the parser" --require-plan',
        'atm spawn command:cat --prompt "make watch"',
    ),
)


def execute(args: Args, session: Session) -> int:
    crew, agent = open_crew(session), short(args.need("agent"))
    home = team_for(session, args)
    team = home.team
    with taken_back_on_failure(session, crew, home):
        wish = wish_of(args, team, agent)
        wish.resume = args.text("resume") or ""
        check_may_start(session, crew, team)
        by = session.named(args)
        with Spinner(session, f"waiting for {wish.member} to start"):
            done: list[Upped] = up(crew, team, by, [wish])
        if done[0].error is not None:
            raise done[0].error
    return report(session, "spawn", home, done, Afterwards(None, steps_after(session, team, done)[-2:]))

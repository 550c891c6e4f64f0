"""`atm kill`: end one agent at once."""

from __future__ import annotations

from atm.crew.services.ending import kill
from atm.team.services.standing import check_roster
from atm.ui.cli.arguments import TEAM, Args, Argument, Command
from atm.ui.cli.crew.ends import ended_json, ended_words
from atm.ui.cli.crew.wishes import open_crew
from atm.ui.cli.waiting import Spinner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "kill",
    "end one agent at once, and everything that it started",
    text="Its work is saved first, its task goes back to the board. Ask it politely with `atm down NAME`.",
    arguments=(Argument("agent", "which", complete="member"),),
    options=(TEAM,),
    examples=("atm kill ann",),
)


def execute(args: Args, session: Session) -> int:
    crew, team = open_crew(session), session.team(args)
    check_roster(session.room, team, "end agents")
    name = args.need("agent")
    with Spinner(session, f"ending {name}, and saving its work"):
        done = kill(crew, team, name, session.named(args))
    session.tell({"action": "kill", **ended_json(done)}, ended_words(done))
    return 1 if done.troubles else 0

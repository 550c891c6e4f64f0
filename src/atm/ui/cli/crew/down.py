"""`atm down`: end a team's agents, who finish what they are at."""

from __future__ import annotations

from atm.crew.services.ending import REFUSES, AgentEnd, down, keep
from atm.team.services.standing import check_roster
from atm.ui.cli.arguments import TEAM, Args, Argument, Command, Option
from atm.ui.cli.crew.ends import NOTHING, ended_json, ended_words
from atm.ui.cli.crew.wishes import PARTLY, open_crew
from atm.ui.cli.waiting import Spinner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.rules.agents import AgentRecord
    from atm.ui.cli.session import Session

COMMAND = Command(
    "down",
    "end a team's agents, who finish what they are at",
    text=(
        "Each is asked, and has a minute to answer: it ends, or it says that it finishes its task first. Only silence "
        "is killed. Work that is on no branch is saved (`atm salvage`), and unfinished tasks go back to the board. "
        "Without names the team is stopped. Exit code 3: nobody ran."
    ),
    arguments=(Argument("agents", "only these", required=False, complete="member", is_many=True),),
    options=(
        Option("--keep", value="REASON", help="for an agent that was asked to end: no, and why"),
        Option("--as", value="NAME", help="who says that (default: ATM_IDENTITY)"),
        TEAM,
    ),
    examples=("atm down", "atm down ann bob"),
)


def execute(args: Args, session: Session) -> int:
    crew, team = open_crew(session), session.team(args)
    if args.text("keep"):
        who = session.identity(args)
        keep(crew, team, who, args.need("keep"))
        session.tell({"action": "down", "team": team, "kept": who}, f"{who} goes on; whoever asked is told why")
        return 0
    check_roster(session.room, team, "end agents")

    def waits_for(record: AgentRecord) -> None:
        session.warn(f"{record.member} finishes its task first")

    names, by = args.many("agents"), session.named(args)
    with Spinner(session, f"waiting for {', '.join(names) or f'the agents of {team}'} to end"):
        done: list[AgentEnd] = down(crew, team, by, names, waits_for=waits_for)
    session.tell(
        {"action": "down", "team": team, "members": [ended_json(one) for one in done]},
        "\n".join(map(ended_words, done)) or "no agent of this team runs",
    )
    if not done:
        return NOTHING
    return PARTLY if any(one.how == REFUSES or one.troubles for one in done) else 0

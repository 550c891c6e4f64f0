"""`atm up`: bring a team's agents up."""

from __future__ import annotations

from atm.domain.errors import UsageError
from atm.formats.crew.crew_file import AgentPlan, NotACrew, read_short
from atm.services.crew.upping import again, up
from atm.ui.cli.arguments import Args, Argument, Command, Option
from atm.ui.cli.crew.wishes import OPTIONS, check_may_start, crew_in, note_leader, open_crew, report, team_for, wish_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "up",
    "start agents, each with a worktree of its own",
    text=(
        "RUNTIME is script, command, claude, codex, gemini, opencode, or one of your settings; see `atm runtimes`. "
        "Without any word the agents that ran before are started again. Exit code 2: some could not be started."
    ),
    arguments=(Argument("agents", "RUNTIME:NAME, as many as you like", required=False, is_many=True),),
    options=(
        Option("--crew", value="FILE", help="a file that names them; `atm init --crew` writes one"),
        Option("--yes", "-y", help="start what the file names without being asked"),
        *OPTIONS,
    ),
    examples=("atm up script:ann command:bob", "atm up claude:ann codex:bob --backend tmux", "atm up --crew crew.toml"),
)


def execute(args: Args, session: Session) -> int:
    crew, file = open_crew(session), args.text("crew")
    if file:
        plan = crew_in(session, file, is_said=args.flag("yes"))
        team, is_new = team_for(session, args, plan.team)
        wishes = [wish_of(args, team, one, plan.backend) for one in plan.agents]
    else:
        team, is_new = team_for(session, args)
        wishes = [wish_of(args, team, short(word)) for word in args.many("agents")] or again(crew, team)
    if not wishes:
        raise UsageError("there is nobody to start", "name agents, for example: atm up script:ann command:bob")
    check_may_start(session, crew, team)
    note_leader(session, team)
    return report(session, "up", team, up(crew, team, session.named(args), wishes), is_new=is_new)


def short(word: str) -> AgentPlan:
    try:
        return read_short(word)
    except NotACrew as error:
        raise UsageError(str(error), "see `atm runtimes`") from None

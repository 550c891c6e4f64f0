"""`atm up`: bring a team's agents up."""

from __future__ import annotations

import shutil

from atm.core.errors import UsageError
from atm.crew.formats.crew_file import AgentPlan, NotACrew, read_short
from atm.crew.services.upping import again, up
from atm.ui.cli.arguments import Args, Argument, Command, Option
from atm.ui.cli.crew.new_team import take_back, taken_back_on_failure
from atm.ui.cli.crew.welcome import Afterwards, bring_daemon, offer_setup, steps_after
from atm.ui.cli.crew.wishes import OPTIONS, check_may_start, crew_in, note_leader, open_crew, report, team_for, wish_of
from atm.ui.cli.waiting import Spinner
from atm.ui.views.team.next_steps import agents_to_start, up_command
from atm.vendors.runtimes import with_a_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "up",
    "start agents, each with a worktree of its own",
    text=(
        "From nothing: without a team one is made, with you in it, and the daemon is started. RUNTIME is script, "
        "command, claude, codex, gemini, opencode, or one of your settings; see `atm runtimes`. "
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
    crew, file, words = open_crew(session), args.text("crew"), args.many("agents")
    if not file and not words and not session.room.rosters.teams():
        raise _nobody(session)
    if file:
        plan = crew_in(session, file, is_said=args.flag("yes"))
        home = team_for(session, args, plan.team)
        with taken_back_on_failure(session, crew, home):
            wishes = [wish_of(args, home.team, one, plan.backend) for one in plan.agents]
    else:
        agents = [short(word) for word in words]  # before a team is made for what nobody can start
        home = team_for(session, args, makes=bool(agents))
        with taken_back_on_failure(session, crew, home):
            wishes = [wish_of(args, home.team, one) for one in agents] or again(crew, home.team)
    if not wishes:
        take_back(session, crew, home)
        raise _nobody(session)
    with taken_back_on_failure(session, crew, home):
        check_may_start(session, crew, home.team)
        note_leader(session, home.team)
        without = offer_setup(session, crew, wishes)
        by = session.named(args)
        with Spinner(session, f"waiting for {', '.join(one.member for one in wishes)} to start"):
            done = up(crew, home.team, by, wishes)
    if all(one.record is None for one in done):
        take_back(session, crew, home)
    daemon = bring_daemon(session) if any(one.record is not None for one in done) else None
    return report(session, "up", home, done, Afterwards(daemon, steps_after(session, home.team, done, without)))


def _nobody(session: Session) -> UsageError:
    here = [name for name in with_a_model() if shutil.which(name, path=session.environment.get("PATH"))]
    return UsageError("there is nobody to start", f"name agents, for example: {up_command(agents_to_start(here))}")


def short(word: str) -> AgentPlan:
    try:
        return read_short(word)
    except NotACrew as error:
        raise UsageError(str(error), "see `atm runtimes`") from None

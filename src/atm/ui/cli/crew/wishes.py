"""What `up` and `spawn` are asked for, as wishes; who may ask; and what came of it, in words and in JSON."""

from __future__ import annotations

import os

from atm.core.errors import NoSuchTeam, UsageError
from atm.core.names import check_new_name
from atm.core.untrusted_text import one_line
from atm.core.work_errors import NotTrusted
from atm.crew.formats.crew_file import AgentPlan, CrewPlan, read_crew
from atm.crew.services.spawning import AgentWish
from atm.roster.services.members import create_team
from atm.team.rules.choosing import PROCESS
from atm.team.rules.repositories import OTHER, SAME, name_of_folder
from atm.team.rules.team import check_open
from atm.team.services.belonging import FREE, may_work_anywhere
from atm.team.services.choosing import choose_team
from atm.team.services.leading import note_lead
from atm.team.services.registry import find_team
from atm.team.services.standing import check_person, check_roster
from atm.trust.rules import TRUSTED
from atm.ui.cli.arguments import MANY, TEAM, Option
from atm.ui.cli.asking import as_it_is, can_ask, said_yes_to
from atm.ui.cli.roster.enrolling import enrol_person
from atm.ui.cli.session import working_folder
from atm.ui.cli.team.belonging import belonging_here, bind_here, check_named, choose_here
from atm.wiring.sessions import lead_here
from atm.wiring.trust import check_not_foreign, examine_crew, give_consent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.services.crewroom import Crewroom
    from atm.crew.services.upping import Upped
    from atm.team.services.belonging import RepositoryTeams
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.crew.welcome import Afterwards
    from atm.ui.cli.roster.enrolling import Enrolled
    from atm.ui.cli.session import Session

PARTLY = 2
MOST_TRIES = 20
"""Names that other processes may take for their repositories while this one chooses."""
OPTIONS = (
    Option("--backend", value="WAY", choices=("auto", "headless", "tmux"), help="without a terminal, or in windows"),
    Option("--model", value="NAME", help="which model (default: the program's own choice)"),
    Option("--prompt", value="TEXT", help="what it is told first; for `command`, the command line"),
    Option("--prompt-file", value="FILE", help="the same, from a file"),
    Option("--tools", value="NAME", kind=MANY, help="the only tools that it may use (claude, opencode)"),
    Option("--require-plan", help="it plans first and writes nothing until its plan is approved"),
    Option("--env", value="K=V", kind=MANY, help="variables that it gets on top"),
    Option("--cwd", value="DIR", help="work in this folder, and in no worktree of its own"),
    TEAM,
)


def open_crew(session: Session) -> Crewroom:
    from atm.wiring.crew import build_crewroom

    return build_crewroom(session.layout, session.settings, session.boardroom, session.environment)


def team_for(session: Session, args: Args, named: str = "", *, makes: bool = True) -> TeamAndPerson:
    """
    The team that is meant; made, with the person who asks for it, if it is not there. `named`: by a crew file.

    Without `makes` a repository that has no team gets none.
    """
    said = args.text("team") or ("" if named else session.settings.text("core.default_team"))
    belonging = belonging_here(session)
    if belonging is None:
        return _found_or_made(session, said or named or _team_here(session))
    if not said:
        return _of_repository(session, belonging, named, makes=makes)
    home = _found_or_made(session, said, belonging)
    if not home.is_new and not may_work_anywhere(session.room, home.team):
        check_named(session, belonging, home.team)
        _bind(session, belonging, home.team)
    return home


def _of_repository(session: Session, belonging: RepositoryTeams, named: str, *, makes: bool) -> TeamAndPerson:
    """The team of this repository. Where another process has just taken its name for another one: the next name."""
    other = "" if named else _other_team_here(session, belonging)
    if other:
        if not may_work_anywhere(session.room, other):
            check_named(session, belonging, other)
            _bind(session, belonging, other)
        return TeamAndPerson(other)
    for _ in range(MOST_TRIES):
        chosen = choose_here(session, belonging, belonging.here.root, named and check_new_name(named, "team"))
        if chosen.is_new and not makes:
            raise NoSuchTeam("this repository has no team yet", "name agents, for example: atm up script:ann")
        home = _found_or_made(session, chosen.team, belonging)
        if home.team and belonging.verdict(home.team) != OTHER:
            _bind(session, belonging, home.team)
            return home
    raise UsageError("other processes take every name for a team", "name one: --team NAME")


def _other_team_here(session: Session, belonging: RepositoryTeams) -> str:
    """The team that can be told from here: that of the agent that asks, or one that no other repository has."""
    try:
        choice = choose_team(session.room, session.whereabouts)
    except NoSuchTeam:
        return ""
    if choice.why != PROCESS and belonging.verdict(choice.team) not in (FREE, SAME):
        return ""
    session.choice = choice
    return choice.team


def _found_or_made(session: Session, wanted: str, belonging: RepositoryTeams | None = None) -> TeamAndPerson:
    """Without a team if another process has just made one of that name for another repository."""
    try:
        return TeamAndPerson(find_team(session.room, wanted).name)
    except NoSuchTeam:
        bound = belonging.binding if belonging is not None else None
        is_made = create_team(session.room, check_new_name(wanted, "team"), repository=bound)
        if not is_made and belonging is not None and belonging.verdict(wanted) == OTHER:
            return TeamAndPerson("")
        return TeamAndPerson(wanted, is_new=True, person=enrol_person(session, wanted))


def _bind(session: Session, belonging: RepositoryTeams, team: str) -> None:
    from atm.wiring.runs import build_runroom

    bind_here(
        session,
        belonging,
        team,
        lambda: build_runroom(session.layout, session.settings, session.boardroom, session.environment),
    )


class TeamAndPerson:
    """A team, whether it was made just now, and who was entered in it then."""

    __slots__ = ("is_new", "person", "team")

    def __init__(self, team: str, *, is_new: bool = False, person: Enrolled | None = None) -> None:
        self.team = team
        self.is_new = is_new
        self.person = person

    @property
    def in_words(self) -> list[str]:
        made = [f"made team {one_line(self.team)}"] if self.is_new else []
        return [*made, *(self.person.in_words if self.person is not None else [])]


def _team_here(session: Session) -> str:
    """The one that can be told from here; else one of this folder's name."""
    try:
        session.choice = choose_team(session.room, session.whereabouts)
    except NoSuchTeam:
        return name_of_folder(session.settings.root)
    return session.choice.team


def check_may_start(session: Session, crew: Crewroom, team: str) -> None:
    """People and the lead start agents; after a stop only people do (G8)."""
    check_open(find_team(session.room, team))
    if crew.records.latch(team) is not None:
        check_person(session.room, f"start team {team} again, which was stopped")
        crew.records.set_latch(team, None)
    check_roster(session.room, team, "start agents")


def wish_of(args: Args, team: str, plan: AgentPlan, backend: str = "") -> AgentWish:
    """An agent of the command line or of a file; the command line outweighs."""
    cwd = args.text("cwd") or plan.cwd
    prompt = args.text("prompt") or _from_file(args.text("prompt_file") or plan.prompt_file) or plan.prompt
    command = plan.command or (["/bin/sh", "-c", prompt] if plan.runtime == "command" and prompt else [])
    return AgentWish(
        team=team,
        member=plan.name,
        runtime=plan.runtime,
        folder=os.path.realpath(os.path.expanduser(cwd) if cwd else working_folder()),
        backend=args.text("backend") or plan.backend or backend or "auto",
        model=args.text("model") or plan.model,
        prompt="" if plan.runtime == "command" else prompt,
        command=command,
        environment={**plan.env, **_variables(args.many("env"))},
        requires_plan=args.flag("require_plan") or plan.require_plan,
        tools=args.many("tools") or plan.tools,
        in_place=bool(cwd),
    )


def _from_file(path: str) -> str:
    if not path:
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(1_000_000)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the prompt in {path} cannot be read: {error}", "name a text file") from None


def _variables(given: list[str]) -> dict[str, str]:
    pairs = [word.partition("=") for word in given]
    wrong = next((name for name, mark, _ in pairs if not mark or not name), None)
    if wrong is not None:
        raise UsageError(f"--env takes NAME=VALUE, not {wrong!r}", "write for example --env CI=1")
    return {name: value for name, _, value in pairs}


def crew_in(session: Session, path: str, *, is_said: bool, is_only_shown: bool = False) -> CrewPlan:
    """A crew file, after the user's yes to exactly what it says (D25). To be shown, it needs none."""
    found = examine_crew(session.layout, path)
    check_not_foreign(found)
    plan = read_crew(found.content.decode("utf-8"))
    if found.state != TRUSTED and not is_only_shown:
        check_person(session.room, "start what a file names")
        agents = [f"{one.runtime}:{one.name} {' '.join(one.command)}" for one in plan.agents]
        shown = "\n".join([f"{as_it_is(path)} starts:", *(f"  {as_it_is(one)}" for one in agents)])
        if not is_said and not (can_ask(session) and said_yes_to(f"{shown}\n\nDo you want that?")):
            raise NotTrusted(f"{path} is not trusted", "look at it, then add --yes", path)
        give_consent(session.layout, found)
    for agent in plan.agents:
        if agent.prompt_file:
            agent.prompt_file = os.path.join(os.path.dirname(found.file), agent.prompt_file)
    return plan


def note_leader(session: Session, team: str) -> None:
    """Whoever starts a team's agents leads it: while they are away for long, its agents wait (see `atm session`)."""
    lead = lead_here(session.environment, working_folder())
    note_lead(session.room, team, lead, session.settings.number("sessions.takeover_minutes") * 60)


def report(session: Session, action: str, home: TeamAndPerson, done: list[Upped], after: Afterwards) -> int:
    """0 if all run, 2 if some do, 1 if none does."""
    well = sum(one.record is not None for one in done)
    words = [*home.in_words, *(_words(one) for one in done), *after.in_words]
    result: dict[str, object] = {"action": action, "team": home.team, "made": home.is_new}
    result |= {"you": home.person.name if home.person is not None else None, "members": [_row(one) for one in done]}
    session.tell({**result, "daemon": after.daemon, "next": [step.command for step in after.steps]}, "\n".join(words))
    return 0 if well == len(done) else PARTLY if well else 1


def _row(one: Upped) -> dict[str, object]:
    if one.record is not None:
        return {**one.record.facts()}
    error = {"code": one.error.code, "message": str(one.error), "hint": one.error.remedy} if one.error else None
    return {
        "name": one.wish.member,
        "runtime": one.wish.runtime,
        "backend": one.wish.backend,
        "pid": None,
        "pane": None,
        "state": "error",
        "error": error,
    }


def _words(one: Upped) -> str:
    if one.record is None:
        hint = f"\n    {one_line(one.error.remedy)}" if one.error and one.error.remedy else ""
        return f"✗ {one_line(one.wish.member)} ({one_line(one.wish.runtime)}): {one_line(str(one.error))}{hint}"
    record = one.record
    where = f"window {record.pane}" if record.pane else f"process {record.pid}"
    tree = f", {one_line(record.branch)}" if record.branch else ""
    return f"✓ {one_line(record.member)} ({one_line(record.runtime)}) runs: {where}{tree}"

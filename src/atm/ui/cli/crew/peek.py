"""`atm peek`: what agents are doing, and what one of them said."""

from __future__ import annotations

from atm.core.untrusted_text import many_lines, one_line
from atm.crew.services.crewroom import is_being_started, is_running
from atm.crew.services.ending import agent_named
from atm.crew.services.looking import last_output
from atm.crew.services.reaping import worktree_of
from atm.ui.cli.arguments import TEAM, WHOLE, Args, Argument, Command, Option
from atm.ui.cli.crew.ends import NOTHING
from atm.ui.cli.crew.wishes import open_crew
from atm.ui.cli.render import when_epoch
from atm.ui.views.tables import table
from atm.ui.views.team.attention import answer_command
from atm.vendors.dialogs import asked_in_words
from atm.wiring.crew import question_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.rules.agents import AgentRecord
    from atm.crew.services.crewroom import Crewroom
    from atm.ui.cli.session import Session

COMMAND = Command(
    "peek",
    "the agents that atm started, and what one of them said last",
    arguments=(Argument("agent", "which (default: all of them, in a table)", required=False, complete="member"),),
    options=(
        TEAM,
        Option("--lines", value="N", kind=WHOLE, help="how many lines of it", default=40),
        Option("--diff", help="what it has changed since it began with its task, committed or not"),
    ),
    examples=("atm peek", "atm peek ann --lines 100", "atm peek ann --diff"),
)

COLUMNS = ("Agent", "Runtime", "State", "Since", "Task", "Where")


def execute(args: Args, session: Session) -> int:
    crew, team, name = open_crew(session), session.team(args), args.text("agent")
    if args.flag("diff"):
        return _diff(session, crew, team, args.need("agent"))
    return _one(args, session, crew, team, name) if name else _all(session, crew, team)


def _all(session: Session, crew: Crewroom, team: str) -> int:
    found = [crew.records.read(team, member) for member in crew.records.names(team)]
    records = [record for record in found if record is not None]
    if session.as_json:
        rows = [{**record.facts(), "runs": runs(crew, record)} for record in records]
        session.print_json({"action": "peek", "team": team, "members": rows})
    elif records:
        shown = table([*COLUMNS], _rows(session, crew, records), drop=(3, 1, 5))
        session.print("\n".join([*shown, *_questions(records)]))
    else:
        session.print("atm has started no agent in this team; see `atm up --help`")
    return 0 if records else NOTHING


def runs(crew: Crewroom, record: AgentRecord) -> bool:
    return is_running(crew, record) or is_being_started(crew, record)


def _state(record: AgentRecord) -> str:
    return "waits for you" if question_of(record) else record.state


def _questions(records: list[AgentRecord]) -> list[str]:
    """What the programs of agents ask a person, each with the command that shows the window."""
    found = [(one.member, asks, answer_command(one.member, one.team)) for one in records if (asks := question_of(one))]
    return [
        f"{one_line(member)} waits for you: {asked_in_words(one_line(asks))}; {answer}"
        for member, asks, answer in found
    ]


def _rows(session: Session, crew: Crewroom, records: list[AgentRecord]) -> list[list[str]]:
    rows = []
    for record in records:
        gone = "" if record.is_over or runs(crew, record) else " (its host is gone)"
        where = record.branch or (f"window {record.pane}" if record.pane else "")
        rows.append(
            [
                *(one_line(record.member), one_line(record.runtime), f"{_state(record)}{gone}"),
                *(when_epoch(session, record.since), f"#{record.task}" if record.task else "", one_line(where)),
            ]
        )
    return rows


def _one(args: Args, session: Session, crew: Crewroom, team: str, name: str) -> int:
    record = agent_named(crew, team, name)
    lines = last_output(crew, record, args.whole("lines") or 40)
    if session.as_json:
        facts = {**record.facts(), "runs": runs(crew, record)}
        session.print_json({"action": "peek", "team": team, "member": facts, "lines": lines})
    elif any(lines):
        session.print("\n".join(lines))
    else:
        session.print(f"{one_line(record.member)} has said nothing yet ({_state(record)})")
    return 0


def _diff(session: Session, crew: Crewroom, team: str, name: str) -> int:
    record = agent_named(crew, team, name)
    tree = worktree_of(record)
    changed = many_lines(crew.worktrees.diff(tree)).rstrip("\n") if tree is not None else ""
    words = changed or f"{one_line(record.member)} has changed nothing"
    session.tell({"action": "peek", "team": team, "member": record.member, "diff": changed}, words)
    return 0 if changed else NOTHING

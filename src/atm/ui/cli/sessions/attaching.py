"""`atm session resume`, `takeover` and `probe`."""

from __future__ import annotations

from atm.core.errors import (
    AtmError,
    BadName,
    NoSuchTeam,
    TeamCompleted,
    TeamNotOurs,
)
from atm.core.names import check_known_name
from atm.core.plain import counted
from atm.core.untrusted_text import one_line
from atm.core.work_errors import TeamNotInitialized
from atm.sessions.services.copying import copy_into
from atm.sessions.services.resumed import Resumed, Step
from atm.sessions.services.resuming import named, probe, resume
from atm.team.services.standing import check_person, check_roster
from atm.ui.cli.sessions.desk import open_desk
from atm.ui.cli.sessions.views import resumed_json, team_words
from atm.ui.cli.waiting import Spinner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.sessions.services.sessionroom import SessionRoom
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

NOTHING, PERMANENT = 3, 2
UNRECOVERABLE = (NoSuchTeam, BadName, TeamCompleted, TeamNotInitialized, TeamNotOurs)


def run(args: Args, session: Session) -> int:
    try:
        return _run(args, session)
    except UNRECOVERABLE as error:
        error.exit_code = PERMANENT  # the seed's: trying again changes nothing
        raise


def _run(args: Args, session: Session) -> int:
    action, team = args.command.name, args.need("team")
    desk = open_desk(args, session, team)
    team = named(desk, check_known_name(team, "team"))  # who may is asked of the team that is meant
    if args.text("into"):
        return _copy(args, session, desk, team)
    if action == "session probe":
        return _probe(session, desk, team)
    check_roster(session.room, team, "lead it from here")
    _check_latch(session, desk, team)

    def heard(step: Step) -> None:
        if not session.as_json:
            try:
                session.print(f"✓ {step.number}/7 {step.name}: {one_line(step.said)}")
            except (OSError, ValueError):
                return  # nobody listens any more; what was begun is finished all the same

    go_on, back = args.many("continue"), args.many("rollback")
    with Spinner(session, f"taking up {team}"):
        done = resume(desk, team, force=args.flag("force"), go_on=go_on, back=back, heard=heard)
    session.need_daemon("its lead and its agents")
    _report(session, action, done)
    return 0


def _check_latch(session: Session, desk: SessionRoom, team: str) -> None:
    """What a person stopped, a person takes up again (decision 18)."""
    try:
        is_latched = desk.crew.records.latch(team) is not None
    except (AtmError, OSError):
        return
    if is_latched:
        check_person(session.room, f"take up team {team} again, which was stopped")


def _probe(session: Session, desk: SessionRoom, team: str) -> int:
    done = probe(desk, team)
    view = done.view
    alive = view is not None and view.online > 0
    result = {**resumed_json("session probe", done), "alive": alive}
    if session.as_json:
        session.print_json(result)
    elif view is not None:
        session.print("\n".join([_headline(done), *_warnings(done), "", *team_words(view, done)]))
    return 0 if alive else NOTHING


def _report(session: Session, action: str, done: Resumed) -> None:
    extra = {"told": done.told, "asked": done.asked, "released_messages": done.released}
    more = {"rolled_back": done.rolled_back, "brought_back": done.brought_back}
    result = {**resumed_json(action, done), "attached": True, "how": done.how, **extra, **more}
    lines = [*_warnings(done), "", *(team_words(done.view, done) if done.view is not None else [])]
    if done.released:
        one = done.released == 1
        lines.append(f"\n{done.released} {'message' if one else 'messages'} that had been held: delivered now.")
    if done.asked:
        lines.append(f"Asked how far they are: {', '.join(map(one_line, done.asked))}")
    for name, kept in done.rolled_back.items():
        lines.append(f"Rolled back {one_line(name)}: {', '.join(map(one_line, kept)) or 'nothing was to be saved'}")
    session.tell(result, "\n".join([*lines, "", "Next:", *(f"  {one_line(one)}" for one in result["next"])]))  # type: ignore[attr-defined]


def _headline(done: Resumed) -> str:
    view = done.view
    status = view.standing.status if view is not None else "unknown"
    return f"{one_line(done.team)} is {status}; led by {one_line(done.session) or 'nobody yet'}"


def _warnings(done: Resumed) -> list[str]:
    return [f"⚠ {one.code}: {one_line(one.message)}" for one in done.warnings]


def _copy(args: Args, session: Session, desk: SessionRoom, team: str) -> int:
    check_roster(session.room, team, "copy it")
    done = copy_into(desk, team, args.need("into"))
    facts: dict[str, object] = {"members": done.members, "tasks": done.tasks, "messages": done.messages}
    session.tell(
        {"action": args.command.name, "team": done.team, "copied_from": team, **facts},
        f"{one_line(team)} goes on as {done.team}: {counted(len(done.members), 'member')}, "
        f"{counted(len(done.tasks), 'open task')}, {counted(done.messages, 'unread message')}",
    )
    return 0

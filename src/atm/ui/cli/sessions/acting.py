"""`atm session checkpoint`, `reassign`, `shutdown`, `abort` and `consolidate`."""

from __future__ import annotations

from atm.core.errors import NoSuchTeam, UnreadableFile, UsageError
from atm.core.names import check_known_name
from atm.core.untrusted_text import one_line
from atm.crew.services.ending import agents_of, down
from atm.runs.services.stopping import stop_with_runs
from atm.sessions.services.checkpointing import checkpoint, commit_checkpoint
from atm.sessions.services.consolidating import Consolidating
from atm.sessions.services.reassigning import reassign
from atm.team.rules.lifecycle import CONSOLIDATING
from atm.team.rules.team import check_open
from atm.team.services.lifecycle import walk
from atm.team.services.registry import find_team
from atm.team.services.standing import check_person, check_roster
from atm.ui.cli.board.view import task_meant
from atm.ui.cli.crew.ends import ended_json, ended_words
from atm.ui.cli.crew.stopped import stopped_code, stopped_json, stopped_words
from atm.ui.cli.sessions.desk import open_desk, team_named
from atm.ui.cli.waiting import Spinner
from atm.wiring.runs import build_runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.sessions.services.sessionroom import SessionRoom
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

INTO_GIT = "git"


def run(args: Args, session: Session) -> int:
    verbs = {
        "session checkpoint": _checkpoint,
        "session shutdown": _shutdown,
        "session abort": _abort,
        "session consolidate": _consolidate,
    }
    verb = verbs.get(args.command.name)
    if verb is None:
        return _reassign(args, session)
    desk = open_desk(args, session, args.text("team") or "")
    if args.command.name == "session abort":
        return _abort(args, session, desk, check_known_name(args.need("team"), "team"))
    team = team_named(args, desk)
    check_open(find_team(session.room, team))
    return verb(args, session, desk, team)


def _checkpoint(args: Args, session: Session, desk: SessionRoom, team: str) -> int:
    with Spinner(session, f"saving how {team} stands"):
        made = checkpoint(desk, team, facts=True)
    result: dict[str, object] = {"action": "session checkpoint", "team": team, "sequence": made.sequence}
    result |= {"changed": made.is_new, "bytes": made.size, "commit": None, "branch": None}
    words = f"checkpoint {made.sequence} of {one_line(team)}"
    if args.flag(INTO_GIT):
        saved = commit_checkpoint(desk, team, "by hand")
        result |= {"commit": saved.commit or None, "branch": saved.branch or None, "note": saved.trouble or None}
        found = f"git: {saved.commit[:12] or 'nothing had changed'} on {saved.branch}"
        words += f"; {saved.trouble or found}"
    session.tell(result, words if made.is_new or args.flag(INTO_GIT) else f"{words}: nothing had changed")
    return 0


def _reassign(args: Args, session: Session) -> int:
    team = session.team(args)
    desk = open_desk(args, session, team)
    check_roster(session.room, team, "hand a task over")
    by = session.identity(args) if args.text("as") else find_team(session.room, team).lead
    done = reassign(
        desk, team, task_meant(args, session, team, "task"), args.need("member"), by, force=args.flag("force")
    )
    for warning in done.warnings:
        session.warn(f"Warning: {warning}")
    kept = done.inherited
    handed = {"salvage": kept.salvage or None, "files": kept.files, "branch": kept.branch or None} if kept else None
    left = f", with what {one_line(done.former)} left" if kept is not None else ""
    session.tell(
        {
            "action": "session reassign",
            "team": team,
            "task": done.task.id,
            "from": done.former or None,
            "to": done.to,
            "inherited": handed,
        },
        f"#{done.task.id} {one_line(done.task.subject)} is {one_line(done.to)}'s now{left}",
    )
    return 0


def _shutdown(args: Args, session: Session, desk: SessionRoom, team: str) -> int:
    check_roster(session.room, team, "end its agents")
    names = [record.member for record in agents_of(desk.crew, team)]
    by = session.named(args)
    with Spinner(session, f"waiting for {', '.join(names) or 'nobody'} to end"):
        ended = down(desk.crew, team, by, names) if names else []
        checkpoint(desk, team)
        walk(session.room, team, CONSOLIDATING, by)
        commit_checkpoint(desk, team, "shutdown")
    session.tell(
        {
            "action": "session shutdown",
            "team": team,
            "status": CONSOLIDATING,
            "members": [ended_json(one) for one in ended],
        },
        "\n".join([*map(ended_words, ended), f"{one_line(team)} is ready to be consolidated"]),
    )
    return 0


def _abort(args: Args, session: Session, desk: SessionRoom, team: str) -> int:
    """Needs no team that can be read."""
    agents = [record.member for record in agents_of(desk.crew, team)]
    session.wants_yes = not args.flag("yes") and bool(agents)
    if not args.flag("yes"):
        would = ", ".join(map(one_line, agents)) or "nobody of ours runs"
        session.tell(
            {"action": "session abort", "team": team, "dry_run": True, "members": agents},
            f"would end at once: {would}; add --yes to do it",
        )
        return 0
    check_roster(session.room, team, "stop it")
    try:
        check_open(find_team(session.room, team))
    except UnreadableFile:
        pass  # an emergency stop needs no file that can be read
    except NoSuchTeam:
        if team not in desk.crew.records.teams():
            raise
    by = session.named(args)
    with Spinner(session, f"ending every process of {team}"):
        done, runs = stop_with_runs(build_runs(session.layout), desk.crew, [team], by)
    session.tell(stopped_json("session abort", done, runs, team=team), stopped_words(done, runs))
    return stopped_code(done, runs)


def _consolidate(args: Args, session: Session, desk: SessionRoom, team: str) -> int:
    check_roster(session.room, team, "consolidate it")
    push = args.text("push") or ""
    if push:
        check_person(session.room, "push")
    if args.flag("continue") and args.flag("abort"):
        raise UsageError("--continue and --abort contradict each other", "give one of them")

    def heard(step: str) -> None:
        if not session.as_json:
            session.warn(f"… {step}")

    work = Consolidating(desk, team, session.named(args), force=args.flag("force"), heard=heard)
    with Spinner(session, f"consolidating {team}"):
        if args.flag("abort"):
            done = work.abort()
        elif args.flag("continue"):
            done = work.go_on(args.text("message") or "", push)
        else:
            done = work.begin(args.text("message") or "", push)
    words = f"{one_line(team)} is {done.status}"
    words += f"; {done.commit[:12]} on {one_line(done.branch)}" if done.commit else ""
    session.tell(
        {
            "action": "session consolidate",
            "team": team,
            "status": done.status,
            "steps": done.steps,
            "skipped": done.skipped,
            "commit": done.commit or None,
            "branch": done.branch or None,
            "pushed": done.pushed or None,
            "backup": done.backup or None,
        },
        "\n".join([words, *(f"  {one_line(one)}" for one in done.skipped)]),
    )
    return 0

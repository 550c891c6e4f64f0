"""`atm sync report` and `atm sync nudge`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from atm.board.rules.naming import is_number
from atm.core.errors import NotAllowed, UsageError
from atm.core.names import same_name
from atm.core.work_errors import BadTask
from atm.files.formats.times import from_iso
from atm.team.rules.team import check_open
from atm.team.services.standing import is_boss
from atm.ui.cli.worksync.showing import local_clock, member_named
from atm.ui.cli.worksync.sync import open_plane
from atm.ui.verbs.verb import number_of
from atm.ui.views.looks import spelled
from atm.wiring.daemon import judge_report
from atm.worksync.rules.identity import CLAIMED_MEMBER, PROCESS_TEAM, Trusted
from atm.worksync.rules.nudges import CONFLICT, DELIVERED, ESCALATION, lift
from atm.worksync.rules.sentences import Times, refusal, refused_report
from atm.worksync.rules.triggers import MANUAL
from atm.worksync.services.nudges import NOBODY, NOT_READY, UNSTABLE, begin_anew
from atm.worksync.services.reading import view
from atm.worksync.services.reports import judge_or_note
from atm.worksync.services.rounds import run_round

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session
    from atm.worksync.services.nudges import Dispatched
    from atm.worksync.services.rounds import SyncRound
    from atm.worksync.services.syncroom import SyncRoom


def report(args: Args, session: Session) -> int:
    """Judged by the daemon; noted for it if it cannot be asked."""
    syncroom, team = open_plane(args, session)
    check_open(team)
    if not args.text("fingerprint"):
        raise UsageError("a report needs --fingerprint", "see `atm sync agenda`: it shows what you report about")
    arguments = _arguments(args, session, team.name)
    trusted = _known_author(session, syncroom)
    ask = partial(judge_report, session.layout, team.name, arguments, trusted)
    answer = judge_or_note(syncroom, team.name, arguments, trusted, ask)
    if answer.get("pendingValidation"):
        session.need_daemon("reports")
    said = _in_words(answer, team.name, str(arguments["from"]))
    session.tell({"action": "sync report", "team": team.name, **answer}, said)
    return 0 if answer["ok"] is True else 1


def _arguments(args: Args, session: Session, team: str) -> dict[str, Plain]:
    given: dict[str, Plain] = {
        "from": session.identity(args),
        "agendaFingerprint": args.text("fingerprint"),
        "reportToken": args.text("token"),
        "state": args.text("state"),
        "taskIds": [_number(session, team, said) for said in args.many("task")] or None,
        "blockerCommentId": args.text("blocker_comment"),
        "note": args.text("note"),
    }
    return {key: value for key, value in given.items() if value is not None}


def _number(session: Session, team: str, said: str) -> str:
    """What names no task is for whoever judges the report to refuse; a number stays as it was written."""
    if is_number(said):
        return said
    try:
        return number_of(session.boardroom, team, said)
    except BadTask:
        return said


def _known_author(session: Session, syncroom: SyncRoom) -> Trusted:
    """The environment comes from whoever launched the agent. A flag, or a file that agents share, proves nothing."""
    name = session.environment.get("ATM_IDENTITY", "")
    home = session.environment.get("ATM_TEAM", "")
    if name:  # without a team it proves nothing about this one, and a token is needed
        return Trusted("app", syncroom.now(), PROCESS_TEAM, home, name)
    return Trusted("app", syncroom.now(), CLAIMED_MEMBER)


def _in_words(answer: dict[str, Plain], team: str, me: str) -> str:
    if answer["ok"] is not True:
        return refused_report(str(answer["reason"]), team, me, str(answer.get("detail") or ""))
    if answer.get("pendingValidation"):
        return "Noted: no daemon runs, and the next one judges it. Go on with your work."
    until = from_iso(str(answer.get("leaseExpiresAt") or ""))
    waits = f"; atm waits until {local_clock(until)}" if until is not None else ""
    return f"Accepted: {spelled(str(answer['state']))}{waits}."


def nudge(args: Args, session: Session) -> int:
    syncroom, team = open_plane(args, session)
    me = session.identity(args)
    if not is_boss(session.room, team, me):
        raise NotAllowed(f"{me} cannot have others nudged", "ask the lead, or a person")
    name = member_named(team, args.text("member") or "")
    if args.flag("again"):
        begin_anew(syncroom, team, name)
    done = run_round(syncroom, team.name, {name: MANUAL})
    found = view(syncroom, team, name)
    now = found.said(Times(local_clock, syncroom.now()))
    code, said = (
        (PAUSED, f"No nudge. {now}") if found.is_paused and not done.dispatched else came_of_it(done, name, now)
    )
    is_done = code == NUDGED
    fields = {"action": "sync nudge", "team": team.name, "member": name, "nudged": is_done, "code": code, "why": said}
    session.tell(fields, said)
    return 0 if is_done else 3


NUDGED, TOLD, NOT_DUE, NOT_SEEN, PAUSED = "nudged", "lead_told", "not_due", "team_inactive", "paused"


def came_of_it(done: SyncRound, name: str, now: str) -> tuple[str, str]:
    """Whether a nudge went out, or what kept it: a code, and the sentence. `now` tells how the member stands."""
    sent = [one for one in done.dispatched if same_name(one.nudge.member, name)]
    if sent and sent[-1].outcome == DELIVERED:
        return _arrived(sent[-1], name)
    if sent:
        return sent[-1].why or sent[-1].outcome, f"No nudge: {name} is left alone, because {refusal(sent[-1].why)}."
    look = next((one for one in done.looks if same_name(one.member, name)), None)
    if look is None:
        return NOT_SEEN, "No nudge: the team does not run, or its board cannot be read."
    planned = next((one for one in done.planned if same_name(one.member, name)), None)
    if planned is not None and planned.outcome in (NOT_READY, UNSTABLE, NOBODY, CONFLICT):
        return planned.outcome, f"No nudge: {name} is left alone, because {refusal(planned.outcome)}."
    cooldown = f" {look.seen.cooldown}." if look.seen.cooldown else ""
    return planned.outcome if planned is not None else NOT_DUE, f"No nudge. {now}{cooldown}"


def _arrived(sent: Dispatched, name: str) -> tuple[str, str]:
    """Only what was written just now is called a nudge."""
    if sent.nudge.rung == ESCALATION:
        told = f", and {sent.nudge.to} was told" if sent.is_new else f", and {sent.nudge.to} knows it"
        return TOLD, f"No nudge: {name} was reminded often enough{told}. `{lift(name)}` begins anew."
    if sent.is_new:
        return NUDGED, f"{name} was nudged."
    return "delivered_before", f"No nudge: {name} has had this one already."


VERBS = {"sync report": report, "sync nudge": nudge}

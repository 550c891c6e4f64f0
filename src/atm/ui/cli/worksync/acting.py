"""`atm sync report` and `atm sync nudge`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from atm.domain.errors import NotAllowed, UsageError
from atm.domain.names import same_name
from atm.domain.worksync.identity import CLAIMED_MEMBER, PROCESS_TEAM, Trusted
from atm.domain.worksync.nudges import DELIVERED, ESCALATION
from atm.domain.worksync.triggers import MANUAL
from atm.services.team.standing import is_boss
from atm.services.worksync.reports import judge_or_note
from atm.services.worksync.rounds import run_round
from atm.ui.cli.worksync.showing import member_named
from atm.ui.cli.worksync.sync import open_plane
from atm.wiring.daemon import judge_report

if TYPE_CHECKING:
    from atm.domain.plain import Plain
    from atm.services.worksync.rounds import SyncRound
    from atm.services.worksync.syncroom import SyncRoom
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def report(args: Args, session: Session) -> int:
    """Judged by the daemon; noted for it if it cannot be asked."""
    syncroom, team = open_plane(args, session)
    if not args.text("fingerprint"):
        raise UsageError("a report needs --fingerprint", "see `atm sync agenda`: it shows what you report about")
    arguments = _arguments(args, session)
    trusted = _known_author(session, syncroom)
    ask = partial(judge_report, session.layout, team.name, arguments, trusted)
    answer = judge_or_note(syncroom, team.name, arguments, trusted, ask)
    if answer.get("pendingValidation"):
        session.need_daemon("reports")
    session.tell({"action": "sync report", "team": team.name, **answer}, _in_words(answer))
    return 0 if answer["ok"] is True else 1


def _arguments(args: Args, session: Session) -> dict[str, Plain]:
    given: dict[str, Plain] = {
        "from": session.identity(args),
        "agendaFingerprint": args.text("fingerprint"),
        "reportToken": args.text("token"),
        "state": args.text("state"),
        "taskIds": [*args.many("task")] or None,
        "blockerCommentId": args.text("blocker_comment"),
        "note": args.text("note"),
    }
    return {key: value for key, value in given.items() if value is not None}


def _known_author(session: Session, syncroom: SyncRoom) -> Trusted:
    """The environment comes from whoever launched the agent. A flag, or a file that agents share, proves nothing."""
    name = session.environment.get("ATM_IDENTITY", "")
    home = session.environment.get("ATM_TEAM", "")
    if name:  # without a team it proves nothing about this one, and a token is needed
        return Trusted("app", syncroom.now(), PROCESS_TEAM, home, name)
    return Trusted("app", syncroom.now(), CLAIMED_MEMBER)


def _in_words(answer: dict[str, Plain]) -> str:
    if answer["ok"] is not True:
        return f"Rejected ({answer['reason']}). {answer['instruction']}"
    if answer.get("pendingValidation"):
        return f"Noted, not yet validated. {answer['instruction']}"
    until = answer.get("leaseExpiresAt")
    return f"Accepted: {answer['state']}" + (f" until {until}." if until else ".")


def nudge(args: Args, session: Session) -> int:
    syncroom, team = open_plane(args, session)
    me = session.identity(args)
    if not is_boss(session.room, team, me):
        raise NotAllowed(f"{me} cannot have others nudged", "ask the lead, or a person")
    name = member_named(team, args.text("member") or "")
    done = run_round(syncroom, team.name, {name: MANUAL})
    said, is_done = _came_of_it(done, name)
    session.tell({"action": "sync nudge", "team": team.name, "member": name, "nudged": is_done, "why": said}, said)
    return 0 if is_done else 3


def _came_of_it(done: SyncRound, name: str) -> tuple[str, bool]:
    """Whether a nudge went out; else the guard that kept it."""
    look = next((one for one in done.looks if same_name(one.member, name)), None)
    sent = [one for one in done.dispatched if same_name(one.nudge.member, name)]
    if sent and sent[-1].outcome == DELIVERED and sent[-1].nudge.rung == ESCALATION:
        return f"No nudge: {name} was reminded often enough, and {sent[-1].nudge.to} was told.", False
    if sent and sent[-1].outcome == DELIVERED:
        return f"{name} was nudged.", True
    if sent:
        return f"No nudge: {sent[-1].why or sent[-1].outcome}.", False
    if look is None:
        return "No nudge: the team does not run, or its board cannot be read.", False
    planned = next((one for one in done.planned if same_name(one.member, name)), None)
    if planned is not None:
        return f"No nudge: {planned.outcome}.", False
    only = " It only waits for others." if look.seen.agenda.items and look.seen.agenda.only_waits else ""
    cooldown = f" {look.seen.cooldown}." if look.seen.cooldown else ""
    return f"No nudge is due. {look.decision.message}{only}{cooldown}", False


VERBS = {"sync report": report, "sync nudge": nudge}

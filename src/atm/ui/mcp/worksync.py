"""
Tools of work-sync: the briefing with its `workSync` block, the status, and the report of seed 002, section 13.

A report is judged by the daemon. A server that runs without one only notes it, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from atm import __version__
from atm.core.errors import NoSuchMember, NoSuchTeam
from atm.core.names import same_name
from atm.delivery.services.briefing import brief
from atm.ui.mcp.actor import actor, home, leads
from atm.ui.mcp.definition import define
from atm.ui.mcp.schema import choice, count, gives, listed, takes, text, yes_no
from atm.ui.mcp.serving.roles import OBSERVER
from atm.ui.mcp.tool import EVERYBODY, Tool
from atm.ui.mcp.wording import NOTICE, line
from atm.wiring.daemon import judge_report
from atm.wiring.worksync import build_syncroom
from atm.worksync.rules.identity import NOBODY, PROCESS_TEAM, RUNTIME_SESSION, Trusted
from atm.worksync.rules.reports import CAPABILITY_UNAVAILABLE, MEMBER_INACTIVE, ReportVerdict
from atm.worksync.services.reading import View, block_in_words, block_of, check_may_see, view
from atm.worksync.services.reports import ReportAnswer, judge_or_note

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.team.rules.team import Team
    from atm.ui.mcp.caller import Caller
    from atm.ui.verbs.verb import Given
    from atm.worksync.services.syncroom import SyncRoom

MOST_WORK, LONGEST_WORK = 10, 160
_SOURCES = {"environment": PROCESS_TEAM, "token": RUNTIME_SESSION}


def plane_of(caller: Caller) -> SyncRoom:
    return build_syncroom(caller.layout, caller.settings, caller.boardroom)


# The briefing.


def _briefing(caller: Caller, _: Given) -> dict[str, Plain]:
    """What the connection is, also if it is no member's: nothing of that fails for want of a name or a team."""
    known: dict[str, Plain] = {
        "role": caller.role,
        "source": caller.source,
        "daemon": caller.has_daemon,
        "version": __version__,
    }
    if not caller.team:
        return known
    if not caller.member or caller.role == OBSERVER:
        team = home(caller)
        return {**known, "team": team.name, "lead": line(team.lead, 128)}
    team, me = actor(caller)
    facts = brief(caller.boardroom, team.name, me)
    return {
        **known,
        "notice": NOTICE,
        "member": line(facts.me, 128),
        "team": facts.team,
        "lead": line(facts.lead, 128),
        "unread": sum(facts.unread.values()),
        "work": [line(item, LONGEST_WORK) for item in facts.work[:MOST_WORK]],
        "more_work": max(0, len(facts.work) - MOST_WORK),
        "claimable": facts.claimable,
        "workSync": _unknown_block() if team.member(me) is None else _own_block(caller, team, _view(caller, team, me)),
    }


def _unknown_block() -> dict[str, Plain]:
    """Whoever is not in the roster has no agenda; the rest of a briefing does not suffer from it."""
    return {"feature": "member-work-sync", "state": "unknown", "why": "you are not in the roster"}


def _view(caller: Caller, team: Team, member: str) -> View:
    """The one look at the board: whatever is said of a member is about the same agenda."""
    return view(plane_of(caller), team, member)


def _own_block(caller: Caller, team: Team, found: View, *, in_full: bool = False) -> dict[str, Plain]:
    block = block_of(plane_of(caller), team, found, can_report=caller.role != OBSERVER, in_full=in_full)
    return {**block, "items": _harmless(block["items"])} if "items" in block else block


def _harmless(items: Plain) -> Plain:
    """Subjects of tasks are other people's words."""
    if not isinstance(items, list):
        return items
    return [{**one, "subject": line(str(one.get("subject", "")))} if isinstance(one, dict) else one for one in items]


# The status.


def _status(caller: Caller, given: Given) -> dict[str, Plain]:
    """One's own with everything that a report needs. Of others a state; their agenda is for the lead and people."""
    team = home(caller)
    said: dict[str, Plain]
    member = team.required(team.addressee(given.text("member") or caller.member))
    found = _view(caller, team, member.name)
    if same_name(member.name, caller.member):
        said = {"member": member.name, "label": found.label, "why": found.why}
        return {**_own_block(caller, team, found, in_full=True), **said}
    said = {"member": member.name, "state": found.state, "label": found.label}
    if found.is_paused or leads(caller, team):
        said["why"] = found.why
    if found.seen is not None:
        said["actionableCount"] = len(found.seen.agenda.items)
        if leads(caller, team):
            said |= {"agendaFingerprint": found.seen.fingerprint, "items": _harmless([*found.seen.agenda.preview()])}
    return said


def agenda_text(caller: Caller, member: str) -> str:
    """The agenda as a resource: for its member, the lead and people. Without a token, which is given when asked for."""
    team = home(caller)
    name = check_may_see(team, member, caller.member, leads=leads(caller, team))
    seen = _view(caller, team, name)
    block = block_of(plane_of(caller), team, seen, can_report=False)
    items = seen.seen.agenda.preview() if seen.seen is not None else []
    lines = [f"- {one['taskRef']} ({one['kind']}) {line(str(one['subject']), 160)}: {one['reason']}" for one in items]
    head = f"# Agenda of {line(name, 128)}: {seen.label}"
    return "\n".join([head, "", seen.why, block_in_words(block), *([NOTICE, *lines] if lines else [])])


# The report.


def _report(caller: Caller, arguments: Mapping[str, Plain]) -> dict[str, Plain]:
    """Whose it is, the connection knows; `from` is a claim. Nothing but the work-sync files is written."""
    if not caller.team:
        return ReportAnswer(ReportVerdict(CAPABILITY_UNAVAILABLE, detail="this connection belongs to no team")).fields()
    try:
        home(caller)
    except NoSuchMember:
        return ReportAnswer(ReportVerdict(MEMBER_INACTIVE, detail="another has that name now")).fields()
    except NoSuchTeam:
        pass  # whoever judges it says so
    syncroom = plane_of(caller)
    trusted = Trusted("mcp", syncroom.now(), _SOURCES.get(caller.source, NOBODY), caller.team, caller.member)
    given: dict[str, Plain] = {key: value for key, value in arguments.items() if value is not None}
    ask = None if caller.has_daemon else partial(judge_report, caller.layout, caller.team, given, trusted)
    answer = judge_or_note(syncroom, caller.team, given, trusted, ask)
    if "currentAgendaPreview" in answer:
        answer["currentAgendaPreview"] = _harmless(answer["currentAgendaPreview"])
    return answer  # and no heartbeat: a report is no progress, also not by way of a sign of life


_ITEM = gives({"taskRef": text(), "kind": text(), "reason": text()}, {"subject": text()})
_BLOCK = gives(
    {"feature": text(), "state": text()},
    {
        "agendaFingerprint": text(),
        "reportToken": text(),
        "actionableCount": count(),
        "items": listed(_ITEM),
        "leaseExpiresAt": text(),
        "reportTool": text(),
        "instruction": text(),
        "why": text(),
    },
)

REPORT_INPUT: dict[str, Plain] = {
    "type": "object",
    "properties": {
        "from": {"type": "string", "description": "Your configured teammate name."},
        "agendaFingerprint": {"type": "string"},
        "reportToken": {
            "type": "string",
            "description": "Short-lived report token from your current workSync briefing.",
        },
        "state": choice("still_working", "blocked", "caught_up"),
        "taskIds": {"type": "array", "items": {"type": "string"}},
        "blockerCommentId": {"type": "string"},
        "note": {"type": "string"},
    },
    "required": ["from", "agendaFingerprint", "state"],
}
"""To the letter as in the seed, but for the token: this connection proves who reports (seed 002, section 8.4.2)."""

TOOLS: tuple[Tool, ...] = (
    define(
        "task_briefing",
        "Briefing",
        "Who you are, your unread mail, your work, your work-sync agenda and its fingerprint.",
        _briefing,
        group="worksync",
        gives=gives(
            {"role": text()},
            {
                "member": text(),
                "team": text(),
                "lead": text(),
                "unread": count(),
                "work": listed(text()),
                "more_work": count(),
                "claimable": count(),
                "workSync": _BLOCK,
            },
        ),
        roles=EVERYBODY,
        reads_only=True,
    ),
    define(
        "member_work_sync_status",
        "Work-sync status",
        "Is a member (default: you) in step with the board?",
        _status,
        group="worksync",
        takes=takes(optional={"member": text(longest=64)}),
        gives=gives({"member": text(), "state": text(), "label": text()}, _BLOCK["properties"]),  # type: ignore[arg-type]
        roles=EVERYBODY,
        reads_only=True,
    ),
    Tool(
        name="member_work_sync_report",
        group="worksync",
        title="Work-sync report",
        description=(
            "Report whether you have observed the current assigned/review work agenda. It replaces neither task tools "
            "nor messages; do not call it after every response."
        ),
        input=REPORT_INPUT,
        output=gives(
            {"ok": yes_no()},
            {
                "state": text(),
                "agendaFingerprint": text(),
                "leaseExpiresAt": text(),
                "pendingValidation": yes_no(),
                "reason": text(),
                "currentAgendaFingerprint": text(),
                "currentAgendaPreview": listed(_ITEM),
                "instruction": text(),
                "detail": text(),
            },
        ),
        call=_report,
        idempotent=True,
    ),
)

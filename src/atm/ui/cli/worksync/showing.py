"""`atm sync status`, `agenda`, `diagnose` and `metrics`: looking, without changing anything."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from atm.core.names import same_name
from atm.core.untrusted_text import one_line
from atm.team.services.standing import is_proven_boss
from atm.ui.cli.worksync.sync import open_plane
from atm.ui.views.ages import ago
from atm.ui.views.looks import spelled
from atm.ui.views.style import terminal_columns
from atm.ui.views.tables import table
from atm.worksync.rules.decisions import CAUGHT_UP
from atm.worksync.rules.sentences import Times, change_in_words, nudge_in_words, readiness_lines
from atm.worksync.services.ladders import outbox
from atm.worksync.services.nudges import readiness
from atm.worksync.services.reading import block_of, check_may_see, diagnose, metrics, view, views

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.team.rules.team import Team
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session
    from atm.worksync.services.reading import View
    from atm.worksync.services.syncroom import SyncRoom


WIDTH = 78


def status(args: Args, session: Session) -> int:
    syncroom, team = open_plane(args, session)
    named = args.text("member")
    names = [member_named(team, named)] if named else team.names
    found = views(syncroom, team, names)
    if session.as_json:
        me = known_identity(args, session)
        leads = is_proven_boss(session.room, team, me)
        members = [one.fields(with_agenda=leads or same_name(me, one.member)) for one in found]
        session.print_json({"action": "sync status", "team": team.name, "members": members})
    else:
        session.print("\n".join(status_table(found, syncroom.now())) or f"Team {team.name} has no members.")
    return 0


def status_table(found: list[View], now: float) -> list[str]:
    """A line for each member, then a sentence for each of whom there is more to say, within 80 columns."""
    rows = [[one.member, one.label, _count(one), _observed(one, now)] for one in found]
    lines = table(["Member", "Sync", "Tasks", "Looked at"], rows, right=(2,)) if rows else []
    said = dict.fromkeys(_why(one, now) for one in found if one.state != CAUGHT_UP)
    return [*lines, "", *(line for text in said for line in wrapped(text))] if said else lines


def wrapped(text: str) -> list[str]:
    from textwrap import wrap

    return wrap(
        text,
        min(WIDTH, terminal_columns(sys.stdout) or WIDTH),
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )


def local_clock(at: float) -> str:
    """The time of day where the reader is."""
    from datetime import datetime

    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M")


def _count(one: View) -> str:
    return str(len(one.seen.agenda.task_ids)) if one.seen is not None else "-"


def _observed(one: View, now: float) -> str:
    return ago(now - one.status.updated) if one.status is not None else "never"


def _why(one: View, now: float) -> str:
    text = one_line(one.said(Times(local_clock, now)))
    return text[:1].upper() + text[1:] if one.seen is None else text


def member_named(team: Team, name: str) -> str:
    return team.required(name).name


def known_identity(args: Args, session: Session) -> str:
    """Who asks. Where the launcher has said who an agent is, a flag does not make it another member."""
    return session.environment.get("ATM_IDENTITY") or session.identity(args)


def agenda(args: Args, session: Session) -> int:
    syncroom, team = open_plane(args, session)
    me = known_identity(args, session)
    asked = args.text("member") or session.identity(args)
    name = check_may_see(team, asked, me, leads=is_proven_boss(session.room, team, me))
    found = view(syncroom, team, name)
    block = block_of(syncroom, team, found, can_report=True, in_full=True) if same_name(me, name) else {}
    if session.as_json:
        session.print_json({"action": "sync agenda", **found.fields(), **block})
        return 0
    lines = _agenda_lines(found, syncroom.now())
    if found.seen is not None:
        lines += ["Fingerprint, for a report:", f"  {found.seen.fingerprint}"]
    if "reportToken" in block and args.flag("token"):
        lines += ["Token, for a report within 15 minutes:", f"  {block['reportToken']}"]
    session.print("\n".join(lines))
    return 0


def _agenda_lines(found: View, now: float) -> list[str]:
    lines = [f"{found.member} in {found.team}: {found.label}", *wrapped(_why(found, now))]
    if found.seen is None:
        return lines
    for item in found.seen.agenda.items:
        lines.append(f"  {item.ref:>5}  {one_line(item.subject)}")
        lines.append(f"         {item.reason}")
    return [*lines, *(line for text in found.seen.agenda.diagnostics for line in wrapped(f"note: {one_line(text)}"))]


def show_metrics(args: Args, session: Session) -> int:
    syncroom, team = open_plane(args, session)
    found = metrics(syncroom, team)
    if session.as_json:
        session.print_json({"action": "sync metrics", **found})
        return 0
    lines = readiness_lines(readiness(syncroom, team.name), syncroom.policy.thresholds)
    session.print("\n".join([*lines, *_figures(found)]))
    return 0


def _figures(found: dict[str, Plain]) -> list[str]:
    members = found["members"]
    rows = []
    for one in members if isinstance(members, list) else []:
        figures = one.get("metrics") if isinstance(one, dict) else None
        if isinstance(one, dict) and isinstance(figures, dict):
            keys = ("reconcileCount", "fingerprintChangeCount", "acceptedReportCount", "staleReportCount")
            more = ("invalidReportCount", "suppressedBusyCount", "wouldNudgeCount")
            rows.append([str(one["member"]), *(str(figures.get(key, 0)) for key in (*keys, *more))])
    heads = ["Member", "Looks", "Changes", "Accepted", "Too late", "Refused", "Busy", "Needs"]
    return (
        ["", *table(heads, rows, right=range(1, 8), drop=(6, 1, 2, 5))]
        if rows
        else ["", "Nobody has been looked at yet."]
    )


def show_diagnosis(args: Args, session: Session) -> int:
    syncroom, team = open_plane(args, session)
    me = known_identity(args, session)
    leads = is_proven_boss(session.room, team, me)
    name = check_may_see(team, args.text("member") or "", me, leads=leads, what="diagnosis")
    found = diagnose(syncroom, team, name)
    if session.as_json:
        session.print_json({"action": "sync diagnose", **found})
        return 0
    session.print("\n".join(_diagnosis_lines(view(syncroom, team, name), found, syncroom, team)))
    return 0


def _diagnosis_lines(found: View, known: dict[str, Plain], syncroom: SyncRoom, team: Team) -> list[str]:
    now = syncroom.now()
    lines = _agenda_lines(found, now)
    lines += [
        f"Team: {found.running.state} ({one_line(found.running.why)})",
        readiness_lines(readiness(syncroom, team.name), syncroom.policy.thresholds)[0],
    ]
    if found.seen is not None:
        lines.append(f"A nudge is {'due' if found.would_nudge else 'not due'}.")
    if found.status is not None:
        lines += [
            f"  {ago(now - one.at)}: {change_in_words(one.reasons)} {_refs(one.task_ids)}".rstrip()
            for one in found.status.transitions[-5:]
        ]
        lines += [
            f"  {ago(now - one.last_at)}: reported {spelled(one.state)}, "
            f"{'accepted' if one.accepted else spelled(one.reason)}"
            for one in found.status.reports[-5:]
        ]
    mine = [one for one in outbox(syncroom, team.name) if same_name(one.member, found.member)]
    lines += [f"  {ago(now - one.updated)}: {nudge_in_words(one)}" for one in mine[-5:]]
    waiting, problems = known["pendingReports"], known["problems"]
    if isinstance(waiting, list) and waiting:
        lines.append(f"Reports that wait for a daemon to judge them: {len(waiting)}")
    lines += [one_line(str(one)) for one in problems] if isinstance(problems, list) else []
    return lines


def _refs(ids: object) -> str:
    return " ".join(f"#{id}" for id in ids) if isinstance(ids, list | tuple) else ""


VERBS = {
    "sync status": status,
    "sync agenda": agenda,
    "sync metrics": show_metrics,
    "sync diagnose": show_diagnosis,
}

"""`atm sync status`, `agenda`, `diagnose` and `metrics`: looking, without changing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.domain.names import same_name
from atm.domain.untrusted_text import one_line
from atm.services.team.standing import is_proven_boss
from atm.services.worksync.reading import block_of, check_may_see, diagnose, metrics, view, views
from atm.ui.cli.worksync.sync import open_plane
from atm.ui.views.ages import ago
from atm.ui.views.tables import table

if TYPE_CHECKING:
    from atm.domain.plain import Plain
    from atm.domain.team.team import Team
    from atm.services.worksync.reading import View
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


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
    rows = [[one.member, one.label, _count(one), _until(one, now), _observed(one, now), _why(one)] for one in found]
    return table(["Member", "Sync", "Items", "Holds", "Observed", "Why"], rows, right=(2,)) if rows else []


def _count(one: View) -> str:
    return str(len(one.seen.agenda.items)) if one.seen is not None else "-"


def _until(one: View, now: float) -> str:
    until = one.decision.lease_until if one.decision is not None else None
    return f"{max(0.0, until - now) / 60:.0f} min" if until is not None else "-"


def _observed(one: View, now: float) -> str:
    return ago(now - one.status.updated) if one.status is not None else "never"


def _why(one: View) -> str:
    return one_line(one.why)


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
    block = block_of(syncroom, team, found, can_report=True) if same_name(me, name) else {}
    if session.as_json:
        session.print_json({"action": "sync agenda", **found.fields(), **block})
        return 0
    session.print("\n".join(_agenda_lines(found, block)))
    return 0


def _agenda_lines(found: View, block: dict[str, Plain]) -> list[str]:
    lines = [f"{found.member}@{found.team}: {found.label}. {_why(found)}"]
    if found.seen is None:
        return lines
    for item in found.seen.agenda.items:
        lines.append(f"  {item.ref:>5}  {item.kind:<18}  {one_line(item.subject)[:70]}")
        lines.append(f"         {item.reason}")
    lines += [f"  note: {one_line(text)}" for text in found.seen.agenda.diagnostics]
    lines.append(f"Fingerprint: {found.seen.fingerprint}")
    if "reportToken" in block:
        lines.append(f"Report token (15 min): {block['reportToken']}")
    return lines


def show_metrics(args: Args, session: Session) -> int:
    syncroom, team = open_plane(args, session)
    found = metrics(syncroom, team)
    if session.as_json:
        session.print_json({"action": "sync metrics", **found})
        return 0
    ready = found["phase2Readiness"]
    assert isinstance(ready, dict)
    reasons = ready["reasons"]
    said = f" ({', '.join(str(one) for one in reasons)})" if isinstance(reasons, list) and reasons else ""
    lines = [f"Nudges: {ready['state']}{said}"]
    lines += [
        f"  observed {ready['observedHours']} h, {ready['evaluations']} looks at {ready['members']} members",
        f"  would nudge {ready['wouldNudgesPerMemberHour']} per member and hour (at most 2)",
        f"  fingerprint churn {ready['fingerprintChurnPerHour']} an hour (below 2)",
        f"  stale reports {ready['staleReportRate']:.0%} of {ready['reports']} (below 15%)",
    ]
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
    heads = ["Member", "Looks", "Changes", "Accepted", "Stale", "Invalid", "Busy", "Would nudge"]
    return ["", *table(heads, rows, right=range(1, 8))] if rows else ["", "Nobody has been looked at yet."]


def show_diagnosis(args: Args, session: Session) -> int:
    syncroom, team = open_plane(args, session)
    me = known_identity(args, session)
    leads = is_proven_boss(session.room, team, me)
    name = check_may_see(team, args.text("member") or "", me, leads=leads, what="diagnosis")
    found = diagnose(syncroom, team, name)
    if session.as_json:
        session.print_json({"action": "sync diagnose", **found})
        return 0
    session.print("\n".join(_diagnosis_lines(view(syncroom, team, name), found)))
    return 0


def _diagnosis_lines(found: View, known: dict[str, Plain]) -> list[str]:
    lines = _agenda_lines(found, {})
    lines += [f"Team: {found.running.state} ({one_line(found.running.why)})", f"Nudges: {known['readiness']}"]
    if found.seen is not None:
        lines.append(f"Busy: {found.seen.busy.reason or 'no'}; would nudge: {'yes' if found.would_nudge else 'no'}")
    status = found.status
    if status is not None:
        lines.append("Conditions:")
        lines += [f"  {one.type:<19} {one.status:<6} {one.reason}" for one in status.conditions]
        lines += [
            f"  changed: {', '.join(one.reasons) or 'unexplained'} {_refs(one.task_ids)}"
            for one in status.transitions[-5:]
        ]
        lines += [f"  report: {one.state} {one.reason or 'accepted'}" for one in status.reports[-5:]]
    for key in ("nudges", "pendingReports", "problems"):
        values = known[key]
        lines += [f"{key}: {one_line(_short(one))}" for one in values] if isinstance(values, list) else []
    return lines


def _refs(ids: object) -> str:
    return " ".join(f"#{id}" for id in ids) if isinstance(ids, list | tuple) else ""


def _short(value: Plain) -> str:
    if isinstance(value, dict):
        keys = ("id", "status", "lastError", "deliveredAt", "nextAttemptAt", "receivedAt")
        return " ".join(str(value[key]) for key in keys if value.get(key))
    return str(value)


VERBS = {
    "sync": status,
    "sync status": status,
    "sync agenda": agenda,
    "sync metrics": show_metrics,
    "sync diagnose": show_diagnosis,
}

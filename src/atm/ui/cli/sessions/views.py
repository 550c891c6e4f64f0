"""A team and its session, in JSON and in words."""

from __future__ import annotations

from atm.core.plain import counted
from atm.core.untrusted_text import one_line, shell_words
from atm.files.formats.times import to_iso
from atm.ui.views.ages import ago
from atm.ui.views.fitting import glimpse
from atm.ui.views.letters import in_one_line
from atm.ui.views.looks import spelled
from atm.ui.views.roster.members import symbol
from atm.ui.views.tables import table
from atm.vendors.known import get

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.sessions.formats.member_checkpoint import MemberCheckpoint
    from atm.sessions.services.overview import MemberView, TeamView
    from atm.sessions.services.resumed import Resumed

SHOWN = 10
"""Messages on the screen; JSON has all fifty."""


def iso(at: float | None) -> str | None:
    return None if at is None else to_iso(at)


def member_json(one: MemberView, found: Resumed | None = None) -> dict[str, object]:
    """`found`: what was looked up beside, by whoever resumes or probes."""
    age = one.liveness.age
    resumable = found.resumable.get(one.name) if found is not None else None
    vendor = {"runtime": one.runtime, "id": one.session, "resumable": resumable} if one.session else None
    saved = found.checkpoints.get(one.name) if found is not None else None
    return {
        "name": one.name,
        "index": one.index,
        "role": one.role,
        "quantum": one.quantum,
        "status": one.status,
        "liveness": one.liveness.value,
        "source": one.liveness.source,
        "age_seconds": None if age is None else round(age, 1),
        "context_usage_percent": one.context,
        "task": one.task or None,
        "last_message_seq": one.last_message,
        "vendor_session": vendor,
        "checkpoint": checkpoint_json(saved) if saved is not None else None,
    }


def checkpoint_json(saved: MemberCheckpoint) -> dict[str, object]:
    """Where a member's work is saved, how its last check ended, and the last commit whose checks passed."""
    return {
        "at": iso(saved.at),
        "task": saved.task or None,
        "branch": saved.branch or None,
        "salvage": saved.salvage or None,
        "files": saved.files,
        "check": {"command": saved.command, "exit_code": saved.code} if saved.command else None,
        "good_commit": saved.good or None,
        "inherited_from": saved.inherited_from or None,
    }


def view_json(view: TeamView, found: Resumed | None = None) -> dict[str, object]:
    """What every command says of a team."""
    progress, numbers = view.progress, view.numbers
    eta = None if progress.eta is None else round(progress.eta, 1)
    return {
        "members": [member_json(one, found) for one in view.members],
        "messages": [
            {
                "seq": one.seq,
                "from": one.sender,
                "to": one.to,
                "text": one.body,
                "timestamp": one.at,
                "kind": one.kind,
            }
            for one in view.tail
        ],
        "tasks": {
            "pending": view.pending,
            "in_progress": [one.as_fields() for one in view.in_progress],
            "completed": view.completed,
        },
        "progress": {"done": progress.done, "total": progress.total, "percent": progress.percent, "eta_seconds": eta},
        "mailbox": {
            "last_seq": numbers.last,
            "gaps": [[*gap] for gap in numbers.gaps],
            "duplicates": numbers.duplicates,
            "torn": view.torn > 0,
        },
        "undelivered": [{"message_id": one.id, "seq": one.seq, "to": one.to} for one in view.undelivered],
        "troubles": view.troubles,
    }


def resumed_json(action: str, done: Resumed) -> dict[str, object]:
    view = done.view
    assert view is not None, "a team that was found was looked at"
    interrupted = done.interrupted
    return {
        "action": action,
        "team": done.team,
        "team_id": done.id,
        "status": view.standing.status,
        "lead": {
            "member": view.team.lead,
            "session": done.session or None,
            "session_old": done.session_old or None,
            "last_seen": iso(done.last_seen),
        },
        "steps": [{"n": one.number, "name": one.name, "ok": True, "ms": one.ms} for one in done.steps],
        **view_json(view, done),
        "changed": {"since": iso(done.last_seen), "messages": done.messages_since},
        "facts": {"stale": [{"name": name, "command": command} for name, command in done.stale]},
        "restored_from": done.restored_from,
        "interrupted_consolidation": None
        if interrupted is None
        else {"step": interrupted.step, "since": iso(interrupted.since), "files": interrupted.files},
        "warnings": [{"code": one.code, "message": one.message} for one in done.warnings],
        "next": next_commands(done),
    }


def next_commands(done: Resumed) -> list[str]:
    """What a lead would do now: finish what was cut off, hand over what nobody does, consolidate, or look on."""
    view, words = done.view, shell_words(done.team)
    if view is None:
        return []
    if done.interrupted is not None:
        base = f"atm session consolidate {words}"
        return [f"{base} --continue", f"{base} --abort", "git status"]
    lost = [one for one in view.members if one.task and one.liveness.value == "offline"]
    found = [f"atm session reassign {shell_words(one.task)} MEMBER --team {words}" for one in lost[:5]]
    if any(one.status == "shutdown" for one in view.members):
        found.append(f"atm up --team {words}")
    for one in view.members:
        if done.resumable.get(one.name) and not one.is_online:
            agent = shell_words(f"{one.runtime}:{one.name}")
            found.append(f"atm spawn {agent} --resume {shell_words(one.session)} --team {words}")
    if not view.pending and not view.in_progress:
        return [*found, f"atm session consolidate {words}"]
    return [*found, f"atm tasks list --team {words}", f'atm broadcast --team {words} "…"', f"atm session show {words}"]


def team_words(view: TeamView, found: Resumed | None = None) -> list[str]:
    """Members, the last messages and the queue."""
    rows = [
        [
            f"{symbol(one.status)} {one_line(one.name)}",
            spelled(one.status),
            one.liveness.value,
            one_line(one.liveness.source) + (f", {ago(one.liveness.age)}" if one.liveness.age is not None else ""),
            f"#{one.task}" if one.task else "",
            _vendor(one, found),
        ]
        for one in view.members
    ]
    lines = (
        table(["Member", "Status", "Liveness", "Known by", "Task", "Session"], rows, drop=(3, 5, 1))
        if rows
        else ["no members"]
    )
    lines += [_saved_words(one) for one in found.checkpoints.values() if one.salvage or one.command] if found else []
    progress = view.progress
    eta = f", about {ago(progress.eta).removesuffix(' ago')} left" if progress.eta else ""
    lines += ["", f"Tasks: {progress.done} of {progress.total} done ({progress.percent} %){eta}"]
    lines += [f"  ◉ #{one.id} {one_line(one.subject)}  ({one_line(one.owner)})" for one in view.in_progress]
    lines += [f"  ○ pending: {', '.join(f'#{id}' for id in view.pending[:20])}"] if view.pending else []
    lines += ["", "Last messages:"] if view.tail else ["", "No messages yet."]
    for one in view.tail[-SHOWN:]:
        lines.append(f"  {one.seq:>4}  {one_line(one.sender)} → {one_line(one.to)}: {glimpse(in_one_line(one.body))}")
    for one in view.undelivered[:5]:
        again = f"atm deliver --message {shell_words(one.id)} --team {shell_words(view.team.name)}"
        lines.append(f"⚠ undelivered: {one_line(one.to)} is there and has not been shown {one.seq}; try again: {again}")
    return lines


def _saved_words(saved: MemberCheckpoint) -> str:
    """What a member's checkpoint adds to its row."""
    facts = [f"{counted(len(saved.files), 'changed file')} saved as {saved.salvage}"] if saved.salvage else []
    facts += [f"`{saved.command}` {saved.how_it_ended}"] if saved.command else []
    return one_line(f"  {saved.member}: {'; '.join(facts)}")


def _vendor(one: MemberView, found: Resumed | None) -> str:
    if not one.session or found is None or found.resumable.get(one.name) is not True:
        return ""
    known = get(one.runtime)
    place = known.conversations if known is not None else None
    return (place.resume if place is not None else "{}").format(one_line(one.session))

"""
Who must act first: needs you, problems, working, idle, done; in that order on every face.

Pure: from a snapshot and the time to rows. A row says who, about which task, what in one sentence, and how old that is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from atm.core.excerpts import excerpt
from atm.core.plain import counted
from atm.core.untrusted_text import shell_word, shell_words
from atm.merges.rules.shown_state import CONFLICT, NOT_MERGED, PLAN_WAITS, TO_RETRY, shown
from atm.ui.views.team.last_run import WORDS, about_run, needs_person, next_words
from atm.ui.views.team.signs import vendor
from atm.ui.views.team.spans import left, on_task, since, span
from atm.vendors.dialogs import asked_in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.ui.views.team.seen import AskedSeen, MemberSeen, OpenMerge, TaskSeen, TeamSeen

NEEDS, PROBLEMS, WORKING, IDLE, UNHEARD, DONE = "Needs you", "Problems", "Working", "Idle", "Unknown", "Done"
GROUPS = (NEEDS, PROBLEMS, WORKING, IDLE, UNHEARD, DONE)

GONE = ("offline", "dead", "gone")
LONGEST_COMMAND = 160
"""Characters of a command in a row. Its request shows all of it."""

FRESH = 60.0
"""Seconds for which a sign of life says what somebody does now."""
BUSY = ("busy", "working", "active", "planning", "starting", "spawning", "shutting_down")


@dataclass(frozen=True, slots=True)
class AttentionRow:
    """One line of the first screen."""

    group: str
    word: str
    """The state in a word, for people."""
    target: tuple[str, str]
    """What it opens: its kind, and its id."""
    who: str = ""
    vendor: str = ""
    task: str = ""
    text: str = ""
    right: str = ""
    """Age, or time left, with its source."""
    age: float | None = None
    """Seconds that it waits, as far as they are known."""
    state: str = ""
    """The state for programs; it has a sign."""
    next: str = ""
    """What to type about it, where the row itself says so."""


def attention(seen: TeamSeen, now: float) -> list[AttentionRow]:
    rows = [*_needs(seen, now), *_problems(seen, now)]
    asking = {row.who.casefold() for row in rows if row.group == NEEDS or row.target[0] == "member"}
    rows += [_member(one, seen, now) for one in seen.members if one.name.casefold() not in asking and not one.is_human]
    rows += [_done(one, seen) for one in reversed(seen.tasks) if one.state == "completed"]
    return sorted(rows, key=lambda row: GROUPS.index(row.group))


def _needs(seen: TeamSeen, now: float) -> Iterator[AttentionRow]:
    """What nobody but a person can settle; and what is the lead's, while it is not there."""
    yield from _last_run(seen, now)
    lead = seen.member(seen.lead.member)
    is_led = lead is not None and lead.liveness == "online" and not lead.is_human
    for asked in seen.approvals:
        if asked.tier == "human" or not is_led:
            waits = since(asked.asked_at, now)
            rest = f"{left(asked.expires_at, now)} left" if asked.expires_at else span(waits)
            target = "approval", asked.id
            what = excerpt(asked.what, LONGEST_COMMAND, asked.id)
            yield _row(seen, NEEDS, "command", target, asked.requester, asked.task or "", what, rest, waits)
    for one in seen.asked:
        if one.whom == "user" or not is_led:
            yield _asked(seen, one, now)
    for id in seen.merges.needs_human if seen.merges is not None else ():
        found = _open_merge(seen, id)
        text = found.reason if found is not None else "cannot be merged"
        yield _row(seen, NEEDS, "merge", ("merge", id), _owner(seen, id), id, text, "")
    yield from _suspended(seen)
    yield from _at_windows(seen)
    for person in seen.members:
        if person.is_human and person.mail.unread:
            text = f"{person.mail.unread} unread for {person.name}"
            yield _row(seen, NEEDS, "mail", ("inbox", person.name), person.name, "", text, "")


def own_mail(seen: TeamSeen, me: str) -> list[AttentionRow]:
    """Unread mail of the reader, where they are an agent to the roster, such as its lead: mail of people has a row."""
    found = seen.member(me)
    if found is None or found.is_human or not found.mail.unread:
        return []
    text = f"{found.mail.unread} unread for {found.name}"
    return [_row(seen, NEEDS, "mail", ("inbox", found.name), found.name, "", text, "")]


def _last_run(seen: TeamSeen, now: float) -> Iterator[AttentionRow]:
    """First of all: without it nothing else of the team gets on."""
    for one in seen.runs:
        if needs_person(one):
            age = since(one.since, now)
            row = _row(seen, NEEDS, WORDS[one.state], ("run", one.run), "", "", about_run(one), span(age), age)
            yield replace(row, next=next_words(one))


def _suspended(seen: TeamSeen) -> Iterator[AttentionRow]:
    """Agents that do nothing until a person continues their processes."""
    for one in seen.members:
        command = one.agent.continue_command if one.agent is not None else None
        if one.agent is not None and command:
            text = f"a signal has stopped it (Ctrl-Z); continue it: {command}"
            task = one.agent.task or ""
            yield _row(seen, NEEDS, "suspended", ("member", one.name), one.name, task, text, _age(one))


def _at_windows(seen: TeamSeen) -> Iterator[AttentionRow]:
    """Programs that ask a person where only a person can answer."""
    for one in seen.members:
        if one.question:
            task = (one.agent.task if one.agent is not None else "") or ""
            text = f"{asked_in_words(one.question)}: {answer_command(one.name, seen.team)}"
            yield _row(seen, NEEDS, "question", ("member", one.name), one.name, task, text, _age(one))
        elif _asks_at_its_terminal(one, seen):
            text = "asks for a permission, at its own terminal"
            yield _row(seen, NEEDS, "question", ("member", one.name), one.name, "", text, _age(one))


def _asks_at_its_terminal(one: MemberSeen, seen: TeamSeen) -> bool:
    """Its hook says that it waits for a person, and no request that could be answered from here is known."""
    is_asking_here = any(asked.requester.casefold() == one.name.casefold() for asked in seen.approvals)
    return one.state == "waiting" and one.liveness == "online" and not one.is_human and not is_asking_here


def answer_command(member: str, team: str) -> str:
    """What a person types to answer at the window of an agent."""
    return f"atm attach --team {shell_word(team)} {shell_words(member)}"


def _asked(seen: TeamSeen, one: AskedSeen, now: float) -> AttentionRow:
    """A question in its own words; a plan by what it is for."""
    waits, task = since(one.at, now), seen.task(one.task)
    text = task.subject if one.kind == "plan" and task is not None else one.text or "has a question"
    right = f"waits {span(waits)}" if waits is not None else ""
    state = PLAN_WAITS if one.kind == "plan" else one.kind
    return _row(seen, NEEDS, state, ("task", one.task), one.by, one.task, text, right, waits)


def _problems(seen: TeamSeen, now: float) -> Iterator[AttentionRow]:
    for stall in seen.stalled:
        waits = since(stall.since, now)
        told = ", its lead was told" if stall.told == "lead" else ""
        there = seen.member(stall.member)
        yet = ", yet online" if there is not None and there.liveness == "online" else ""
        text = f"no progress for {span(waits) or 'a while'}{yet}{told}"
        yield _row(seen, PROBLEMS, "stalled", ("task", stall.task), stall.member, stall.task, text, "", waits)
    stalled = {stall.task for stall in seen.stalled}
    for one in seen.members:
        held = [id for id in one.tasks if id not in stalled]
        if one.agent is not None and one.agent.state == "error":
            text = one.agent.error or "ended with an error"
            yield _row(seen, PROBLEMS, "crashed", ("member", one.name), one.name, one.agent.task or "", text, _age(one))
        elif held and one.liveness in GONE:
            yield _row(seen, PROBLEMS, "gone", ("member", one.name), one.name, held[0], _gone(one, held), _age(one))
    for task in seen.tasks:
        if task.state in ("failed", "unreachable", "unreadable"):
            because = f"{task.subject}: {task.failed_because}" if task.failed_because else task.subject
            text = task.problem or task.unreachable_because or because
            yield _about(seen, PROBLEMS, task, text)
        elif task.shown.state == TO_RETRY:
            tried = f"{task.failures} of {counted(task.max_retries + 1, 'attempt')}"
            yield _about(seen, PROBLEMS, task, f"{task.subject}: no agent has it, after {tried}")
    yield from _collisions(seen)
    for late in seen.unacknowledged:
        if late.told:
            text = f"has not acknowledged {late.summary or late.id}, for {late.sender}"
            waits = since(late.since, now)
            yield _row(seen, PROBLEMS, "late", ("message", late.id), late.to, "", text, span(waits), waits)
    for trouble in seen.troubles:
        yield _row(seen, PROBLEMS, "trouble", ("trouble", trouble), "", "", trouble, "")


def _collisions(seen: TeamSeen) -> Iterator[AttentionRow]:
    if seen.merges is None:
        return
    for item in seen.merges.open:
        if item.shown.state in (CONFLICT, NOT_MERGED) and item.task not in seen.merges.needs_human:
            target = "merge", item.task
            yield _row(seen, PROBLEMS, item.shown.state, target, _owner(seen, item.task), item.task, item.reason, "")
    for one in seen.merges.collisions:
        if one.conflicts and one.agents:
            others = ", ".join(f"#{id}" if id else "the target" for id in one.tasks[1:])
            text = f"changes the same lines as {others}: {', '.join(one.conflicts[:2])}"
            yield _row(seen, PROBLEMS, "collides", ("merge", one.tasks[0]), one.agents[0], one.tasks[0], text, "")


def _member(one: MemberSeen, seen: TeamSeen, now: float) -> AttentionRow:
    """What a member does, as far as anybody knows."""
    started = one.agent.state if one.agent is not None else ""
    task = (one.agent.task if one.agent is not None else None) or (one.tasks[0] if one.tasks else "")
    if one.state == "waiting" and one.liveness == "online":
        return _row(seen, WORKING, "waiting", ("member", one.name), one.name, task, "waits for an answer", _age(one))
    is_busy = (started or one.state) in BUSY or (bool(one.tasks) and one.liveness == "online" and one.state != "idle")
    if one.liveness in GONE or started in ("stopped", "done"):
        word, text = ("stopped" if started == "stopped" else "offline"), _rests(one, "not there; mail waits for it")
        return _row(seen, IDLE, word, ("member", one.name), one.name, task, text, _age(one))
    if is_busy:
        found = seen.task(task)
        word = "planning" if started == "planning" else "working"
        text = ": ".join(filter(None, [on_task(one, now), found.subject if found is not None else _turn(one)]))
        return _row(seen, WORKING, word, ("member", one.name), one.name, task, text, _age(one))
    if one.liveness == "online" or one.state == "idle":
        free = any(task.state == "pending" and not task.owner for task in seen.tasks)
        why = "a task is free to claim" if free else "nothing is free; mail wakes it"
        return _row(seen, IDLE, "idle", ("member", one.name), one.name, task, _rests(one, why), _age(one))
    return _row(seen, UNHEARD, "unknown", ("member", one.name), one.name, task, "no sign of life is known", _age(one))


def _turn(one: MemberSeen) -> str:
    """Without a task: what it does is known as long as the sign of it is fresh."""
    is_fresh = one.state_age_seconds is not None and one.state_age_seconds < FRESH
    return "in a turn" if is_fresh else "was in a turn when it was last heard of"


def _rests(one: MemberSeen, why: str) -> str:
    return f"{one.mail.unread} unread; {why}" if one.mail.unread else why


def _gone(one: MemberSeen, held: list[str]) -> str:
    return f"is {one.liveness}, and holds {', '.join('#' + id for id in held[:4])}"


def _done(task: TaskSeen, seen: TeamSeen) -> AttentionRow:
    return _about(seen, DONE, task, task.subject)


def _age(one: MemberSeen) -> str:
    """`hook 3 s`."""
    heard = freshest(one)
    return f"{heard[1]} {span(heard[0])}" if heard is not None else "unknown"


def freshest(one: MemberSeen) -> tuple[float, str] | None:
    """The freshest sign of a member, and where it comes from in a word; None if there is none."""
    known = [(one.state_age_seconds, one.state_source), (one.liveness_age_seconds, one.liveness_source)]
    aged = [(age, source) for age, source in known if age is not None]
    if not aged:
        return None
    age, source = min(aged, key=lambda one: one[0])
    return age, _short(source)


def _short(source: str) -> str:
    inner = source.partition("(")[2].rstrip(")") or source
    word = inner.split(" ")[0].split(":")[0] if inner else "seen"
    return "roster" if word.startswith(("config", "a")) and "isActive" in source else word[:10] or "seen"


def _owner(seen: TeamSeen, id: str) -> str:
    task = seen.task(id)
    return (task.owner or "") if task is not None else ""


def _open_merge(seen: TeamSeen, id: str) -> OpenMerge | None:
    return next((one for one in seen.merges.open if one.task == id), None) if seen.merges is not None else None


def _about(seen: TeamSeen, group: str, task: TaskSeen, text: str) -> AttentionRow:
    return _row(seen, group, task.shown.state, ("task", task.id), task.owner or "", task.id, text, "")


def _row(
    seen: TeamSeen,
    group: str,
    state: str,
    target: tuple[str, str],
    who: str,
    task: str,
    text: str,
    right: str,
    age: float | None = None,
) -> AttentionRow:
    word = shown(state).word
    return AttentionRow(group, word, target, who, vendor_of(seen.member(who)), task, text, right, age, state)


def vendor_of(member: MemberSeen | None) -> str:
    if member is None:
        return ""
    started = member.agent.runtime if member.agent is not None else None
    return vendor("human" if member.is_human else None, started, member.backend, member.model, member.type)[0]


def held_up(seen: TeamSeen) -> dict[str, str]:
    """Tasks that something besides the board holds up, and what: a stall, or a request that waits for an answer."""
    found = {one.task: "stalled" for one in seen.stalled}
    return {**found, **{one.task: "approval" for one in seen.approvals if one.task}}


def cell(task: TaskSeen, seen: TeamSeen) -> str:
    """Which cell of the strip a task has: what holds it up, else its state."""
    return held_up(seen).get(task.id, task.shown.state)


def strip(seen: TeamSeen) -> list[str]:
    """The cells of all tasks."""
    held = held_up(seen)
    return [held.get(task.id, task.shown.state) for task in seen.tasks]

"""What is told of the chosen row: a request, a member, a task, a merge. As much as there is room for."""

from __future__ import annotations

from atm.core.plain import counted
from atm.ui.tui.lines import BOLD, DIM, PLAIN, ends, text, wrapped
from atm.ui.views.approvals import exact
from atm.ui.views.fitting import cut
from atm.ui.views.team.last_run import run_lines
from atm.ui.views.team.signs import YOU, sign, vendor
from atm.ui.views.team.spans import left, on_task, since, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.faces.view_names import Target
    from atm.ui.tui.lines import Line
    from atm.ui.tui.model import Model
    from atm.ui.views.team.seen import ApprovalSeen, MemberSeen, TaskSeen, TeamSeen

BAR = 30
MOST_OUTPUT = 12
NEVER = 10**9
"""A plan is read where the whole task is shown."""


def about(model: Model, target: Target | None, columns: int) -> list[Line]:
    if target is None or model.seen is None:
        return []
    kind, id = target
    if kind == "approval":
        found = find_request(model, id)
        return request(found, model.now, columns) if found is not None else []
    if kind in ("member", "inbox"):
        member = model.seen.member(id)
        return of_member(model, member, columns) if member is not None else []
    if kind == "task":
        task = model.seen.task(id)
        told = [*_question(model.seen, id, columns), *_rest_of(model, task, columns)] if task is not None else []
        return [*of_task(model.seen, task), *told] if task is not None else []
    if kind == "run":
        found_run = model.seen.run(id)
        lines = run_lines([found_run], model.now) if found_run is not None else []
        return [[text(row)] for line in lines for row in wrapped(line, columns, " ")]
    if kind == "merge":
        item = next((one for one in model.seen.merges.open if one.task == id), None) if model.seen.merges else None
        said = f"#{id} {item.shown.word}: {item.reason}" if item is not None else f"#{id}"
        return [[text(one)] for one in wrapped(said, columns, " ")]
    return [[text(one)] for one in wrapped(id, columns, " ")] if kind == "trouble" else []


def _question(seen: TeamSeen, id: str, columns: int) -> list[Line]:
    asked = next((one for one in seen.asked if one.task == id and one.kind == "question"), None)
    return (
        [[(row, BOLD)] for row in wrapped(f"“{asked.text}”  said by {asked.by}", columns - 1, "   ")] if asked else []
    )


def _rest_of(model: Model, task: TaskSeen, columns: int) -> list[Line]:
    """What the task itself says, once it was read: the question, the plan, its text, what happened."""
    page = model.read.pages.get(("tasks", "show", task.id))
    rows = [row for line in page.lines[1:] for row in wrapped(line, columns - 2, " ")] if page is not None else []
    return [[], *([(row, PLAIN)] for row in rows)] if rows else []


def find_request(model: Model, id: str) -> ApprovalSeen | None:
    known = [*(model.seen.approvals if model.seen is not None else ()), *(model.read.approvals or ())]
    return next((one for one in known if one.id == id), None)


def request(one: ApprovalSeen, now: float, columns: int) -> list[Line]:
    """The exact command, whole: what does not show itself is spelled, and nothing is cut."""
    lines: list[Line] = [[(" ", PLAIN), text(one.requester, BOLD), text(f" asks for {one.tool or one.operation}")], []]
    for said in exact(one.what).split("\n"):
        rows = wrapped(said, columns - 5, "     ")
        lines += [[(f"   $ {row[5:]}" if at == 0 else row, BOLD)] for at, row in enumerate(rows)]
    lines += [[], *_fact("in", exact(one.folder) or "-", columns)]
    if one.why:
        lines += _fact("rule", one.why, columns)
    if one.task:
        lines += _fact("task", f"#{one.task}", columns)
    lines += _fact("answer", "a person" if one.tier == "human" else "the lead, or a person", columns)
    if one.decided_by:
        lines += _fact("decided", f"{one.state} by {one.decided_by} {one.reason}", columns)
    elif one.expires_at:
        lines.append(_bar(one, now, min(BAR, columns // 3)))
        lines += [
            [(row, PLAIN)] for row in wrapped(f"then it counts as denied, and {one.requester} is told", columns, " ")
        ]
    if one.diff:
        lines += [[], *_diff(one.diff, columns)]
    return lines


def must_show(model: Model, target: Target | None, columns: int) -> int:
    """Lines up to the end of the command: who says yes has read all of that."""
    found = find_request(model, target[1]) if target is not None and target[0] == "approval" else None
    if found is None:
        return 0 if target is None or target[0] != "task" else NEVER
    return 2 + sum(len(wrapped(said, columns - 5)) for said in exact(found.what).split("\n"))


def _fact(name: str, said: str, columns: int) -> list[Line]:
    rows = wrapped(said, columns - 10)
    return [[(f" {name if at == 0 else '':<8} ", DIM), (row, PLAIN)] for at, row in enumerate(rows)]


def _bar(one: ApprovalSeen, now: float, columns: int) -> Line:
    """The time that is left, as a share of what there was."""
    waits, total = since(one.asked_at, now), _length(one)
    share = max(0.0, 1 - waits / total) if total and waits is not None else 0.0
    full = round(share * columns)
    return [(f" {left(one.expires_at, now)} left ", YOU), ("▓" * full, YOU), ("░" * (columns - full), DIM)]


def _length(one: ApprovalSeen) -> float:
    from atm.files.formats.times import from_iso

    asked, ends_at = from_iso(one.asked_at), from_iso(one.expires_at)
    return ends_at - asked if asked is not None and ends_at is not None else 0.0


def _diff(said: str, columns: int) -> list[Line]:
    return [diff_line(row, columns) for row in exact(said).split("\n")]


def diff_line(row: str, columns: int) -> Line:
    meaning = {"+": "proven", "-": "broken", "@": DIM}.get(row[:1], PLAIN)
    return [(" ", PLAIN), (wrapped(row, columns - 1)[0] if row else "", meaning)]


def of_member(model: Model, one: MemberSeen, columns: int) -> list[Line]:
    started = one.agent
    name = vendor(
        "human" if one.is_human else None, started.runtime if started else None, one.backend, one.model, one.type
    )
    lines: list[Line] = [
        ends([(" ", PLAIN), text(one.name, BOLD), (f"  {name[1]}", DIM)], [text(one.state, DIM)], columns)
    ]
    lines += four_questions(one, columns, on_task(one, model.now))
    page = model.read.pages.get(("peek", one.name, "--lines", "200"))
    if page is not None and page.lines:
        lines += [[], [(" Last output", DIM)]]
        lines += [[(f"   {row}", PLAIN)] for row in page.lines[-MOST_OUTPUT:]]
    return lines


def four_questions(one: MemberSeen, columns: int, progress: str = "") -> list[Line]:
    """Has it its mail, is it there, does it know its work, does it get on: each with its source and age."""
    unread = one.mail.unread
    mail = "its inbox cannot be read" if unread is None else "nothing unread" if not unread else f"{unread} unread"
    there = f"{one.liveness}: {one.liveness_warning}" if one.liveness_warning else one.liveness
    sync = one.sync
    held = ", ".join(f"#{id}" for id in one.tasks[:6]) or "no task"
    rows = [
        ("mail", "completed" if unread == 0 else "idle" if unread else "unknown", mail, "inbox", None),
        (
            "there",
            "completed" if one.liveness == "online" else "unknown",
            there,
            one.liveness_source,
            one.liveness_age_seconds,
        ),
        ("sync", "idle", f"{sync.label}: {sync.why}" if sync is not None else "unknown", "board", None),
        (
            "work",
            "working" if one.tasks else "idle",
            ", ".join(filter(None, [f"{one.state}, holds {held}", progress])),
            one.state_source,
            one.state_age_seconds,
        ),
    ]
    lines: list[Line] = []
    for name, state, said, source, age in rows:
        look = sign(state)
        right = f"{source.partition(' (')[0]} {span(age)}".strip()
        start: Line = [(f" {look.mark} ", look.meaning), (f"{name:<6}", DIM), text(said)]
        lines.append(ends(start, [(cut(text(right)[0], 24), DIM)], columns))
    return lines


def of_task(seen: TeamSeen, task: TaskSeen) -> list[Line]:
    """Where it stands and, if it waits, for what."""
    look = sign(task.shown.state)
    head: Line = [
        (f" {look.mark} ", task.shown.tone),
        text(f"#{task.id} {task.shown.word}  ", DIM),
        text(task.subject, BOLD),
    ]
    return [head, *([[("   ", PLAIN), text(said)] for said in why_it_waits(seen, task)])]


def _where(task: TaskSeen) -> str:
    """Its state, and what it waits for itself."""
    waits = " ".join(f"#{id}" for id in task.blocked_by_open)
    return f"{task.shown.word}, waits for {waits}" if waits else task.shown.word


def why_it_waits(seen: TeamSeen, task: TaskSeen) -> list[str]:
    """In sentences; nothing for a task that waits for nobody."""
    said = []
    for id in task.blocked_by_open:
        other = seen.task(id)
        said.append(f"waits for #{id} {other.subject} ({_where(other)})" if other is not None else f"waits for #{id}")
    if task.plan == "submitted":
        said.append(f"{task.owner or 'its agent'} waits for a yes to its plan")
    if task.needs:
        said.append(f"{task.owner or 'its agent'} asked {'you' if task.needs == 'user' else 'the lead'} something")
    if task.review.state == "review":
        said.append(f"{task.review.reviewer or 'somebody'} reviews it")
    if task.problem or task.unreachable_because:
        said.append(str(task.problem or task.unreachable_because))
    if task.failures:
        said.append(f"{task.failures} of {counted(task.max_retries + 1, 'attempt')} failed")
    return said

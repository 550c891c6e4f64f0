"""One agent: is it all right? Four answers, then its output, mail, task, diff, receipts and work-sync."""

from __future__ import annotations

from functools import partial

from atm.ui.tui.lines import BOLD, DIM, PLAIN, ends, fitted, text
from atm.ui.tui.model import GAP, Body, ListRow, fixed
from atm.ui.tui.panels.about import diff_line, four_questions
from atm.ui.tui.panels.board import tab_line
from atm.ui.tui.panels.mail import message_lines
from atm.ui.views.team.signs import vendor
from atm.ui.views.team.spans import on_task, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.tui.lines import Line
    from atm.ui.tui.model import Model, Page
    from atm.ui.views.team.seen import MemberSeen

MOST_MESSAGES = 50


def page_of(model: Model, name: str, part: str) -> tuple[str, ...]:
    """The command whose output a part shows; empty for parts that are drawn from what is known already."""
    member = model.seen.member(name) if model.seen is not None else None
    task = _task_of(member) if member is not None else ""
    pages: dict[str, tuple[str, ...]] = {
        "output": ("peek", name, "--lines", "200"),
        "task": ("tasks", "show", task) if task else (),
        "diff": ("peek", name, "--diff"),
        "sync": ("sync", "diagnose", name),
    }
    return pages.get(part, ())


def _task_of(member: MemberSeen) -> str:
    return (member.agent.task if member.agent is not None else None) or (member.tasks[0] if member.tasks else "")


def agent(model: Model) -> Body:
    member = model.seen.member(model.agent) if model.seen is not None else None
    if member is None:
        said = (
            f" {model.agent} is not in this team"
            if model.agent
            else " Nobody is in this team yet: atm up, or atm teams add-member"
        )
        return Body([GAP, fixed([text(said, DIM)])])
    rows = [ListRow(partial(_head, model, member)), *_questions(model, member), fixed(tab_line(model)), GAP]
    return Body([*rows, *_part(model, member)], is_text=True)


def _head(model: Model, member: MemberSeen, columns: int) -> Line:
    started = member.agent
    tag = vendor(
        "human" if member.is_human else None, started.runtime if started else None, member.backend, member.model
    )
    task = model.seen.task(_task_of(member)) if model.seen is not None else None
    right: Line = [text(f"#{task.id} {task.subject}"[: columns // 2])] if task is not None else []
    cost = f"  {started.tokens:,} tokens" if started is not None and started.tokens else ""
    start: Line = [
        (" ", PLAIN),
        text(member.name, BOLD),
        (f"  {tag[0]}  {tag[1]}", DIM),
        text(f"    {member.state}{cost}"),
    ]
    return ends(start, right, columns) if right else start


def _questions(model: Model, member: MemberSeen) -> list[ListRow]:
    progress = on_task(member, model.now)
    return [ListRow(partial(_question, member, progress, at)) for at in range(4)]


def _question(member: MemberSeen, progress: str, at: int, columns: int) -> Line:
    return four_questions(member, columns, progress)[at]


def _part(model: Model, member: MemberSeen) -> list[ListRow]:
    if model.part in ("mail", "receipts"):
        return _mail(model, member, with_rail=model.part == "receipts")
    command = page_of(model, member.name, model.part)
    if not command:
        return [fixed([(" it has no task now", DIM)])]
    page = model.read.pages.get(command)
    return _page(page, model.now, is_diff=model.part == "diff")


def _page(page: Page | None, now: float, *, is_diff: bool = False) -> list[ListRow]:
    if page is None:
        return [fixed([(" …", DIM)])]
    if page.trouble:
        return [fixed([(" ", PLAIN), text(page.trouble, "broken")])]
    draw = diff_line if is_diff else _plain_line
    rows = [ListRow(partial(draw, line)) for line in page.lines] or [fixed([(" nothing", DIM)])]
    return [*rows, GAP, fixed([(f" as of {span(now - page.at)} ago", DIM)])]


def _plain_line(line: str, columns: int) -> Line:
    return fitted([(f" {line}", PLAIN)], columns)


def _mail(model: Model, member: MemberSeen, *, with_rail: bool) -> list[ListRow]:
    if model.read.threads is None:
        return [fixed([(" …", DIM)])]
    name = member.name.casefold()
    theirs = [
        one
        for thread in model.read.threads
        for one in thread.messages
        if name in {who.casefold() for who in one.people}
    ]
    newest = sorted(theirs, key=lambda one: one.at, reverse=True)[:MOST_MESSAGES]
    if not newest:
        return [fixed([(" nobody has written to it, and it to nobody", DIM)])]
    return [row for one in newest for row in message_lines(one, with_rail=with_rail)]


page_rows = _page

"""The merge queue, for people."""

from __future__ import annotations

from atm.core.untrusted_text import many_lines, one_line, shell_words
from atm.merges.rules.items import MERGED
from atm.merges.rules.shown_state import shown_item
from atm.ui.views.looks import look
from atm.ui.views.style import BOLD, GREEN, RED
from atm.ui.views.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.board.rules.dependencies import Board
    from atm.merges.rules.items import MergeItem, MergeQueue
    from atm.merges.rules.radar import Collision

    Paint = Callable[..., str]


def queue_table(queue: MergeQueue, board: Board, paint: Paint) -> str:
    rows = []
    for item in queue.items:
        now = shown_item(item, board)
        rows.append(
            [
                f"#{item.task}",
                f"{look(now.state).symbol} {now.word}",
                one_line(item.agent),
                one_line(item.subject),
                _about(item),
            ]
        )
    merged = sum(one.status == MERGED for one in queue.items)
    head = f"{paint(one_line(queue.branch), BOLD)}  {merged} of {len(queue.items)} merged  ({queue.strategy})"
    return "\n".join([head, *table(["Task", "Status", "Agent", "Title", "About"], rows, drop=(2, 4))])


def _about(item: MergeItem) -> str:
    if item.status == MERGED:
        return item.commit[:12] + (f", {len(item.lost)} lost" if item.lost else "")
    if item.waits_for:
        return f"waits for {', '.join('#' + id for id in item.waits_for)}"
    return one_line(item.reason)


def item_lines(queue: MergeQueue, board: Board, item: MergeItem, paint: Paint) -> list[str]:
    """All that is known of one, and what can be done."""
    now = shown_item(item, board)
    head = paint(f"{look(now.state).symbol} #{item.task} {now.word}", *look(now.state).codes)
    lines = [f"{head}  {one_line(item.subject)}"]
    lines.append(f"  by {one_line(item.agent)} on {one_line(item.branch)}, {item.head[:12]}")
    if item.commit:
        lines.append(f"  merged into {one_line(queue.branch)} as {item.commit[:12]}")
    if item.reason:
        lines.append(f"  {one_line(item.reason)}")
    if item.waits_for:
        lines.append(f"  waits for {', '.join('#' + id for id in item.waits_for)}")
    for path in item.conflicts:
        lines.append(f"  in conflict: {one_line(path)}")
    for rival in item.rivals:
        lines.append(f"  with #{rival.task} {one_line(rival.subject)}, by {one_line(rival.agent)}")
    for what in item.lost:
        lines.append(f"  lost: {one_line(what)}")
    if item.salvage:
        lines.append(f"  all of it is kept: {one_line(item.salvage)}")
    for check in item.checks:
        mark = paint("✓", GREEN) if check.ok else paint("✗", RED)
        lines.append(f"  {mark} {one_line(check.command)}")
        if check.output:
            lines += [f"      {line}" for line in many_lines(check.output).splitlines()[-12:]]
    if not item.is_over:
        task, team = shell_words(item.task), shell_words(queue.team)
        lines.append(f"  next: atm merge resolve {task} --team {team}, or atm merge retry {task} --team {team}")
    return lines


def collision_line(one: Collision) -> str:
    who = [
        f"#{task} ({one_line(agent)})" if task else "the target"
        for task, agent in zip(one.tasks, one.agents, strict=True)
    ]
    files = one.conflicts or one.files
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    sign, what = ("⚔", "change the same lines of") if one.conflicts else ("·", "change, at different places,")
    return f"{sign} {' and '.join(who)} {what} {', '.join(map(one_line, files[:3]))}{more}"

"""Tasks as tools show them: one line in lists, more of a single one, and long texts by the piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.board.rules.acceptance import describe
from atm.board.rules.reviews import current_reviewer
from atm.board.rules.tasks import UNREACHABLE
from atm.merges.rules.shown_state import shown_state
from atm.ui.mcp.schema import listed
from atm.ui.mcp.wording import LONGEST_LINE, NOTICE, beginning, known, line, lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card, Task
    from atm.core.plain import Plain, Record

MOST_IDS, MOST_COMMENTS, MOST_FILES = 10, 5, 20
LONGEST_DESCRIPTION, LONGEST_PART, LONGEST_COMMENT, LONGEST_CHECK = 2_000, 1_000, 400, 160

TASK: dict[str, Plain] = {"type": "object"}
"""What `preview` gives, at least. Its fields are not listed: they would be sent with every tool to every agent."""

TASKS = listed({"type": "object"})

PARTS = ("description", "plan", "result", "error", "comments")
"""Texts of a task that may be long."""


def preview(card: Card, board: Board) -> dict[str, Plain]:
    """A task in about one line."""
    state = board.state(card)
    seen = shown_state(card, board)
    because = board.lost().get(card.number, "") if state == UNREACHABLE else ""
    return {
        "id": card.id,
        "subject": line(card.subject or card.problem, LONGEST_LINE),
        "state": line(state, 40),
        "priority": line(card.priority, 40),
        **known(
            {
                "shown": line(seen.word, 40) if seen.state != state else "",
                "owner": line(card.owner, 128),
                "blocked_by": _ids(board.open_blockers(card)) if not card.is_finished else [],
                "unreachable_because": line(because),
                "needs_answer_of": line(card.needs, 40),
                "review": line(card.review, 40),
                "reviewer": line(card.reviewer, 128) if card.review else "",
                "plan": line(card.plan, 40),
            }
        ),
    }


def counts(board: Board) -> dict[str, Plain]:
    """How many in each state. Another program may call one whatever it likes."""
    found: dict[str, int] = {}
    for state, count in board.counts().items():
        said = line(state, 40)
        found[said] = found.get(said, 0) + count
    return {**found}


def _ids(numbers: Sequence[str]) -> list[Plain]:
    """The first few; ids that other programs wrote may be anything."""
    shown: list[Plain] = [line(id, 20) for id in numbers[:MOST_IDS]]
    return shown if len(numbers) <= MOST_IDS else [*shown, f"+{len(numbers) - MOST_IDS}"]


def work(task: Task, board: Board, whose: Callable[[Record], str]) -> dict[str, Plain]:
    """What whoever begins with a task must know; also `whose` its commands are."""
    return {
        **preview(task, board),
        **known(
            {
                "description": beginning(task.description, LONGEST_DESCRIPTION),
                "claim_id": line(task.claim_id, 64),
                "changes_wanted": _note(task) if task.review == "changes_requested" else "",
                "plan_feedback": beginning(_word(task.part("plan"), "feedback"), LONGEST_PART),
                "checks": lines(f"{line(describe(check), LONGEST_CHECK)}{whose(check)}" for check in task.acceptance),
                "failed_check": _failed_check(task),
                "files": lines(task.files, MOST_FILES),
            }
        ),
    }


def _failed_check(task: Task) -> str:
    """What kept it from being completed, last time somebody tried."""
    failed = task.part("lastCheck")
    said = f"{describe(failed)}: {_word(failed, 'output').strip()}" if failed else ""
    return beginning(said, LONGEST_PART)


def details(task: Task, board: Board, whose: Callable[[Record], str]) -> dict[str, Plain]:
    """Everything about a task, long texts by their beginning."""
    reviewer = current_reviewer(task)
    question, plan = task.part("clarification"), task.part("plan")
    comments: list[Plain] = [_comment(comment) for comment in task.comments[-MOST_COMMENTS:]]
    return {
        **work(task, board, whose),
        **known(
            {
                "depends_on": _ids(board.blockers(task)),
                "needed_by": _ids([card.id for card in board.dependants(task.id)]),
                "failures": task.failures or None,
                "max_retries": task.max_retries,
                "created_by": line(task.text("createdBy"), 128),
                "finished_by": line(task.text("finishedBy"), 128),
                "result": beginning(task.text("result"), LONGEST_PART),
                "error": beginning(task.text("error"), LONGEST_PART),
                "question": beginning(_word(question, "question"), LONGEST_PART),
                "plan_text": beginning(_word(plan, "text"), LONGEST_PART),
                "current_reviewer": line(reviewer.name or "", 128),
                "review_note": _note(task),
                "diagnostics": lines(reviewer.diagnostics),
                "unverified": True if task.part("unverified") else None,
                "comments": comments,
                "comment_count": len(task.comments) or None,
            }
        ),
        "notice": NOTICE,
    }


def long_text(task: Task, part: str) -> str:
    """One of the `PARTS`, whole."""
    if part == "comments":
        return "\n\n".join(
            f"[{_word(one, 'by')} {_word(one, 'at')} {_word(one, 'id')}]\n{_word(one, 'text')}"
            for one in reversed(task.comments)
        )
    if part == "plan":
        return _word(task.part("plan"), "text")
    return task.description if part == "description" else task.text(part)


def _note(task: Task) -> str:
    return beginning(_word(task.part("review"), "note"), LONGEST_PART)


def _comment(comment: Record) -> dict[str, Plain]:
    return {
        "id": line(_word(comment, "id"), 64),
        "by": line(_word(comment, "by"), 128),
        "at": line(_word(comment, "at"), 40),
        "text": beginning(_word(comment, "text"), LONGEST_COMMENT),
    }


def _word(record: Record, key: str) -> str:
    """Task files are shared: a field may hold anything."""
    value = record.get(key)
    return value if isinstance(value, str) else ""


def event_fields(event: Record) -> dict[str, Plain]:
    """One event of the history in a few words."""
    texts = ("actor", "at", "from", "to", "reason", "owner", "reviewer", "whom", "error", "note")
    said: dict[str, Plain] = {key: line(_word(event, key)) for key in texts}
    named: Iterable[str] = ("added", "removed", "parts", "dependsOn")
    for key in named:
        value = event.get(key)
        said[key] = _ids([str(id) for id in value]) if isinstance(value, list) else None
    return {"event": line(_word(event, "type"), 64), **known(said)}

"""
Plans that need approval before the work begins, and questions that need an answer.

No answer means no (D18): a plan that nobody approved is not approved, however long that takes and however often it
was rejected. After the last revision the lead decides; nothing proceeds by itself.
"""

from __future__ import annotations

from atm.board.rules.tasks import Change
from atm.core.work_errors import PlanRefused, TaskClosed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.board.rules.tasks import Card, Stamp, Task

MOST_REVISIONS = 3
"""Plans after the first one. Then the lead approves, reassigns or cancels."""


def submit(task: Task, by: Stamp, text: str) -> Change:
    """A plan, or a revision of one that was rejected."""
    plan = task.part("plan")
    if not text.strip():
        raise PlanRefused("the plan is empty", "write what you are going to do")
    if task.plan == "approved":
        raise PlanRefused(f"the plan for #{task.id} is approved already", f"begin: `atm tasks start {task.id}`")
    if task.plan == "submitted":
        raise PlanRefused(f"the plan for #{task.id} waits for an answer", "wait; no answer means no")
    revision = _revision(task) + 1 if task.plan == "rejected" else 0
    if revision > MOST_REVISIONS:
        raise PlanRefused(
            f"the plan for #{task.id} was revised {MOST_REVISIONS} times and rejected each time",
            "the lead decides now: approve it, reassign the task or cancel it",
        )
    own = {**plan, "state": "submitted", "text": text, "revision": revision, "by": by.actor, "at": by.at}
    own.pop("feedback", None)
    return Change(by.event("plan_submitted", revision=revision), own={"plan": own})


def files_beyond(text: str, files: Sequence[str]) -> list[str]:
    """Files that a plan names and that the task did not expect; none where the task expects none in particular."""
    if not files:
        return []
    from atm.board.rules.file_overlap import globs_overlap  # here: a claim does not need it

    words = {word.strip("`'\"()[]<>,;:!?*").removeprefix("./").rstrip(".") for word in text.split()}
    named = sorted(word for word in words if _is_file(word))
    return [word for word in named if not any(globs_overlap(word, pattern) for pattern in files)]


def _is_file(word: str) -> bool:
    """A name with an ending; no address, no number, no abbreviation."""
    stem, _, ending = word.rpartition("/")[2].rpartition(".")
    is_named = len(stem) > 1 or ("/" in word and bool(stem))
    return is_named and ending.isalpha() and len(ending) <= 5 and "://" not in word and len(word) < 200


def review_questions(task: Task, text: str) -> str:
    """What whoever reviews a plan has to answer; the second is looked up."""
    beyond = files_beyond(text, task.files)
    files = (
        f"it names files that the task did not expect: {', '.join(beyond[:10])}" if beyond else "as far as it names any"
    )
    expected = ", ".join(task.files[:10]) or "none in particular"
    return (
        "Before you answer: does it do what the task asks for? Does it touch only the expected files "
        f"({expected}): {files}? Has it the right size, not more and not less?"
    )


def approve(task: Task, by: Stamp, note: str) -> Change:
    """Also after the last rejection: the lead may accept what stands there."""
    if task.plan not in ("submitted", "rejected"):
        raise PlanRefused(f"there is no plan for #{task.id} to approve", "it must be submitted first")
    plan = {**task.part("plan"), "state": "approved", "decidedBy": by.actor, "decidedAt": by.at}
    if note:
        plan["feedback"] = note
    return Change(by.event("plan_approved", revision=_revision(task), note=note), own={"plan": plan})


def reject(task: Task, by: Stamp, feedback: str) -> Change:
    if task.plan != "submitted":
        raise PlanRefused(f"there is no plan for #{task.id} to reject", "it must be submitted first")
    if not feedback.strip():
        raise PlanRefused("a plan was rejected without saying why", "say what is wrong with it, with --feedback")
    plan = {**task.part("plan"), "state": "rejected", "feedback": feedback, "decidedBy": by.actor, "decidedAt": by.at}
    return Change(by.event("plan_rejected", revision=_revision(task), note=feedback), own={"plan": plan})


def lead_must_decide(task: Task) -> bool:
    return task.plan == "rejected" and _revision(task) >= MOST_REVISIONS


def check_may_begin(task: Task) -> None:
    """Before the work, and again before it is completed."""
    if task.plan in ("required", "submitted", "rejected"):
        what = {"required": "needs a plan", "submitted": "waits for an answer to its plan"}
        raise PlanRefused(
            f"#{task.id} {what.get(task.plan, 'has a plan that was rejected')}",
            f"submit one: `atm tasks plan submit {task.id}`"
            if task.plan != "submitted"
            else "no answer means no: wait",
        )


def _revision(task: Task) -> int:
    value = task.part("plan").get("revision")
    return value if isinstance(value, int) else 0


def ask(card: Card, by: Stamp, whom: str, question: str) -> Change:
    """The task cannot go on without an answer of the lead or of the user."""
    if card.is_finished:
        raise TaskClosed(f"#{card.id} is {card.outcome or card.status}", "there is nothing left to ask about it")
    event = by.event("clarification_requested", whom=whom, note=question)
    return Change(event, own={"clarification": {"needs": whom, "question": question, "by": by.actor, "at": by.at}})


def answer(card: Card, by: Stamp, text: str) -> Change:
    if not card.needs:
        raise TaskClosed(f"nobody waits for an answer about #{card.id}", "use `atm tasks comment` to add a remark")
    return Change(by.event("clarification_answered", whom=card.needs, note=text), own={"clarification": None})

"""Comments, questions, reviews and plans: where one member waits for another."""

from __future__ import annotations

from atm.board.services import reviews
from atm.board.services import working as board
from atm.ui.verbs.verb import Done

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.board.rules.tasks import Task
    from atm.board.services.boardroom import Boardroom
    from atm.board.services.reviews import ReviewOutcome
    from atm.core.plain import Plain
    from atm.ui.verbs.verb import Acting, Does, Given

    Says = Callable[[Task, ReviewOutcome], str]


def _comment(acting: Acting, given: Given) -> Done:
    said = (acting.team.name, acting.who, given.text("id"), given.text("text"))
    task, id = board.comment(acting.boardroom, *said)
    return Done(task, f"commented on #{task.id}", facts={"comment_id": id})


def _ask(acting: Acting, given: Given) -> Done:
    whom = given.text("whom") or "lead"
    done = reviews.ask(acting.boardroom, acting.team.name, acting.who, given.text("id"), whom, given.text("question"))
    return _waits(done, f"#{done.task.id} waits for an answer of the {whom}")


def _waits(done: ReviewOutcome, words: str) -> Done:
    details: dict[str, Plain] = {"reviewer": done.reviewer, "diagnostics": [*done.diagnostics]}
    return Done(done.task, words, warnings=[*done.warnings, *done.diagnostics], details=details)


def _with_text(verb: Callable[[Boardroom, str, str, str, str], ReviewOutcome], key: str, says: Says) -> Does:
    """A verb that takes a task and one text."""

    def does(acting: Acting, given: Given) -> Done:
        done = verb(acting.boardroom, acting.team.name, acting.who, given.text("id"), given.text(key))
        return _waits(done, says(done.task, done))

    return does


def _start_review(acting: Acting, given: Given) -> Done:
    done = reviews.start_review(acting.boardroom, acting.team.name, acting.who, given.text("id"))
    return _waits(done, f"{acting.who} reviews #{done.task.id}")


DOES: dict[str, Does] = {
    "board_comment": _comment,
    "board_ask": _ask,
    "board_answer": _with_text(reviews.answer, "text", lambda task, _: f"#{task.id} goes on"),
    "review_request": _with_text(
        reviews.request_review,
        "reviewer",
        lambda task, done: f"#{task.id} waits for a review by {done.reviewer or 'whoever starts it'}",
    ),
    "review_start": _start_review,
    "review_approve": _with_text(
        reviews.approve, "note", lambda task, _: f"#{task.id} was approved; {task.owner} can complete it"
    ),
    "review_changes": _with_text(
        reviews.request_changes, "note", lambda task, _: f"#{task.id} is back with {task.owner}"
    ),
    "plan_submit": _with_text(
        reviews.submit_plan, "text", lambda task, _: f"the plan for #{task.id} waits for approval; no answer means no"
    ),
    "plan_approve": _with_text(reviews.approve_plan, "note", lambda task, _: f"the plan for #{task.id} is approved"),
    "plan_reject": _with_text(reviews.reject_plan, "feedback", lambda task, _: f"the plan for #{task.id} was rejected"),
}

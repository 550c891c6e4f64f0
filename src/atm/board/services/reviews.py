"""Reviews, plans and questions: everything in which one member waits for another's word."""

from __future__ import annotations

from atm.board.rules import claims, plans, reviews
from atm.board.rules.tasks import MOST_COMMENTS, Change, check_said, check_text, task_id
from atm.board.services.boardroom import open_team, sign_of_life
from atm.board.services.mail import tell, tell_decision, tell_plan
from atm.core.names import check_known_name, same_name
from atm.core.work_errors import NotClaimant
from atm.team.rules.team import is_boss as is_named_boss
from atm.team.services.standing import is_boss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.tasks import Stamp, Task
    from atm.board.services.boardroom import Boardroom
    from atm.core.plain import Plain
    from atm.team.rules.team import Team


class ReviewOutcome:
    """The task as it is now, who waits for whom, and whom nobody could tell."""

    __slots__ = ("diagnostics", "reviewer", "task", "warnings")

    def __init__(self, task: Task, warnings: list[str]) -> None:
        self.task = task
        self.warnings = warnings
        found = reviews.current_reviewer(task)
        self.reviewer = found.name
        self.diagnostics = found.diagnostics


def request_review(boardroom: Boardroom, team: str, who: str, id: str, reviewer: str = "") -> ReviewOutcome:
    """The owner is done and a reviewer shall look."""
    found, by = open_team(boardroom, team), boardroom.stamp(who)
    asked = found.doer(check_known_name(reviewer, "member")) if reviewer else ""

    def rule(task: Task) -> Change:
        by_boss = is_boss(boardroom.room, found, who)
        if not by_boss:
            claims.check_claimant(task, who)
            reviews.check_may_ask(task, asked, lambda name: is_named_boss(found, name))
        return reviews.request(task, asked, by, for_good=by_boss)

    done = _changed(boardroom, found, who, id, rule)
    to = done.reviewer or found.lead
    return ReviewOutcome(done, tell(boardroom, found, who, to, done, "is ready for review"))


def start_review(boardroom: Boardroom, team: str, who: str, id: str) -> ReviewOutcome:
    found, by = open_team(boardroom, team), boardroom.stamp(who)
    return ReviewOutcome(_changed(boardroom, found, who, id, lambda task: reviews.start(task, by)), [])


def approve(boardroom: Boardroom, team: str, who: str, id: str, note: str = "") -> ReviewOutcome:
    found, by = open_team(boardroom, team), boardroom.stamp(who)
    done = _changed(boardroom, found, who, id, lambda task: reviews.approve(task, by, check_text(note, "note")))
    return ReviewOutcome(done, tell(boardroom, found, who, done.owner, done, f"was approved. {note}".strip()))


def request_changes(boardroom: Boardroom, team: str, who: str, id: str, note: str) -> ReviewOutcome:
    found, by = open_team(boardroom, team), boardroom.stamp(who)
    done = _changed(boardroom, found, who, id, lambda task: reviews.request_changes(task, by, check_text(note, "note")))
    return ReviewOutcome(done, tell(boardroom, found, who, done.owner, done, f"needs changes: {note}"))


def submit_plan(boardroom: Boardroom, team: str, who: str, id: str, text: str) -> ReviewOutcome:
    """The claimant says what they are going to do, and waits."""
    found, by = open_team(boardroom, team), boardroom.stamp(who)

    def rule(task: Task) -> Change:
        claims.check_claimant(task, who)
        return plans.submit(task, by, check_text(text, "plan"))

    done = _changed(boardroom, found, who, id, rule)
    words = f"has a plan that waits for your word:\n{text}\n\n{plans.review_questions(done, text)}"
    return ReviewOutcome(done, tell_plan(boardroom, found, who, found.lead, done, words))


def approve_plan(boardroom: Boardroom, team: str, who: str, id: str, note: str = "") -> ReviewOutcome:
    return _decide(boardroom, team, who, id, "approve", note)


def reject_plan(boardroom: Boardroom, team: str, who: str, id: str, feedback: str) -> ReviewOutcome:
    return _decide(boardroom, team, who, id, "reject", feedback)


def _decide(boardroom: Boardroom, team: str, who: str, id: str, verb: str, note: str) -> ReviewOutcome:
    found, by = open_team(boardroom, team), boardroom.stamp(who)

    def rule(task: Task) -> Change:
        claims.check_may_lead(who, is_boss(boardroom.room, found, who), f"{verb} plans")
        if same_name(who, task.owner):
            raise NotClaimant(f"{who} cannot {verb} their own plan", "somebody else must decide")
        decide = plans.approve if verb == "approve" else plans.reject
        return decide(task, by, check_text(note, "feedback"))

    done = _changed(boardroom, found, who, id, rule)
    words = f"your plan was approved. {note}".strip() if verb == "approve" else f"your plan was rejected: {note}"
    warnings = tell_decision(boardroom, found, who, done, words, approved=verb == "approve", feedback=note)
    if plans.lead_must_decide(done):
        warnings.append(f"that was the last revision of the plan for #{done.id}: the lead decides now")
    return ReviewOutcome(done, warnings)


def ask(boardroom: Boardroom, team: str, who: str, id: str, whom: str, question: str) -> ReviewOutcome:
    """The task waits until the lead or the user has answered."""
    found, by = open_team(boardroom, team), boardroom.stamp(who)

    def rule(task: Task) -> Change:
        return _with_comment(plans.ask(task, by, whom, check_said(question, "question")), task, by, question)

    done = _changed(boardroom, found, who, id, rule)
    return ReviewOutcome(
        done, tell(boardroom, found, who, found.lead, done, f"needs an answer of the {whom}: {question}")
    )


def answer(boardroom: Boardroom, team: str, who: str, id: str, text: str) -> ReviewOutcome:
    found, by = open_team(boardroom, team), boardroom.stamp(who)
    asked_by = str(boardroom.tasks.read(found.name, task_id(id)).part("clarification").get("by") or "")

    def rule(task: Task) -> Change:
        change = plans.answer(task, by, check_said(text, "answer"))
        claims.check_may_lead(who, is_boss(boardroom.room, found, who), f"answer what the {task.needs} was asked")
        return _with_comment(change, task, by, text)

    done = _changed(boardroom, found, who, id, rule)
    return ReviewOutcome(
        done, tell(boardroom, found, who, done.owner or asked_by, done, f"your question was answered: {text}")
    )


def _with_comment(change: Change, task: Task, by: Stamp, text: str) -> Change:
    """Questions and answers stand among the comments too, where people look for them."""
    said: dict[str, Plain] = {"id": by.id, "by": by.actor, "at": by.at, "text": text}
    change.own["comments"] = [*task.comments[1 - MOST_COMMENTS :], said]
    return change


def _changed(boardroom: Boardroom, team: Team, who: str, id: str, rule: claims.Rule) -> Task:
    with boardroom.tasks.turn(team.name) as turn:
        done = turn.change(task_id(id), rule)
    sign_of_life(boardroom, team, who)
    assert done is not None  # these rules raise or change
    return done

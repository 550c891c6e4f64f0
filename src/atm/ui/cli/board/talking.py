"""`atm tasks` comment, clarify, review, plan."""

from __future__ import annotations

from atm.domain.errors import UsageError
from atm.services.board import reviews
from atm.services.board import working as board
from atm.ui.cli.board.view import report, team_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.plain import Plain
    from atm.services.board.reviews import ReviewOutcome
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def _comment(args: Args, session: Session) -> int:
    team, who = team_of(args, session), session.identity(args)
    task, id = board.comment(session.boardroom, team, who, args.need("id"), args.need("text"))
    return report(session, "comment", team, task, f"commented on #{task.id}", comment_id=id)


def _clarify(args: Args, session: Session) -> int:
    team, who, id = team_of(args, session), session.identity(args), args.need("id")
    answer, question, needs = args.text("answer"), args.text("question"), args.text("needs")
    if (answer is None) == (question is None):
        raise UsageError("give either --question or --answer", "--needs lead --question TEXT, or --answer TEXT")
    if answer is not None:
        done = reviews.answer(session.boardroom, team, who, id, answer)
        return _tell(session, "clarify", team, done, f"#{done.task.id} goes on")
    done = reviews.ask(session.boardroom, team, who, id, needs or "lead", question or "")
    return _tell(session, "clarify", team, done, f"#{done.task.id} waits for an answer of the {needs or 'lead'}")


def _review(args: Args, session: Session) -> int:
    team, who = team_of(args, session), session.identity(args)
    verb, boardroom = args.command.word, session.boardroom
    if verb == "review":
        raise UsageError("what about the review?", "atm tasks review request, start, approve or changes")
    id = args.need("id")
    if verb == "request":
        done = reviews.request_review(boardroom, team, who, id, args.text("reviewer") or "")
        words = f"#{done.task.id} waits for a review by {done.reviewer or 'whoever starts it'}"
    elif verb == "start":
        done = reviews.start_review(boardroom, team, who, id)
        words = f"{who} reviews #{done.task.id}"
    elif verb == "approve":
        done = reviews.approve(boardroom, team, who, id, args.text("note") or "")
        words = f"#{done.task.id} was approved; {done.task.owner} can complete it"
    else:
        done = reviews.request_changes(boardroom, team, who, id, args.text("note") or "")
        words = f"#{done.task.id} is back with {done.task.owner}"
    return _tell(session, "review", team, done, words, verb=verb)


def _plan(args: Args, session: Session) -> int:
    team, who = team_of(args, session), session.identity(args)
    verb, boardroom = args.command.word, session.boardroom
    if verb == "plan":
        raise UsageError("what about the plan?", "atm tasks plan submit, approve or reject")
    id = args.need("id")
    if verb == "submit":
        done = reviews.submit_plan(boardroom, team, who, id, _plan_text(args))
        words = f"the plan for #{done.task.id} waits for approval; no answer means no"
    elif verb == "approve":
        done = reviews.approve_plan(boardroom, team, who, id, args.text("note") or "")
        words = f"the plan for #{done.task.id} is approved"
    else:
        done = reviews.reject_plan(boardroom, team, who, id, args.text("feedback") or "")
        words = f"the plan for #{done.task.id} was rejected"
    return _tell(session, "plan", team, done, words, verb=verb)


def _plan_text(args: Args) -> str:
    text, path = args.text("text"), args.text("file")
    if (text is None) == (path is None):
        raise UsageError("give either --text or --file", "--file - reads standard input")
    if text is not None:
        return text
    from atm.ui.cli.board.adding import read_text

    return read_text(path or "-")


def _tell(session: Session, action: str, team: str, done: ReviewOutcome, words: str, *, verb: str = "") -> int:
    warnings = [*done.warnings, *done.diagnostics]
    more: dict[str, Plain] = {"reviewer": done.reviewer, "diagnostics": [*done.diagnostics]}
    if verb:
        more["verb"] = verb
    return report(session, action, team, done.task, words, None, warnings, **more)


EXECUTE = {"tasks comment": _comment, "tasks clarify": _clarify, "tasks review": _review, "tasks plan": _plan}

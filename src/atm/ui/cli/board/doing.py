"""The verbs of the board, done from the command line: who asks, what became of it, in words and as JSON."""

from __future__ import annotations

import sys

from atm.board.services.working import Claimed
from atm.core.errors import UsageError
from atm.core.untrusted_text import many_lines, one_line
from atm.team.rules.team import HUMAN
from atm.team.services.registry import find_team
from atm.team.services.standing import is_proven_boss
from atm.ui.cli.board.view import check_new_work, report, task_json, team_of
from atm.ui.cli.verb_options import completed, given_of
from atm.ui.verbs.board import table
from atm.ui.verbs.board.working import not_in_roster
from atm.ui.verbs.verb import Acting, Given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.team.rules.team import Member, Team
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session
    from atm.ui.verbs.verb import Done, Verb

NOTHING = 3

FORMER_NAMES = {"attempts_left": "retries_left"}
"""Facts under the names that they had, beside the new ones until 1.0."""


def do(args: Args, session: Session) -> int:
    """The verb that the command is named after."""
    verb = next((one for one in table.ALL if one.command == args.command.name), None)
    if verb is None:
        words = [one.word for one in args.command.subcommands]
        remedy = f"atm {args.command.name} {', '.join(words[:-1])} or {words[-1]}"
        raise UsageError(f"what about the {args.command.word}?", remedy)
    given = given_of(verb, args)
    return perform(verb, args, session, _with_plan(args, given) if verb is table.SUBMIT_PLAN else given)


def _with_plan(args: Args, given: Given) -> Given:
    text, path = args.text("text"), args.text("file")
    if (text is None) == (path is None):
        raise UsageError("give either --text or --file", "--file - reads standard input")
    if text is not None:
        return given
    from atm.ui.cli.board.adding import read_text

    return Given({"id": given.text("id"), "text": read_text(path or "-")})


def clarify(args: Args, session: Session) -> int:
    id, answer, question = args.need("id"), args.text("answer"), args.text("question")
    if (answer is None) == (question is None):
        raise UsageError("give either --question or --answer", "--needs lead --question TEXT, or --answer TEXT")
    if answer is not None:
        return perform(table.ANSWER, args, session, Given({"id": id, "text": answer}))
    return perform(table.ASK, args, session, Given({"id": id, "question": question, "whom": args.text("needs")}))


def give_back(args: Args, session: Session) -> int:
    """`release`: one task without blame, a finished one once more, or what silent members hold."""
    if args.flag("silent"):
        return _release_silent(args, session)
    verb = table.REOPEN if args.flag("reopen") else table.RELEASE  # `tasks reopen` under its former name
    said = {"id": args.need("id"), "reason": args.text("reason"), "claim_id": args.text("claim")}
    return perform(verb, args, session, Given(said))


def _release_silent(args: Args, session: Session) -> int:
    from atm.board.services.leaving import hand_back_departed, release_silent
    from atm.ui.verbs.verb import ids

    team, _ = team_of(args, session), session.identity(args)
    freed, reviews = release_silent(session.boardroom, team), hand_back_departed(session.boardroom, team)
    words = f"taken back: {ids(freed)}" if freed else "nobody who holds a task has gone silent"
    words += f"; reviews of members who left: {ids(reviews)}" if reviews else ""
    session.tell({"action": "release", "team": team, "released": freed, "reviews": reviews}, words)
    return 0


def perform(verb: Verb, args: Args, session: Session, given: Given) -> int:
    team = find_team(session.room, team_of(args, session))
    if verb is table.ADD:
        check_new_work(args, session, team.name)
    who = worker(args, session, team) if verb.is_work else session.identity(args)
    acting = Acting(session.boardroom, team, who, is_boss=lambda: is_proven_boss(session.room, team, who))
    words = args.command.name.split(" ")
    if sys.stderr.isatty():  # also for what is quick: a hook of the user's may take its time with any of them
        from atm.ui.cli.waiting import Spinner

        what = "checking" if verb is table.COMPLETE else " ".join(words)
        with Spinner(session, f"{what} #{id}" if (id := given.text("id").removeprefix("#")) else what):
            done = verb.does(acting, completed(verb, given))
    else:
        done = verb.does(acting, completed(verb, given))
    if isinstance(done, Claimed):
        return _got(session, words[1], team.name, done)
    return _tell(session, words[1], words[2] if len(words) > 2 else "", team.name, done)


def worker(args: Args, session: Session, team: Team) -> str:
    """Who works: a caller who says so. Ten scripts that are all nobody in particular would share one claim."""
    # Whoever names a process says whose it is; that is judged by itself, since a lead may start its teammates.
    who = session.named(args) if args.given("pid") or args.given("while") else session.identity(args)
    member = team.member(who)
    if not args.given("as") and _is_nobody(session, member):
        raise UsageError("this needs a name", "say who you are: --as NAME, or set ATM_IDENTITY")
    if member is None and who != HUMAN:
        session.warn(f"note: {not_in_roster(team.name, who)}")
    return member.name if member is not None else who


def _is_nobody(session: Session, member: Member | None) -> bool:
    """Nobody was named; or the person of this machine is meant, who is at a terminal when they work."""
    identity = session.settings.setting("core.identity")
    is_person = identity.is_of_the_user and (member is None or member.kind == HUMAN)
    return identity.origin == "default" or (is_person and not sys.stdin.isatty())


def _tell(session: Session, action: str, part: str, team: str, done: Done) -> int:
    stop = done.verdict.stop_reason if done.verdict is not None else None
    more: dict[str, Plain] = {**done.facts, **done.details, **_stop(stop)}
    more |= {former: more[name] for name, former in FORMER_NAMES.items() if name in more}
    if done.parts is not None and done.board is not None and session.as_json:
        more["parts"] = [task_json(session, team, one, done.board) for one in done.parts]
    if part:
        more["verb"] = part
    words = f"{done.words}{_wish_to_stop(stop)}"
    return report(session, action, team, done.task, words, done.board, done.warnings, **more)


def _wish_to_stop(reason: str | None) -> str:
    return "" if reason is None else f"; a hook asks you to stop: {reason}"


def _stop(reason: str | None) -> dict[str, Plain]:
    """What a hook said that wants the member to stop."""
    return {} if reason is None else {"continue": False, "stopReason": reason}


def _got(session: Session, action: str, team: str, done: Claimed) -> int:
    for warning in done.warnings:
        session.warn(f"note: {warning}")
    if done.task is None:
        return _nothing(session, action, team, done)
    result: dict[str, object] = {"action": action, "team": team}
    if session.as_json:
        result["task"] = task_json(session, team, done.task, done.board)
    result |= {"resumed": done.is_resumed, "overlaps": {**done.overlaps}, "released": done.released}
    session.tell(result, _words(session, team, done))
    return 0


def _words(session: Session, team: str, done: Claimed) -> str:
    task = done.task
    assert task is not None
    verb = "go on with" if done.is_resumed else "claimed"
    lines = [f"{verb} #{task.id} {one_line(task.subject)} ({task.priority})"]
    if task.description:
        lines += [f"  {line}" for line in many_lines(task.description).split("\n")[:20]]
    note = task.part("review").get("note") if task.review == "changes_requested" else None
    if note:
        lines.append(f"  changes were asked for: {one_line(str(note))}")
    if task.plan in ("required", "rejected"):
        lines.append(f"  it needs an approved plan: atm tasks plan submit {task.id} --text …")
    if task.acceptance:
        from atm.ui.cli.board.listing import check_lines

        lines += check_lines(session, team, task)[1:]
    lines.append(f"  when it is done: atm tasks complete {task.id} --result …")
    return "\n".join(lines)


def _nothing(session: Session, action: str, team: str, done: Claimed) -> int:
    result: dict[str, object] = {"action": action, "team": team, "task": None, "reason": done.why_nothing}
    result |= {"reason_code": done.refusal.code if done.refusal else "contended", "released": done.released}
    words = f"nothing to claim: {one_line(done.why_nothing)}"
    if done.verdict is not None and done.verdict.is_blocked:
        result["feedback"] = done.verdict.feedback
        words += f"\n  {many_lines(done.verdict.feedback)}"
    if done.verdict is not None and done.verdict.stop_reason is not None:
        result |= _stop(done.verdict.stop_reason)
        words += one_line(_wish_to_stop(done.verdict.stop_reason))
    session.tell(result, words)
    return NOTHING


EXECUTE = {
    **dict.fromkeys((" ".join(one.command.split(" ")[:2]) for one in table.ALL if one.command), do),
    "tasks clarify": clarify,
    "tasks release": give_back,
}

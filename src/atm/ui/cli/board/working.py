"""`atm tasks` claim, start, complete, fail, release, assign, cancel, beat."""

from __future__ import annotations

from atm.domain.errors import UsageError
from atm.domain.names import check_known_name, is_claudes_team
from atm.domain.team.authority import HUMAN
from atm.domain.untrusted_text import many_lines, one_line, shell_words
from atm.services.board import working as board
from atm.services.board.leaving import hand_back_departed, release_silent
from atm.services.team.registry import find_team
from atm.ui.cli.board.view import ids, report, task_json, team_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.plain import Plain
    from atm.services.board.working import Claimed
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

NOTHING = 3


def _claim(args: Args, session: Session) -> int:
    team, who = team_of(args, session), _worker(args, session)
    return _got(session, "claim", team, board.claim(session.boardroom, team, who, args.text("id")))


def _start(args: Args, session: Session) -> int:
    team, who = team_of(args, session), _worker(args, session)
    return _got(session, "start", team, board.start(session.boardroom, team, who, args.need("id")))


def _worker(args: Args, session: Session) -> str:
    """Who works: a caller who says so. Ten scripts that are all nobody in particular would share one claim."""
    # Whoever names a process says whose it is; that is judged by itself, since a lead may start its teammates.
    who = session.named(args) if args.given("pid") or args.given("while") else session.identity(args)
    if not args.given("as") and session.settings.setting("core.identity").origin == "default":
        raise UsageError("this needs a name", "say who you are: --as NAME, or set ATM_IDENTITY")
    team = find_team(session.room, team_of(args, session))
    member = team.member(who)
    if member is None and who != HUMAN:
        remedy = "" if is_claudes_team(team.name) else f": atm teams add-member {shell_words(team.name, who)}"
        session.warn(f"note: {who} is not in the roster of {team.name}{remedy}")
    return member.name if member is not None else who


def _got(session: Session, action: str, team: str, done: Claimed) -> int:
    for id in done.released:
        session.warn(f"note: #{id} was taken back from a member that went silent")
    for id, patterns in done.overlaps.items():
        session.warn(f"warning: #{id} is in progress and touches the same files: {', '.join(patterns[:5])}")
    verdict = done.verdict
    for warning in verdict.warnings if verdict else ():
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
    refusal = done.refusal
    why = refusal.why if refusal else "other programs took every task from under our nose"
    result: dict[str, object] = {"action": action, "team": team, "task": None, "reason": why}
    result |= {"reason_code": refusal.code if refusal else "contended", "released": done.released}
    words = f"nothing to claim: {one_line(why)}"
    if done.verdict is not None and done.verdict.is_blocked:
        result["feedback"] = done.verdict.feedback
        words += f"\n  {many_lines(done.verdict.feedback)}"
    if done.verdict is not None and done.verdict.stop_reason is not None:
        result |= _stop(done.verdict.stop_reason)
        words += one_line(_wish_to_stop(done.verdict.stop_reason))
    session.tell(result, words)
    return NOTHING


def _allow(args: Args, session: Session) -> int:
    from atm.services.board.marks import allow_checks

    team, who = team_of(args, session), session.identity(args)
    task = allow_checks(session.boardroom, team, who, args.need("id"))
    return report(session, "allow", team, task, f"the commands of #{task.id} may run as they are now")


def _complete(args: Args, session: Session) -> int:
    team, who = team_of(args, session), session.identity(args)
    if args.flag("allow_checks"):
        from atm.services.board.marks import allow_checks

        allow_checks(session.boardroom, team, who, args.need("id"))
    done = board.complete(
        session.boardroom,
        team,
        who,
        args.need("id"),
        result=args.text("result") or "",
        claim_id=args.text("claim") or "",
        commit=args.text("commit") or "",
        verify=not args.flag("no_verify"),
    )
    what = f"#{done.task.id} {done.task.subject}"
    words = f"{what} was completed before" if done.was_done else f"completed {what}"
    free = f"; now free: {ids(done.unblocked)}" if done.unblocked else ""
    warnings = done.verdict.warnings if done.verdict else []
    stop = done.verdict.stop_reason if done.verdict else None
    return report(
        session,
        "complete",
        team,
        done.task,
        f"{words}{free}{_wish_to_stop(stop)}",
        board=done.board,
        warnings=warnings,
        unblocked=[*done.unblocked],
        **_stop(stop),
    )


def _wish_to_stop(reason: str | None) -> str:
    return "" if reason is None else f"; a hook asks you to stop: {reason}"


def _stop(reason: str | None) -> dict[str, Plain]:
    """What a hook said that wants the member to stop."""
    return {} if reason is None else {"continue": False, "stopReason": reason}


def _fail(args: Args, session: Session) -> int:
    team = team_of(args, session)
    task = board.fail(
        session.boardroom,
        team,
        session.identity(args),
        args.need("id"),
        args.text("error") or "no reason was given",
        claim_id=args.text("claim") or "",
        final=args.flag("final"),
    )
    left = 0 if task.outcome else task.max_retries + 1 - task.failures
    then = (
        "it has failed for good"
        if task.outcome
        else f"back on the board; {left} of {task.max_retries + 1} attempts left"
    )
    return report(session, "fail", team, task, f"#{task.id} failed: {then}", retries_left=left)


def _release(args: Args, session: Session) -> int:
    team, who = team_of(args, session), session.identity(args)
    if args.flag("silent"):
        freed, reviews = release_silent(session.boardroom, team), hand_back_departed(session.boardroom, team)
        words = f"taken back: {ids(freed)}" if freed else "nobody who holds a task has gone silent"
        words += f"; reviews of members who left: {ids(reviews)}" if reviews else ""
        session.tell({"action": "release", "team": team, "released": freed, "reviews": reviews}, words)
        return 0
    id, reason = args.need("id"), args.text("reason") or ""
    if args.flag("reopen"):
        task = board.reopen(session.boardroom, team, who, id, reason or "reopened")
    else:
        task = board.release(session.boardroom, team, who, id, reason=reason, claim_id=args.text("claim") or "")
    return report(session, "release", team, task, f"#{task.id} {task.subject} is back on the board")


def _assign(args: Args, session: Session) -> int:
    team, who = team_of(args, session), session.identity(args)
    to = check_known_name(args.need("to"), "member")
    found = find_team(session.room, team)
    member = found.member(to)
    if member is None:
        command = f"atm teams add-member {shell_words(found.name, to)}"
        session.warn(f"note: {to} is not in the roster of {found.name}: {command}")
    task, warnings = board.assign(session.boardroom, team, who, args.need("id"), member.name if member else to)
    return report(session, "assign", team, task, f"#{task.id} {task.subject} is {task.owner}'s", warnings=warnings)


def _cancel(args: Args, session: Session) -> int:
    team, who = team_of(args, session), session.identity(args)
    task, lost = board.cancel(session.boardroom, team, who, args.need("id"), args.text("reason") or "cancelled")
    then = f"; these can never be done now: {ids(lost)}" if lost else ""
    return report(session, "cancel", team, task, f"cancelled #{task.id} {task.subject}{then}", unreachable=[*lost])


def _beat(args: Args, session: Session) -> int:
    from atm.services.team.presence import beat, last_beat
    from atm.services.team.standing import record_named

    found, who = find_team(session.room, team_of(args, session)), _worker(args, session)
    team = found.name
    boardroom, lasting = session.boardroom, args.whole("while")
    pid = args.whole("pid") if lasting is None else lasting
    if pid is not None and not boardroom.presence.process_runs(pid):
        raise UsageError(f"no process {pid} runs here", "give the number of a running process, such as $$")
    if pid is not None:
        record_named(session.room, found, who, pid)
    context = args.whole("context")
    if context is not None and context > 100:
        raise UsageError(f"--context is a percentage, not {context}", "give 0 to 100")
    beat(boardroom.presence, found, who, boardroom.clock.now(), "atm tasks beat", pid=pid, context=context)
    session.tell({"action": "beat", "team": team, "member": who, "pid": pid}, f"{who} is there")
    every = args.number("every") or 60.0
    while lasting is not None and boardroom.presence.process_runs(lasting):
        boardroom.clock.sleep(min(1.0, every))
        last = last_beat(boardroom.presence, found, who, boardroom.clock.now())
        if last is None or boardroom.clock.now() - last.at >= every:
            beat(boardroom.presence, found, who, boardroom.clock.now(), "atm tasks beat", pid=pid)
    return 0


EXECUTE = {
    "tasks claim": _claim,
    "tasks start": _start,
    "tasks allow": _allow,
    "tasks complete": _complete,
    "tasks fail": _fail,
    "tasks release": _release,
    "tasks assign": _assign,
    "tasks cancel": _cancel,
    "tasks beat": _beat,
}

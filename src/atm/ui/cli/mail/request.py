"""`atm request`: send a message and wait for the answer."""

from __future__ import annotations

from atm.core.errors import AtmError, UsageError
from atm.core.names import parse_address, same_name
from atm.core.untrusted_text import many_lines, one_line, shell_words
from atm.mail.services.conversations import ask, await_answer, look_for_answer, read_answer
from atm.mail.services.posting import Draft
from atm.ui.cli.arguments import NUMBER, Args, Argument, Command, Option
from atm.ui.cli.mail.send import clean, report_warnings
from atm.ui.cli.waiting import Spinner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.mail.rules.messages import Message
    from atm.ui.cli.session import Session

COMMAND = Command(
    "request",
    "send a message and wait for the answer",
    text=(
        "The answer is the first message from <to> that carries the Request-ID; `atm ack` and "
        "`atm send --reply-to` add it by themselves."
    ),
    arguments=(
        Argument("from", "who asks: member or member@team", complete="member"),
        Argument("to", "who is asked: member or member@team", complete="member"),
        Argument("message", "the question"),
    ),
    options=(
        Option("--timeout", value="SECONDS", kind=NUMBER, default=30.0, help="how long to wait"),
        Option("--poll-interval", value="MS", kind=NUMBER, default=200.0, help="milliseconds between two looks"),
        Option("--from-team", value="TEAM", help="the asker's team"),
        Option("--to-team", value="TEAM", help="the team of whoever is asked"),
    ),
    examples=('atm request bob@backend ann@backend "which port?" --timeout 60',),
)


def execute(args: Args, session: Session) -> int:
    asker, asked = _mailbox(args, session, "from"), _mailbox(args, session, "to")
    session.check_speaks_for(asker[0], asker[1])
    sender = asker[0] if asker[1] == asked[1] else f"{asker[0]}@{asker[1]}"
    action = session.settings.text("messaging.offline_action")
    letter = Draft(sender=sender, text=clean(args.need("message")), action=action)
    clock = session.room.clock
    started = clock.monotonic()
    request_id, sent = ask(session.room, asker, asked, letter)
    report_warnings(session, sent)
    pause = max((args.number("poll_interval") or 200.0) / 1000, 0.01)
    look = f"atm receipts {shell_words(sent.message_id)}"
    hint = f"it may still come; the request is message {sent.message_id[:8]}, see `{look}`"
    try:
        with Spinner(session, f"waiting for the answer of {asked[0]}@{asked[1]}"):
            answer = await_answer(
                clock,
                lambda: look_for_answer(session.room, asker, asked, request_id, sent.message_id),
                deadline=started + (args.number("timeout") or 0.0),
                pause=lambda left: clock.sleep(min(pause, left)),
            )
    except KeyboardInterrupt:
        session.warn(f"interrupted before there was an answer from {asked[0]}@{asked[1]}; {hint}")
        raise
    waited = int((clock.monotonic() - started) * 1000)
    result = _as_json(sent.team, sent.agent, sent.message_id, request_id, answer, waited)
    if answer is not None:
        words = f"Response from {one_line(answer.sender)} ({waited} ms):\n{many_lines(answer.text)}"
        _show(session, asker, answer, lambda: session.print_json(result) if session.as_json else session.print(words))
    elif session.as_json:
        session.print_json(result)
    else:
        raise AtmError(f"no answer from {asked[0]}@{asked[1]} within {args.number('timeout'):g} s", hint)
    return 0 if answer is not None else 1


def _show(session: Session, asker: tuple[str, str], answer: Message, say: Callable[[], None]) -> None:
    with read_answer(session.room, asker, answer) as reading:
        mail = reading.take()  # nothing, if another reader has it
        session.heed()
        mail.begun = mail.messages
        say()
        session.flush()
        reading.shown()


def _mailbox(args: Args, session: Session, which: str) -> tuple[str, str]:
    given = args.need(which)
    agent, named = parse_address(session.settings.alias(given) or given)
    flagged = args.text(f"{which}_team")
    if flagged and named and not same_name(flagged, named):
        raise UsageError(f"{given!r} names one team and --{which}-team another", "leave one of them out")
    team = flagged or named or args.text("team") or session.home_team()
    if not team:
        raise UsageError(f"which team is {agent!r} in?", f"write {agent}@TEAM or --{which}-team TEAM")
    from atm.mail.services.mailroom import find_addressee, find_recipient

    found = (find_addressee if which == "to" else find_recipient)(session.room, team, agent)
    return found.agent, found.team_name


def _as_json(
    team: str, agent: str, message_id: str, request_id: str, answer: Message | None, waited: int
) -> dict[str, object]:
    result: dict[str, object] = {
        "action": "request",
        "team": team,
        "agent": agent,
        "message_id": message_id,
        "request_id": request_id,
        "answered": answer is not None,
        "waited_ms": waited,
    }
    if answer is not None:
        result["response"] = {
            "from": answer.sender,
            "text": answer.text,
            "timestamp": answer.timestamp,
            "message_id": answer.id,
        }
    return result

"""Tools that write mail: send, broadcast, request, acknowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.core.errors import RequestError
from atm.core.names import check_known_name, parse_address, same_name
from atm.mail.rules.messages import INFO, INTENTS, PLAIN, SENT_BY_HAND
from atm.mail.services.conversations import acknowledge, ask, await_answer, find_answer
from atm.mail.services.mailroom import find_addressee, sender_address
from atm.mail.services.posting import Draft
from atm.mail.services.sending import broadcast, send
from atm.mail.services.spooling import drain_on_the_way
from atm.mail.services.typed.letters import give_type
from atm.team.rules.team import EVERYBODY
from atm.team.services.standing import check_member
from atm.ui.mcp.actor import actor, mailbox, sign
from atm.ui.mcp.definition import define
from atm.ui.mcp.mail.view import LONGEST_PIECE, MESSAGE, message_fields
from atm.ui.mcp.schema import choice, count, gives, many, number, takes, text, yes_no
from atm.ui.mcp.wording import NOTICE, known, lines
from atm.vendors.dialogs import asked_in_words
from atm.wiring.events import build_watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.core.plain import Plain
    from atm.mail.rules.messages import Message
    from atm.mail.services.posting import Posted
    from atm.team.rules.team import Team
    from atm.ui.mcp.caller import Caller
    from atm.ui.verbs.verb import Given

LONGEST_WAIT = 50
"""Seconds that a request may wait. Clients give a call about a minute."""

WAIT = 30
LOOK_EVERY = 1.0
LONGEST_ACK = 10_080
"""Minutes: a week."""

TO = text()
TEXT = text()
URGENT = yes_no("keeps it from ending its turn")
ACK = number("then the lead is told", least=1, most=LONGEST_ACK)


def _address(caller: Caller, team: Team, given: str) -> tuple[str, str]:
    agent, named = parse_address(caller.settings.alias(given) or given)
    if agent == EVERYBODY:
        raise RequestError("one member can be asked, and '*' is everybody", "name one, or use mail_broadcast")
    return agent, named or team.name


def _letter(caller: Caller, team: Team, me: str, target: str, given: Given) -> Draft:
    if given.text("reply_to"):
        check_member(caller.room, team.name, me, "answer this")
    letter = Draft(
        sender=sender_address(caller.room, me, team.name, target),
        text=given.text("text"),
        summary=given.text("summary") or None,
        action=caller.settings.text("messaging.offline_action"),
        reply_to=given.text("reply_to") or None,
        home=team.name,
        is_urgent=given.flag("urgent"),
        ack_minutes=given.number("ack_minutes") if given.has("ack_minutes") else None,
        intent=given.text("kind") or INFO,
    )
    if given.has("type") or given.has("meta"):
        agent = given.text("to").partition("@")[0]
        give_type(caller.room, target, agent, letter, given.text("type") or PLAIN, given.texts("meta"))
    return letter


def _warnings(caller: Caller, sent: Posted, letter: Draft) -> list[str]:
    found = [f"{sent.agent} appears offline"] if sent.offline else []
    if letter.ack_minutes is not None and not caller.has_daemon:
        found.append("no daemon runs, so nobody notices if the acknowledgement does not come")
    if asks := caller.question_before(sent.team, sent.agent):
        found.append(f"{sent.agent} reads it later: {asked_in_words(asks)}; a person opens its window with atm attach")
    return [*found, *sent.warnings]


def _send(caller: Caller, given: Given) -> dict[str, Plain]:
    if given.text("to").partition("@")[0] == EVERYBODY:
        return _send_to_all(caller, given)
    team, me = actor(caller)
    agent, target = _address(caller, team, given.text("to"))
    letter = _letter(caller, team, me, target, given)
    sent = send(caller.room, target, agent, letter)
    sign(caller, team, me)
    return known(
        {
            "message_id": sent.message_id,
            "to": f"{sent.agent}@{sent.team}",
            "outcome": sent.outcome,
            "warnings": lines(_warnings(caller, sent, letter)),
        }
    )


def _send_to_all(caller: Caller, given: Given) -> dict[str, Plain]:
    """The same as mail_broadcast, in words that a client of mail_send knows."""
    if given.has("reply_to"):
        raise RequestError("an answer goes to one member, and '*' is everybody", "name one member")
    named = given.text("to").partition("@")[2]
    done = _broadcast(caller, given, check_known_name(named, "team") if "@" in given.text("to") else "")
    arrived = bool(done["delivered"] or done["queued"] or done.get("held"))
    outcome = ("partial" if arrived else "failed") if done.get("failed") else "success"
    return {**done, "to": given.text("to"), "outcome": outcome}


def _broadcast(caller: Caller, given: Given, named: str = "") -> dict[str, Plain]:
    """To the own team, or to one that was `named`."""
    team, me = actor(caller)
    target = named or team.name
    letter = _letter(caller, team, me, target, given)
    message_id, copies = broadcast(caller.room, target, letter)
    sign(caller, team, me)
    outcomes = [sent.outcome for sent in copies]
    failed = [f"{sent.agent}: {sent.error}" for sent in copies if sent.error is not None]
    warnings = dict.fromkeys(warning for sent in copies for warning in _warnings(caller, sent, letter))
    return {
        "message_id": message_id,
        "delivered": outcomes.count("success") + outcomes.count("conflict_resolved"),
        "queued": outcomes.count("queued"),
        **({"held": held} if (held := outcomes.count("held")) else {}),
        **known({"failed": lines(failed), "warnings": lines(warnings)}),
    }


def _request(caller: Caller, given: Given) -> dict[str, Plain]:
    """Ask, and wait a while. That nobody has answered yet is no error: the answer comes as mail."""
    room, mine = caller.room, mailbox(caller)
    agent, target = _address(caller, mine.team, given.text("to"))
    to = find_addressee(room, target, agent)
    if same_name(to.agent, mine.agent) and same_name(to.team_name, mine.team_name):
        raise RequestError("you would wait for your own answer", "ask somebody else")
    asker, asked = (mine.agent, mine.team_name), (to.agent, to.team_name)
    letter = _letter(caller, mine.team, mine.agent, to.team_name, given)
    request_id, sent = ask(room, asker, asked, letter)
    sign(caller, mine.team, mine.agent)
    answer = _wait(
        caller,
        lambda: find_answer(room, asker, asked, request_id, sent.message_id),
        caller.layout.inbox(mine.team_name, mine.agent),
        given.number("wait_seconds", WAIT),
    )
    result: dict[str, Plain] = {
        "request_id": request_id,
        "message_id": sent.message_id,
        "answered": answer is not None,
        **known({"warnings": lines(_warnings(caller, sent, letter))}),
    }
    if answer is None:
        return {**result, "hint": "no answer yet; it will come as mail: mail_read"}
    return {**result, "answer": message_fields(answer, most=LONGEST_PIECE), "notice": NOTICE}


def _wait(caller: Caller, look: Callable[[], Message | None], path: str, seconds: float) -> Message | None:
    clock = caller.room.clock
    with build_watch([path]) as watch:

        def pause(left: float) -> None:
            watch.wait(min(left, LOOK_EVERY))
            drain_on_the_way(caller.room)  # the answer may lie in the spool, and nobody else may come by

        return await_answer(clock, look, clock.monotonic() + seconds, pause)


def _ack(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = actor(caller)
    drain_on_the_way(caller.room)
    reply = given.text("reply") if given.has("reply") else None
    check_member(caller.room, team.name, me, "acknowledge this")
    done = acknowledge(caller.room, team.name, me, given.text("id"), reply)
    sign(caller, team, me)
    return known(
        {
            "message_id": done.message.id or "",
            "outcome": done.outcome,
            "reply_id": done.reply.id if done.reply is not None else None,
            "reply_to": "@".join(done.reply_to) if done.reply_to else None,
        }
    )


TOOLS = (
    define(
        "mail_send",
        "Send",
        "Send a message. reply_to: the id of what it answers.",
        _send,
        takes=takes(
            {"to": text("member, member@team, lead, *"), "text": TEXT},
            {
                "summary": text(longest=200),
                "reply_to": text(),
                "urgent": URGENT,
                "ack_minutes": ACK,
                "kind": choice(*INTENTS),
                "type": choice(*SENT_BY_HAND),
                "meta": many(text(), "state=blocked, …", most=8),
            },
        ),
        gives=gives({"message_id": text(), "to": text(), "outcome": text()}),
    ),
    define(
        "mail_broadcast",
        "Broadcast",
        "To everybody else in the team. Rarely: it interrupts all.",
        _broadcast,
        takes=takes({"text": TEXT}, {"summary": text(longest=200), "urgent": yes_no()}),
        gives=gives({"message_id": text(), "delivered": count(), "queued": count()}),
    ),
    define(
        "mail_request",
        "Ask and wait",
        "Ask a member and wait. Without answered, it comes as mail later.",
        _request,
        takes=takes({"to": TO, "text": TEXT}, {"wait_seconds": number(f"default {WAIT}", most=LONGEST_WAIT)}),
        gives=gives(
            {"request_id": text(), "message_id": text(), "answered": yes_no()},
            {"answer": MESSAGE},
        ),
        waits=True,
    ),
    define(
        "mail_ack",
        "Acknowledge",
        "Acknowledge a message; with reply, answer its sender.",
        _ack,
        takes=takes({"id": text()}, {"reply": text()}),
        gives=gives({"message_id": text(), "outcome": text()}, {"reply_id": text()}),
    ),
)

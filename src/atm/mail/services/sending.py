"""Sending: one message to one member, one to everybody, and what would be sent."""

from __future__ import annotations

from atm.core.errors import AtmError, NoSuchMember, RequestError
from atm.core.names import same_name
from atm.mail.rules.lifetimes import SEND_WITHIN
from atm.mail.rules.messages import BROADCAST, PLAIN, Message
from atm.mail.services.mailroom import find_open_addressee, find_open_recipient
from atm.mail.services.posting import (
    Draft,
    Posted,
    checked,
    compose,
    deliver,
    do_upkeep,
    is_tagged,
    make_room_in,
    send_to,
)
from atm.team.rules.team import appears_offline, check_open
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.services.mailroom import Mailroom, Recipient


def send(room: Mailroom, team: str, agent: str, letter: Draft) -> Posted:
    """Send one message. `lead` as an address is the team's lead."""
    to = _addressee(room, team, agent, letter)
    if letter.reply_to:
        from atm.mail.services.conversations import send_reply

        return send_reply(room, to, letter)
    return send_to(room, to, compose(room, to, letter), tagged=is_tagged(to, letter), ack_minutes=letter.ack_minutes)


def plan(room: Mailroom, team: str, agent: str, letter: Draft) -> Posted:
    """What `send` would write, without writing it."""
    to = _addressee(room, team, agent, letter, is_only_planned=True)
    if letter.reply_to:
        from atm.mail.services.conversations import prepare_reply

        prepare_reply(room, to, letter)
    offline = appears_offline(to.member)
    sent = Posted(team=to.team_name, agent=to.agent, message=compose(room, to, letter), offline=offline)
    sent.tagged = is_tagged(to, letter)
    return sent


def _addressee(room: Mailroom, team: str, agent: str, letter: Draft, *, is_only_planned: bool = False) -> Recipient:
    """Somebody with an inbox; or somebody who has none yet and wrote to the sender before."""
    try:
        return find_open_addressee(room, team, agent)
    except NoSuchMember:
        from atm.mail.services.conversations import find_correspondent

        return find_correspondent(room, team, agent, letter.sender.partition("@")[0], is_only_planned=is_only_planned)


def broadcast(room: Mailroom, team: str, letter: Draft) -> tuple[str, list[Posted]]:
    """Send to every member but the sender, under one id. One failure stops nobody else's copy."""
    from atm.core.untrusted_text import shell_words

    found = check_open(find_team(room, team))
    others = [name for name in dict.fromkeys(found.names) if not same_name(name, letter.sender)]
    if not others:
        raise RequestError(
            f"team {found.name!r} has nobody else to send to",
            f"add members with `atm teams add-member {shell_words(found.name)} NAME`",
        )
    checked(letter.text)
    if letter.type == PLAIN:
        letter.type = BROADCAST
    begun = room.clock.monotonic()
    do_upkeep(room, found, begun)
    message_id, until = room.chance.new_id(), begun + SEND_WITHIN
    copies: list[Posted] = []
    try:
        for name in others:
            copies.append(_one_of_many(room, found.name, name, letter, message_id, until))
    except KeyboardInterrupt:  # those who have it are told of all the same
        cut, *rest = others[len(copies) :]
        why = AtmError("interrupted while it was sent", f"see `atm receipts {shell_words(message_id)}`")
        copies.append(_failed(found.name, cut, letter, message_id, why))
        why = AtmError("interrupted before it was sent", "send it to them by name")
        copies += [_failed(found.name, name, letter, message_id, why) for name in rest]
    return message_id, copies


def _one_of_many(room: Mailroom, team: str, agent: str, letter: Draft, message_id: str, until: float) -> Posted:
    try:
        to = find_open_recipient(room, team, agent)
        sent = deliver(room, to, compose(room, to, letter, message_id), letter.ack_minutes, deadline=until)
        sent.tagged = is_tagged(to, letter)
        if sent.outcome == "success":
            make_room_in(room, to, until)
    except AtmError as error:
        return _failed(team, agent, letter, message_id, error)
    return sent


def _failed(team: str, agent: str, letter: Draft, message_id: str, error: AtmError) -> Posted:
    nothing = Message(id=message_id, sender=letter.sender, text=letter.text, timestamp="", read=False)
    sent = Posted(team=team, agent=agent, message=nothing)
    sent.outcome, sent.error = "failed", error
    return sent

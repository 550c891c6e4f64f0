"""Requests and answers: ask and recognise the reply; acknowledge a message, with or without words."""

from __future__ import annotations

from atm.domain.errors import AlreadyAnswered, DiskError, NoSuchMember
from atm.domain.messages import REQUEST_MARKER, answers_request, with_request_marker
from atm.domain.names import parse_address
from atm.formats.journal import RECEIPT, Line, histories
from atm.formats.spool_entry import SpoolEntry
from atm.formats.times import to_iso
from atm.services.mail import Letter, Sent, compose, deliver, find_message
from atm.services.mail_upkeep import drain_target, put_back_dropped
from atm.services.mailroom import find_recipient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.messages import Message
    from atm.services.mailroom import Mailroom


class Acknowledged:
    """What an acknowledgement did."""

    __slots__ = ("agent", "message", "outcome", "reply", "reply_to", "spool_path", "team")

    def __init__(self, team: str, agent: str, message: Message) -> None:
        self.team = team
        self.agent = agent
        self.message = message
        self.reply: Message | None = None
        self.reply_to: tuple[str, str] | None = None
        self.outcome = "success"
        self.spool_path: str | None = None


def ask(room: Mailroom, asker: tuple[str, str], asked: tuple[str, str], letter: Letter) -> tuple[str, Sent]:
    """Send a request under a marker; the asker's inbox must exist, or no answer could arrive."""
    find_recipient(room, asker[1], asker[0])
    to = find_recipient(room, asked[1], asked[0])
    request_id = room.chance.new_id()
    letter.text = with_request_marker(letter.text, request_id)
    put_back_dropped(room, to.team_name)
    return request_id, deliver(room, to, compose(room, to, letter))


def find_answer(room: Mailroom, asker: tuple[str, str], asked: tuple[str, str], request_id: str) -> Message | None:
    """The reply to a request, taken from the asker's inbox if it is there: asking is reading."""
    senders = {asked[0].casefold(), f"{asked[0]}@{asked[1]}".casefold()}
    for message in room.inboxes.unread(asker[1], asker[0]):
        if message.sender.casefold() in senders and answers_request(message, request_id):
            room.inboxes.mark(asker[1], asker[0], {message.key}, True)
            if message.id:
                _enter(room, asker[1], message.id, asker[0], "read", "answer to a request")
            return message
    return None


def request_id_of(room: Mailroom, team: str, message_id: str) -> str | None:
    """The request marker in a message that the ledger knows."""
    for entry in room.ledger.entries(team)[0]:
        if message_id in entry.ids and (message := entry.message) is not None:
            _, marker, rest = message.text.rpartition(REQUEST_MARKER)
            return rest.split()[0] if marker and rest.split() else None
    return None


def acknowledge(room: Mailroom, team: str, agent: str, message_id: str, reply: str | None) -> Acknowledged:
    """
    Mark a message answered and, if there is a reply, deliver it: both or neither.

    The reply is written to the spool first, together with what it answers. From then on a crash is finished by
    the next mail command; before that, nothing has happened.
    """
    owner = find_recipient(room, team, agent)
    message = find_message(room, owner.team_name, owner.agent, message_id)
    _check_unanswered(room, owner.team_name, owner.agent, message)
    done = Acknowledged(owner.team_name, owner.agent, message)
    if reply is None:
        room.inboxes.mark(owner.team_name, owner.agent, {message.key}, True)
        if message.id:
            _enter(room, owner.team_name, message.id, owner.agent, "answered", "acknowledged without a reply")
        return done
    return _reply(room, done, reply)


def _reply(room: Mailroom, done: Acknowledged, text: str) -> Acknowledged:
    agent, team = parse_address(done.message.sender)
    try:
        to = find_recipient(room, team or done.team, agent)
    except NoSuchMember as error:
        raise NoSuchMember(f"the sender {done.message.sender!r} has no inbox to reply to", error.remedy) from None
    sender = done.agent if to.team_name == done.team else f"{done.agent}@{done.team}"
    done.reply = compose(room, to, Letter(sender=sender, text=_marked_like(text, done.message)))
    done.reply_to = (to.agent, to.team_name)
    answers = {"team": done.team, "agent": done.agent, "message_id": done.message.id or ""}
    path = room.spool.put(
        SpoolEntry(
            team=to.team_name,
            agent=to.agent,
            message_id=done.reply.id or "",
            raw=done.reply.raw,
            created_at=room.clock.now(),
            reason="reply under way",
            answers=answers,
        )
    )
    _enter(room, to.team_name, done.reply.id or "", to.agent, "queued", "reply under way", done.reply.raw)
    try:
        room.inboxes.mark(done.team, done.agent, {done.message.key}, True)
    except DiskError:
        for spooled in room.spool.pending(to.team_name, to.agent):
            if spooled.entry.message_id == done.reply.id:
                room.spool.done(spooled)  # nothing has happened yet, so nothing shall
        raise
    if not drain_target(room, to.team_name, to.agent):
        done.outcome, done.spool_path = "queued", path
    return done


def _marked_like(text: str, message: Message) -> str:
    _, marker, rest = message.text.rpartition(REQUEST_MARKER)
    words = rest.split()
    return with_request_marker(text, words[0]) if marker and words and words[0] not in text else text


def _check_unanswered(room: Mailroom, team: str, agent: str, message: Message) -> None:
    past = histories(room.ledger.entries(team)[0]).get((message.id or "", agent), [])
    if "answered" in past:
        raise AlreadyAnswered(
            f"message {message.id} was answered before",
            f"see `atm receipts {message.id}`; to say more, use `atm send`",
        )


def _enter(room: Mailroom, team: str, message_id: str, agent: str, state: str, evidence: str, raw: str = "") -> None:
    at = to_iso(room.clock.now())
    kind = "message" if raw else RECEIPT
    room.ledger.append(
        team, [Line(kind=kind, ids=[message_id], agent=agent, state=state, at=at, evidence=evidence, raw=raw)]
    )

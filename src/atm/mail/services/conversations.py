"""Requests and answers: ask and recognise the reply; acknowledge a message, with or without words."""

from __future__ import annotations

from atm.core.errors import (
    AtmError,
    DiskError,
    NoSuchMember,
    NoSuchMessage,
    UnreadableFile,
)
from atm.core.names import check_sender, is_claudes_team, parse_address, same_name
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import AlreadyAnswered
from atm.mail.formats.journal import ROSTER, histories
from atm.mail.rules.messages import REQUEST_MARKER, answers_request, with_request_marker
from atm.mail.rules.quotas import LEAD_AWAY, Allowance, is_held
from atm.mail.services.bookkeeping import all_told, enter, record
from atm.mail.services.mailroom import Recipient, find_addressee, find_open_addressee, find_open_recipient
from atm.mail.services.posting import Draft, Posted, compose, find_message, is_tagged, send_to
from atm.mail.services.reading import Filter, Reading
from atm.mail.services.spooling import check_spool, drain_target, put_in_spool
from atm.team.rules.team import check_open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.ports.clock import Clock
    from atm.mail.rules.messages import Message
    from atm.mail.services.mailroom import Mailroom


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


def ask(room: Mailroom, asker: tuple[str, str], asked: tuple[str, str], letter: Draft) -> tuple[str, Posted]:
    """Send a request under a marker; the asker's inbox must exist, or no answer could arrive."""
    find_open_recipient(room, asker[1], asker[0])
    to = find_open_addressee(room, asked[1], asked[0])
    request_id = room.chance.new_id()
    letter.text = with_request_marker(letter.text, request_id)
    return request_id, send_to(room, to, compose(room, to, letter), tagged=is_tagged(to, letter))


def look_for_answer(
    room: Mailroom, asker: tuple[str, str], asked: tuple[str, str], request_id: str, request: str
) -> Message | None:
    """
    The reply to a request, in the asker's inbox.

    Also a reply that another reader of the same inbox has marked meanwhile. Never the request itself, which lies in
    the same inbox when the asker asks himself.
    """
    agent, team = asker
    senders = {asked[0].casefold(), f"{asked[0]}@{asked[1]}".casefold()}
    for message in room.inboxes.rows(team, agent):
        fits = message.sender.casefold() in senders and message.id != request
        if fits and answers_request(message, request_id):
            return message
    return None


def read_answer(room: Mailroom, asker: tuple[str, str], answer: Message) -> Reading:
    """Asking is reading: the answer is taken, shown and entered as any mail is."""
    return Reading(room, asker[1], asker[0], Filter(key=answer.key), "answer to a request")


def find_answer(
    room: Mailroom, asker: tuple[str, str], asked: tuple[str, str], request_id: str, request: str
) -> Message | None:
    """Both at once, for whoever has the answer the moment that this returns."""
    answer = look_for_answer(room, asker, asked, request_id, request)
    if answer is not None and not answer.read:
        with read_answer(room, asker, answer) as reading:
            reading.take()
            reading.shown()
    return answer


def await_answer(
    clock: Clock, look: Callable[[], Message | None], deadline: float, pause: Callable[[float], None]
) -> Message | None:
    """Look until there is an answer or the time is up. `pause` is told how much is left, and waits no longer."""
    while True:
        left = deadline - clock.monotonic()
        try:
            answer = look()
        except UnreadableFile:  # another program writes it in place: the next look tells
            answer = None
        if answer is not None or left <= 0:
            return answer
        pause(left)


class Original:
    """A message that its recipient answers: where it lies, and the request in it, if it is one."""

    __slots__ = ("agent", "id", "request_id", "team")

    def __init__(self, team: str, agent: str, id: str, text: str) -> None:
        self.team = team
        self.agent = agent
        self.id = id
        self.request_id = request_in(text)


def find_original(room: Mailroom, message_id: str, team: str, agent: str) -> Original:
    """
    A message by its id or the beginning of it, in the answerer's own mail: what lies in the inbox, and what the
    ledger tells of it. Whoever could answer a teammate's mail could silence it; mail of others is as good as none.
    """
    found: dict[str, Original] = {}
    if message_id:
        for entry in all_told(room, team):
            is_mine = entry.ids and entry.ids[0].startswith(message_id) and same_name(entry.agent, agent)
            message = entry.message if is_mine else None
            if message is not None:
                found.setdefault(entry.ids[0], Original(team, entry.agent, entry.ids[0], message.text))
        for row in room.inboxes.rows(team, agent):
            if row.id is not None and row.id.startswith(message_id):
                found[row.id] = Original(team, agent, row.id, row.text)
    if len(found) == 1 or message_id in found:
        return found.get(message_id) or next(iter(found.values()))
    what = f"{len(found)} messages to {agent}@{team} begin" if found else f"no message to {agent}@{team} begins"
    raise NoSuchMessage(f"{what} with {message_id!r}", "see the ids with `atm read --all --json`")


def prepare_reply(room: Mailroom, to: Recipient, letter: Draft) -> Original:
    """Find what a letter answers, and give it the request's marker."""
    me, home = letter.sender.partition("@")[0], letter.home or to.team_name
    original = find_original(room, letter.reply_to or "", room.rosters.find(home) or home, me)
    letter.text = _marked(letter.text, original.request_id)
    return original


def send_reply(room: Mailroom, to: Recipient, letter: Draft) -> Posted:
    """Send a message that answers another: with its request marker, and entered as its answer."""
    original = prepare_reply(room, to, letter)
    composed = compose(room, to, letter)
    sent = send_to(room, to, composed, tagged=is_tagged(to, letter), ack_minutes=letter.ack_minutes)
    try:
        record(room, original.team, original.agent, [original.id], "answered", f"reply {sent.message_id}")
    except AtmError as error:
        sent.warnings.append(f"the answer was not entered in the ledger: {error}")
    return sent


def request_in(text: str) -> str | None:
    """The request marker in a text."""
    _, marker, rest = text.rpartition(REQUEST_MARKER)
    words = rest.split()
    return words[0] if marker and words else None


def _marked(text: str, request_id: str | None) -> str:
    return with_request_marker(text, request_id) if request_id and request_id not in text else text


def acknowledge(room: Mailroom, team: str, agent: str, message_id: str, reply: str | None) -> Acknowledged:
    """
    Mark a message answered and, if there is a reply, deliver it: both or neither.

    The reply is written to the spool first, together with what it answers. From then on a crash is finished by
    the next mail command; before that, nothing has happened.
    """
    owner = find_open_recipient(room, team, agent)
    with room.inboxes.exclusively(owner.team_name, owner.agent):
        message = find_message(room, owner.team_name, owner.agent, message_id)
        _check_unanswered(room, owner.team_name, owner.agent, message)
        done = Acknowledged(owner.team_name, owner.agent, message)
        if reply is not None:
            return _reply(room, done, reply)
        room.inboxes.mark(owner.team_name, owner.agent, {message.key}, True)
        enter(room, done.team, done.agent, _known(message), "answered", "acknowledged without a reply")
        return done


def _reply(room: Mailroom, done: Acknowledged, text: str) -> Acknowledged:
    agent, team = parse_address(done.message.sender)
    try:
        to = find_correspondent(room, team or done.team, agent, done.agent)
    except NoSuchMember as error:
        raise NoSuchMember(f"the sender {done.message.sender!r} has no inbox to reply to", error.remedy) from None
    sender = done.agent if to.team_name == done.team else f"{done.agent}@{done.team}"
    done.reply = compose(room, to, Draft(sender=sender, text=_marked(text, request_in(done.message.text))))
    done.reply_to = (to.agent, to.team_name)
    if not room.spool.is_empty():
        drain_target(room, to.team_name, to.agent)  # it may have been read since
    check_spool(room, Allowance(room.quota, to.team, to.agent, done.reply), to.team_name, to.agent)
    answers = {"team": done.team, "agent": done.agent, "message_id": done.message.id or ""}
    reason = LEAD_AWAY if is_held(to.team, to.agent, done.reply) else "reply under way"
    path = put_in_spool(room, to.team, to.agent, done.reply, reason, answers)
    try:
        room.inboxes.mark(done.team, done.agent, {done.message.key}, True)
    except DiskError:
        for spooled in room.spool.pending(to.team_name, to.agent):
            if spooled.entry.message_id == done.reply.id:
                room.spool.done(spooled)  # nothing has happened yet, so nothing shall
        raise
    drain_target(room, to.team_name, to.agent)
    if any(spooled.entry.message_id == done.reply.id for spooled in room.spool.pending(to.team_name, to.agent)):
        done.outcome, done.spool_path = "held" if reason == LEAD_AWAY else "queued", path
    return done


def find_correspondent(room: Mailroom, team: str, agent: str, me: str, *, is_only_planned: bool = False) -> Recipient:
    """
    Who an address means: somebody with an inbox, or somebody who wrote to `me` in this team.

    A sender need not be on the roster: a script, or a person at a terminal who was never added. Their inbox is made
    when somebody whom they wrote to answers, and not before: a name that was only mistyped gets none.
    """
    try:
        to = find_addressee(room, team, agent)
    except NoSuchMember:
        writer = _writer(room, room.rosters.find(team) or team, agent, me)
        if writer is None:
            raise
        to = writer
        if not is_only_planned:
            room.inboxes.create(check_open(to.team).name, to.agent)
    check_open(to.team)
    return to


def _writer(room: Mailroom, team: str, name: str, me: str) -> Recipient | None:
    """
    Somebody who is on no roster and wrote to me. Not who was removed: nobody looks there any more. Not in a team of
    Claude Code's, where every inbox is somebody's.
    """
    if is_claudes_team(team):
        return None
    told = all_told(room, team)
    if any(entry.kind == ROSTER and same_name(entry.agent, name) for entry in told):
        return None
    mine = (entry.message for entry in told if same_name(entry.agent, me))
    senders = [*(message.sender for message in mine if message is not None)]
    senders += [row.sender for row in room.inboxes.rows(team, me)]
    spelled = next((sender for sender in reversed(senders) if same_name(sender, name)), None)
    return None if spelled is None else Recipient(room.rosters.load(team), check_sender(spelled), None)


def _check_unanswered(room: Mailroom, team: str, agent: str, message: Message) -> None:
    past = histories(all_told(room, team)).get((message.id or "", agent), [])
    replies = [spooled.entry.answers for spooled in room.spool.pending()]
    if "answered" in past or {"team": team, "agent": agent, "message_id": message.id or ""} in replies:
        raise AlreadyAnswered(
            f"message {message.id} was answered before",
            f"see `atm receipts {shell_words(message.id or '')}`; to say more, use `atm send`",
        )


def _known(message: Message) -> list[str]:
    """The id under which the ledger knows it; rows of other programs may have none."""
    return [message.id] if message.id else []

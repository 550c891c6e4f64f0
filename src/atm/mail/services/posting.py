"""
Posting a message: from a letter to a row that is durable in an inbox, or in the spool.

A message is reported as sent when it is durable in the recipient's inbox, or as queued when it is durable in
the spool; one or the other, or an error and neither (G1).
"""

from __future__ import annotations

from atm.core.errors import AtmError, FileBusy, InboxFull, NoSuchMessage, UnreadableFile, WriteRefused
from atm.core.names import is_claudes_team
from atm.files.formats.times import to_iso
from atm.mail.formats.inbox import encode_row
from atm.mail.formats.journal import MESSAGE, RECEIPT, Line
from atm.mail.rules.lifetimes import SEND_WITHIN, UPKEEP_WITHIN, time_left
from atm.mail.rules.messages import (
    INFO,
    PLAIN,
    URGENT_MARK,
    Message,
    check_text,
    defuse,
    object_in,
    summarize,
    with_ack_request,
    with_call_to_action,
)
from atm.mail.rules.quotas import INBOX_FULL, LEAD_AWAY, STILL_WAITS, Allowance, is_held
from atm.mail.services.mailroom import touched_by_others
from atm.team.rules.team import appears_offline, nobody_polls_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.rules.inbox_merge import Written
    from atm.mail.services.mailroom import Mailroom, Recipient
    from atm.team.rules.team import Team


ATTEMPTS = 3


BETWEEN_ATTEMPTS = 0.1
"""Another program may hold the file open, or be in the middle of writing it: seed 000 asks for two more tries."""


QUEUED_WARNING = "Message queued for delivery (could not write to inbox immediately)"
FULL_WARNING = "inbox-full: your earlier mail there is unread; this follows when it has been read"
HELD_WARNING = "lead-away: the team's lead is away, so this waits until it is back; --urgent does not wait"
NOT_POLLED_WARNING = (
    "{} leads a Claude Code session that has no teammate now, and Claude Code looks into a lead's inbox only while it "
    "has one: this lies there until then"
)


class Draft:
    """What a sender wants to say, before it has an address."""

    __slots__ = (
        *("ack_minutes", "action", "home", "intent", "is_urgent", "metadata", "reply_to", "sender", "summary", "text"),
        "type",
    )

    def __init__(
        self,
        *,
        sender: str,
        text: str,
        summary: str | None = None,
        action: str = "",
        reply_to: str | None = None,
        home: str | None = None,
        is_urgent: bool = False,
        ack_minutes: float | None = None,
        intent: str = INFO,
        type: str = PLAIN,
        metadata: dict[str, str] | None = None,
    ) -> None:
        self.intent = intent
        self.type = type
        """What it is. Its text must say the same in words; see `mail.services.typed`."""
        self.metadata = metadata or {}
        self.sender = sender
        self.text = text
        self.summary = summary
        self.action = action
        self.reply_to = reply_to
        self.home = home
        """The sender's own team, where the message that is answered lies; else the recipient's."""
        self.is_urgent = is_urgent
        self.ack_minutes = ack_minutes
        """An acknowledgement is wanted within so many minutes; None if not."""


class Posted:
    """Where a message went. `outcome` is success, conflict_resolved, queued, held or failed."""

    __slots__ = (
        "agent",
        "error",
        "merged",
        "message",
        "offline",
        "outcome",
        "reason",
        "seq",
        "spool_path",
        "tagged",
        "team",
        "warnings",
    )

    def __init__(self, *, team: str, agent: str, message: Message, offline: bool = False) -> None:
        self.team = team
        self.agent = agent
        self.message = message
        self.offline = offline
        self.tagged = False
        """Did the text get a call to action, because the recipient is away?"""
        self.outcome = "success"
        self.merged = 0
        self.seq: int | None = None
        self.spool_path: str | None = None
        self.reason = ""
        """Why it was queued."""
        self.error: AtmError | None = None
        self.warnings: list[str] = []

    @property
    def message_id(self) -> str:
        return self.message.id or ""


def checked(text: str) -> str:
    """The text, unless it is none to be sent."""
    if object_in(check_text(text)):  # the table of what atm never sends is not loaded for plain words
        from atm.mail.formats.protocol_message import check_may_be_sent

        check_may_be_sent(text)
    return text


def compose(room: Mailroom, to: Recipient, letter: Draft, message_id: str | None = None) -> Message:
    """The row that will be written, checked."""
    text = checked(letter.text)
    at = to_iso(room.clock.now())
    id = message_id or room.chance.new_id()
    if is_tagged(to, letter):
        text = with_call_to_action(text, letter.action)
    if letter.is_urgent:
        text = URGENT_MARK + text
    if letter.ack_minutes is not None:
        text = with_ack_request(text, id, letter.ack_minutes)
    if letter.type != PLAIN and to.in_claudes_team and letter.ack_minutes is None:
        from atm.mail.formats.typed_message import claudes_text

        text = claudes_text(letter.type, letter.metadata, letter.sender, at) or text
    check_text(text)
    message = Message(
        id=id,
        sender=letter.sender,
        text=defuse(text),
        timestamp=at,
        read=False,
        summary=defuse(letter.summary or summarize(letter.text)),
        intent=letter.intent,
        type=letter.type,
        metadata=letter.metadata,
    )
    message.raw = encode_row(message, claudes_team=to.in_claudes_team)
    return message


def is_tagged(to: Recipient, letter: Draft) -> bool:
    return bool(letter.action) and appears_offline(to.member)


def send_to(
    room: Mailroom, to: Recipient, message: Message, *, tagged: bool = False, ack_minutes: float | None = None
) -> Posted:
    """Deliver a composed message, and do a little upkeep on the way: all of it before one deadline (D27)."""
    begun = room.clock.monotonic()
    do_upkeep(room, to.team, begun, to.agent)
    sent = deliver(room, to, message, ack_minutes, deadline=begun + SEND_WITHIN)
    sent.tagged = tagged
    if sent.outcome == "success":  # else somebody is at the file, and clean-up is in no hurry
        make_room_in(room, to, begun + SEND_WITHIN)
    return sent


def do_upkeep(room: Mailroom, team: Team, begun: float, about: str | None = None) -> None:
    """What every send does besides. Mostly nothing was dropped and nothing waits, and then nothing is loaded for it."""
    if touched_by_others(room, team, about):
        from atm.mail.services.putting_back import put_back_dropped

        put_back_dropped(room, team, about=about, deadline=begun + UPKEEP_WITHIN)
    if not room.spool.is_empty():
        from atm.mail.services.spooling import drain_on_the_way

        drain_on_the_way(room, begun + UPKEEP_WITHIN)


def make_room_in(room: Mailroom, to: Recipient, deadline: float) -> None:
    """Old mail goes, where there can be enough of it: most inboxes are too small, and then nothing more is loaded."""
    try:
        if not room.policy.may_concern(room.inboxes.size(to.team_name, to.agent)):
            return
    except AtmError:
        return  # the message itself is safe; the next one looks again
    from atm.mail.services.retention import compact_if_due

    compact_if_due(room, to, deadline)


def deliver(
    room: Mailroom,
    to: Recipient,
    message: Message,
    ack_minutes: float | None = None,
    *,
    is_new: bool = True,
    may_wait: bool = True,
    deadline: float | None = None,
) -> Posted:
    """
    Write to the inbox; where that cannot be done before the deadline (monotonic), to the spool. Behind anything that
    waits already (G4).

    A message that may have been delivered before, by a process that died, is not `is_new`: its id is looked for. One
    that is only true now must not `may_wait` in the spool: what kept it out of the inbox is raised. Raises InboxFull
    when the recipient has not read what this sender sent before, and the spool has as much of it again.
    """
    sent = Posted(team=to.team_name, agent=to.agent, message=message, offline=appears_offline(to.member))
    if nobody_polls_for(to.team, to.agent):
        sent.warnings.append(NOT_POLLED_WARNING.format(to.agent))
    allowance = Allowance(room.quota, to.team, to.agent, message)
    until = room.clock.monotonic() + SEND_WITHIN if deadline is None else deadline
    behind = "" if room.spool.is_empty() else _waits_behind(room, to, message, allowance, until)
    if may_wait and is_held(to.team, to.agent, message):
        return _queue(room, sent, LEAD_AWAY, ack_minutes, allowance)
    if behind:
        if not may_wait:
            raise FileBusy(STILL_WAITS, "see `atm spool list`")
        return _queue(room, sent, behind, ack_minutes, allowance)
    try:
        written = _append(room, to, message, is_new, allowance, until)
    except (FileBusy, WriteRefused, UnreadableFile, InboxFull) as error:
        if not may_wait:
            raise
        reason = INBOX_FULL if isinstance(error, InboxFull) else str(error)
        return _queue(room, sent, reason, ack_minutes, allowance)
    sent.merged = written.merged
    sent.outcome = "conflict_resolved" if written.merged else "success"
    evidence = "inbox file"
    if written.merged:
        from atm.core.plain import counted  # few sends meet a rival

        evidence = f"inbox file, {counted(written.merged, 'foreign row')} merged"
    _record(room, sent, "written", evidence, ack_minutes)
    return sent


def _waits_behind(room: Mailroom, to: Recipient, message: Message, allowance: Allowance, until: float) -> str:
    """Why it must wait, after another try of what waits already."""
    from atm.mail.services.spooling import drain_target, waits_behind

    return waits_behind(drain_target(room, to.team_name, to.agent, until), message, allowance)


def _append(
    room: Mailroom, to: Recipient, message: Message, is_new: bool, allowance: Allowance, until: float
) -> Written:
    """Three attempts while there is time, unless others kept the file busy: that has taken the time already (D3)."""
    for attempt in range(1, ATTEMPTS + 1):
        left = time_left(until, room.clock.monotonic())
        try:
            # What an attempt that failed left behind is not known, so only the first may skip looking for its own id.
            fresh = is_new and attempt == 1
            return room.inboxes.append(
                to.team_name, to.agent, [message], fresh=fresh, patience=left, allowance=allowance
            )
        except (WriteRefused, UnreadableFile):
            if attempt == ATTEMPTS or time_left(until, room.clock.monotonic()) <= BETWEEN_ATTEMPTS:
                raise
            room.clock.sleep(BETWEEN_ATTEMPTS)
    raise AssertionError("the last attempt returns or raises")


def _queue(room: Mailroom, sent: Posted, reason: str, ack_minutes: float | None, allowance: Allowance) -> Posted:
    from atm.mail.services.spooling import check_spool, put_in_spool

    check_spool(room, allowance, sent.team, sent.agent)
    sent.outcome, sent.reason = "held" if reason == LEAD_AWAY else "queued", reason
    sent.spool_path = put_in_spool(room, allowance.team, sent.agent, sent.message, reason)
    sent.warnings += [HELD_WARNING] if reason == LEAD_AWAY else [QUEUED_WARNING, _in_words(reason)]
    _record(room, sent, "queued", reason, ack_minutes)
    return sent


def _in_words(reason: str) -> str:
    return FULL_WARNING if reason == INBOX_FULL else reason


def _record(room: Mailroom, sent: Posted, state: str, evidence: str, ack_minutes: float | None) -> None:
    """
    Enter the message in the ledger.

    The message is durable by now. If the ledger cannot be written, that must not be reported as a failure to
    send: the sender would send it again, and the recipient would get it twice.
    """
    line = Line(
        kind=MESSAGE,
        ids=[sent.message_id],
        agent=sent.agent,
        state=state,
        at=sent.message.timestamp,
        evidence=evidence,
        raw=sent.message.raw,
        intent=sent.message.intent if is_claudes_team(sent.team) and sent.message.intent != INFO else "",
    )
    lines = [line]
    if ack_minutes is not None:
        from atm.mail.rules.receipts import ACK_DUE

        within = f"within {ack_minutes:g} min"
        lines.append(Line(kind=RECEIPT, ids=line.ids, agent=line.agent, state=ACK_DUE, at=line.at, evidence=within))
    try:
        sent.seq = room.ledger.append(sent.team, lines)[0]
    except AtmError as error:
        sent.warnings.append(f"the ledger could not be written, so this message has no seq: {error}")
        if ack_minutes is not None:
            sent.warnings.append("nobody will be told if it is not acknowledged")


def find_message(room: Mailroom, team: str, agent: str, message_id: str) -> Message:
    """A message in an inbox by its id, or by the beginning of it."""
    known = room.inboxes.rows(team, agent) if message_id else []
    rows = [row for row in known if row.id and row.id.startswith(message_id)]
    if len(rows) == 1:
        return rows[0]
    if rows:
        exact = [row for row in rows if row.id == message_id]
        if exact:
            return exact[0]
        raise NoSuchMessage(f"{len(rows)} messages begin with {message_id!r}", "give more of the id")
    raise NoSuchMessage(
        f"there is no message {message_id!r} in the inbox of {agent}@{team}",
        "see the ids with `atm read --all --json`",
    )

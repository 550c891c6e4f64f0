"""
Tools that show mail: read, inbox, receipts.

Reading is a way of putting mail before an agent, like hooks and terminals, and takes its turn with them: what is shown
is written down, marked read, shown, and entered as surfaced, so that nothing comes twice (G2) and nothing is lost when
a process dies in between (G1). If the answer then cannot be handed over, `give_back` makes it unread again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.core.errors import FileBusy, NoSuchMessage, NotAllowed
from atm.core.names import same_name
from atm.core.plain import counted
from atm.delivery.rules.channels import from_the_oldest
from atm.files.formats.times import to_iso
from atm.mail.formats.inbox import LARGEST_ROW
from atm.mail.formats.journal import histories
from atm.mail.formats.typed_message import type_of
from atm.mail.rules.messages import TYPES
from atm.mail.rules.receipts import RETURNED, standing
from atm.mail.services.bookkeeping import enter
from atm.mail.services.escalation import unacknowledged
from atm.mail.services.mailroom import find_addressee
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.reading import TURN_PATIENCE, Filter, peek
from atm.mail.services.spooling import drain_on_the_way
from atm.mail.services.surfacing import Surfacing
from atm.mail.services.tracing import trace
from atm.ui.mcp.actor import actor, home, leads, mailbox, sign
from atm.ui.mcp.definition import define
from atm.ui.mcp.mail.view import LONGEST_PIECE, MESSAGE, handle_of, message_fields, summary_fields
from atm.ui.mcp.schema import choice, count, gives, listed, takes, text, whole, yes_no
from atm.ui.mcp.wording import NOTICE, known, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.core.plain import Plain
    from atm.mail.rules.messages import Message
    from atm.mail.services.mailroom import Recipient
    from atm.mail.services.tracing import Trace
    from atm.team.rules.team import Team
    from atm.ui.mcp.caller import Caller
    from atm.ui.verbs.verb import Given

CHANNEL = "mcp"
MOST_MESSAGES, MOST_SUMMARIES, MOST_RECIPIENTS = 20, 50, 20
LARGEST_ANSWER = 16_000
"""Bytes of messages in one answer."""

AROUND = 120
"""Bytes for the id, the sender and the time of one message."""


def _read(caller: Caller, given: Given) -> dict[str, Plain]:
    mine = mailbox(caller)
    drain_on_the_way(caller.room)
    put_back_dropped(caller.room, mine.team, about=mine.agent)
    if given.has("id"):
        return _read_one(caller, mine, given.text("id"), given.whole("offset"))
    if mine.team.completed:
        return _look_back(caller, mine, given)
    turn = _turn(caller, mine)
    with turn as unread:
        if unread is None:
            raise _busy(mine)
        taken = _take(turn, _fitting(unread, mine.team, given))
        left = len(unread) - len(taken)
        messages = [message_fields(message, in_doubt=turn.doubts(message)) for message in taken]
        result = _mail(messages, left, 0 if left else turn.too_large)
        if taken:
            turn.shown("mail_read over MCP")
    sign(caller, mine.team, mine.agent)
    return result


def _turn(caller: Caller, mine: Recipient) -> Surfacing:
    where = f"{caller.role} by {caller.source}"
    return Surfacing(caller.room, mine.team_name, mine.agent, CHANNEL, where=where, patience=TURN_PATIENCE)


def _busy(mine: Recipient) -> FileBusy:
    return FileBusy(f"something else shows {mine.agent} mail at this moment", "call mail_read again")


def _take(turn: Surfacing, chosen: list[Message]) -> list[Message]:
    return turn.take(chosen) if chosen else []


def _fitting(unread: list[Message], team: Team, given: Given) -> list[Message]:
    """From the oldest on, as many as were asked for and fit."""
    sender = team.addressee(given.text("sender"))
    wanted = [message for message in unread if not sender or same_name(message.sender, sender)]
    if given.has("type"):
        wanted = [message for message in wanted if type_of(message) == given.text("type")]
    return from_the_oldest(wanted[: given.whole("limit", 10)], LARGEST_ANSWER, _size)


def _size(message: Message) -> int:
    said = message_fields(message)["text"]
    return AROUND + len(str(said).encode("utf-8", "replace"))


def _mail(messages: Sequence[dict[str, Plain]], left: int, too_large: int = 0) -> dict[str, Plain]:
    """`too_large` rows cannot be ours, and are counted only for who would wonder where they are."""
    result: dict[str, Plain] = {"messages": [*messages], "unread_left": left}
    if messages:
        result["notice"] = NOTICE
    if any("next_offset" in message for message in messages):
        result["hint"] = "the rest of a long message: mail_read with its id and next_offset as offset"
    if too_large:
        what = counted(too_large, "unread message is", "unread messages are")
        result["hint"] = f"{what} too large to show; atm cannot have sent that"
    return result


def _look_back(caller: Caller, mine: Recipient, given: Given) -> dict[str, Plain]:
    """A completed team: its mail can be read, and nothing is marked."""
    unread = peek(caller.room, mine.team_name, mine.agent, Filter()).messages
    chosen = _fitting(unread, mine.team, given)
    return _mail([message_fields(message) for message in chosen], len(unread) - len(chosen))


def _read_one(caller: Caller, mine: Recipient, id: str, offset: int) -> dict[str, Plain]:
    """One message again, or the rest of it; if it was unread, this is how it was shown."""
    message = find_shown(caller, mine, id)
    result = _mail([message_fields(message, offset=offset, most=LONGEST_PIECE)], 0)
    del result["unread_left"]
    if message.read or mine.team.completed:
        return {**result, "again": True}
    turn = _turn(caller, mine)
    with turn as unread:
        if unread is None:
            raise _busy(mine)
        if _take(turn, [row for row in unread if row.key == message.key]):
            turn.shown("mail_read over MCP, by its id")
        else:
            result["again"] = True
    sign(caller, mine.team, mine.agent)
    return result


def find_shown(caller: Caller, mine: Recipient, id: str) -> Message:
    """A message in an inbox by what we called it, or the beginning of that."""
    rows = [row for row in caller.room.inboxes.rows(mine.team_name, mine.agent) if row.understood]
    fitting = [row for row in rows if id and handle_of(row).startswith(id) and len(row.raw) <= LARGEST_ROW]
    exact = [row for row in fitting if handle_of(row) == id]
    if len(fitting) == 1 or exact:
        return (exact or fitting)[0]
    what = f"{len(fitting)} messages begin with" if fitting else "your inbox has no message"
    raise NoSuchMessage(f"{what} {id[:80]!r}", "see the ids with mail_inbox")


def give_back(caller: Caller, shown: list[Plain], why: str) -> list[str]:
    """An answer never reached the client: the mail that it had taken is unread again. The ids of that."""
    mine, ids = mailbox(caller), _ids_of(shown)
    if not ids or mine.team.completed:
        return []
    with caller.room.surfacings.turn(mine.team_name, mine.agent, TURN_PATIENCE):
        rows = caller.room.inboxes.rows(mine.team_name, mine.agent)
        taken = [row for row in rows if row.understood and row.read and handle_of(row) in ids]
        caller.room.inboxes.mark(mine.team_name, mine.agent, {row.key for row in taken}, False)
        enter(caller.room, mine.team_name, mine.agent, [row.id for row in taken if row.id], RETURNED, why)
    return [handle_of(row) for row in taken]


def confirm(caller: Caller, shown: list[Plain], evidence: str) -> None:
    """The client has the answer. What the ledger does not know, another program's mail, has no receipt either."""
    mine, ids = mailbox(caller), sorted(_ids_of(shown))
    if not ids or mine.team.completed:
        return
    past = histories(caller.room.ledger.about(mine.team_name, ids))
    waiting = [id for id in ids if standing(past.get((id, mine.agent), [])) == "surfaced"]
    enter(caller.room, mine.team_name, mine.agent, waiting, "read", evidence)


def _ids_of(shown: list[Plain]) -> set[str]:
    return {str(one["id"]) for one in shown if isinstance(one, dict)}


def _inbox(caller: Caller, given: Given) -> dict[str, Plain]:
    """How much there is, and about what; nothing is marked. Or where messages are that were sent."""
    if given.has("trace") or given.flag("unacknowledged"):
        return _receipts(caller, given)
    owner = whose_inbox(caller, given.text("member"))
    room, team, agent = caller.room, owner.team_name, owner.agent
    counts = room.inboxes.counts(team, agent)
    if given.flag("include_read"):
        listed_rows = [row for row in room.inboxes.rows(team, agent) if row.understood]
    else:
        listed_rows = peek(room, team, agent, Filter()).messages
    offset, limit = given.whole("offset"), given.whole("limit", 20)
    newest = listed_rows[::-1][offset : offset + limit]
    more: dict[str, Plain] = {"next_offset": offset + limit} if len(listed_rows) > offset + limit else {}
    messages: list[Plain] = [summary_fields(row) for row in newest]
    return {
        "member": agent,
        "unread": counts.unread,
        "total": counts.total,
        **known({"idle_notices": counts.idle or None}),
        "messages": messages,
        **({"notice": NOTICE} if messages else {}),
        **more,
    }


def whose_inbox(caller: Caller, member: str) -> Recipient:
    """One's own; the lead and humans may look into any."""
    team = home(caller)
    if not member or same_name(member, caller.member):
        return mailbox(caller)
    if not leads(caller, team):
        raise NotAllowed("only the lead and humans may look into other inboxes", "leave member out for your own")
    return find_addressee(caller.room, team.name, member)


def _receipts(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = actor(caller)
    drain_on_the_way(caller.room)
    if not given.has("trace"):
        return _waiting(caller, team, me)
    id = given.text("trace")
    try:
        traces = trace(caller.room, id, [team.name])
    except NoSuchMessage as error:
        raise NoSuchMessage(str(error), "see the ids with mail_inbox") from None
    mine = [one for one in traces if one.team == team.name and _may_see(caller, team, me, one)]
    if not mine:  # the same words as for one that does not exist: who may not see it learns nothing
        raise NoSuchMessage(f"no team here knows a message {id[:80]!r}", "see the ids with mail_inbox")
    more: dict[str, Plain] = {"more_recipients": len(mine) - MOST_RECIPIENTS} if len(mine) > MOST_RECIPIENTS else {}
    recipients: list[Plain] = [_journey(one) for one in mine[:MOST_RECIPIENTS]]
    return {"message_id": mine[0].message_id, "recipients": recipients, **more}


def _may_see(caller: Caller, team: Team, me: str, one: Trace) -> bool:
    sender = one.message.sender if one.message is not None else ""
    return leads(caller, team) or same_name(one.agent, me) or _is_me(team, me, sender)


def _is_me(team: Team, me: str, sender: str) -> bool:
    """A member of another team may have the same name."""
    name, _, where = sender.partition("@")
    return same_name(name, me) and (not where or same_name(where, team.name))


def _journey(one: Trace) -> dict[str, Plain]:
    steps: list[Plain] = [
        {"state": event.state, "at": event.at, "evidence": line(event.evidence)}
        for _, event in one.journey()
        if event is not None
    ]
    return {"to": line(one.agent, 128), "state": one.standing, "now": line(one.now), "steps": steps}


def _waiting(caller: Caller, team: Team, me: str) -> dict[str, Plain]:
    """What waits for an acknowledgement: of the caller, or by the caller; for the lead and humans all of it."""
    sees_all = leads(caller, team)
    waiting: list[Plain] = [
        known({"id": one.id, "to": line(one.agent, 128), "from": line(one.sender, 128), "since": to_iso(one.since)})
        for one in unacknowledged(caller.room, team.name)
        if sees_all or same_name(one.agent, me) or _is_me(team, me, one.sender)
    ]
    more: dict[str, Plain] = {"more_waiting": len(waiting) - MOST_SUMMARIES} if len(waiting) > MOST_SUMMARIES else {}
    return {"waiting": waiting[:MOST_SUMMARIES], **more}


TOOLS = (
    define(
        "mail_read",
        "Read mail",
        "Your unread messages, oldest first; they do not come again. With id: that one, from offset on.",
        _read,
        takes=takes(
            optional={
                "limit": whole(least=1, most=MOST_MESSAGES),
                "sender": text(),
                "type": choice(*TYPES),
                "id": text(),
                "offset": whole(),
            }
        ),
        gives=gives({"messages": listed(MESSAGE)}, {"unread_left": count()}),
    ),
    define(
        "mail_inbox",
        "Inbox",
        "Summaries of unread mail, newest first; marks nothing. With trace: how far that message got.",
        _inbox,
        takes=takes(
            optional={
                "member": text("for leads"),
                "include_read": yes_no(),
                "trace": text("its id"),
                "unacknowledged": yes_no("what waits for that"),
                "limit": whole(least=1, most=MOST_SUMMARIES),
                "offset": whole(),
            }
        ),
        gives=gives(
            {},
            {
                "member": text(),
                "unread": count(),
                "total": count(),
                "messages": listed({"type": "object"}),
                "next_offset": count(),
                "recipients": listed({"type": "object"}),
                "waiting": listed({"type": "object"}),
            },
        ),
        reads_only=True,
    ),
)

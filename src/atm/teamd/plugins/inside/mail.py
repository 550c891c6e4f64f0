"""
Mail as a plugin sees it: what it may send, what it may know, and the letters for its own members.

Everything here is synchronous and works on a mailroom; `plugin_context` calls it in a thread.
"""

from __future__ import annotations

from collections.abc import Callable

from atm.board.ports.tasks import Tasks
from atm.core.errors import AtmError, NotAllowed
from atm.core.identifiers import derived_id
from atm.core.names import check_sender, same_name
from atm.files.formats.times import from_iso
from atm.mail.formats.journal import histories
from atm.mail.formats.protocol_message import idle_sender
from atm.mail.rules.messages import Message
from atm.mail.services import posting
from atm.mail.services.bookkeeping import enter
from atm.mail.services.mailroom import Recipient, find_open_recipient
from atm.mail.services.reading import TURN_PATIENCE
from atm.mail.services.surfacing import unread_for
from atm.roster.services.teamroom import Teamroom
from atm.snapshot.services.members import member_facts
from atm.team.rules.liveness import UNKNOWN
from atm.team.rules.team import HUMAN, Member, Team
from atm.team.services.registry import find_team
from atm.teamd.plugins.api import MemberFacts, PluginError, Sent, TeamFacts, Unread


def take_letter(room: Teamroom, team: str, agent: str, message: Message, evidence: str) -> None:
    """
    A letter has arrived on the far side: entered as surfaced, then marked read.

    In this order: whoever is killed in between leaves an unread row that the ledger knows as surfaced, and which is
    not shown a second time (G2).
    """
    with room.surfacings.turn(team, agent, TURN_PATIENCE):
        if message.id:
            enter(room, team, agent, [message.id], "surfaced", evidence)
        room.inboxes.mark(team, agent, {message.key}, True)


def waiting_letters(room: Teamroom, team: str, agent: str) -> list[Message]:
    """Unread mail for a member that the plugin plays, oldest first; notices of idle agents are no letters."""
    return [message for message in unread_for(room, team, agent) if idle_sender(message) is None]


def letter_id(team: str, agent: str, message: Message) -> str:
    """The message's id; for rows of programs that give none, one that is the same every time."""
    return message.id or derived_id("row", team, agent, message.sender, message.timestamp, message.text)


# Sending.


def send_as(
    room: Teamroom,
    plugin: str,
    place: str,
    *,
    to: str,
    team: str,
    text: str,
    sender: str | None,
    summary: str | None,
    once: str | None,
    may_see: Callable[[str], bool],
) -> Sent:
    """Send a message in a plugin's name, in that of a member it plays, or of a sender outside."""
    recipient = find_open_recipient(room, team, to)
    signed = check_signature(room, recipient.team, plugin, sender or plugin, may_see)
    letter = posting.Draft(sender=signed, text=text, summary=summary)
    if once is None:
        done = posting.send_to(room, recipient, posting.compose(room, recipient, letter))
        return Sent(done.message_id, done.team, done.agent, done.outcome, tuple(done.warnings))
    return _send_once(
        room, recipient, letter, derived_id("once", plugin, place, recipient.team_name, recipient.agent, once)
    )


def _send_once(room: Teamroom, to: Recipient, letter: posting.Draft, id: str) -> Sent:
    """The ledger knows what was sent, also where the inbox does not hold it any more."""
    past = histories(room.ledger.entries(to.team_name)[0])
    if (id, to.agent) in past:
        return Sent(id, to.team_name, to.agent, "success", ("it was sent before",))
    done = posting.deliver(room, to, posting.compose(room, to, letter, id), is_new=False)
    return Sent(done.message_id, done.team, done.agent, done.outcome, tuple(done.warnings))


def check_signature(room: Teamroom, team: Team, plugin: str, sender: str, may_see: Callable[[str], bool]) -> str:
    """A plugin signs as itself, as a member it plays, or as a name that is not on the team: nobody is forged (G11)."""
    name, at, home = check_sender(sender).partition("@")
    if at and not may_see(home):
        raise PluginError(
            f"the plugin {plugin!r} may not sign as {sender[:80]!r}: it may not see that team",
            "sign as the plugin, without a team",
        )
    where = find_team(room, home) if at and room.rosters.find(home) else team
    member = where.member(name)
    taken = member is not None and member.backend != f"plugin:{plugin}"
    if taken or (member is None and (where.is_lead(name) or same_name(name, HUMAN))):
        raise NotAllowed(
            f"the plugin {plugin!r} may not sign as {sender!r}, who is somebody else",
            "sign as the plugin, or as a member that it plays",
        )
    return sender


# Facts.


def unread_of(room: Teamroom, team: str, agent: str) -> Unread:
    """How much a member has not read. An inbox that cannot be read is told as such, and stops nobody."""
    try:
        rows = [row for row in room.inboxes.unread(team, agent) if row.understood and idle_sender(row) is None]
    except AtmError as error:
        return Unread(agent, 0, problem=str(error))
    times = [at for row in rows if (at := from_iso(row.timestamp)) is not None]
    return Unread(agent, len(rows), min(times, default=None))


def overview(room: Teamroom, tasks: Tasks, found: Team) -> TeamFacts:
    problems: list[str] = []
    try:
        counts = tasks.board(found.name).counts()
    except AtmError as error:
        counts = {}
        problems.append(f"the board cannot be read: {error}")
    return TeamFacts(
        team=found.name,
        lead=found.lead,
        completed=found.completed,
        members=tuple(_member_facts(room, found, member) for member in found.members),
        tasks=counts,
        spool_waiting=sum(one.entry.team == found.name for one in room.spool.pending()),
        spool_failed=sum(one.entry.team == found.name for one in room.spool.failed()),
        problems=tuple(problems),
    )


def _member_facts(room: Teamroom, team: Team, member: Member) -> MemberFacts:
    unread = unread_of(room, team.name, member.name)
    try:
        known = member_facts(room, team, member).activity.liveness
    except AtmError:
        return MemberFacts(member.name, member.kind, unread, UNKNOWN, None)
    return MemberFacts(member.name, member.kind, unread, known.value, known.age)

"""Putting back rows that another program's stale rewrite dropped after we had reported success (D24)."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.names import is_claudes_team
from atm.files.formats.times import from_iso
from atm.mail.formats.journal import MESSAGE, histories
from atm.mail.rules.inbox_merge import put_back
from atm.mail.rules.lifetimes import SEND_WITHIN, time_left
from atm.mail.rules.receipts import RESTORED, expected_in_inbox
from atm.mail.services.bookkeeping import record
from atm.mail.services.mailroom import touched_by_others
from atm.team.rules.team import is_somebody_else

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.formats.journal import Entry
    from atm.mail.rules.messages import Message
    from atm.mail.services.mailroom import Mailroom
    from atm.team.rules.team import Team


def put_back_dropped(
    room: Mailroom,
    team: Team,
    *,
    about: str | None = None,
    everything: bool = False,
    unable: list[str] | None = None,
    deadline: float | None = None,
) -> int:
    """
    Put back rows that another program's stale rewrite dropped after we had reported success (D24).

    By default only what the end of the ledger tells, which is the last minutes, and only for inboxes that a foreign
    writer wrote to, or that are gone. And rows of such a writer itself that we had brought along a moment ago, and that
    its next write has dropped again.

    How many rows came back; `unable` gets those whose inbox could not be looked at now, or must be looked at again in
    a moment. After the deadline (monotonic) no further inbox is begun.
    """
    if is_claudes_team(team.name) or team.completed:
        return 0
    again = [] if unable is None else unable
    try:
        if everything:
            suspects = {*room.inboxes.owners(team.name), *team.names}
        else:
            suspects = touched_by_others(room, team, about, again)
        if not suspects:
            return 0
        entries = room.ledger.entries(team.name)[0] if everything else room.ledger.recent(team.name)
    except AtmError:
        return 0  # a look that fails must not keep the message from being sent
    if deadline is None and not everything:
        deadline = room.clock.monotonic() + SEND_WITHIN
    expected, count = _expected(room, team, entries), 0
    for agent in sorted(suspects, key=lambda agent: (agent != about, agent)):
        sent = expected.get(agent, [])
        patience = None if deadline is None else time_left(deadline, room.clock.monotonic())
        if patience == 0.0:
            again.append(agent)
            continue
        try:
            if (carried := room.inboxes.recheck(team.name, agent, patience)) is not None:
                count += carried
                again.append(agent)  # until nobody can have a copy without them
            if room.inboxes.missing(team.name, agent, [entry.ids[0] for entry in sent]):
                count += _put_back(room, team.name, agent, sent, entries, patience)
        except AtmError:  # the inbox cannot be read or written now: the next command tries again
            again.append(agent)
    return count


def missing_rows(room: Mailroom, team: Team, entries: list[Entry]) -> int:
    """How many messages should lie in an inbox of ours and do not."""
    if is_claudes_team(team.name):
        return 0
    count = 0
    for agent, sent in _expected(room, team, entries).items():
        try:
            count += len(room.inboxes.missing(team.name, agent, [entry.ids[0] for entry in sent]))
        except AtmError:
            continue
    return count


def _expected(room: Mailroom, team: Team, entries: list[Entry]) -> dict[str, list[Entry]]:
    """
    For each recipient the messages that should still lie in its inbox.

    Not those from before it joined: they went to a former member of that name (D26).
    """
    past, now = histories(entries), room.clock.now()
    joined = {member.name: member.joined_at for member in team.members}
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind != MESSAGE or not entry.ids or not expected_in_inbox(past[(entry.ids[0], entry.agent)]):
            continue
        since = joined.get(entry.agent)
        if since is None or not is_somebody_else(from_iso(entry.at) or now, since, now):
            found.setdefault(entry.agent, []).append(entry)
    return found


def _put_back(
    room: Mailroom, team: str, agent: str, sent: list[Entry], entries: list[Entry], patience: float | None
) -> int:
    numbers = {id: entry.seq for entry in entries if entry.kind == MESSAGE and entry.agent == agent for id in entry.ids}
    messages = [message for entry in sent if (message := entry.message) is not None]
    restored: list[str] = []

    def change(rows: list[Message]) -> list[Message]:
        present = {row.key for row in rows}
        dropped = [message for message in messages if message.key not in present]
        restored[:] = [message.id or "" for message in dropped]
        return put_back(rows, dropped, lambda row: numbers.get(row.id or ""))

    room.inboxes.change(team, agent, change, patience)
    if restored:
        record(room, team, agent, restored, RESTORED, "another program's stale rewrite had dropped it")
    return len(restored)

"""Messages that wait for an acknowledgement: finding them, and telling the lead, then the humans."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.identifiers import derived_id
from atm.core.names import same_name
from atm.files.formats.times import from_iso
from atm.mail.rules.escalation import HUMANS, LEAD, Waiting, minutes_in
from atm.mail.rules.receipts import ACK_DUE, ESCALATED
from atm.mail.services.bookkeeping import enter
from atm.mail.services.mailroom import find_recipient
from atm.mail.services.posting import Draft, compose, deliver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.formats.journal import Entry
    from atm.mail.services.mailroom import Mailroom
    from atm.team.rules.team import Team

SENDER = "atm"


class Told:
    """A lead or a human who was told, or could not be."""

    __slots__ = ("problem", "to", "waiting")

    def __init__(self, waiting: Waiting, to: str, problem: str = "") -> None:
        self.waiting = waiting
        self.to = to
        self.problem = problem


def unacknowledged(room: Mailroom, team: str) -> list[Waiting]:
    """What waits for an acknowledgement in a team, oldest first."""
    return waiting_in(room.ledger.entries(team)[0], team)


class WaitingMail:
    """The same for whoever asks again and again: a ledger is read once more only when it is another one."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, list[Waiting]]] = {}

    def of(self, room: Mailroom, team: str) -> list[Waiting]:
        ledger = room.ledger
        version, known = ledger.version(team), self._known.get(team)
        if known is None or known[0] != version:
            # Much quicker than reading it: most teams never ask for an acknowledgement.
            asked = version is not None and ledger.mentions(team, f'"{ACK_DUE}"')
            known = self._known[team] = (version, unacknowledged(room, team) if asked else [])
        return known[1]

    def forget_all_but(self, teams: set[str]) -> None:
        self._known = {team: known for team, known in self._known.items() if team in teams}


def waiting_in(entries: list[Entry], team: str) -> list[Waiting]:
    found: dict[tuple[str, str], Waiting] = {}
    messages = {(entry.ids[0], entry.agent): entry for entry in entries if entry.raw and entry.ids}
    for entry in entries:
        for id in entry.ids:
            key = (id, entry.agent)
            if entry.state == ACK_DUE and key not in found:
                found[key] = _waiting(team, entry, id, messages.get(key))
            elif entry.state == "answered":
                found.pop(key, None)
            elif entry.state == ESCALATED and key in found:
                found[key].told = min(HUMANS, found[key].told + 1)
                found[key].said = entry.evidence
    return sorted(found.values(), key=lambda one: one.since)


def _waiting(team: str, entry: Entry, id: str, sent: Entry | None) -> Waiting:
    message = sent.message if sent is not None else None
    return Waiting(
        team=team,
        agent=entry.agent,
        id=id,
        sender=message.sender if message else "",
        summary=(message.summary or message.text[:100]) if message else "",
        since=from_iso(entry.at) or 0.0,
        minutes=minutes_in(entry.evidence),
    )


def escalate(room: Mailroom, team: Team, waiting: list[Waiting]) -> list[Told]:
    """Take every step that is due. A step is entered in the ledger when the lead or a human was told."""
    if team.completed:
        return []
    told: list[Told] = []
    now = room.clock.now()
    for one in waiting:
        while one.told < one.step_at(now):
            one.told += 1
            step, is_entered = _take_step(room, team, one)
            told += step
            if not is_entered:
                one.told -= 1  # nobody could be reached, or nobody will know of it: the next round tries again
                break
    return told


def _take_step(room: Mailroom, team: Team, waiting: Waiting) -> tuple[list[Told], bool]:
    """Entered in the ledger when the lead or a human was told, or when there is nobody to tell."""
    names = _who(team, waiting)
    told = [_tell(room, team, waiting, name) for name in names]
    reached = [one.to for one in told if not one.problem]
    if told and not reached:
        return told, False
    what = "lead" if waiting.told == LEAD else "human"
    evidence = f"told {', '.join(reached)}" if reached else f"the team has no {what} besides sender and recipient"
    is_entered = enter(room, team.name, waiting.agent, [waiting.id], ESCALATED, evidence)
    return told or [Told(waiting, "", evidence)], is_entered


def _who(team: Team, waiting: Waiting) -> list[str]:
    """Not the one who does not answer, nor the one who waits for the answer."""
    names = [team.lead] if waiting.told == LEAD else [m.name for m in team.members if m.kind == "human"]
    sender, _, home = waiting.sender.partition("@")
    parties = (waiting.agent, sender) if not home or same_name(home, team.name) else (waiting.agent,)
    return [name for name in names if team.member(name) and not any(same_name(name, party) for party in parties)]


def _tell(room: Mailroom, team: Team, waiting: Waiting, name: str) -> Told:
    minutes = (room.clock.now() - waiting.since) / 60
    since = f"{minutes:.0f} min" if minutes >= 1 else "less than a minute"
    text = (
        f"{waiting.agent} has not acknowledged a message of {waiting.sender or 'somebody'} for {since}: "
        f"{waiting.summary}\n\nSee `atm receipts {waiting.id}`."
    )
    letter = Draft(sender=SENDER, text=text, summary=f"not acknowledged by {waiting.agent}: {waiting.summary}"[:100])
    id = derived_id(waiting.id, waiting.agent, str(waiting.told), name)
    try:
        if room.ledger.about(team.name, [id]):
            return Told(waiting, name)  # by a process that was killed before it could say so
        to = find_recipient(room, team.name, name)
        deliver(room, to, compose(room, to, letter, id), is_new=False)
    except AtmError as error:
        return Told(waiting, name, str(error))
    return Told(waiting, name)

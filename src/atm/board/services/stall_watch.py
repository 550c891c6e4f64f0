"""
The stall watch: tells a member that a task in its hands has shown no progress, and the lead if nothing follows.

A small system of its own. It reads the board, its history and heartbeats; it neither asks work-sync nor believes it.
Each alert is entered in the journal before it is sent and marked afterwards. Its id follows from the stall, and the
ledger knows what was sent: whoever is killed in between, or loses the journal, tells nobody twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atm.board.rules.stalls import (
    LEAD,
    OWNER,
    HolderActivity,
    StallTold,
    judge,
    last_progress,
    may_be_overdue,
    whose_turn,
)
from atm.board.rules.tasks import COMPLETED, MOST_EVENTS, REVIEW
from atm.board.services.escalation import A_REVIEW, reminder_id
from atm.board.services.stall_journal import StallNote, alerted_at, claim, mark, recent_alert
from atm.core.errors import AtmError
from atm.core.identifiers import derived_id
from atm.core.names import is_claudes_team, same_name
from atm.core.untrusted_text import one_line
from atm.core.work_errors import NoSuchTask
from atm.files.formats.times import from_iso, to_iso
from atm.mail.services.escalation import SENDER
from atm.mail.services.mailroom import find_recipient
from atm.mail.services.posting import Draft, compose, deliver
from atm.team.rules.lifecycle import ACTIVE, CONSOLIDATING, INIT, PENDING
from atm.team.rules.liveness import ONLINE
from atm.team.rules.team import is_human
from atm.team.services.lifecycle import standing
from atm.team.services.presence import last_beat, liveness

if TYPE_CHECKING:
    from atm.board.formats.task_history import Past
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card, Task
    from atm.board.services.boardroom import Boardroom
    from atm.core.plain import Record
    from atm.files.ports.records import Records
    from atm.team.rules.team import Member, Team

__all__ = ["Alert", "recent_alert", "watch_stalls"]

RUNNING = (INIT, PENDING, ACTIVE, CONSOLIDATING)

MOST_A_ROUND = 50
"""Alerts of one round; what is left is due in the next one."""

MOST_BLOCKERS = 50
SHOWN = 100
"""Characters of a subject."""


@dataclass(slots=True)
class Alert:
    """The owner or the lead was told of a stall, or could not be."""

    task: str
    member: str
    """Who holds the task."""
    kind: str = ""
    """`owner` or `lead`; empty if the task could not be looked at."""
    to: str = ""
    minutes: float = 0.0
    """Without progress."""
    problem: str = ""


@dataclass(slots=True)
class Stall:
    """A task that has shown no progress for some time, and what may be said about it."""

    task: Task
    holder: Member
    since: float
    activity: HolderActivity
    notes: dict[str, StallNote]
    """By kind."""


class StallRound:
    """One look at a team: what is asked for several times is read once, and only if it is needed."""

    def __init__(self, boardroom: Boardroom, team: Team, board: Board, minutes: float) -> None:
        self.boardroom = boardroom
        self.team = team
        self.board = board
        self.minutes = minutes
        self.now = boardroom.clock.now()
        self.runs_since = 0.0
        """Time before that is no holder's fault: the team stood still."""
        self._past: dict[str, list[Past]] | None = None

    def past(self, id: str) -> list[Past]:
        """What the history says of a task."""
        if self._past is None:
            self._past = {}
            for one in self.boardroom.tasks.past(self.team.name)[0]:
                self._past.setdefault(one.task, []).append(one)
        return self._past.get(id, [])

    def is_overdue(self, since: float) -> bool:
        return self.now - max(since, self.runs_since) >= self.minutes * 60


def watch_stalls(boardroom: Boardroom, records: Records, team: Team, minutes: float) -> list[Alert]:
    """Tell whoever is due to be told. A board on which nothing can be overdue costs one look, and nothing is opened."""
    if minutes <= 0 or team.completed or not boardroom.tasks.exists(team.name):
        return []
    look = StallRound(boardroom, team, boardroom.tasks.board(team.name), minutes)
    before = look.now - minutes * 60
    overdue = [card for card in look.board.sorted() if may_be_overdue(card, before, from_iso)]
    runs_since = _running_since(look) if overdue else None
    if runs_since is None:
        return []
    look.runs_since = runs_since
    stalls, unable = _stalls_among(look, overdue)
    return [*unable, *_tell_all(look, records, stalls)] if stalls else unable


def _running_since(look: StallRound) -> float | None:
    """Since when a team runs; None if it does not, or nobody knows: nobody is woken in a team that was stopped."""
    boardroom, team = look.boardroom, look.team
    if is_claudes_team(team.name):  # they keep no state, but a member who is there proves that the session goes on
        heard_of = boardroom.presence.heard_of(team.name)
        seen = (liveness(boardroom.presence, team, one, look.now).value for one in heard_of)
        return 0.0 if ONLINE in seen else None
    found = standing(boardroom.room, team.name)
    return (from_iso(found.since) or 0.0) if found.status in RUNNING else None


# Finding stalls.


def _stalls_among(look: StallRound, cards: list[Card]) -> tuple[list[Stall], list[Alert]]:
    found: list[Stall] = []
    unable: list[Alert] = []
    for card in cards:
        try:
            stall = _stall_of(look, card)
        except NoSuchTask:
            continue  # it has gone since the look at the board
        except AtmError as error:  # one task that cannot be read must not silence the others
            unable.append(Alert(card.id, card.owner, problem=str(error)))
            continue
        found += [stall] if stall is not None else []
    return found, unable


def _stall_of(look: StallRound, card: Card) -> Stall | None:
    """None if it goes on, or is no holder's fault. People are never judged: they say nothing to a board for days."""
    task = look.boardroom.tasks.read(look.team.name, card.id)
    name = whose_turn(task, is_blocked=bool(look.board.open_blockers(card)))
    holder = look.team.member(name) if name else None
    if holder is None or is_human(look.team, holder.name):
        return None
    since = last_progress(task, name, from_iso, look.now, _older_events(look, task))
    if since is None or not look.is_overdue(since):
        return None
    since = max(since, _freed_at(look, card))
    if not look.is_overdue(since):
        return None
    return Stall(task, holder, since, _activity(look, holder, name), _notes(look.team, task, holder, since))


def _older_events(look: StallRound, task: Task) -> list[Record]:
    """From the history, where the file alone does not tell: a claim by another program, or more than a file keeps."""
    is_told = from_iso(task.claimed_at) is not None and len(task.events) < MOST_EVENTS
    return [] if is_told else [one.event for one in look.past(task.id)]


def _freed_at(look: StallRound, card: Card) -> float:
    """When the last task that this one had to wait for was completed."""
    return max((_finished_at(look, id) for id in look.board.blockers(card)[-MOST_BLOCKERS:]), default=0.0)


def _finished_at(look: StallRound, id: str) -> float:
    try:
        said = look.boardroom.tasks.read(look.team.name, id).text("finishedAt") if look.board.is_there(id) else ""
    except AtmError:
        said = ""
    if not said:  # completed by another program, or gone: the history remembers
        said = next((one.word("at") for one in reversed(look.past(id)) if one.after.get("status") == COMPLETED), "")
    at = from_iso(said) if said else None
    return at if at is not None and at <= look.now else 0.0


def _activity(look: StallRound, holder: Member, written: str) -> HolderActivity:
    presence, team = look.boardroom.presence, look.team
    name = holder.name if last_beat(presence, team, holder.name, look.now) is not None else written
    beat = last_beat(presence, team, name, look.now)
    return HolderActivity(liveness(presence, team, name, look.now).value, beat.state if beat is not None else "")


def _notes(team: Team, task: Task, holder: Member, since: float) -> dict[str, StallNote]:
    """The two alerts that one stall may bring. Their ids: by the task, who holds it and when it last got on."""
    ids = {kind: derived_id(team.name, task.id, "stall", to_iso(since), kind, holder.name) for kind in (OWNER, LEAD)}
    if task.review == REVIEW:
        ids |= _shared_ids(team, task, holder, since)
    return {kind: StallNote(id, task.id, holder.name, kind, since) for kind, id in ids.items()}


def _shared_ids(team: Team, task: Task, holder: Member, since: float) -> dict[str, str]:
    """
    That nobody has begun a review is also the business of the board's reminders (`board_escalation`).

    Both say it under one id, so that whoever comes first says it alone; and of one review the lead hears once.
    """
    asked = task.part("review").get("since")
    asked_at = from_iso(asked) if isinstance(asked, str) else None
    if asked_at is None:
        return {}
    ids = {LEAD: reminder_id(team.name, task.id, A_REVIEW, asked_at, 2, team.lead)}
    if since <= asked_at and same_name(task.reviewer, holder.name):
        ids[OWNER] = reminder_id(team.name, task.id, A_REVIEW, asked_at, 1, task.reviewer)
    return ids


# Telling.


def _tell_all(look: StallRound, records: Records, stalls: list[Stall]) -> list[Alert]:
    team, now = look.team.name, look.now
    notes = {note.message_id: note for stall in stalls for note in stall.notes.values()}
    sent = alerted_at(records, team, notes)
    unmarked = _known_to_the_ledger(look, stalls, sent)
    mark(records, team, notes.values(), unmarked, now)
    due = _due(look, stalls, {**sent, **unmarked})
    ours = claim(records, team, [notes[id] for id in due], now)
    alerts = {note.message_id: _tell(look, due[note.message_id], note) for note in ours}
    mark(records, team, notes.values(), {id: now for id, alert in alerts.items() if not alert.problem}, now)
    return list(alerts.values())


def _known_to_the_ledger(look: StallRound, stalls: list[Stall], sent: dict[str, float]) -> dict[str, float]:
    """
    What was sent, and the journal does not know: its writer was killed, or it was damaged and begun afresh.

    Asked only about stalls of which the journal says that something is due: one that was told costs no search.
    """
    unsure = [stall for stall in stalls if _verdict(look, stall, sent)]
    ids = {note.message_id for stall in unsure for note in stall.notes.values()} - sent.keys()
    found: dict[str, float] = {}
    for entry in look.boardroom.room.ledger.about(look.team.name, ids) if ids else ():
        for id in ids.intersection(entry.ids):
            found.setdefault(id, from_iso(entry.at) or look.now)
    return found


def _due(look: StallRound, stalls: list[Stall], sent: dict[str, float]) -> dict[str, Stall]:
    """By the id of the message; the longest stalls first."""
    due: dict[str, Stall] = {}
    for stall in sorted(stalls, key=lambda one: one.since):
        kind = _verdict(look, stall, sent)
        if kind and len(due) < MOST_A_ROUND:
            due[stall.notes[kind].message_id] = stall
    return due


def _verdict(look: StallRound, stall: Stall, sent: dict[str, float]) -> str:
    ids = {kind: note.message_id for kind, note in stall.notes.items()}
    lead = look.team.lead
    return judge(
        since=max(stall.since, look.runs_since),
        now=look.now,
        minutes=look.minutes,
        activity=stall.activity,
        told=StallTold(sent.get(ids[OWNER]), sent.get(ids[LEAD])),
        has_lead=look.team.member(lead) is not None and not same_name(stall.holder.name, lead),
    )


def _tell(look: StallRound, stall: Stall, note: StallNote) -> Alert:
    to = stall.holder.name if note.kind == OWNER else look.team.lead
    alert = Alert(note.task, note.member, note.kind, to, (look.now - stall.since) / 60)
    room = look.boardroom.room
    try:
        recipient = find_recipient(room, look.team.name, to)
        message = compose(room, recipient, _letter(stall, note.kind, alert.minutes), note.message_id)
        deliver(room, recipient, message, is_new=False)
    except AtmError as error:
        alert.problem = str(error)  # it stays claimed, and the next round tries again
    return alert


def _letter(stall: Stall, kind: str, minutes: float) -> Draft:
    id, subject = stall.task.id, one_line(stall.task.subject)[:SHOWN]
    is_review = stall.task.review == REVIEW
    what = f"the review of #{id}" if is_review else f"#{id}"
    if kind == LEAD:
        todo = f"It is with {stall.holder.name}, who was told.\n\nSee `atm tasks show {id}`."
    else:
        todo = f"Begin it with `atm tasks review start {id}`, or end it." if is_review else _remedy(id)
    return Draft(
        sender=SENDER,
        text=f"No progress on {what} ({subject}) has been seen for {minutes:.0f} min. {todo}",
        summary=f"no progress on {what}: {subject}"[:SHOWN],
    )


def _remedy(id: str) -> str:
    goes_on = f'If it goes on, say how far it is: `atm tasks comment {id} "…"`.'
    ask, give_back = f"`atm tasks clarify {id}` asks the lead or the user", f"`atm tasks release {id}` gives it back"
    return f"{goes_on} If it does not: {ask}, {give_back}."

"""A team as its lead needs to see it: everybody, the queue, the conversation. Reads, and writes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.core.errors import AtmError
from atm.core.names import is_claudes_team, same_name
from atm.crew.rules.states import OVER as OVER_STATES
from atm.files.formats.times import from_iso
from atm.mail.formats.journal import MESSAGE, histories
from atm.mail.rules.receipts import standing as standing_of
from atm.sessions.formats.checkpoint import MOST_MESSAGES, TailMessage, TaskInProgress
from atm.sessions.rules import timeouts
from atm.sessions.rules.mailbox_order import LedgerNumbers, look_at_numbers
from atm.sessions.rules.progress import Progress, progress
from atm.team.rules.lead_session import LeadSession
from atm.team.rules.liveness import IDLE as AT_REST
from atm.team.rules.liveness import ONLINE, Liveness
from atm.team.rules.team import AGENT, DEFAULT_TYPE
from atm.team.services.endpoints import endpoint_of
from atm.team.services.leading import lead_of, seconds_unseen, sits_at_terminal
from atm.team.services.lifecycle import standing
from atm.team.services.presence import last_beat, liveness
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from atm.board.formats.task_history import Past
    from atm.board.rules.tasks import Card
    from atm.mail.formats.journal import Entry
    from atm.sessions.services.sessionroom import SessionRoom
    from atm.team.rules.lifecycle import TeamStanding
    from atm.team.rules.liveness import Beat
    from atm.team.rules.team import Member, Team

MOST_LOOKED_AT = 2000
"""Messages from the end of a ledger among which each member's last one is looked for."""


@dataclass(slots=True, kw_only=True)
class MemberView:
    """One member."""

    name: str
    index: int
    role: str
    quantum: str
    status: str
    liveness: Liveness
    kind: str
    task: str = ""
    waits: bool = False
    """For the word of a reviewer, the lead or the user."""
    idle: float | None = None
    """Seconds for which it has done nothing; None if it works, or that is not known."""
    context: int | None = None
    heartbeat: float | None = None
    last_message: int = 0
    runtime: str = ""
    session: str = ""

    @property
    def is_online(self) -> bool:
        return self.liveness.value == ONLINE


@dataclass(slots=True, kw_only=True)
class TeamView:
    """One moment of a team."""

    team: Team
    standing: TeamStanding
    lead: LeadSession
    lead_age: float | None
    lead_state: str
    members: list[MemberView]
    pending: list[str] = field(default_factory=list)
    in_progress: list[TaskInProgress] = field(default_factory=list)
    completed: list[str] = field(default_factory=list)
    progress: Progress
    numbers: LedgerNumbers
    torn: int = 0
    tail: list[TailMessage] = field(default_factory=list)
    said_at: list[str] = field(default_factory=list)
    """When each message was sent."""
    undelivered: list[TailMessage] = field(default_factory=list)
    """Written to the inbox of a member who is there, and not shown to it for too long."""
    troubles: list[str] = field(default_factory=list)

    def member(self, name: str) -> MemberView | None:
        return next((one for one in self.members if same_name(one.name, name)), None)

    @property
    def online(self) -> int:
        return sum(one.is_online for one in self.members)


def lead_state_of(desk: SessionRoom, team: Team, lead: LeadSession) -> tuple[float | None, str]:
    """Seconds since it was seen, and whether it counts as away."""
    age = seconds_unseen(desk.room, team, lead)
    if sits_at_terminal(desk.room, lead) or is_claudes_team(team.name):
        return age, timeouts.HERE
    return age, timeouts.lead_standing(lead, age, desk.clock.now(), desk.policy)


def look_at(desk: SessionRoom, team: str, *, is_marked: bool | None = None) -> TeamView:
    """
    Everything that is known. `is_marked` says whether the team is marked as without its lead; default: as it is. Only
    then are its members zombies: a team that no daemon looks after is not held up.
    """
    found = find_team(desk.room, team)
    lead = lead_of(desk.room, found.name)
    age, lead_state = lead_state_of(desk, found, lead)
    marked = found.lead_is_away if is_marked is None else is_marked
    felt = lead_state if marked or lead_state == timeouts.OVER else timeouts.HERE
    board = desk.boardroom.tasks.board(found.name)
    cards = [card for card in board.sorted() if not card.problem and not card.is_hidden]
    entries, torn = desk.room.ledger.entries(found.name)
    said = _each_once(entries)
    tail, last_by = _conversation(said, found)
    is_work_left = any(not card.is_finished for card in cards)
    view = TeamView(
        team=found,
        standing=standing(desk.room, found.name),
        lead=lead,
        lead_age=age,
        lead_state=lead_state,
        members=[
            _member(desk, found, index, member, cards, felt, last_by.get(member.name, 0), is_work_left=is_work_left)
            for index, member in enumerate(found.members)
        ],
        pending=[card.id for card in cards if not card.is_finished and not card.is_claimed],
        completed=[card.id for card in cards if card.status == "completed"],
        progress=progress(0, 0, (), 0),
        numbers=look_at_numbers(entry.seq for entry in entries),
        torn=torn,
        tail=tail,
        said_at=[entry.at for entry in said],
    )
    view.in_progress = [_in_progress(desk, found, card, view) for card in cards if card.is_claimed]
    view.undelivered = _undelivered(desk, view, entries)
    left = sum(not card.is_finished for card in cards)
    view.progress = progress(len(view.completed), left, _durations(desk, found.name), view.online)
    return view


def _member(
    desk: SessionRoom,
    team: Team,
    index: int,
    member: Member,
    cards: list[Card],
    lead: str,
    last_message: int,
    *,
    is_work_left: bool,
) -> MemberView:
    room, now = desk.room, desk.clock.now()
    known, beat = liveness(room.presence, team, member.name, now), last_beat(room.presence, team, member.name, now)
    held = next((card for card in cards if card.is_claimed and same_name(card.owner, member.name)), None)
    record = desk.crew.records.read(team.name, member.name)
    endpoint = endpoint_of(room, team, member.name) if not is_claudes_team(team.name) else None
    is_led = not team.is_lead(member.name) and member.kind == AGENT
    status = timeouts.teammate_status(
        is_online=known.value == ONLINE,
        lead=lead if is_led else timeouts.HERE,
        task=held.id if held is not None else "",
        waits=held is not None and held.waits_for_others,
        has_finished=any(card.status == "completed" and same_name(card.owner, member.name) for card in cards),
        is_work_left=is_work_left,
        is_over=record is not None and record.state in OVER_STATES and known.value != ONLINE,
    )
    session = (record.session if record is not None else "") or (endpoint.session if endpoint is not None else "")
    runtime = (record.runtime if record is not None else "") or (endpoint.vendor if endpoint is not None else "")
    return MemberView(
        name=member.name,
        index=index,
        role=member.agent_type or DEFAULT_TYPE,
        quantum=member.quantum,
        status=status,
        liveness=known,
        kind=member.kind,
        task=held.id if held is not None else "",
        waits=held is not None and held.waits_for_others,
        idle=_idle(beat, now),
        context=beat.context if beat is not None else None,
        heartbeat=beat.at if beat is not None else None,
        last_message=last_message,
        runtime=runtime,
        session=session,
    )


def _idle(beat: Beat | None, now: float) -> float | None:
    if beat is None or beat.state != AT_REST:
        return None
    return max(0.0, now - (beat.state_since if beat.state_since is not None else beat.at))


def _each_once(entries: Iterable[Entry]) -> list[Entry]:
    """Messages by their numbers."""
    said: dict[tuple[str, str], Entry] = {}
    for entry in sorted((one for one in entries if one.kind == MESSAGE and one.raw), key=lambda one: one.seq):
        for id in entry.ids:
            said.setdefault((id, entry.agent), entry)  # what was queued is entered once more when it arrives
    return [*said.values()]


def _conversation(said: list[Entry], team: Team) -> tuple[list[TailMessage], dict[str, int]]:
    """The last messages; and the number of each member's last one."""
    tail: list[TailMessage] = []
    last_by: dict[str, int] = {}
    for number, entry in enumerate(reversed(said)):
        if number >= MOST_LOOKED_AT or (len(tail) >= MOST_MESSAGES and len(last_by) >= len(team.members)):
            break
        message = entry.message
        if message is None:
            continue
        last_by.setdefault(message.sender, entry.seq)
        if len(tail) < MOST_MESSAGES:
            at, kind = message.timestamp or entry.at, entry.intent or message.intent
            id, body = message.id or "", message.text
            tail.append(
                TailMessage(seq=entry.seq, sender=message.sender, to=entry.agent, at=at, kind=kind, body=body, id=id)
            )
    return tail[::-1], last_by


def _undelivered(desk: SessionRoom, view: TeamView, entries: list[Entry]) -> list[TailMessage]:
    """Of the last messages: those that the ledger knows to be written and of which it has heard nothing since."""
    states = histories(entries)
    found, online = [], {one.name for one in view.members if one.is_online}
    ids = {entry.seq: entry.ids for entry in entries if entry.kind == MESSAGE}
    for one in view.tail:
        at = from_iso(one.at)
        past = [state for id in ids.get(one.seq, ()) for state in states.get((id, one.to), [])]
        is_old = at is not None and desk.clock.now() - at > desk.policy.undelivered
        if is_old and one.to in online and standing_of(past) == "written":
            found.append(one)
    return found


def _in_progress(desk: SessionRoom, team: Team, card: Card, view: TeamView) -> TaskInProgress:
    created, quantum = None, ""
    try:
        task = desk.boardroom.tasks.read(team.name, card.id)
        created, quantum = from_iso(task.text("createdAt")), task.text("quantum")
    except AtmError as error:
        view.troubles.append(f"task {card.id}: {error}")
    return TaskInProgress(
        id=card.id, quantum=quantum, owner=card.owner, needs=[*card.blocked_by], created=created, subject=card.subject
    )


def _durations(desk: SessionRoom, team: str) -> list[float]:
    """Seconds from the last claim of each finished task to its end."""
    try:
        past, _ = desk.boardroom.tasks.past(team)
    except AtmError:
        return []
    return durations_in(past)


def durations_in(past: Iterable[Past]) -> list[float]:
    claimed: dict[str, float] = {}
    found: list[float] = []
    for one in past:
        at = from_iso(one.word("at"))
        if at is None:
            continue
        if one.word("to") == "in_progress":
            claimed[one.task] = at
        elif one.word("to") == "completed" and one.task in claimed:
            found.append(max(0.0, at - claimed.pop(one.task)))
    return found

"""
A team at one moment: members, tasks, mail, work-sync, sessions and agents, composed once (D28).

What did not change since the last look is not read again: an inbox, the ledger and the state cost something only when
their file is another one. Followers compare versions; ages alone make no new one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from atm.approvals.formats.records import approval_json
from atm.approvals.services.withdrawing import why_moot
from atm.board.rules.acceptance import in_a_line
from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import FAILED
from atm.core.errors import AtmError
from atm.core.names import is_claudes_team, same_name
from atm.crew.rules.costs import amount_in, total_cost
from atm.files.formats.times import to_iso
from atm.mail.services.escalation import WaitingMail
from atm.mail.services.overview import InboxFacts, facts_of_inbox
from atm.sessions.services.overview import lead_state_of
from atm.snapshot.services.members import agent_fields, facts_of_all, progress_fields, suspended_agents
from atm.snapshot.services.merges import merge_fields
from atm.snapshot.services.questions import asked_in
from atm.snapshot.services.runs import KeptRun, RunsNow
from atm.snapshot.services.stalls import stalled_in
from atm.snapshot.services.tasks import task_counts, task_counts_shown, task_fields
from atm.team.services.leading import lead_of
from atm.team.services.lifecycle import standing, team_id
from atm.team.services.registry import find_team
from atm.worksync.services.reading import views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atm.approvals.ports import Approvals
    from atm.approvals.rules.requests import Approval
    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain
    from atm.mail.rules.escalation import Waiting
    from atm.mail.services.overview import InboxProblem
    from atm.merges.ports import Merges
    from atm.merges.rules.items import MergeQueue
    from atm.runs.ports import Runs
    from atm.sessions.services.sessionroom import SessionRoom
    from atm.snapshot.services.questions import Kept
    from atm.team.rules.team import Team
    from atm.worksync.services.syncroom import SyncRoom

T = TypeVar("T")

AGES = ("state_age_seconds", "liveness_age_seconds", "seconds_unseen", "taken_at")
"""Fields that change by themselves."""


@dataclass(slots=True)
class _KeptTeam:
    """What was read of a team, and of which versions."""

    inboxes: dict[str, tuple[object, InboxFacts | InboxProblem]] = field(default_factory=dict)
    cards: list[list[Plain]] | None = None
    """With what the merge queue says of them. None: nothing is known of them."""
    tasks: dict[str, Plain] = field(default_factory=dict)
    """And what is said of them."""
    held: dict[str, list[Plain]] = field(default_factory=dict)
    """Open tasks by owner, in one spelling of the name."""
    asked: list[Approval] = field(default_factory=list)
    asked_version: object = None
    questions: Kept = field(default_factory=dict)
    reasons: dict[str, tuple[object, str]] = field(default_factory=dict)
    """Of failed tasks, with the last event of each."""
    run: KeptRun = field(default_factory=KeptRun)
    still: list[Plain] = field(default_factory=list)
    """What was said, without what changes by itself."""
    version: int = 0


class Snapshots:
    """Composes snapshots of teams, and remembers what they were made of."""

    def __init__(self, desk: SessionRoom, syncroom: SyncRoom, approvals: Approvals, merges: Merges, runs: Runs) -> None:
        self._desk = desk
        self._runs = RunsNow(runs, desk.crew, merges, approvals)
        self._merges = merges
        self._approvals = approvals
        self._syncroom = syncroom
        self._kept: dict[str, _KeptTeam] = {}
        self._waiting = WaitingMail()

    def teams(self) -> list[str]:
        return self._desk.room.rosters.teams()

    def of(self, team: str) -> dict[str, Plain]:
        """One team. A part that cannot be read says why, and the others are there all the same."""
        found = find_team(self._desk.room, team)
        kept = self._kept.setdefault(found.name, _KeptTeam())
        fields = self._compose(found, kept)
        still = _without_ages(fields)
        if not kept.version or still != kept.still:
            kept.version += 1
        kept.still = still
        return {"team": found.name, "version": kept.version, "taken_at": to_iso(self._desk.clock.now()), **fields}

    def forget_all_but(self, teams: set[str]) -> None:
        for gone in set(self._kept) - teams:
            del self._kept[gone]
        self._waiting.forget_all_but(teams)

    def _compose(self, team: Team, kept: _KeptTeam) -> dict[str, Plain]:
        desk = self._desk
        troubles: list[Plain] = []
        board = _tried(lambda: desk.boardroom.tasks.board(team.name), troubles, "tasks")
        queue = _tried(lambda: self._merges.read(team.name), troubles, "merges")
        board = board.with_merges(queue) if board is not None else None
        stands = standing(desk.room, team.name)
        mail, tasks = self._mail(team, kept), _tasks(board, kept, lambda card: self._why_failed(team.name, card, kept))
        members = self._members(team, kept, mail, board, troubles)
        waiting = _tried(lambda: self._waiting.of(desk.room, team.name), troubles, "receipts") or []
        return {
            "team_id": team_id(desk.room, team),
            "description": team.description or None,
            "created_at": to_iso(team.created_at) if team.created_at is not None else None,
            "lead": self._lead(team),
            "status": stands.status,
            "status_source": stands.source,
            "status_since": stands.since or None,
            "runs": self._last_run(team, board, kept, troubles),
            "members": members,
            "cost_estimate": _cost_of(members),
            **tasks,
            "asked": _tried(lambda: self._questions(team.name, board, kept), troubles, "questions") or [],
            "stalled": _tried(lambda: self._stalled(team.name, board), troubles, "stalls") or [],
            "unacknowledged": [*(waiting_fields(one) for one in waiting)],
            "approvals": _tried(lambda: self._asked(team, board, kept), troubles, "approvals") or [],
            "merges": self._merging(team.name, queue, board) if queue is not None else None,
            "spool": self._spool(team),
            "troubles": troubles,
        }

    def _last_run(self, team: Team, board: Board | None, kept: _KeptTeam, troubles: list[Plain]) -> list[Plain]:
        try:
            return _tried(lambda: self._runs.of(team, board, kept.run), troubles, "runs") or []
        except OSError as error:
            troubles.append(f"runs: {error}")
            return []

    def _merging(self, team: str, queue: MergeQueue, board: Board | None) -> dict[str, Plain]:
        return merge_fields(queue, board or Board({}), self._merges.collisions(team))

    def _asked(self, team: Team, board: Board | None, kept: _KeptTeam) -> list[Plain]:
        """Requests whose asker needs an answer, as they are asked; nothing is closed by looking."""
        version, now = self._approvals.version(team.name), self._desk.clock.now()
        if version != kept.asked_version:
            kept.asked, kept.asked_version = self._approvals.all(team.name), version
        presence, waiting = self._desk.room.presence, [one for one in kept.asked if one.waits(now)]
        return [approval_json(one, now) for one in waiting if not why_moot(presence, team, board, one, now)]

    def _questions(self, team: str, board: Board | None, kept: _KeptTeam) -> list[Plain]:
        return asked_in(self._desk.boardroom.tasks, team, board, kept.questions) if board is not None else []

    def _stalled(self, team: str, board: Board | None) -> list[Plain]:
        if board is None:
            return []
        tasks = self._desk.boardroom.tasks
        return stalled_in(self._syncroom.records, tasks, team, board, self._desk.clock.now())

    def _lead(self, team: Team) -> dict[str, Plain]:
        lead = lead_of(self._desk.room, team.name) if not is_claudes_team(team.name) else None
        age, state = lead_state_of(self._desk, team, lead) if lead is not None else (None, "unknown")
        return {
            "member": team.lead,
            "session": (lead.session or None) if lead is not None else None,
            "state": state,
            "seconds_unseen": None if age is None else round(age, 1),
            "mail_held": team.lead_is_away,
        }

    def _members(
        self,
        team: Team,
        kept: _KeptTeam,
        mail: Mapping[str, InboxFacts | InboxProblem],
        board: Board | None,
        troubles: list[Plain],
    ) -> list[Plain]:
        synced = _tried(lambda: views(self._syncroom, team, team.names, board), troubles, "work-sync") or []
        sync = {one.member: one for one in synced}
        crew = self._desk.crew
        read = {name: record for name in team.names if (record := crew.records.read(team.name, name)) is not None}
        suspended = suspended_agents(crew.processes, [*read.values()])
        rows: list[Plain] = []
        for facts in facts_of_all(self._desk.room, team):
            name = facts.member.name
            known = sync.get(name)
            row: dict[str, Plain] = {
                **facts.fields(),
                "is_lead": facts.is_lead,
                "mail": mail_fields(mail.get(name)),
                "tasks": kept.held.get(name.casefold(), []),
                "sync": known.brief() if known is not None else None,
                **progress_fields(record := read.get(name)),
                "agent": agent_fields(record, suspended) if record is not None else None,
            }
            rows.append(row)
        return rows

    def _why_failed(self, team: str, card: Card, kept: _KeptTeam) -> str:
        """The last line of the reason. A task is read again only when something happened to it."""
        known = kept.reasons.get(card.id)
        if known is None or known[0] != card.last_event:
            try:
                text = in_a_line(self._desk.boardroom.tasks.read(team, card.id).text("error"))
            except (AtmError, OSError):
                return ""  # it changes just now: the next snapshot has it
            known = kept.reasons[card.id] = (card.last_event, text)
        return known[1]

    def _mail(self, team: Team, kept: _KeptTeam) -> dict[str, InboxFacts | InboxProblem]:
        inboxes = self._desk.room.inboxes
        found: dict[str, tuple[object, InboxFacts | InboxProblem]] = {}
        for name in team.names:
            version = inboxes.version(team.name, name)
            known = kept.inboxes.get(name)
            is_same = known is not None and known[0] == version and version is not None
            found[name] = known if is_same and known else (version, facts_of_inbox(self._desk.room, team.name, name))
        kept.inboxes = found
        return {name: facts for name, (_, facts) in found.items()}

    def _spool(self, team: Team) -> dict[str, Plain]:
        spool = self._desk.room.spool
        if spool.is_empty():
            return {"pending": 0, "held": 0}
        waiting = [one.entry for one in spool.pending() if same_name(one.entry.team, team.name)]
        return {"pending": len(waiting), "held": sum(one.reason == "lead-away" for one in waiting)}


def _cost_of(members: Sequence[Plain]) -> Plain:
    """Of the agents that atm started; null if it started none."""
    agents = [agent for one in members if isinstance(one, dict) and isinstance(agent := one.get("agent"), dict)]
    costs = [(str(one.get("runtime")), amount_in(one, "cost")) for one in agents]
    return total_cost(costs).fields() if costs else None


def waiting_fields(one: Waiting) -> dict[str, Plain]:
    """A message whose sender wants to know that it arrived, and does not yet."""
    return {
        "id": one.id,
        "to": one.agent,
        "from": one.sender,
        "summary": one.summary,
        "since": to_iso(one.since),
        "minutes": one.minutes,
        "told": one.said or None,
    }


def mail_fields(facts: InboxFacts | InboxProblem | None) -> dict[str, Plain]:
    """How much mail somebody has; what cannot be counted says why."""
    if isinstance(facts, InboxFacts):
        return {"unread": facts.unread, "total": facts.total, "latest": facts.latest or None}
    said = str(facts.error) if facts is not None else "no inbox"
    return {"unread": None, "total": None, "latest": None, "problem": said}


def _tasks(board: Board | None, kept: _KeptTeam, why_failed: Callable[[Card], str]) -> dict[str, Plain]:
    """Said anew only if one of them is another: what one says depends on the others."""
    if board is None:
        kept.cards, kept.held = None, {}
        return {"tasks": [], "task_counts": {}, "task_counts_shown": {}}
    found = board.sorted()
    cards = [card.values() for card in found]
    cards += [[one.task, one.status, one.head, one.skipped] for one in (board.merges or {}).values()]
    if cards != kept.cards:
        kept.cards = cards
        shown = [task_fields(card, board) for card in found if not card.is_hidden]
        failed = {card.id: card for card in found if board.state(card) == FAILED}
        for row in shown:
            if (card := failed.get(str(row["id"]))) is not None and (reason := why_failed(card)):
                row["failed_because"] = reason
        kept.tasks = {
            "tasks": [*shown],
            "task_counts": task_counts(board),
            "task_counts_shown": task_counts_shown(board),
        }
        kept.held = _held(found)
    return kept.tasks


def _held(cards: Sequence[Card]) -> dict[str, list[Plain]]:
    found: dict[str, list[Plain]] = {}
    for card in cards:
        if card.owner and not card.is_finished:
            found.setdefault(card.owner.casefold(), []).append(card.id)
    return found


def _tried(work: Callable[[], T], troubles: list[Plain], what: str) -> T | None:
    try:
        return work()
    except AtmError as error:
        troubles.append(f"{what}: {error}")
        return None


def _without_ages(fields: dict[str, Plain]) -> list[Plain]:
    """Ages stand in members and in the lead alone."""
    members, lead = fields["members"], fields["lead"]
    rows = [one for one in members if isinstance(one, dict)] if isinstance(members, list) else []
    moving = [*rows, *([lead] if isinstance(lead, dict) else [])]
    still: list[Plain] = [{key: value for key, value in one.items() if key not in AGES} for one in moving]
    return [*still, *(value for key, value in fields.items() if key not in ("members", "lead"))]

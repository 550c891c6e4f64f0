"""
What happened in teams: what the files say now, compared with what they said when we last looked.

Whoever watches the files says where to look; here is told what is different. A file that cannot be read says
nothing: no event, and what was known stays known (it is in `problems` until it can be read). What appears together
with its team tells of what is open, unread mail and unfinished tasks, and not of what is over.

An inbox or a task list whose file or folder is missing may be the first sign of a team that is being deleted, file by
file. So it counts as gone only if it is missing again `SETTLING` seconds later, while its team is still there: look at
the teams that `unsettled` names again, with `everything(team)`. A deleted team is one event.

Not for two threads at once.
"""

from __future__ import annotations

from typing import TypeVar

from atm.core.errors import AtmError
from atm.core.untrusted_text import one_line
from atm.events.rules import (
    MEMBER_CHANGED,
    MEMBER_JOINED,
    MEMBER_LEFT,
    MESSAGE_GONE,
    MESSAGE_READ,
    MESSAGE_WRITTEN,
    TASK_CHANGED,
    TASK_CREATED,
    TASK_GONE,
    TEAM_COMPLETED,
    TEAM_CREATED,
    TEAM_GONE,
    TeamEvent,
)
from atm.mail.formats.protocol_message import parse
from atm.mail.formats.row_index import HASHED, RowIndex, label_of
from atm.mail.rules.messages import SUMMARY_LENGTH, summarize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.board.ports.tasks import Tasks
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain
    from atm.mail.formats.row_index import IndexedInbox
    from atm.mail.rules.messages import Message
    from atm.mail.services.mailroom import Mailroom
    from atm.team.rules.team import Member, Team

    State = tuple[Plain, ...]

Answer = TypeVar("Answer")

SETTLING = 1.0
"""Seconds. Deleting a whole team takes milliseconds, and nobody misses an inbox that is not there for one second."""

LONGEST_FACT = 200
MEMBER_FACTS = ("agent_type", "model", "cwd", "backend", "is_active", "joined_at", "pane_id", "session_id", "color")
TASK_FACTS = ("status", "owner", "review", "plan")


class TeamEvents:
    """Remembers every team as it last looked: ids and states, no texts."""

    def __init__(self, room: Mailroom, tasks: Tasks) -> None:
        self._room = room
        self._tasks = tasks
        self._teams: dict[str, _Known] = {}
        self._missing: dict[tuple[str, str], float] = {}
        """Since when an inbox, or a board (no name), is not there; by the clock that nobody sets."""
        self._problems: dict[tuple[str, str, str], str] = {}

    @property
    def problems(self) -> list[str]:
        """What cannot be read at the moment, and why."""
        return list(self._problems.values())

    @property
    def unsettled(self) -> list[str]:
        """Teams of which something is missing, and it is too early to say that it is gone."""
        return list(dict.fromkeys(team for team, _ in self._missing))

    def prime(self) -> None:
        """Take note of what there is. Nothing of it is news."""
        self._teams, self._missing, self._problems = {}, {}, {}
        for team in self._ask(("", "teams", ""), self._room.rosters.teams) or []:
            roster = self._roster(team)
            if roster is None:
                continue
            known = self._teams[team] = _Known(roster)
            for agent in self._owners(team):
                found = self._rows(team, agent, None)
                known.inboxes[agent] = None if found is None else found.index
            board = self._board(team)
            known.take_cards(board)

    # Looking again.

    def everything(self, team: str | None = None) -> list[TeamEvent]:
        """Look at all of it, or at all of one team: after changes that nobody told us about."""
        events = self.teams()
        for name in [*self._teams] if team is None else [team]:
            events += self._whole(name) if name in self._teams else []
        return events

    def _whole(self, team: str) -> list[TeamEvent]:
        events = self.roster(team)
        known = self._teams.get(team)
        if known is None:
            return events
        for agent in dict.fromkeys([*known.inboxes, *self._owners(team)]):
            events += self.inbox(team, agent)
        return events + self.tasks(team)

    def teams(self) -> list[TeamEvent]:
        """Teams that came and went. Whoever came is told with members, unread mail and open tasks."""
        names = self._ask(("", "teams", ""), self._room.rosters.teams)
        if names is None:
            return []
        self._problems = {key: said for key, said in self._problems.items() if not key[0] or key[0] in names}
        events = []
        for team in [team for team in self._teams if team not in names]:
            events += self._gone(team)
        for team in names:
            events += self._appeared(team) if team not in self._teams else []
        return events

    def _gone(self, team: str) -> list[TeamEvent]:
        del self._teams[team]
        self._missing = {key: since for key, since in self._missing.items() if key[0] != team}
        return [self._event(TEAM_GONE, team, team)]

    def _appeared(self, team: str) -> list[TeamEvent]:
        roster = self._roster(team)
        if roster is None:
            return []
        known = self._teams[team] = _Known(roster)
        known.inboxes = dict.fromkeys(self._owners(team))
        events = [self._event(TEAM_CREATED, team, team, {"members": [*known.members]})]
        events += [self._joined(team, member) for member in roster.members]
        events += [self._event(TEAM_COMPLETED, team, team)] if roster.completed else []
        for agent in [*known.inboxes]:
            events += self.inbox(team, agent)
        return events + self.tasks(team)

    # Members.

    def roster(self, team: str) -> list[TeamEvent]:
        """Who joined, left or changed, and whether the team is complete; also that the team is not there any more."""
        known = self._teams.get(team)
        roster = self._roster(team) if known is not None else None
        if known is None or roster is None:
            return self.teams()
        if known.is_another(roster):
            return self._gone(team) + self._appeared(team)
        events = self._changes_of_members(team, known, roster)
        if roster.completed and not known.completed:
            events.append(self._event(TEAM_COMPLETED, team, team))
        known.take(roster)
        return events

    def _changes_of_members(self, team: str, known: _Known, roster: Team) -> list[TeamEvent]:
        here = set(roster.names)
        events = [self._event(MEMBER_LEFT, team, name) for name in known.members if name not in here]
        for member in roster.members:
            before, now = known.members.get(member.name), _facts_of(member)
            if before is None:
                events.append(self._joined(team, member))
            elif before != now:
                was, is_now = _difference(MEMBER_FACTS, before, now)
                events.append(self._event(MEMBER_CHANGED, team, member.name, {"before": was, "after": is_now}))
        return events

    def _joined(self, team: str, member: Member) -> TeamEvent:
        detail: dict[str, Plain] = {"kind": member.kind, "type": _short(member.agent_type)}
        return self._event(MEMBER_JOINED, team, member.name, {**detail, "backend": _short(member.backend)})

    # Mail.

    def inbox(self, team: str, agent: str) -> list[TeamEvent]:
        """Which rows were written, read or taken out."""
        known = self._teams.get(team)
        if known is None:
            return self.teams()
        before = known.inboxes.get(agent, _NO_ROWS)
        found = self._rows(team, agent, before)
        if found is None:
            return []
        is_empty = before and not found.has_rows
        if is_empty and not self._is_settled(team, agent, lambda: self._room.inboxes.exists(team, agent)):
            return []
        self._missing.pop((team, agent), None)
        known.inboxes[agent] = found.index
        return self._mail_events(team, agent, before, found)

    def _mail_events(self, team: str, agent: str, before: RowIndex | None, found: IndexedInbox) -> list[TeamEvent]:
        was, flags = _changed_flags(before or _NO_ROWS, found)
        events = []
        for label, is_read in was.items():
            if label not in flags:
                events.append(self._event(MESSAGE_GONE, team, agent, {**_identity(label), "was_read": is_read}))
            elif flags[label] and not is_read:
                events.append(self._event(MESSAGE_READ, team, agent, _identity(label)))
        told = {label for label, is_read in was.items() if flags.get(label) or not is_read}
        for row in found.messages:
            label = label_of(row)
            if label not in told and not (before is None and flags[label]):
                told.add(label)
                again: dict[str, Plain] = {"again": True} if label in was else {}
                detail = {**_identity(label), **_described(row), "unread": not flags[label], **again}
                events.append(self._event(MESSAGE_WRITTEN, team, agent, detail))
        return events

    # Tasks.

    def tasks(self, team: str) -> list[TeamEvent]:
        """Which tasks were created, changed or deleted. A list without a team has no members."""
        known = self._teams.get(team)
        board = self._board(team) if known is not None else None
        if known is None or board is None:
            return []
        before = known.cards
        if before and not board.cards and not self._is_settled(team, "", lambda: self._tasks.exists(team)):
            return []
        self._missing.pop((team, ""), None)
        now = known.take_cards(board)
        events = [
            self._event(TASK_GONE, team, str(number), {"status": was[0], "owner": was[1]})
            for number, was in (before or {}).items()
            if number not in now
        ]
        was = before or {}
        for number, state in now.items():
            if was.get(number) is not state:  # a state that is kept is the same one
                events += self._task_events(team, board.cards[number], before, state)
        return events

    def _task_events(self, team: str, card: Card, before: dict[int, State] | None, state: State) -> list[TeamEvent]:
        was = (before or {}).get(card.number)
        if was == state or (before is None and card.is_finished):
            return []
        detail: dict[str, Plain] = {"subject": _short(card.subject), "status": state[0], "owner": state[1]}
        if was is not None:
            detail["before"] = _difference(TASK_FACTS, was, state)[0]
        return [self._event(TASK_CREATED if was is None else TASK_CHANGED, team, card.id, detail)]

    # Asking.

    def _ask(self, about: tuple[str, str, str], question: Callable[[], Answer]) -> Answer | None:
        """An answer, or None and a problem more."""
        try:
            answer = question()
        except AtmError as error:
            self._problems[about] = str(error)[:500]
            return None
        self._problems.pop(about, None)
        return answer

    def _roster(self, team: str) -> Team | None:
        return self._ask((team, "roster", ""), lambda: self._room.rosters.load(team))

    def _owners(self, team: str) -> list[str]:
        return self._ask((team, "inboxes", ""), lambda: self._room.inboxes.owners(team)) or []

    def _rows(self, team: str, agent: str, former: RowIndex | None) -> IndexedInbox | None:
        return self._ask((team, "inbox", agent), lambda: self._room.inboxes.indexed(team, agent, former))

    def _board(self, team: str) -> Board | None:
        return self._ask((team, "tasks", ""), lambda: self._tasks.board(team))

    def _is_settled(self, team: str, agent: str, exists: Callable[[], bool]) -> bool:
        """Nothing was found: because there is nothing, or because what held it is being taken away at this moment?"""
        is_there = self._ask((team, "inbox" if agent else "tasks", agent), exists)
        if is_there is not False:
            return is_there is True
        now = self._room.clock.monotonic()
        return now - self._missing.setdefault((team, agent), now) >= SETTLING

    def _event(self, kind: str, team: str, subject: str, detail: dict[str, Plain] | None = None) -> TeamEvent:
        return TeamEvent(kind, team, subject, self._room.clock.now(), detail)


class _Known:
    """One team as it last looked. None is what could not be read yet: what is found there first is mostly old."""

    __slots__ = ("_seen", "cards", "completed", "created_at", "inboxes", "members")

    def __init__(self, roster: Team) -> None:
        self.inboxes: dict[str, RowIndex | None] = {}
        self.cards: dict[int, State] | None = None
        self._seen: dict[int, Card] = {}
        """The cards of which these are the states. A daemon keeps them, so most are the same ones next time."""
        self.take(roster)

    def take(self, roster: Team) -> None:
        self.created_at = roster.created_at
        self.completed = roster.completed
        self.members = {member.name: _facts_of(member) for member in roster.members}

    def take_cards(self, board: Board | None) -> dict[int, State]:
        self.cards = None if board is None else _cards_in(board, self.cards or {}, self._seen)
        self._seen = {} if board is None else board.cards
        return self.cards or {}

    def is_another(self, roster: Team) -> bool:
        """Was the team deleted and made anew under the same name?"""
        return None not in (self.created_at, roster.created_at) and self.created_at != roster.created_at


_NO_ROWS = RowIndex()


def _changed_flags(before: RowIndex, found: IndexedInbox) -> tuple[dict[str, bool], dict[str, bool]]:
    """Which rows were read and which are, without those that are the same in both versions."""
    first = found.unchanged
    was, flags = before.flags(first), found.index.flags(first)
    changed = {label for label in {*was, *flags} if was.get(label) != flags.get(label)}
    if before.may_have(changed, before=first):
        return before.flags(), found.index.flags()  # a row stands there twice: all of its copies count
    return was, flags


def _identity(label: str) -> dict[str, Plain]:
    return {"id": None, "key": label[1:]} if label.startswith(HASHED) else {"id": label}


def _described(row: Message) -> dict[str, Plain]:
    said = parse(row.text)
    kind = said.kind if said is not None else row.kind
    summary = one_line((row.summary or summarize(row.text))[:SUMMARY_LENGTH])
    return {"from": _short(row.sender), "summary": summary, "kind": _short(kind)}


def _cards_in(board: Board, before: dict[int, State], seen: dict[int, Card]) -> dict[int, State]:
    """
    The state of every task, and a number for the rest of what its card says.

    A file that cannot be read is as it was; Claude Code's own bookkeeping is no member's task.
    """
    found: dict[int, State] = {}
    for number, card in board.cards.items():
        if (seen.get(number) is card and number in before) or (card.problem and number in before):
            found[number] = before[number]
        elif not card.problem and not card.is_hidden:
            told = (card.outcome or card.status, card.owner, card.review, card.plan)
            # What nobody set is a tuple, what was read once a list: the same card either way.
            values = [tuple(value) if isinstance(value, list) else value for value in card.values()]
            found[number] = (*map(_short, told), hash(tuple(values)))
    return found


def _facts_of(member: Member) -> State:
    values = [getattr(member, name) for name in MEMBER_FACTS]
    return tuple(_short(value) if isinstance(value, str) else value for value in values)


def _difference(names: tuple[str, ...], was: State, now: State) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """What is different: as it was, and as it is."""
    changed = [at for at, name in enumerate(names) if was[at] != now[at]]
    return {names[at]: was[at] for at in changed}, {names[at]: now[at] for at in changed}


def _short(text: str) -> str:
    return one_line(text[:LONGEST_FACT])

"""One look at everything that a run depends on."""

from __future__ import annotations

from atm.approvals.services.withdrawing import withdraw_moot
from atm.board.rules.acceptance import about, is_command
from atm.board.rules.tasks import COMPLETED
from atm.board.services.evidence import CHECKING
from atm.board.services.marks import entered
from atm.core.errors import AtmError
from atm.crew.services.crewroom import is_being_started, is_running
from atm.files.formats.times import from_iso
from atm.mail.services.bookkeeping import shown_at
from atm.runs.rules.view import AgentView, RunView, TaskFacts
from atm.runs.services.merging import RunMerging
from atm.team.services.presence import last_beat
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card, Task
    from atm.core.plain import Plain
    from atm.crew.rules.agents import AgentRecord
    from atm.crew.services.crewroom import Crewroom
    from atm.runs.rules.orders import RunOrder
    from atm.runs.services.runroom import Runroom
    from atm.team.rules.team import Team


class RunLooking:
    """Remembers what was read of tasks: a task is read again when something happened to it."""

    def __init__(self, desk: Runroom, order: RunOrder) -> None:
        self._desk = desk
        self._order = order
        self.merging = RunMerging(desk, order)
        self._facts: dict[str, tuple[object, TaskFacts]] = {}
        self._touched: dict[str, tuple[str, float]] = {}
        """By agent: the last event of its task, and when we saw that."""
        self.since = 0.0
        """When the run began: requests of before are none of its business."""
        self.heard: dict[str, float] = {}
        """When each agent last wrote to the lead."""
        self.leaders_letter = ""
        """That all is resolved, if a leading agent was told so."""

    def look(self) -> RunView:
        desk, team = self._desk, self._order.team
        now = desk.clock.now()
        board = desk.boardroom.tasks.board(team)
        waiting = self._approvals(now)
        asking = {who for who, state in waiting.values() if state == "waiting"}
        lead_knows_at = self._lead_knows_at()  # before its record is read: what it does with it comes after
        agents = {}
        for seat in self._order.everybody:
            record = desk.crew.records.read(team, seat.name)
            if record is not None and record.run == self._order.run:
                agents[seat.name] = agent_view(desk.crew, record, waits=seat.name in asking or bool(record.asks))
        latch = desk.crew.records.latch(team)
        self._notice(board, now)
        return RunView(
            now=now,
            board=board,
            agents=agents,
            facts=self._all_facts(board),
            said_at=self._said_at(),
            approvals=waiting,
            stopped=str(latch.get("by") or "somebody") if latch is not None else "",
            lead_knows_at=lead_knows_at,
            merges=self.merging.look(board),
            touched=self.merging.touched(),
            is_merging=self.merging.is_running(),
            merging_fails=self.merging.trouble(),
        )

    def _lead_knows_at(self) -> float:
        letter, room = self.leaders_letter, self._desk.crew.room
        return shown_at(room, self._order.team, self._order.lead, letter) if letter else 0.0

    def _said_at(self) -> dict[str, float]:
        """While atm itself runs the checks of its task, an agent has nothing to say."""
        found = {name: at for name, (_, at) in self._touched.items()}
        for name in found:
            beat = last_beat(self._desk.crew.room.presence, self._order.team, name, self._desk.clock.now())
            if beat is not None and beat.source == CHECKING:
                found[name] = max(found[name], beat.at)
        return {name: max(found.get(name, 0.0), self.heard.get(name, 0.0)) for name in {*found, *self.heard}}

    def _approvals(self, now: float) -> dict[str, tuple[str, str]]:
        room = self._desk.approvals
        try:
            if withdraw_moot(room, self._order.team, found := room.approvals.all(self._order.team)):
                found = room.approvals.all(self._order.team)
        except (AtmError, OSError):
            return {}
        return {
            one.id: (one.requester, one.state(now)) for one in found if not one.problem and one.asked_at >= self.since
        }

    def _notice(self, board: Board, now: float) -> None:
        """A word on the board is a sign too. The claim itself is none."""
        for card in board.cards.values():
            if not card.is_claimed:
                continue
            known = self._touched.get(card.owner)
            if known is None or known[0] != f"{card.id} {card.last_event}":
                is_new_task = known is None or not known[0].startswith(f"{card.id} ")
                self._touched[card.owner] = (f"{card.id} {card.last_event}", 0.0 if is_new_task else now)

    # Tasks.

    def _all_facts(self, board: Board) -> dict[str, TaskFacts]:
        before = {*self._order.done_before}
        team: Team | None = None
        for card in board.cards.values():
            if card.is_hidden or card.problem or card.id in before:
                continue
            known = self._facts.get(card.id)
            if known is not None and known[0] == _version(card):
                continue
            team = team or find_team(self._desk.crew.room, self._order.team)
            try:
                task = self._desk.boardroom.tasks.read(team.name, card.id)
            except AtmError:
                continue  # it changes just now: the next look reads it
            self._facts[card.id] = (_version(card), self._read(team, task))
        return {id: facts for id, (_, facts) in self._facts.items()}

    def _read(self, team: Team, task: Task) -> TaskFacts:
        finished = task.text("finishedAt")
        return TaskFacts(
            runtime=task.text("runtime"),
            has_commands=bool(task.run),
            untrusted=self._untrusted(team, task) if task.status != COMPLETED else "",
            work=task.part("work"),
            error=task.text("error"),
            by=task.text("finishedBy"),
            finished_at=(from_iso(finished) or 0.0) if finished else 0.0,
            refused=_text(task.part("refused").get("why")),
            refused_at=from_iso(_text(task.part("refused").get("at"))) or 0.0,
            claimed_at=(from_iso(task.claimed_at) or 0.0) if task.claimed_at else _last_claim(task),
        )

    def _untrusted(self, team: Team, task: Task) -> str:
        for command in (*task.run, *filter(is_command, task.acceptance)):
            if entered(self._desk.boardroom, team, task, command) is None:
                return about(command)
        return ""


def agent_view(crew: Crewroom, record: AgentRecord, *, waits: bool = False) -> AgentView:
    return AgentView(
        name=record.member,
        generation=record.generation,
        state=record.state,
        is_alive=is_running(crew, record) or is_being_started(crew, record),
        is_left=bool(record.worktree or record.slot >= 0 or record.pid),
        task=record.task,
        began_at=record.at,
        heard_at=record.heard_at,
        turns=record.turns,
        tokens=record.tokens,
        cost=record.cost,
        injected=record.injected,
        task_since=record.task_since,
        task_limit=record.task_limit,
        output_at=record.output_at,
        waits=waits,
        error=record.error,
    )


def _text(value: Plain) -> str:
    return value if isinstance(value, str) else ""


def _version(card: Card) -> object:
    return (card.last_event, card.status, card.owner, card.outcome)


def _last_claim(task: Task) -> float:
    """When whoever finished it began."""
    times = [event.get("at") for event in task.events if event.get("reason") == "claimed"]
    at = times[-1] if times else None
    return (from_iso(at) or 0.0) if isinstance(at, str) else 0.0

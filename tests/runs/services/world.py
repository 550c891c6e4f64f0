"""
A run over twins: a seeded machine with agents that work, fail, crash, stall, lie and end without a word.

One step of the world is a second: agents act, then the loop ticks, unless it was killed; then another takes it up.
"""

from __future__ import annotations

import random

from atm.board.rules.tasks import COMPLETED
from atm.board.services import planning, reviews, working
from atm.board.services.new_tasks import NewTask
from atm.core.errors import AtmError
from atm.crew.adapters.workplaces import AgentWorkplaces
from atm.crew.rules.agents import ACCEPTED, AgentRecord
from atm.crew.rules.states import IDLE, READY, SHUTTING_DOWN, STOPPED, WORKING
from atm.crew.services.crewroom import change
from atm.roster.services.members import create_team
from atm.runs.rules.limits import Limits
from atm.runs.rules.memory import RunEvent
from atm.runs.rules.orders import AgentSeat, RunOrder, RunRules
from atm.runs.services.looping import RunLoop
from atm.runs.services.starting import enroll
from atm.team.rules.team import HUMAN
from atm.testing.agents import MemoryProcessTable
from atm.testing.crew import MemoryWorktrees
from atm.testing.rooms import memory_boardroom, memory_room
from atm.testing.runs import memory_runroom
from atm.testing.time_and_chance import FakeClock

TEAM, FOLDER, LEAD = "crew", "/repo", "lead"
LONGEST = 3_000
"""Steps after which a run has to be over, whatever its agents do."""


class Killed(BaseException):
    """The loop's process is gone."""


class World:
    """One run, and everybody in it."""

    def __init__(
        self, seed: int, *, tasks: int = 8, agents: int = 3, kills: float = 0.1, mischief: float = 0.4, merge: str = ""
    ) -> None:
        self.dice = random.Random(seed)
        room = memory_room(seed=seed)
        self.boardroom = memory_boardroom(room, workplaces=self._places if merge else None)
        self.desk = memory_runroom(self.boardroom)
        self.clock: FakeClock = room.clock  # type: ignore[assignment]
        self.table: MemoryProcessTable = self.desk.crew.processes  # type: ignore[assignment]
        self.worktrees: MemoryWorktrees = self.desk.crew.worktrees  # type: ignore[assignment]
        self._kills, self._mischief = kills, mischief
        self.worktrees.add_repository(FOLDER, {"a.txt": "one"})
        create_team(room, TEAM, lead=LEAD)
        self._add_tasks(tasks)
        seats = [AgentSeat(name=f"a{number}", runtime="claude") for number in range(1, agents + 1)]
        rules = RunRules(stuck_first=20, stuck_least=10, answer=5, human=60, start=8)
        base = self.worktrees.repository(FOLDER)
        assert base is not None
        self.order = RunOrder(
            run="r1",
            team=TEAM,
            folder=FOLDER,
            lead=LEAD,
            base=base.head,
            seats=seats,
            rules=rules,
            per_task=Limits(minutes=10, turns=40),
            limits=Limits(minutes=40),
        )
        self._merges = bool(merge)
        if merge:
            self.order.merge, self.order.into = merge, "atm/result/crew"
            self.order.merge_at = self.dice.choice(("task", "end"))
            self.desk.merges.policy.at_once = self.dice.choice((1, 3))
            self.desk.merges.git.open_target(base, self.order.into, base.head)
        enroll(self.desk, self.order)
        self.desk.runs.write(self.order)
        self.moods: dict[str, str] = {}
        self.loop = RunLoop(self.desk, self.order)
        self.events: list[RunEvent] = self.loop.take_up()
        self.loops = 1

    def _places(self) -> AgentWorkplaces:
        return AgentWorkplaces(self.desk.crew.records, lambda: self.worktrees)

    def _add_tasks(self, count: int) -> None:
        wishes = []
        for number in range(1, count + 1):
            needs = [f"t{other}" for other in range(1, number) if self.dice.random() < 0.25]
            files = [f"src/{self.dice.randrange(4)}.py"] if self.dice.random() < 0.5 else []
            wishes.append(NewTask(f"Task {number}", key=f"t{number}", depends_on=needs, files=files))
        planning.add(self.boardroom, TEAM, LEAD, wishes)

    # One second.

    def step(self) -> None:
        self.clock.pass_time(1.0)
        if self.dice.random() < 0.01:
            self.clock.jump(self.dice.choice((-30.0, 45.0)))
        for name in self.desk.crew.records.names(TEAM):
            record = self.desk.crew.records.read(TEAM, name)
            if record is not None and not record.is_over and self.table.began(record.pid):
                self._act(record)
        self._people()
        if self.dice.random() < self._kills:
            self._kill_in(self.dice.randrange(1, 20))
        try:
            self.events += self.loop.tick()
        except Killed:
            self.loop = RunLoop(self.desk, self.order)  # its memory is gone; what is written down is not
            self.events += self.loop.take_up()
            self.loops += 1
        finally:
            self.clock.__dict__.pop("now", None)

    def _kill_in(self, looks: int) -> None:
        """The loop dies the n-th time that it looks at the clock: between any two of its steps."""
        look, left = self.clock.now, looks

        def now() -> float:
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed
            return look()

        self.clock.now = now  # type: ignore[method-assign]

    def run(self) -> None:
        for _ in range(LONGEST):
            self.step()
            if self.loop.report is not None:
                return
        raise AssertionError(f"the run did not end; events: {self.events[-20:]}")

    # Agents.

    def _act(self, record: AgentRecord) -> None:
        mood = self.moods.setdefault(record.mark, self._mood())
        if record.state == "spawning":
            if mood != "never comes":
                self._note(record, state=READY)
            return
        if record.is_asked:
            if mood == "stalls":
                return
            self._end(record, answer=ACCEPTED)
        elif record.state in (READY, IDLE) and record.task:
            self._note(record, state=WORKING, heard_at=self.clock.now())
        elif record.state == WORKING:
            self._work(record, mood)

    def _mood(self) -> str:
        if self.dice.random() > self._mischief:
            return "works"
        return self.dice.choice(
            ("fails", "crashes", "stalls", "leaves", "lies", "asks", "never comes", "grabs", "chatters")
        )

    def _work(self, record: AgentRecord, mood: str) -> None:
        if mood == "chatters":
            self._note(
                record, heard_at=self.clock.now(), turns=record.turns + 1
            )  # busy for ever, and nothing comes of it
            return
        if self.dice.random() < 0.6 or mood == "stalls":
            return
        who, task = record.member, record.task
        if mood == "crashes":
            self.worktrees.trees.get(record.worktree, {})["half.txt"] = record.mark
            self._die(record)
        elif mood == "leaves":
            self._end(record)
        elif mood == "grabs":
            self._tried(lambda: working.claim(self.boardroom, TEAM, who))
            self.moods[record.mark] = "works"
        elif mood == "asks":
            self._tried(lambda: reviews.ask(self.boardroom, TEAM, who, task, "lead", "which one?"))
            self.moods[record.mark] = "works"
        elif mood == "fails":
            self._tried(
                lambda: working.fail(self.boardroom, TEAM, who, task, "it cannot be done", claim_id=record.claim)
            )
            self._end(record)
        elif mood == "lies":
            for card in self.boardroom.tasks.board(TEAM).sorted():  # says that everything is done, others' tasks too
                self._tried(lambda id=card.id: working.complete(self.boardroom, TEAM, who, id))
            self._end(record)
        else:
            self.worktrees.trees.get(record.worktree, {})[f"{task}.txt"] = who
            if self._merges and self.dice.random() < 0.4:
                self.worktrees.trees.get(record.worktree, {})["shared.txt"] = f"{task} of {who}"
            self._tried(lambda: working.complete(self.boardroom, TEAM, who, task, claim_id=record.claim))
            self._end(record)

    @staticmethod
    def _tried(work: object) -> None:
        try:
            work()  # type: ignore[operator]
        except AtmError:
            return

    def _note(self, record: AgentRecord, **facts: object) -> None:
        change(self.desk.crew, TEAM, record.member, record.generation, **facts)

    def _end(self, record: AgentRecord, **facts: object) -> None:
        self._note(record, **facts)
        self._note(record, state=SHUTTING_DOWN)
        self._note(record, state=STOPPED)
        self._die(record)

    def _die(self, record: AgentRecord) -> None:
        for process in self.table.running():
            if process.mark == record.mark:
                self.table.signal(process, hard=True)

    def _people(self) -> None:
        if self.dice.random() < 0.1:
            for card in self.boardroom.tasks.board(TEAM).sorted():
                if card.needs and self.dice.random() < 0.7:
                    self._tried(lambda id=card.id: reviews.answer(self.boardroom, TEAM, HUMAN, id, "that one"))

    # What must hold.

    def finished(self) -> dict[str, list[str]]:
        """For each completed task, the events by which it was completed."""
        found: dict[str, list[str]] = {}
        for card in self.boardroom.tasks.board(TEAM).sorted():
            task = self.boardroom.tasks.read(TEAM, card.id)
            ends = [str(event.get("actor")) for event in task.events if event.get("to") == COMPLETED]
            found[card.id] = ends
        return found

    def claimant_at_end(self, id: str) -> str:
        """Who held it when it was completed, by its own history."""
        owner = ""
        for event in self.boardroom.tasks.read(TEAM, id).events:
            if event.get("to") == "in_progress":
                owner = str(event.get("owner"))
            elif event.get("to") == "pending":
                owner = ""
        return owner

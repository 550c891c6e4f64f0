"""What the loop does with its own hands: an agent goes on where another was cut off, plans first, and is told."""

from __future__ import annotations

from dataclasses import replace

from tests.runs.services.world import LEAD, TEAM, World

from atm.board.rules.tasks import PENDING
from atm.core.work_errors import GitTrouble
from atm.crew.ports.worktrees import Worktree
from atm.crew.rules.agents import AgentRecord
from atm.crew.services.crewroom import is_running
from atm.crew.services.reaping import reconcile
from atm.mail.rules.surfacing import SERVER
from atm.mail.services.bookkeeping import enter
from atm.mail.services.surfacing import Surfacing, unread_for
from atm.runs.rules import memory as kinds
from atm.runs.rules.actions import Clear, Give, Say
from atm.runs.rules.memory import RunEvent
from atm.runs.rules.orders import AgentSeat
from atm.runs.services.looking import RunLooking
from atm.runs.services.merging import RunMerging
from atm.runs.services.performing import Performing
from atm.runs.services.starting import end_agents_of_other_runs, enroll
from atm.ui.views.runs import event_line


class Hands:
    """One task, one agent, and a loop that has done nothing yet."""

    def __init__(self) -> None:
        self.world = World(1, tasks=1, agents=1, kills=0, mischief=0)
        self.desk, self.order = self.world.desk, self.world.order
        self.memory = self.world.loop.memory
        self.performing = Performing(self.desk, self.order, self.memory, RunMerging(self.desk, self.order))

    def does(self, action: Give | Clear | Say) -> list[RunEvent]:
        done = self.performing.perform(action, RunLooking(self.desk, self.order).look())
        for event in done:
            self.memory.take(event)
        return done

    def starts(self, *, again: bool = False) -> AgentRecord:
        self.does(Give("1", "a1", is_restart=again))
        return self.record

    @property
    def record(self) -> AgentRecord:
        found = self.desk.crew.records.read(TEAM, "a1")
        assert found is not None
        return found

    def note(self, **facts: object) -> None:
        with self.desk.crew.records.turn(TEAM, "a1") as turn:
            turn.write(replace(self.record, **facts))  # type: ignore[arg-type]

    def write(self, name: str, text: str) -> None:
        self.world.worktrees.trees[self.record.worktree][name] = text

    def is_killed(self) -> None:
        for process in self.world.table.running():
            self.world.table.signal(process, hard=True)

    def dies(self) -> None:
        self.is_killed()
        self.does(Clear("a1", "its host is gone"))


def test_what_an_agent_left_that_was_cut_off_lies_in_the_folder_of_the_next_one():
    hands = Hands()
    base = hands.starts().base
    hands.write("new.txt", "half of it")
    hands.dies()
    again = hands.starts(again=True)
    assert hands.world.worktrees.trees[again.worktree]["new.txt"] == "half of it"
    assert again.base == base, "what was saved is work, and no beginning"
    assert "An earlier attempt was cut off" in again.prompt


def test_who_left_nothing_is_not_said_to_have_left_something():
    hands = Hands()
    hands.starts()
    hands.dies()
    assert "cut off" not in hands.starts(again=True).prompt


def test_what_it_committed_itself_is_gone_on_with():
    hands = Hands()
    record = hands.starts()
    hands.write("new.txt", "all of it")
    tree = hands.world.worktrees.left(TEAM)[0]
    tip = hands.world.worktrees.commit(tree, "a1", "by itself")
    hands.dies()
    again = hands.starts(again=True)
    assert hands.world.worktrees.branches[record.common][again.branch] == tip
    assert "An earlier attempt was cut off" in again.prompt


def test_a_task_that_somebody_else_gave_back_meanwhile_was_cut_off_all_the_same():
    hands = Hands()
    hands.starts()
    hands.write("new.txt", "half of it")
    hands.is_killed()
    view = RunLooking(hands.desk, hands.order).look()
    reconcile(hands.desk.crew, TEAM)
    assert hands.desk.boardroom.tasks.read(TEAM, "1").status == PENDING
    (event,) = hands.performing.perform(Clear("a1", "its host is gone"), view)
    assert event.detail["cut_off"] is True


def test_a_conversation_is_gone_on_with_once_and_begun_anew_if_that_was_in_vain():
    hands = Hands()
    hands.starts()
    hands.note(session="s1")
    hands.write("new.txt", "half of it")
    hands.dies()
    assert hands.starts(again=True).resumes == "s1"
    hands.dies()
    assert hands.starts(again=True).resumes == ""


def test_a_conversation_that_was_gone_on_with_and_had_a_turn_is_gone_on_with_again():
    hands = Hands()
    hands.starts()
    hands.note(session="s1")
    hands.dies()
    hands.starts(again=True)
    hands.note(turns=1)
    hands.dies()
    assert hands.starts(again=True).resumes == "s1"


def test_who_must_plan_is_told_so_with_its_first_task():
    hands = Hands()
    hands.order.seats[0].requires_plan = True
    enroll(hands.desk, hands.order)
    record = hands.starts()
    assert record.requires_plan
    assert "Plan first and change no file" in record.prompt


def test_an_agent_that_leads_is_told_that_all_is_resolved():
    hands = Hands()
    hands.order.leader = AgentSeat(name=LEAD, runtime="claude")
    (event,) = hands.does(Say(kinds.RESOLVED, kinds.RESOLVED, "all tasks are resolved"))
    assert event.kind == kinds.RESOLVED
    room = hands.desk.crew.room
    (letter,) = unread_for(room, TEAM, LEAD)
    assert "All tasks of the board are resolved" in letter.text
    assert event.detail["letter"] == letter.id
    looking = RunLooking(hands.desk, hands.order)
    looking.leaders_letter = letter.id or ""
    assert looking.look().lead_knows_at == 0.0
    turn = Surfacing(room, TEAM, LEAD, SERVER)
    with turn as unread:
        turn.take(unread or [])
        assert looking.look().lead_knows_at == 0.0, "it is taken, and nobody has seen it"
        turn.failed("its program did not take it")
    assert looking.look().lead_knows_at == 0.0
    with turn as unread:
        turn.take(unread or [])
        hands.world.clock.pass_time(3.0)
        turn.shown("said to it")
    assert looking.look().lead_knows_at == hands.world.clock.now()
    hands.world.clock.pass_time(3.0)
    enter(room, TEAM, LEAD, [letter.id or ""], "read", "it went on")
    assert looking.look().lead_knows_at == hands.world.clock.now() - 3.0


# What was not begun is no attempt (D35).


def test_a_start_that_is_refused_gives_the_task_back_and_charges_neither_task_nor_agent():
    hands = Hands()
    hands.desk.crew.runtimes = {}
    (event,) = hands.does(Give("1", "a1"))
    assert (event.kind, event.subject, event.detail["task"]) == (kinds.NOT_STARTED, "a1", "1")
    task = hands.desk.boardroom.tasks.read(TEAM, "1")
    assert (task.status, task.owner, task.failures) == (PENDING, "", 0)
    assert (hands.memory.seat("a1").restarts, hands.memory.task("1").losses) == (0, 0)
    (again,) = hands.does(Give("1", "a1"))
    assert again.detail["again"] is True
    assert event_line(event, {}) is not None
    assert event_line(again, {}) is None


def test_a_worktree_that_cannot_be_made_gives_the_task_back():
    hands = Hands()
    hands.world.worktrees.make = refuses  # type: ignore[method-assign]
    (event,) = hands.does(Give("1", "a1"))
    assert event.kind == kinds.NOT_STARTED
    assert "no space left" in str(event.detail["error"])
    task = hands.desk.boardroom.tasks.read(TEAM, "1")
    assert (task.status, task.failures) == (PENDING, 0)


def refuses(*_: object, **__: object) -> Worktree:
    raise GitTrouble("no space left", "make some")


def test_a_host_that_is_gone_without_a_word_is_no_attempt_of_its_task():
    hands = Hands()
    hands.starts()
    hands.is_killed()
    (event,) = hands.does(Clear("a1", "its host is gone", is_blamed=False))
    task = hands.desk.boardroom.tasks.read(TEAM, "1")
    assert (task.status, task.failures, event.detail["lost"]) == (PENDING, 0, True)


def test_agents_of_a_run_that_died_are_ended_before_another_begins_and_their_tasks_are_not_charged():
    hands = Hands()
    hands.starts()
    hands.write("new.txt", "half of it")
    other = replace(hands.order, run="r2", seats=[AgentSeat(name="b1", runtime="claude")])
    assert end_agents_of_other_runs(hands.desk, hands.order) == []
    assert end_agents_of_other_runs(hands.desk, other) == ["a1"]
    task = hands.desk.boardroom.tasks.read(TEAM, "1")
    assert (task.status, task.failures) == (PENDING, 0)
    assert hands.record.is_over
    assert not is_running(hands.desk.crew, hands.record)
    repository = hands.world.worktrees.repository(hands.order.folder)
    assert repository is not None
    assert hands.world.worktrees.saved(repository.common, TEAM)

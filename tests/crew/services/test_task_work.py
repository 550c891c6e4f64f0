"""After each turn of an agent that was started for one task: what its host makes of it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from atm.board.ports.workplaces import KeptWork
from atm.board.rules.acceptance import COMMAND, FILE, Ran, check
from atm.board.services import planning, reviews, working
from atm.board.services.new_tasks import NewTask
from atm.core.errors import DiskError, FileBusy
from atm.core.work_errors import GitTrouble
from atm.crew.ports.worktrees import Worktree
from atm.crew.rules.agents import AgentRecord
from atm.crew.rules.states import READY
from atm.crew.services.crewroom import CrewPolicy
from atm.crew.services.finishing import give_up
from atm.crew.services.hosting import Host, TaskWatch
from atm.crew.services.script_work import _run_all, _stop_at
from atm.crew.services.task_work import TaskWork
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import HUMAN, Member
from atm.testing.agents import memory_crewroom
from atm.testing.crew import MemoryWorktrees
from atm.testing.rooms import memory_boardroom


class Places:
    """Commits where the agent works, as `AgentWorkplaces` does."""

    def __init__(self, worktrees: MemoryWorktrees, place: Worktree) -> None:
        self._worktrees = worktrees
        self._place = place

    def keep(self, _team: str, member: str, _task: str, message: str) -> KeptWork:
        commit = self._worktrees.commit(self._place, member, message)
        return KeptWork(folder=self._place.path, branch=self._place.branch, base=self._place.base, commit=commit)


class Stage:
    """Bob, alive, with one task in a worktree of its own."""

    def __init__(self, wish: NewTask, *, turns: int = 0) -> None:
        self.board = memory_boardroom()
        create_team(self.board.room, "crew", lead="lead")
        add_member(self.board.room, "crew", Member("bob"))
        planning.add(self.board, "crew", "lead", [wish])
        task = working.claim(self.board, "crew", "bob", "1").task
        assert task is not None
        self.crew = memory_crewroom(self.board, policy=CrewPolicy(turns=turns))
        self.worktrees: MemoryWorktrees = self.crew.worktrees  # type: ignore[assignment]
        self.worktrees.add_repository("/r", {"a.txt": "one"})
        repository = self.worktrees.repository("/r")
        assert repository is not None
        place = self.worktrees.make(repository, "crew", "1", "bob")
        self.board._workplaces = lambda: Places(self.worktrees, place)
        record = AgentRecord(
            team="crew",
            member="bob",
            generation=1,
            mark="h/crew/bob/1/k",
            runtime="claude",
            backend="headless",
            folder="/r",
            at=0.0,
            state=READY,
            run="r",
            task="1",
            claim=task.claim_id,
            worktree=place.path,
            branch=place.branch,
            base=place.base,
            common=place.common,
        )
        with self.crew.records.turn("crew", "bob") as turn:
            turn.write(record)
        self.log: list[str] = []
        machine = SimpleNamespace(log=self.log.append)
        self.host = Host(self.crew, machine, record, SimpleNamespace())  # type: ignore[arg-type]
        self.work = TaskWork(self.host)
        self.place = place

    @property
    def task(self):
        return self.board.tasks.read("crew", "1")

    def writes(self, path: str) -> None:
        self.worktrees.trees[self.place.path][path] = "text"


@pytest.fixture
def stage() -> Stage:
    return Stage(NewTask("Sort the letters"))


def test_who_says_done_is_done_and_what_it_wrote_is_committed(stage):
    stage.writes("b.txt")
    assert stage.work.turn_ended("I sorted them.\nDONE: sorted", "") is None
    assert (stage.task.status, stage.task.text("finishedBy")) == ("completed", "bob")
    work = stage.task.part("work")
    assert work["branch"] == stage.place.branch
    assert "b.txt" in stage.worktrees.commits[work["commit"]].files
    assert stage.task.text("result").startswith("sorted")


def test_a_check_decides_whatever_the_agent_says():
    stage = Stage(NewTask("Write b", acceptance=[check(FILE, "b.txt")]))
    stage.board.programs.files = {}  # type: ignore[attr-defined]
    more = stage.work.turn_ended("DONE: I wrote it", "")
    assert more is not None
    assert "It is not done yet" in more
    assert stage.task.is_claimed


def test_who_says_failed_gives_the_task_back_and_its_work_is_saved(stage):
    stage.writes("half.txt")
    assert stage.work.turn_ended("FAILED: there is no sorter", "") is None
    assert (stage.task.status, stage.task.failures, stage.task.text("error")) == ("pending", 1, "there is no sorter")
    assert [one.untracked for one in stage.worktrees.saved("/r/.git", "crew")] == [["half.txt"]]


def test_a_question_makes_the_task_wait_and_an_answer_lets_it_go_on(stage):
    assert stage.work.turn_ended("QUESTION: by size or by age?", "") == ""
    assert stage.task.needs == "lead"
    assert stage.work.turn_ended("still here", "") == ""
    reviews.answer(stage.board, "crew", HUMAN, "1", "by age")
    assert stage.work.turn_ended("DONE: by age", "") is None
    assert stage.task.status == "completed"


def test_silence_is_no_yes_and_the_third_time_it_is_a_failure(stage):
    assert "nothing says whether #1 is done" in str(stage.work.turn_ended("Working on it.", ""))
    assert "nothing says whether #1 is done" in str(stage.work.turn_ended("Nearly.", ""))
    assert stage.work.turn_ended("Soon.", "") is None
    assert (stage.task.status, stage.task.failures) == ("pending", 1)


def test_turns_that_are_cut_off_are_tried_again_twice(stage):
    for _ in range(2):
        assert "cut off: overloaded" in str(stage.work.turn_ended("", "overloaded"))
    assert stage.work.turn_ended("", "overloaded") is None
    assert "3 turns in a row failed" in stage.task.text("error")


def test_a_turn_that_went_well_in_between_counts_from_the_beginning(stage):
    stage.work.turn_ended("", "overloaded")
    stage.work.turn_ended("", "overloaded")
    stage.work.turn_ended("go on", "")
    assert stage.work.turn_ended("", "overloaded") is not None


def test_the_last_words_of_one_who_must_plan_are_its_plan():
    stage = Stage(NewTask("Sort", needs_plan=True))
    assert "Plan first" in str(stage.work.turn_ended("", ""))
    assert stage.work.turn_ended("1. read 2. sort\nDONE: planned", "") == ""
    assert stage.task.plan == "submitted"
    reviews.approve_plan(stage.board, "crew", HUMAN, "1")
    assert stage.work.turn_ended("DONE: sorted", "") is None
    assert stage.task.status == "completed"


def test_whose_task_it_is_not_any_more_is_over_and_changes_nothing(stage):
    working.release(stage.board, "crew", "lead", "1")
    assert stage.work.turn_ended("DONE: mine", "") is None
    assert stage.task.status == "pending"


def test_who_finished_it_with_a_tool_of_its_own_is_over(stage):
    working.complete(stage.board, "crew", "bob", "1")
    assert stage.work.turn_ended("FAILED: never", "") is None
    assert stage.task.status == "completed"


def test_turns_are_counted_and_the_last_one_is_the_last():
    stage = Stage(NewTask("Sort"), turns=5)
    stage.host.note(turns=6)
    assert stage.work.turn_ended("DONE: at last", "") is None
    assert "not done after 5 turns" in stage.task.text("error")


def test_in_a_terminal_where_nothing_is_heard_the_agent_is_told_to_use_the_board(stage):
    assert "atm tasks complete 1" in str(stage.work.turn_ended("", "", is_heard=False))


# The time limit of an attempt, and what is no attempt.


def limited(stage: Stage) -> TaskWatch:
    stage.host.machine = SimpleNamespace(
        log=stage.log.append, news=lambda: stage.task.last_event, has_output=lambda: False
    )
    return TaskWatch(stage.host, stage.task, 0.0)


def runs_for(stage: Stage, seconds: float) -> list[float]:
    """The checks take so long, or as long as they may. How long they might have taken."""
    allowed, clock = [], stage.crew.clock

    def run(command: str, *, seconds: float, meanwhile: Callable[[], None] | None = None, **_: object) -> Ran:
        allowed.append(seconds)
        clock.pass_time(min(seconds, takes))  # type: ignore[attr-defined]
        return Ran(0) if takes <= seconds else Ran(None, f"{command} hangs", timed_out=True)

    takes = seconds
    stage.board.programs.run = run  # type: ignore[method-assign]
    return allowed


def test_the_checks_end_with_the_limit_of_the_task_and_the_attempt_has_failed():
    stage = Stage(NewTask("Sort", acceptance=[check(COMMAND, "make test")], timeout=60))
    watch = limited(stage)
    allowed = runs_for(stage, 500)
    stage.crew.clock.pass_time(20)  # type: ignore[attr-defined]
    watch.advance()
    assert stage.work.turn_ended("DONE: sorted", "", watch=watch) is None
    assert allowed == [40]
    assert (stage.task.status, stage.task.failures) == ("pending", 1)
    assert stage.task.text("error").startswith("it ran longer than its limit of 1m")
    assert "command make test did not end within 40 s" in stage.task.text("error")


def test_all_checks_share_what_is_left_of_the_limit_and_each_keeps_its_own():
    checks = [check(COMMAND, "make"), check(COMMAND, "make test")]
    stage = Stage(NewTask("Sort", acceptance=checks, timeout=1000))
    allowed = runs_for(stage, 450)
    assert stage.work.turn_ended("DONE: sorted", "", watch=limited(stage)) is None
    assert allowed == [600, 550]
    assert stage.task.status == "completed"


def test_without_a_limit_a_check_has_its_own_only():
    stage = Stage(NewTask("Sort", acceptance=[check(COMMAND, "make")]))
    allowed = runs_for(stage, 599)
    assert stage.work.turn_ended("DONE: sorted", "", watch=limited(stage)) is None
    assert (allowed, stage.task.status) == ([600], "completed")


@pytest.mark.parametrize(
    ("trouble", "failures"),
    [
        (DiskError("no space left on device", "make room"), 0),
        (FileBusy("the board is busy", "try again"), 0),
        (GitTrouble("the index is locked", "remove the lock"), 1),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_disk_that_refuses_while_the_work_is_kept_is_no_attempt_and_git_may_be(stage, trouble, failures):
    def refuses(*_: object) -> None:
        raise trouble

    stage.board._workplaces = lambda: SimpleNamespace(keep=refuses)
    assert stage.work.turn_ended("DONE: sorted", "") is None
    assert (stage.task.status, stage.task.failures) == ("pending", failures)
    assert str(trouble) in stage.task.text("error") + str(stage.task.part("refused").get("why"))


@pytest.mark.parametrize(("refused", "failures"), [("first", 0), ("second", 1)])
def test_a_command_that_cannot_be_started_is_an_attempt_only_if_another_one_of_the_task_ran(refused, failures):
    run = [check(COMMAND, "first"), check(COMMAND, "second")]
    stage = Stage(NewTask("Sort", run=run))
    watch = limited(stage)
    stage.board.programs.results = {refused: Ran(None, "no such folder")}  # type: ignore[attr-defined]
    try:
        error = _run_all(stage.host, watch, stage.place.path)
    except OSError as trouble:
        _stop_at(stage.host, stage.task, trouble, has_begun=True)
    else:
        give_up(stage.host, stage.task, error)
    assert (stage.task.status, stage.task.failures) == ("pending", failures)
    assert f"`{refused}` could not be started: no such folder" in (
        stage.task.text("error") + str(stage.task.part("refused").get("why"))
    )

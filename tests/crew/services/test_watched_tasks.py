"""A host watches the task of its agent: its limit, its silence, and whether it is still the agent's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.crew.services.test_task_work import Stage

from atm.board.services import planning, working
from atm.board.services.new_tasks import NewTask
from atm.crew.rules.states import IDLE, STOPPED, WORKING
from atm.crew.services.hosting import NOTE_EVERY, TaskWatch
from atm.crew.services.program_work import ProgramWork
from atm.vendors import driver as drivers
from atm.vendors.driver import Heard


class Program:
    """The agent's program, and the driver that speaks with it."""

    pid = 77

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.ended: int | None = None

    def code(self) -> int | None:
        return self.ended

    def interrupt(self) -> None:
        self.heard.append("interrupt")

    def close(self) -> None:
        self.heard.append("close")
        self.ended = 0

    def ask_to_end(self) -> None:
        self.heard.append("end")
        self.ended = 0

    def say(self, text: str) -> bool:
        self.heard.append(text)
        return True


class Watched:
    """Bob, in a turn at #1, and his host."""

    def __init__(self, stage: Stage, *, is_for_life: bool = True) -> None:
        self.stage = stage
        host = stage.host
        self.clock = host.crew.clock
        host.machine = SimpleNamespace(
            log=stage.log.append,
            news=lambda: stage.task.last_event,
            pause=self._pause,
            has_output=lambda: False,
        )
        with host.crew.records.turn("crew", "bob") as turn:
            host.record = replace(host.record, state=WORKING)
            if not is_for_life:
                host.record = replace(host.record, run="", task="", claim="")
            turn.write(host.record)
        self.program = Program()
        self.work = ProgramWork(host)
        self.work._driver = self.program  # type: ignore[assignment]
        self.looks()

    def _pause(self, seconds: float, until: Callable[[], bool]) -> None:
        if not until():
            self.clock.sleep(seconds)

    def looks(self, seconds: float = 0.0) -> list[str]:
        self.clock.pass_time(seconds)  # type: ignore[attr-defined]
        self.work._mind_task(self.program)  # type: ignore[arg-type]
        return self.program.heard

    @property
    def failures(self) -> int:
        return int(self.stage.task.failures)


def limited(timeout: float | None = None) -> Watched:
    return Watched(Stage(NewTask("Sort the letters", timeout=timeout)))


def test_a_turn_that_takes_longer_than_the_limit_ends_and_is_one_attempt_with_its_work_saved() -> None:
    bob = limited(600)
    bob.stage.writes("half.txt")
    assert bob.looks(599) == []
    assert bob.looks(2)[0] == "interrupt"
    assert (bob.failures, bob.stage.task.status) == (1, "pending")
    assert bob.stage.task.text("error") == "it ran longer than its limit of 10m; no output for 10 min"
    assert bob.program.ended is not None
    (saved,) = bob.stage.worktrees.saved(bob.stage.place.common)
    assert "half.txt" in bob.stage.worktrees.show(saved)
    bob.looks(5000)
    assert bob.failures == 1


def test_output_is_no_silence_and_no_more_time() -> None:
    bob = limited(600)
    bob.looks(590)
    bob.work._take(Heard(drivers.OUTPUT, "half of them"))
    bob.looks(5)
    bob.looks(10)
    assert bob.stage.task.text("error") == "it ran longer than its limit of 10m"


def test_a_task_without_a_limit_goes_on() -> None:
    bob = limited()
    assert bob.looks(1_000_000) == []
    assert limited(0).looks(1_000_000) == []


def test_time_in_which_a_person_is_waited_for_does_not_count() -> None:
    bob = limited(600)
    bob.work._questions = SimpleNamespace(is_waiting=True, cancel_all=lambda _: None)  # type: ignore[assignment]
    assert bob.looks(5000) == []
    bob.work._questions.is_waiting = False  # type: ignore[misc,union-attr]
    assert bob.looks(599) == []
    assert bob.looks(2)[0] == "interrupt"


def test_time_between_two_turns_does_not_count() -> None:
    bob = limited(600)
    bob.stage.host.note(state=IDLE)
    assert bob.looks(5000) == []
    assert bob.failures == 0


@pytest.mark.parametrize(
    "act",
    [
        lambda board: working.cancel(board, "crew", "lead", "1", "not needed"),
        lambda board: working.assign(board, "crew", "lead", "1", "ann"),
        lambda board: working.release(board, "crew", "lead", "1"),
    ],
)
def test_a_task_that_is_not_its_any_more_ends_the_turn_and_the_agent_and_is_no_attempt(act) -> None:
    bob = limited()
    cancelled: list[str] = []
    bob.work._questions = SimpleNamespace(is_waiting=True, cancel_all=cancelled.append)  # type: ignore[assignment]
    act(bob.stage.board)
    assert bob.looks()[:2] == ["interrupt", "close"]
    assert bob.failures == 0
    assert len(cancelled) == 1
    assert "#1" in cancelled[0]
    assert bob.work._is_finished


def test_an_agent_that_completes_its_task_itself_ends_its_turn_in_peace() -> None:
    bob = limited(600)
    working.complete(bob.stage.board, "crew", "bob", "1")
    assert bob.looks(5000) == []
    assert bob.stage.host.record.task_since == 0


def test_a_task_that_was_cancelled_before_its_agent_was_there_is_never_begun() -> None:
    stage = Stage(NewTask("Sort the letters"))
    working.cancel(stage.board, "crew", "lead", "1", "not needed")
    assert Watched(stage).program.heard[:2] == ["interrupt", "close"]


def test_an_agent_that_was_not_started_for_the_task_is_told_and_lives_on() -> None:
    bob = Watched(Stage(NewTask("Sort the letters")), is_for_life=False)
    working.cancel(bob.stage.board, "crew", "lead", "1", "not needed")
    assert bob.looks() == ["interrupt"]
    assert bob.work._waiting[0].startswith("#1 was cancelled by lead. Stop working on it")
    assert bob.stage.host.record.state != STOPPED
    assert bob.looks(60) == ["interrupt"]


def test_the_limit_of_a_task_that_an_agent_claimed_by_itself_is_kept_too() -> None:
    bob = Watched(Stage(NewTask("Sort the letters", timeout=60)), is_for_life=False)
    assert bob.looks(61) == ["interrupt"]
    assert bob.failures == 1
    assert "its limit of 1m" in bob.work._waiting[0]


# What is noted for those who look.


def test_the_record_says_since_when_and_is_not_written_for_every_word() -> None:
    bob = limited(600)
    host, written = bob.stage.host, []
    note = host.note
    host.note = lambda **facts: (written.append(facts), note(**facts))  # type: ignore[method-assign,func-returns-value,assignment]
    began = host.record.task_since
    for _ in range(100):
        bob.work._has_output = True
        bob.looks(0.3)
    assert len(written) <= 30 / NOTE_EVERY + 1
    assert (host.record.task_since, host.record.task_limit) == (began, 600)
    assert bob.clock.now() - host.record.output_at <= NOTE_EVERY + 1


def test_the_sleep_of_the_machine_moves_the_beginning_and_uses_up_no_limit() -> None:
    """The wall clock goes on while the machine sleeps, and the clock that the limit counts by does not."""
    bob = limited(600)
    host = bob.stage.host
    bob.looks(100)
    monotonic = bob.clock.monotonic()
    bob.clock.pass_time(8 * 3600)  # type: ignore[attr-defined]
    bob.clock.monotonic = lambda: monotonic + 20  # type: ignore[method-assign]
    bob.work._mind_task(bob.program)  # type: ignore[arg-type]
    assert bob.program.heard == []
    assert 119 <= bob.clock.now() - host.record.task_since <= 123


def test_a_board_that_is_busy_ends_nothing(monkeypatch) -> None:
    from atm.core.errors import UnreadableFile

    bob = limited()
    watch = TaskWatch(bob.stage.host, bob.stage.task, 0.0)

    def broken(*_: object) -> None:
        raise UnreadableFile("no JSON", "mend it", "/tasks/1.json")

    working.cancel(bob.stage.board, "crew", "lead", "1", "not needed")
    with monkeypatch.context() as patched:
        patched.setattr(bob.stage.board.tasks, "read", broken)
        bob.stage.host.machine.news = lambda: "new"  # type: ignore[method-assign]
        assert watch.why_lost() == ""
    assert watch.why_lost() == "#1 was cancelled by lead"


def test_the_next_task_that_an_agent_claims_by_itself_is_watched_although_it_was_claimed_at_once() -> None:
    bob = Watched(Stage(NewTask("Sort the letters", timeout=60)), is_for_life=False)
    planning.add(bob.stage.board, "crew", "lead", [NewTask("Post them", timeout=60)])
    working.complete(bob.stage.board, "crew", "bob", "1")
    working.claim(bob.stage.board, "crew", "bob", "2")
    for _ in range(2):
        bob.looks()
    assert bob.looks(61) == ["interrupt"]
    assert bob.stage.board.tasks.read("crew", "2").failures == 1

"""An agent is asked to resolve a conflict: what it is told, what is taken from it, and that nothing of it stays."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.board.services import planning, working
from atm.board.services.new_tasks import NewTask
from atm.core.errors import AtmError
from atm.crew.adapters.workplaces import AgentWorkplaces
from atm.crew.rules.agents import AgentRecord
from atm.crew.rules.states import IDLE, READY, WORKING
from atm.crew.services.crewroom import change
from atm.merges.rules.items import CONFLICT, MERGED, MergeItem
from atm.merges.services.mergeroom import MergePolicy
from atm.merges.services.people import work_off
from atm.merges.services.resolving import MERGER
from atm.roster.services.members import add_member, create_team
from atm.runs.services.decomposing import PLANNER, Goal, decompose
from atm.team.rules.team import Member
from atm.team.services.registry import find_team
from atm.testing.crew import MemoryWorktrees
from atm.testing.rooms import memory_boardroom, memory_room
from atm.testing.runs import memory_runroom
from atm.testing.time_and_chance import FakeClock

TEAM, FOLDER = "crew", "/repo"
GOAL = Goal(
    "build it",
    team=TEAM,
    lead="lead",
    folder=FOLDER,
    base="",
    run="r",
    runtime="claude",
    runtimes=["claude"],
    agents=1,
)


class Table:
    """Two agents have changed one file; whoever is asked next acts whenever somebody waits for it."""

    def __init__(self, *answers: tuple[str, str]) -> None:
        room = memory_room()
        self.boardroom = memory_boardroom(
            room, workplaces=lambda: AgentWorkplaces(self.crew.records, lambda: self.trees)
        )
        self.desk = memory_runroom(self.boardroom, merging=MergePolicy(resolver="claude", resolve=60))
        self.crew = self.desk.crew
        self.trees: MemoryWorktrees = self.crew.worktrees  # type: ignore[assignment]
        self.repository = self.trees.add_repository(FOLDER, {"a.txt": "base"})
        create_team(room, TEAM, lead="lead")
        self.answers = [*answers]
        self.prompts: list[str] = []
        clock: FakeClock = room.clock  # type: ignore[assignment]
        passes = clock.sleep

        def sleep(seconds: float) -> None:
            passes(seconds)
            self._act()

        clock.sleep = sleep  # type: ignore[method-assign]

    def finish(self, who: str, text: str) -> None:
        add_member(self.boardroom.room, TEAM, Member(who))
        (task,) = planning.add(
            self.boardroom, TEAM, "lead", [NewTask(f"Task of {who}", description=f"Intent of {who}")]
        ).tasks
        claimed = working.claim(self.boardroom, TEAM, who, task.id).task
        assert claimed is not None
        found = self.trees.repository(FOLDER)
        assert found is not None
        place = self.trees.make(found, TEAM, task.id, who)
        with self.crew.records.turn(TEAM, who) as turn:
            turn.write(
                AgentRecord(
                    team=TEAM,
                    member=who,
                    generation=1,
                    mark=f"m/{who}",
                    runtime="claude",
                    backend="headless",
                    folder=FOLDER,
                    at=self.crew.clock.now(),
                    state=WORKING,
                    task=task.id,
                    worktree=place.path,
                    branch=place.branch,
                    base=place.base,
                    common=place.common,
                )
            )
        self.trees.trees[place.path]["a.txt"] = text
        working.complete(self.boardroom, TEAM, who, task.id, claim_id=claimed.claim_id)
        self.trees.remove(place, branch=False)

    def _act(self) -> None:
        """Ready, then a turn for each thing that it was told."""
        for name in (MERGER, PLANNER):
            record = self.crew.records.read(TEAM, name)
            if record is None or record.is_over:
                continue
            if record.state == "spawning":
                self.prompts.append(record.prompt)
                change(self.crew, TEAM, name, record.generation, state=READY)
            elif self.answers:
                text, said = self.answers.pop(0)
                if text:
                    self.trees.trees[record.worktree]["a.txt"] = text
                change(self.crew, TEAM, name, record.generation, state=WORKING)
                change(self.crew, TEAM, name, record.generation, state=IDLE, turns=record.turns + 1, said=said)

    def merge(self) -> list[MergeItem]:
        return work_off(self.desk.merges, TEAM, FOLDER, lambda _: None).items

    def on_target(self) -> str:
        tip = self.trees.branches[self.repository.common]["atm/result/crew"]
        return self.trees.commits[tip].files["a.txt"]


def collision(*answers: tuple[str, str]) -> Table:
    table = Table(*answers)
    table.finish("ann", "ann's")
    table.finish("bob", "bob's")
    return table


def check_nothing_left(table: Table) -> None:
    assert table.trees.left(TEAM) == []
    assert find_team(table.boardroom.room, TEAM).member(MERGER) is None
    record = table.crew.records.read(TEAM, MERGER)
    assert record is not None
    assert record.is_over
    assert not [one for one in table.crew.processes.running() if one.mark]


@proves("R004-current-state-07")
def test_what_it_writes_is_merged_and_it_was_told_both_sides():
    table = collision(("both", "I kept both.\nDONE"))
    assert [(one.status, bool(one.resolution)) for one in table.merge()] == [(MERGED, False), (MERGED, True)]
    assert table.on_target() == "both"
    (prompt,) = table.prompts
    assert all(word in prompt for word in ("ann", "bob", "Intent of ann", "Intent of bob", "a.txt"))
    check_nothing_left(table)


def test_marks_that_it_left_are_told_and_mended_in_its_second_turn():
    table = collision(("<<<<<<< still", "DONE"), ("both", "DONE"))
    assert [one.status for one in table.merge()] == [MERGED, MERGED]
    assert table.on_target() == "both"
    check_nothing_left(table)


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([("", "FAILED: a person must decide")], "a person must decide"),
        ([("<<<<<<< a", "DONE"), ("<<<<<<< b", "DONE")], "did not resolve a.txt"),
        ([], "its time is over"),
    ],
)
def test_what_it_does_not_resolve_is_a_persons(answers, why):
    table = collision(*answers)
    first, second = table.merge()
    assert (first.status, second.status, second.needs_human) == (MERGED, CONFLICT, True)
    assert why in second.reason
    assert second.salvage
    assert table.on_target() == "ann's"
    check_nothing_left(table)


def test_what_it_could_not_keep_is_written_down():
    table = collision(("ann's", "LOST: what bob wrote\nDONE"))
    _, second = table.merge()
    assert (second.status, second.lost[0]) == (MERGED, "what bob wrote")
    assert "a.txt" in second.lost[1]
    assert second.salvage


def test_a_goal_is_broken_down_by_an_agent_that_goes_afterwards():
    table = Table(("", "no plan"), ("", '```json\n{"tasks": [{"title": "One"}, {"title": "Two"}]}\n```'))
    add_member(table.boardroom.room, TEAM, Member("lead"))
    assert [draft.subject for draft in decompose(table.crew, GOAL, 60, lambda: None)] == ["One", "Two"]
    assert find_team(table.boardroom.room, TEAM).member(PLANNER) is None
    assert table.trees.left(TEAM) == []


def test_who_gives_no_plan_in_time_is_let_go_too():
    table = Table()
    with pytest.raises(AtmError, match="gave no plan: its time is over"):
        decompose(table.crew, GOAL, 5, lambda: None)
    assert find_team(table.boardroom.room, TEAM).member(PLANNER) is None

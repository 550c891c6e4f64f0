"""Adding to the board: everything is checked before anything is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.chaos import LONG
from tests.proving import proves

from atm.board.rules.acceptance import Ran
from atm.board.services import planning
from atm.board.services import working as board
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import MOST_AT_ONCE
from atm.core.errors import AtmError, BadName, TeamCompleted
from atm.core.work_errors import (
    BadTask,
    DependencyCycle,
    HookBlocked,
    NoSuchTask,
    NotClaimant,
    TaskClosed,
)
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import MemoryTasks, memory_boardroom, memory_room

LEAD = "team-lead"


def make_desk(**fields: Any) -> FullBoardroom:
    room = memory_room()
    create_team(room, "crew", lead=LEAD)
    for name in ("ann", "bob"):
        add_member(room, "crew", Member(name))
    return memory_boardroom(room, **fields)


@pytest.fixture
def boardroom() -> FullBoardroom:
    return make_desk()


def twin(boardroom: FullBoardroom) -> MemoryTasks:
    assert isinstance(boardroom.tasks, MemoryTasks)
    return boardroom.tasks


def add(boardroom: FullBoardroom, *wishes: NewTask, who: str = LEAD) -> list[str]:
    return [task.id for task in planning.add(boardroom, "crew", who, wishes).tasks]


def record(boardroom: FullBoardroom, id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(twin(boardroom).files["crew"][int(id)])
    return found


def needs(boardroom: FullBoardroom, id: str) -> list[str]:
    return boardroom.tasks.read("crew", id).blocked_by  # type: ignore[return-value]


class TestAdd:
    @proves("R004-task-system-T11d", "R004-task-system-T11g", "R004-task-system-T11m")
    def test_a_task_is_written_in_claude_codes_shape_with_ours_beside_it(self, boardroom):
        add(
            boardroom,
            NewTask(
                " do \n it ",
                description="so",
                priority="HIGH",
                files=["a/*"],
                owner="ann",
                acceptance=[{"kind": "command", "command": "make"}],
                reviewer="bob",
                needs_plan=True,
                folder="/w",
                max_retries=7,
            ),
        )
        found = record(boardroom, "1")
        own = found["metadata"]["atm"]
        assert (found["id"], found["subject"], found["status"], found["owner"]) == ("1", "do it", "pending", "ann")
        assert (own["priority"], own["files"], own["folder"], own["maxRetries"]) == ("high", ["a/*"], "/w", 7)
        assert (own["createdBy"], own["needsReview"], own["reviewer"]) == (LEAD, True, "bob")
        assert own["plan"] == {"state": "required"}
        assert [event["type"] for event in own["events"]] == ["task_created"]

    def test_a_plain_task_says_no_more_than_it_must(self, boardroom):
        add(boardroom, NewTask("a"))
        assert {*record(boardroom, "1")["metadata"]["atm"]} == {
            "createdBy",
            "createdAt",
            "priority",
            "events",
            "maxRetries",
        }

    @proves("R004-task-system-T11m")
    def test_retries_come_from_the_settings_unless_the_task_says_otherwise(self, boardroom):
        boardroom.max_retries = 5
        add(boardroom, NewTask("a"), NewTask("b", max_retries=0))
        assert [boardroom.tasks.read("crew", id).max_retries for id in "12"] == [5, 0]

    @proves("R003-9-04", "R004-target-06", "R004-architecture-08", "R004-task-system-T3", "R004-task-system-T11f")
    def test_both_sides_of_a_dependency_are_written(self, boardroom):
        add(boardroom, NewTask("a"))
        add(boardroom, NewTask("b", depends_on=["1"]), NewTask("c", depends_on=["#1", "2", "1"]))
        assert [record(boardroom, id)["blockedBy"] for id in "123"] == [[], ["1"], ["1", "2"]]
        assert [record(boardroom, id)["blocks"] for id in "123"] == [["2", "3"], ["3"], []]

    def test_the_owner_is_told(self, boardroom):
        add(boardroom, NewTask("a", owner="ann"), NewTask("b", owner=LEAD), NewTask("c", owner="ann", is_done=True))
        assert len(boardroom.room.inboxes.rows("crew", "ann")) == 1
        assert boardroom.room.inboxes.rows("crew", LEAD) == []

    def test_a_box_that_was_ticked_is_completed(self, boardroom):
        tasks = planning.add(
            boardroom, "crew", LEAD, [NewTask("a", is_done=True), NewTask("b", depends_on=["a"])]
        ).tasks
        assert [task.status for task in tasks] == ["completed", "pending"]
        assert board.claim(boardroom, "crew", "ann").task.id == "2"  # type: ignore[union-attr]
        assert [past.word("to") for past in boardroom.tasks.past("crew")[0] if past.task == "1"] == ["", "completed"]

    def test_numbers_are_never_used_twice(self, boardroom):
        add(boardroom, NewTask("a"), NewTask("b"))
        twin(boardroom).delete("crew", 2)
        assert add(boardroom, NewTask("c")) == ["3"]

    def test_the_event_of_its_making_says_what_it_waits_for_and_nothing_where_it_waits_for_nothing(self, boardroom):
        add(boardroom, NewTask("a"), NewTask("b", depends_on=["a"]))
        events = [record(boardroom, id)["metadata"]["atm"]["events"][0] for id in "12"]
        assert [event.get("dependsOn") for event in events] == [None, ["1"]]
        assert "dependsOn" not in events[0]

    def test_as_many_as_can_be_added_at_once_are_added(self, boardroom, monkeypatch):
        monkeypatch.setattr(planning, "MOST_AT_ONCE", 3)
        assert add(boardroom, *[NewTask("a")] * 3) == ["1", "2", "3"]

    @pytest.mark.parametrize("count", [0, MOST_AT_ONCE + 1])
    def test_nothing_and_too_much_are_refused(self, boardroom, count):
        with pytest.raises(BadTask):
            planning.add(boardroom, "crew", LEAD, [NewTask("a")] * count)

    @pytest.mark.parametrize(
        ("fields", "error"),
        [
            ({"subject": " "}, BadTask),
            ({"subject": "x" * 501}, BadTask),
            ({"subject": "a", "description": "x" * 100_001}, BadTask),
            ({"subject": "a", "priority": "urgent"}, BadTask),
            ({"subject": "a", "owner": "../x"}, BadName),
            ({"subject": "a", "reviewer": "a/b"}, BadName),
        ],
    )
    def test_a_wish_that_cannot_be_is_refused(self, fields, error):
        with pytest.raises(error):
            NewTask(**fields)

    def test_a_completed_team_takes_no_tasks(self, boardroom):
        boardroom.room.rosters.marks["crew"] = b""
        with pytest.raises(TeamCompleted):
            add(boardroom, NewTask("a"))

    def test_a_long_chain_of_tasks_is_added_at_once(self, boardroom):
        count = 2_000 if LONG else 400
        wishes = [NewTask(f"t{n}", depends_on=[f"t{n - 1}"] if n else []) for n in range(count)]
        assert len(add(boardroom, *wishes)) == count
        assert needs(boardroom, f"{count}") == [f"{count - 1}"]


class TestDependencies:
    @proves("R004-task-system-T3b")
    def test_titles_are_resolved_among_the_new_tasks_and_then_on_the_board(self, boardroom):
        add(boardroom, NewTask("Build it"))
        add(boardroom, NewTask("test it", depends_on=["build  IT"]), NewTask("ship", depends_on=["Test It", "#1"]))
        assert (needs(boardroom, "2"), needs(boardroom, "3")) == (["1"], ["2", "1"])

    def test_a_new_task_comes_before_one_of_the_same_title_on_the_board(self, boardroom):
        add(boardroom, NewTask("build"))
        add(boardroom, NewTask("build"), NewTask("test", depends_on=["build"]))
        assert needs(boardroom, "3") == ["2"]

    def test_tasks_may_be_named_before_they_come(self, boardroom):
        add(boardroom, NewTask("b", depends_on=["a"]), NewTask("a"))
        assert needs(boardroom, "1") == ["2"]

    def test_parts_are_named_by_their_place(self, boardroom):
        add(boardroom, NewTask("x"), NewTask("x"), NewTask("whole", parts=[0, 1]))
        assert needs(boardroom, "3") == ["1", "2"]

    @proves("R004-defects-04b")
    @pytest.mark.parametrize(
        ("wishes", "error", "says"),
        [
            ([NewTask("c", depends_on=["same"])], BadTask, "title of 2 tasks"),
            ([NewTask("new"), NewTask("new"), NewTask("c", depends_on=["new"])], BadTask, "title of 2 tasks"),
            ([NewTask("c", depends_on=["sane"])], BadTask, "no task is called"),
            ([NewTask("c", depends_on=["99"])], NoSuchTask, "#99"),
            ([NewTask("c", depends_on=["٣"])], BadTask, "no task id"),
            ([NewTask("c", depends_on=["c"])], DependencyCycle, "itself"),
            ([NewTask("a", depends_on=["b"]), NewTask("b", depends_on=["a"])], DependencyCycle, "'a' → 'b' → 'a'"),
            ([NewTask("fine"), NewTask("c", depends_on=["99"])], NoSuchTask, "#99"),
        ],
    )
    def test_what_cannot_be_is_refused_before_anything_is_written(self, boardroom, wishes, error, says):
        add(boardroom, NewTask("same"), NewTask("Same"))
        before = {number: data for number, data in twin(boardroom).files["crew"].items()}  # noqa: C416
        for verb in (
            lambda: planning.rehearse(boardroom, "crew", wishes),
            lambda: planning.add(boardroom, "crew", LEAD, wishes),
        ):
            with pytest.raises(error, match=says):
                verb()
        assert twin(boardroom).files["crew"] == before

    def test_somebody_who_mistyped_a_title_is_told_what_they_may_have_meant(self, boardroom):
        add(boardroom, NewTask("write the docs"))
        with pytest.raises(BadTask) as caught:
            add(boardroom, NewTask("c", depends_on=["write teh docs"]))
        assert "write the docs" in caught.value.remedy

    def test_a_task_that_is_gone_may_be_depended_on_if_it_was_completed(self, boardroom):
        add(boardroom, NewTask("a"), NewTask("b"))
        board.claim(boardroom, "crew", "ann")
        board.complete(boardroom, "crew", "ann", "1")
        for number in (1, 2):
            twin(boardroom).delete("crew", number)
        assert add(boardroom, NewTask("c", depends_on=["1"])) == ["3"]
        assert board.claim(boardroom, "crew", "ann").task.id == "3"  # type: ignore[union-attr]
        with pytest.raises(NoSuchTask, match="not on the board any more"):
            add(boardroom, NewTask("d", depends_on=["2"]))

    def test_nothing_is_added_that_depends_on_a_task_whose_file_cannot_be_read(self, boardroom):
        add(boardroom, NewTask("a"))
        twin(boardroom).write_as_others_do("crew", 1, b"garbage")
        with pytest.raises(AtmError):
            add(boardroom, NewTask("b", depends_on=["1"]))
        assert sorted(twin(boardroom).files["crew"]) == [1]

    def test_a_rehearsal_writes_nothing(self, boardroom):
        wishes = [NewTask("a"), NewTask("b", depends_on=["a"])]
        assert planning.rehearse(boardroom, "crew", wishes) is wishes
        assert boardroom.tasks.board("crew").cards == {}


class TestDepend:
    def test_dependencies_are_added_and_taken_away_on_both_sides(self, boardroom):
        add(boardroom, NewTask("a"), NewTask("b"), NewTask("c"))
        task, waits = planning.depend(boardroom, "crew", "ann", "3", ["1", "#2"])
        assert (task.blocked_by, waits) == (["1", "2"], ["1", "2"])
        assert record(boardroom, "1")["blocks"] == ["3"]
        task, waits = planning.depend(boardroom, "crew", LEAD, "3", [], ["1"])
        assert (task.blocked_by, waits) == (["2"], ["2"])
        assert record(boardroom, "1")["blocks"] == []

    def test_the_history_says_what_was_added_and_what_was_taken_away(self, boardroom):
        add(boardroom, NewTask("a"), NewTask("b"), NewTask("c"))
        planning.depend(boardroom, "crew", "ann", "3", ["1"])
        planning.depend(boardroom, "crew", LEAD, "3", ["2"], ["1"])
        told = [past.event for past in boardroom.tasks.past("crew")[0] if past.word("type") == "dependencies_changed"]
        assert [(event.get("added"), event.get("removed")) for event in told] == [(["1"], None), (["2"], ["1"])]

    def test_what_is_so_already_is_not_done_again(self, boardroom):
        add(boardroom, NewTask("a"), NewTask("b", depends_on=["a"]))
        lines = len(boardroom.tasks.past("crew")[0])
        planning.depend(boardroom, "crew", "ann", "2", ["1"], ["77"])
        assert len(boardroom.tasks.past("crew")[0]) == lines

    def test_a_completed_task_is_no_reason_to_wait(self, boardroom):
        add(boardroom, NewTask("a", is_done=True), NewTask("b"))
        assert planning.depend(boardroom, "crew", "ann", "2", ["1"])[1] == []

    @pytest.mark.parametrize(
        ("id", "on", "error"),
        [
            ("1", ["3"], DependencyCycle),
            ("1", ["1"], DependencyCycle),
            ("1", ["99"], NoSuchTask),
            ("99", ["1"], NoSuchTask),
            ("x", ["1"], BadTask),
            ("1", ["x"], BadTask),
        ],
    )
    def test_what_cannot_be_is_refused_and_nothing_is_written(self, boardroom, id, on, error):
        add(boardroom, NewTask("a"), NewTask("b", depends_on=["a"]), NewTask("c", depends_on=["b"]))
        before = dict(twin(boardroom).files["crew"])
        with pytest.raises(error):
            planning.depend(boardroom, "crew", "ann", id, on)
        assert twin(boardroom).files["crew"] == before

    def test_what_is_finished_depends_on_nothing_new(self, boardroom):
        add(boardroom, NewTask("a", is_done=True), NewTask("b"))
        with pytest.raises(TaskClosed):
            planning.depend(boardroom, "crew", "ann", "1", ["2"])

    def test_a_dependency_that_nobody_can_find_can_be_taken_away(self, boardroom):
        twin(boardroom).write_as_others_do("crew", 1, b'{"id": "1", "status": "pending", "blockedBy": ["77"]}')
        assert board.claim(boardroom, "crew", "ann").refusal.code == "broken-dependency"  # type: ignore[union-attr]
        planning.depend(boardroom, "crew", LEAD, "1", [], ["77"])
        assert board.claim(boardroom, "crew", "ann").task.id == "1"  # type: ignore[union-attr]

    def test_a_dependency_of_which_another_program_wrote_one_side_only_can_be_taken_away(self, boardroom):
        twin(boardroom).write_as_others_do("crew", 1, b'{"id": "1", "status": "pending", "blocks": ["2"]}')
        twin(boardroom).write_as_others_do("crew", 2, b'{"id": "2", "status": "pending"}')
        assert planning.depend(boardroom, "crew", LEAD, "2", [], ["1"])[1] == []

    def test_a_circle_that_another_program_made_can_be_taken_apart(self, boardroom):
        twin(boardroom).write_as_others_do("crew", 1, b'{"id": "1", "status": "pending", "blockedBy": ["2"]}')
        twin(boardroom).write_as_others_do("crew", 2, b'{"id": "2", "status": "pending", "blockedBy": ["1"]}')
        assert planning.depend(boardroom, "crew", LEAD, "1", [], ["2"])[1] == []


class TestSplit:
    def test_a_task_waits_for_its_parts_and_is_nobodys_until_they_are_done(self, boardroom):
        add(boardroom, NewTask("first"), NewTask("whole", depends_on=["first"], files=["a/*"]))
        whole, parts = planning.split(
            boardroom, "crew", "ann", "2", [NewTask("one"), NewTask("two", files=["b"], depends_on=["one"])]
        )
        assert (whole.blocked_by, [part.id for part in parts.tasks]) == (["1", "3", "4"], ["3", "4"])
        assert (needs(boardroom, "3"), needs(boardroom, "4")) == (["1"], ["3", "1"])
        assert (boardroom.tasks.read("crew", "3").files, boardroom.tasks.read("crew", "4").files) == (["a/*"], ["b"])
        assert record(boardroom, "3")["blocks"] == ["4", "2"]

    def test_a_part_is_for_the_runtime_of_the_whole_unless_it_names_its_own(self, boardroom):
        add(boardroom, NewTask("whole", runtime="codex"), NewTask("anybody's"))
        planning.split(boardroom, "crew", LEAD, "1", [NewTask("one"), NewTask("two", runtime="claude")])
        planning.split(boardroom, "crew", LEAD, "2", [NewTask("three", runtime="gemini"), NewTask("four")])
        found = [boardroom.tasks.read("crew", id).runtime for id in ("3", "4", "5", "6")]
        assert found == ["codex", "claude", "gemini", ""]

    @proves("R004-orchestration-O3c")
    def test_splitting_ones_own_task_gives_it_back(self, boardroom):
        add(boardroom, NewTask("whole"))
        board.claim(boardroom, "crew", "ann")
        whole, _ = planning.split(boardroom, "crew", "ann", "1", [NewTask("one")])
        assert (whole.status, whole.owner, whole.claim_id) == ("pending", "", "")
        with pytest.raises(NotClaimant):
            board.complete(boardroom, "crew", "ann", "1")
        assert board.claim(boardroom, "crew", "ann").task.id == "2"  # type: ignore[union-attr]
        assert board.complete(boardroom, "crew", "ann", "2").unblocked == ["1"]

    @proves("R004-orchestration-O3c")
    @pytest.mark.parametrize(("who", "may"), [("ann", True), ("bob", False), (LEAD, True), ("human", True)])
    def test_somebodys_work_is_split_by_them_the_lead_or_a_human(self, boardroom, who, may):
        add(boardroom, NewTask("whole"))
        board.claim(boardroom, "crew", "ann")
        if may:
            planning.split(boardroom, "crew", who, "1", [NewTask("one")])
        else:
            with pytest.raises(NotClaimant):
                planning.split(boardroom, "crew", who, "1", [NewTask("one")])

    def test_nothing_is_no_split_and_what_is_finished_is_not_split(self, boardroom):
        add(boardroom, NewTask("a", is_done=True), NewTask("b"))
        with pytest.raises(BadTask):
            planning.split(boardroom, "crew", LEAD, "2", [])
        with pytest.raises(TaskClosed):
            planning.split(boardroom, "crew", LEAD, "1", [NewTask("x")])

    @pytest.mark.parametrize("on", ["#1", "whole", "#2"])
    def test_a_part_cannot_wait_for_the_whole_nor_for_what_waits_for_it(self, boardroom, on):
        add(boardroom, NewTask("whole"), NewTask("later", depends_on=["whole"]))
        with pytest.raises(DependencyCycle):
            planning.split(boardroom, "crew", LEAD, "1", [NewTask("part", depends_on=[on])])
        assert sorted(twin(boardroom).files["crew"]) == [1, 2]

    def test_the_parts_are_given_as_they_were_written(self, boardroom):
        add(boardroom, NewTask("whole"))
        _, parts = planning.split(boardroom, "crew", LEAD, "1", [NewTask("one")])
        assert parts.tasks[0].blocks == boardroom.tasks.read("crew", "2").blocks == ["1"]

    def test_whoever_gets_a_part_is_told(self, boardroom):
        add(boardroom, NewTask("whole"))
        planning.split(boardroom, "crew", LEAD, "1", [NewTask("one", owner="ann")])
        assert len(boardroom.room.inboxes.rows("crew", "ann")) == 1

    def test_hooks_are_asked_about_parts_too(self):
        boardroom = make_desk(hooks={"TaskCreated": ["check"]})
        add(boardroom, NewTask("whole"))
        boardroom.programs.results["check"] = Ran(2, errors="no more tasks")  # type: ignore[attr-defined]
        with pytest.raises(HookBlocked):
            planning.split(boardroom, "crew", LEAD, "1", [NewTask("one")])
        assert sorted(twin(boardroom).files["crew"]) == [1]

    def test_the_callers_wishes_are_left_alone(self, boardroom):
        add(boardroom, NewTask("first"), NewTask("whole", depends_on=["first"]))
        wish = NewTask("one")
        planning.split(boardroom, "crew", LEAD, "2", [wish])
        assert wish.depends_on == []


class TestCreationHooks:
    def test_a_hook_that_says_no_leaves_no_task_and_no_number_is_used_again(self):
        boardroom = make_desk(hooks={"TaskCreated": ["check"]})
        boardroom.programs.results["check"] = Ran(2, errors="say why\n")  # type: ignore[attr-defined]
        with pytest.raises(HookBlocked, match="say why"):
            add(boardroom, NewTask("a"))
        assert boardroom.tasks.board("crew").cards == {}
        boardroom.programs.results.clear()  # type: ignore[attr-defined]
        assert add(boardroom, NewTask("b")) == ["2"]

    def test_one_no_is_a_no_to_all_that_are_added_together(self):
        boardroom = make_desk(hooks={"TaskCreated": ["check"]})
        ran: list[str] = []

        def run(command: str, *, stdin: bytes = b"", **_: Any) -> Ran:
            ran.append(json.loads(stdin)["task_subject"])
            return Ran(2, errors="not b") if ran[-1] == "b" else Ran(0)

        boardroom.programs.run = run  # type: ignore[method-assign]
        with pytest.raises(HookBlocked, match="no task was created"):
            add(boardroom, NewTask("a"), NewTask("b"), NewTask("c"))
        assert ran == ["a", "b"]
        assert boardroom.tasks.board("crew").cards == {}

    def test_the_hook_is_told_of_the_task_before_anybody_can_see_it(self):
        boardroom = make_desk(hooks={"TaskCreated": ["check"]})
        add(boardroom, NewTask("a", description="d"))
        told = json.loads(boardroom.programs.ran[0][2])  # type: ignore[attr-defined]
        assert (told["hook_event_name"], told["task_id"], told["task_subject"]) == ("TaskCreated", "1", "a")
        assert (told["task_description"], told["teammate_name"], told["team_name"]) == ("d", LEAD, "crew")

    def test_what_changed_while_a_hook_ran_is_checked_again(self):
        boardroom = make_desk(hooks={"TaskCreated": ["check"]})
        add(boardroom, NewTask("a"))

        def deletes_it(*_: Any, **__: Any) -> Ran:
            if 1 in twin(boardroom).files["crew"]:
                twin(boardroom).delete("crew", 1)
            return Ran(0)

        boardroom.programs.run = deletes_it  # type: ignore[method-assign]
        with pytest.raises(NoSuchTask):
            add(boardroom, NewTask("b", depends_on=["1"]))
        assert boardroom.tasks.board("crew").cards == {}

    def test_tasks_that_others_add_while_a_hook_runs_get_other_numbers(self):
        boardroom = make_desk(hooks={"TaskCreated": ["check"]})
        inner: list[str] = []

        def adds_another(*_: Any, **__: Any) -> Ran:
            boardroom.hooks.clear()
            inner.extend(add(boardroom, NewTask("meanwhile")))
            return Ran(0)

        boardroom.programs.run = adds_another  # type: ignore[method-assign]
        outer = add(boardroom, NewTask("a"))
        assert (outer, inner) == (["1"], ["2"])
        assert [record(boardroom, id)["subject"] for id in "12"] == ["a", "meanwhile"]

    def test_a_hook_that_crashes_stops_nobody(self):
        boardroom = make_desk(hooks={"TaskCreated": ["check"]})
        boardroom.programs.results["check"] = Ran(1, "boom")  # type: ignore[attr-defined]
        added = planning.add(boardroom, "crew", LEAD, [NewTask("a")])
        assert len(added.warnings) == 1
        assert boardroom.tasks.board("crew").cards

"""Reviews, plans and questions: one member waits for another's word."""

from __future__ import annotations

from typing import Any

import pytest
from tests.proving import proves

from atm.board.rules.tasks import Task
from atm.board.services import planning, reviews
from atm.board.services import working as board
from atm.board.services.new_tasks import NewTask
from atm.core.errors import BadName, NotAllowed
from atm.core.work_errors import (
    BadTask,
    NotClaimant,
    PlanRefused,
    ReviewRefused,
    TaskClosed,
)
from atm.mail.services.typed.consuming import take
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import memory_boardroom, memory_room

LEAD = "team-lead"


@pytest.fixture
def boardroom() -> FullBoardroom:
    """ann works on #1; bob, cleo and the human hugo are there too."""
    room = memory_room()
    create_team(room, "crew", lead=LEAD)
    for member in (Member("ann"), Member("bob"), Member("cleo"), Member("hugo", backend="human")):
        add_member(room, "crew", member)
    made = memory_boardroom(room)
    work_on(made, "ann")
    return made


def work_on(boardroom: FullBoardroom, who: str, **fields: Any) -> str:
    id = planning.add(boardroom, "crew", LEAD, [NewTask("work", **fields)]).tasks[0].id
    done = board.claim(boardroom, "crew", who, id)
    assert done.task is not None
    return id


def read(boardroom: FullBoardroom, id: str = "1") -> Task:
    return boardroom.tasks.read("crew", id)


def letters(boardroom: FullBoardroom, who: str) -> list[str]:
    return [row.text for row in boardroom.room.inboxes.rows("crew", who)]


class TestReviews:
    def test_a_review_from_the_request_to_the_approval(self, boardroom):
        asked = reviews.request_review(boardroom, "crew", "ann", "1", "bob")
        assert (asked.reviewer, asked.diagnostics, asked.warnings) == ("bob", [], [])
        assert "ready for review" in letters(boardroom, "bob")[-1]
        assert reviews.start_review(boardroom, "crew", "bob", "1").reviewer == "bob"
        reviews.approve(boardroom, "crew", "bob", "1", "well done")
        assert "was approved. well done" in letters(boardroom, "ann")[-1]
        assert board.complete(boardroom, "crew", "ann", "1").task.status == "completed"

    def test_changes_are_told_to_the_owner_who_goes_on(self, boardroom):
        reviews.request_review(boardroom, "crew", "ann", "1", "bob")
        reviews.request_changes(boardroom, "crew", "bob", "1", "rename it")
        assert "rename it" in letters(boardroom, "ann")[-1]
        assert board.claim(boardroom, "crew", "ann").task.id == "1"  # type: ignore[union-attr]

    @proves("R002-8.2.2-21")
    def test_without_a_name_the_lead_is_told_and_nobody_is_the_reviewer_until_somebody_starts(self, boardroom):
        asked = reviews.request_review(boardroom, "crew", "ann", "1")
        assert (asked.reviewer, len(asked.diagnostics)) == (None, 1)
        assert "ready for review" in letters(boardroom, LEAD)[-1]
        assert reviews.start_review(boardroom, "crew", "cleo", "1").reviewer == "cleo"
        with pytest.raises(ReviewRefused, match="cleo reviews"):
            reviews.approve(boardroom, "crew", "bob", "1")

    def test_the_reviewer_that_the_task_names_is_asked(self, boardroom):
        id = work_on(boardroom, "bob", reviewer="cleo")
        assert reviews.request_review(boardroom, "crew", "bob", id).reviewer == "cleo"

    @pytest.mark.parametrize("verb", ["start", "approve", "changes"])
    def test_nobody_reviews_their_own_work(self, boardroom, verb):
        reviews.request_review(boardroom, "crew", "ann", "1")
        decide = {
            "start": lambda: reviews.start_review(boardroom, "crew", "ANN", "1"),
            "approve": lambda: reviews.approve(boardroom, "crew", "ann", "1"),
            "changes": lambda: reviews.request_changes(boardroom, "crew", "ann", "1", "x"),
        }[verb]
        with pytest.raises(ReviewRefused):
            decide()

    def test_nobody_asks_for_themselves(self, boardroom):
        with pytest.raises(ReviewRefused):
            reviews.request_review(boardroom, "crew", "ann", "1", "Ann")
        assert read(boardroom).review == ""

    @pytest.mark.parametrize(
        ("who", "may"), [("ann", True), ("bob", False), (LEAD, True), ("hugo", True), ("human", True)]
    )
    def test_a_review_is_asked_for_by_the_claimant_the_lead_or_a_human(self, boardroom, who, may):
        if may:
            assert reviews.request_review(boardroom, "crew", who, "1", "cleo").reviewer == "cleo"
        else:
            with pytest.raises(NotClaimant):
                reviews.request_review(boardroom, "crew", who, "1", "cleo")

    @proves("R002-8.0-115", "R002-8.2.2-28", "R002-8.2.2-30", "R002-8.2.2-31", "R002-16.7-07", "R002-27.0-12")
    def test_a_reviewer_can_be_replaced_and_the_former_one_cannot_decide_any_more(self, boardroom):
        reviews.request_review(boardroom, "crew", "ann", "1", "bob")
        reviews.start_review(boardroom, "crew", "bob", "1")
        again = reviews.request_review(boardroom, "crew", "ann", "1", "cleo")
        assert (again.reviewer, len(again.diagnostics)) == (
            "cleo",
            0,
        )  # whoever was asked last opened the cycle: no conflict
        with pytest.raises(ReviewRefused):
            reviews.approve(boardroom, "crew", "bob", "1")
        reviews.approve(boardroom, "crew", "cleo", "1")

    def test_a_reviewer_who_becomes_the_owner_is_no_reviewer(self, boardroom):
        reviews.request_review(boardroom, "crew", "ann", "1", "bob")
        board.assign(boardroom, "crew", LEAD, "1", "bob")
        board.claim(boardroom, "crew", "bob", "1")
        with pytest.raises(ReviewRefused):
            reviews.approve(boardroom, "crew", "bob", "1")

    def test_a_former_reviewer_who_owns_the_task_now_does_not_stand_in_the_way_of_a_new_review(self, boardroom):
        reviews.request_review(boardroom, "crew", "ann", "1", "bob")
        reviews.request_changes(boardroom, "crew", "bob", "1", "do it yourself?")
        board.assign(boardroom, "crew", LEAD, "1", "bob")
        board.claim(boardroom, "crew", "bob", "1")
        assert reviews.request_review(boardroom, "crew", "bob", "1").reviewer is None

    def test_a_review_that_is_over_is_not_decided_again(self, boardroom):
        reviews.request_review(boardroom, "crew", "ann", "1", "bob")
        reviews.approve(boardroom, "crew", "bob", "1")
        with pytest.raises(ReviewRefused, match="not in review"):
            reviews.request_changes(boardroom, "crew", "bob", "1", "wait")

    def test_many_remarks_take_nobodys_review_away(self, boardroom):
        reviews.request_review(boardroom, "crew", "ann", "1", "bob")
        for number in range(101):
            board.comment(boardroom, "crew", "cleo", "1", str(number))
        with pytest.raises(ReviewRefused):
            reviews.approve(boardroom, "crew", "cleo", "1")

    def test_a_name_that_leads_out_of_its_folder_is_refused(self, boardroom):
        with pytest.raises(BadName):
            reviews.request_review(boardroom, "crew", "ann", "1", "../bob")

    def test_somebody_without_an_inbox_is_not_told_and_that_is_no_failure(self, boardroom):
        assert reviews.request_review(boardroom, "crew", "ann", "1", "stranger").reviewer == "stranger"


class TestPlans:
    @pytest.fixture
    def id(self, boardroom) -> str:
        board.complete(boardroom, "crew", "ann", "1")
        return work_on(boardroom, "ann", needs_plan=True)

    @proves("R004-gap-p2-02", "R004-agent-lifecycle-L7", "R004-messaging-M8b")
    def test_a_plan_is_sent_to_the_lead_and_work_begins_with_a_yes(self, boardroom, id):
        reviews.submit_plan(boardroom, "crew", "ann", id, "first this")
        assert "first this" in letters(boardroom, LEAD)[-1]
        with pytest.raises(PlanRefused):
            board.start(boardroom, "crew", "ann", id)
        reviews.approve_plan(boardroom, "crew", LEAD, id, "go")
        assert "your plan was approved. go" in letters(boardroom, "ann")[-1]
        assert board.start(boardroom, "crew", "ann", id).task is not None

    @proves("R004-messaging-M8b")
    def test_a_plan_and_what_was_decided_about_it_are_messages_that_programs_understand(self, boardroom, id):
        reviews.submit_plan(boardroom, "crew", "ann", id, "first this")
        reviews.reject_plan(boardroom, "crew", LEAD, id, "too large")
        reviews.submit_plan(boardroom, "crew", "ann", id, "less")
        reviews.approve_plan(boardroom, "crew", LEAD, id)
        plans = take(boardroom.room, "crew", LEAD, ["plan_submission"])
        assert [one.metadata for one in plans] == [{"task_id": id, "revision": revision} for revision in "01"]
        assert [one.metadata for one in take(boardroom.room, "crew", "ann", ["plan_approval"])] == [
            {"task_id": id, "revision": "0", "approved": "false", "feedback": "too large"},
            {"task_id": id, "revision": "1", "approved": "true"},
        ]

    @proves("R004-defects-07")
    def test_no_answer_means_no_however_long_it_takes(self, boardroom, id):
        reviews.submit_plan(boardroom, "crew", "ann", id, "so")
        boardroom.clock.pass_time(10**7)
        with pytest.raises(PlanRefused, match="waits for an answer"):
            board.complete(boardroom, "crew", "ann", id)
        assert read(boardroom, id).plan == "submitted"

    @proves("R004-defects-07b")
    def test_a_first_plan_and_three_revisions_and_then_nothing_by_itself(self, boardroom, id):
        for attempt in range(4):
            reviews.submit_plan(boardroom, "crew", "ann", id, f"plan {attempt}")
            done = reviews.reject_plan(boardroom, "crew", LEAD, id, "no")
            assert len(done.warnings) == (attempt == 3)
        with pytest.raises(PlanRefused, match="3 times"):
            reviews.submit_plan(boardroom, "crew", "ann", id, "plan 5")
        with pytest.raises(PlanRefused):
            board.complete(boardroom, "crew", "ann", id)
        reviews.approve_plan(boardroom, "crew", LEAD, id)
        board.complete(boardroom, "crew", "ann", id)

    @proves("R004-agent-lifecycle-L7e")
    def test_after_the_last_rejection_the_lead_may_give_the_task_to_somebody_who_plans_anew(self, boardroom, id):
        for attempt in range(4):
            reviews.submit_plan(boardroom, "crew", "ann", id, f"plan {attempt}")
            reviews.reject_plan(boardroom, "crew", LEAD, id, "no")
        board.assign(boardroom, "crew", LEAD, id, "bob")
        assert board.claim(boardroom, "crew", "bob", id).task is not None
        reviews.submit_plan(boardroom, "crew", "bob", id, "quite differently")

    @pytest.mark.parametrize("who", ["ann", "bob", "cleo", "stranger"])
    def test_agents_decide_about_no_plans(self, boardroom, id, who):
        reviews.submit_plan(boardroom, "crew", "ann", id, "so")
        with pytest.raises(NotAllowed):
            reviews.approve_plan(boardroom, "crew", who, id)
        with pytest.raises(NotAllowed):
            reviews.reject_plan(boardroom, "crew", who, id, "no")

    @pytest.mark.parametrize("who", [LEAD, "hugo", "human"])
    def test_the_lead_and_humans_decide_but_not_about_their_own(self, boardroom, id, who):
        board.release(boardroom, "crew", "ann", id)
        board.claim(boardroom, "crew", who, id)
        reviews.submit_plan(boardroom, "crew", who, id, "so")
        with pytest.raises(NotClaimant, match="their own plan"):
            reviews.approve_plan(boardroom, "crew", who, id)
        reviews.approve_plan(boardroom, "crew", "hugo" if who == LEAD else LEAD, id)

    def test_only_the_claimant_plans(self, boardroom, id):
        with pytest.raises(NotClaimant):
            reviews.submit_plan(boardroom, "crew", "bob", id, "so")

    def test_a_plan_that_was_not_asked_for_waits_for_a_yes_all_the_same(self, boardroom):
        reviews.submit_plan(boardroom, "crew", "ann", "1", "I would rather ask")
        with pytest.raises(PlanRefused):
            board.complete(boardroom, "crew", "ann", "1")

    def test_a_plan_that_is_too_long_is_refused(self, boardroom, id):
        with pytest.raises(BadTask):
            reviews.submit_plan(boardroom, "crew", "ann", id, "x" * 100_001)


class TestQuestions:
    @pytest.mark.parametrize("whom", ["lead", "user"])
    def test_a_question_makes_the_task_wait_and_an_answer_lets_it_go_on(self, boardroom, whom):
        asked = reviews.ask(boardroom, "crew", "ann", "1", whom, "red?")
        assert asked.task.needs == whom
        assert "red?" in letters(boardroom, LEAD)[-1]
        done = reviews.answer(boardroom, "crew", LEAD, "1", "blue")
        assert (done.task.needs, [comment["text"] for comment in done.task.comments]) == ("", ["red?", "blue"])
        assert "blue" in letters(boardroom, "ann")[-1]

    def test_a_pending_task_with_a_question_is_not_claimed(self, boardroom):
        id = planning.add(boardroom, "crew", LEAD, [NewTask("b")]).tasks[0].id
        reviews.ask(boardroom, "crew", "bob", id, "lead", "what?")
        refused = board.claim(boardroom, "crew", "cleo", id).refusal
        assert refused is not None
        assert refused.code == "clarification"
        reviews.answer(boardroom, "crew", LEAD, id, "that")
        assert "that" in letters(boardroom, "bob")[-1]  # nobody owns it: whoever asked is told
        assert board.claim(boardroom, "crew", "cleo", id).task is not None

    def test_nobody_answers_twice(self, boardroom):
        reviews.ask(boardroom, "crew", "ann", "1", "lead", "?")
        reviews.answer(boardroom, "crew", LEAD, "1", "!")
        with pytest.raises(TaskClosed):
            reviews.answer(boardroom, "crew", LEAD, "1", "!!")

    def test_nothing_is_asked_about_a_finished_task(self, boardroom):
        board.complete(boardroom, "crew", "ann", "1")
        with pytest.raises(TaskClosed):
            reviews.ask(boardroom, "crew", "ann", "1", "lead", "?")

    @pytest.mark.parametrize("whom", ["lead", "user"])
    def test_whoever_asked_does_not_answer_in_the_place_of_the_one_who_was_asked(self, boardroom, whom):
        reviews.ask(boardroom, "crew", "ann", "1", whom, "may I delete it all?")
        with pytest.raises(NotAllowed):
            reviews.answer(boardroom, "crew", "ann", "1", "yes")
        assert read(boardroom).needs == whom

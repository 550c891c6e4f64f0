"""Reviews, plans and questions: one member waits for another's word."""

from __future__ import annotations

from typing import Any

import pytest

from atm.domain.board.tasks import Task
from atm.domain.errors import BadName, BadTask, NotAllowed, NotClaimant, PlanRefused, ReviewRefused, TaskClosed
from atm.domain.team.team import Member
from atm.services.board import planning, reviews
from atm.services.board import working as board
from atm.services.board.planning import NewTask
from atm.services.roster.full_boardroom import FullBoardroom
from atm.services.roster.members import add_member, create_team
from atm.testing import memory_desk, memory_room

LEAD = "team-lead"


@pytest.fixture
def desk() -> FullBoardroom:
    """ann works on #1; bob, cleo and the human hugo are there too."""
    room = memory_room()
    create_team(room, "crew", lead=LEAD)
    for member in (Member("ann"), Member("bob"), Member("cleo"), Member("hugo", backend="human")):
        add_member(room, "crew", member)
    made = memory_desk(room)
    work_on(made, "ann")
    return made


def work_on(desk: FullBoardroom, who: str, **fields: Any) -> str:
    id = planning.add(desk, "crew", LEAD, [NewTask("work", **fields)]).tasks[0].id
    done = board.claim(desk, "crew", who, id)
    assert done.task is not None
    return id


def read(desk: FullBoardroom, id: str = "1") -> Task:
    return desk.tasks.read("crew", id)


def letters(desk: FullBoardroom, who: str) -> list[str]:
    return [row.text for row in desk.room.inboxes.rows("crew", who)]


class TestReviews:
    def test_a_review_from_the_request_to_the_approval(self, desk):
        asked = reviews.request_review(desk, "crew", "ann", "1", "bob")
        assert (asked.reviewer, asked.diagnostics, asked.warnings) == ("bob", [], [])
        assert "ready for review" in letters(desk, "bob")[-1]
        assert reviews.start_review(desk, "crew", "bob", "1").reviewer == "bob"
        reviews.approve(desk, "crew", "bob", "1", "well done")
        assert "was approved. well done" in letters(desk, "ann")[-1]
        assert board.complete(desk, "crew", "ann", "1").task.status == "completed"

    def test_changes_are_told_to_the_owner_who_goes_on(self, desk):
        reviews.request_review(desk, "crew", "ann", "1", "bob")
        reviews.request_changes(desk, "crew", "bob", "1", "rename it")
        assert "rename it" in letters(desk, "ann")[-1]
        assert board.claim(desk, "crew", "ann").task.id == "1"  # type: ignore[union-attr]

    def test_without_a_name_the_lead_is_told_and_nobody_is_the_reviewer_until_somebody_starts(self, desk):
        asked = reviews.request_review(desk, "crew", "ann", "1")
        assert (asked.reviewer, len(asked.diagnostics)) == (None, 1)
        assert "ready for review" in letters(desk, LEAD)[-1]
        assert reviews.start_review(desk, "crew", "cleo", "1").reviewer == "cleo"
        with pytest.raises(ReviewRefused, match="cleo reviews"):
            reviews.approve(desk, "crew", "bob", "1")

    def test_the_reviewer_that_the_task_names_is_asked(self, desk):
        id = work_on(desk, "bob", reviewer="cleo")
        assert reviews.request_review(desk, "crew", "bob", id).reviewer == "cleo"

    @pytest.mark.parametrize("verb", ["start", "approve", "changes"])
    def test_nobody_reviews_their_own_work(self, desk, verb):
        reviews.request_review(desk, "crew", "ann", "1")
        decide = {
            "start": lambda: reviews.start_review(desk, "crew", "ANN", "1"),
            "approve": lambda: reviews.approve(desk, "crew", "ann", "1"),
            "changes": lambda: reviews.request_changes(desk, "crew", "ann", "1", "x"),
        }[verb]
        with pytest.raises(ReviewRefused):
            decide()

    def test_nobody_asks_for_themselves(self, desk):
        with pytest.raises(ReviewRefused):
            reviews.request_review(desk, "crew", "ann", "1", "Ann")
        assert read(desk).review == ""

    @pytest.mark.parametrize(
        ("who", "may"), [("ann", True), ("bob", False), (LEAD, True), ("hugo", True), ("human", True)]
    )
    def test_a_review_is_asked_for_by_the_claimant_the_lead_or_a_human(self, desk, who, may):
        if may:
            assert reviews.request_review(desk, "crew", who, "1", "cleo").reviewer == "cleo"
        else:
            with pytest.raises(NotClaimant):
                reviews.request_review(desk, "crew", who, "1", "cleo")

    def test_a_reviewer_can_be_replaced_and_the_former_one_cannot_decide_any_more(self, desk):
        reviews.request_review(desk, "crew", "ann", "1", "bob")
        reviews.start_review(desk, "crew", "bob", "1")
        again = reviews.request_review(desk, "crew", "ann", "1", "cleo")
        assert (again.reviewer, len(again.diagnostics)) == (
            "cleo",
            0,
        )  # whoever was asked last opened the cycle: no conflict
        with pytest.raises(ReviewRefused):
            reviews.approve(desk, "crew", "bob", "1")
        reviews.approve(desk, "crew", "cleo", "1")

    def test_a_reviewer_who_becomes_the_owner_is_no_reviewer(self, desk):
        reviews.request_review(desk, "crew", "ann", "1", "bob")
        board.assign(desk, "crew", LEAD, "1", "bob")
        board.claim(desk, "crew", "bob", "1")
        with pytest.raises(ReviewRefused):
            reviews.approve(desk, "crew", "bob", "1")

    def test_a_former_reviewer_who_owns_the_task_now_does_not_stand_in_the_way_of_a_new_review(self, desk):
        reviews.request_review(desk, "crew", "ann", "1", "bob")
        reviews.request_changes(desk, "crew", "bob", "1", "do it yourself?")
        board.assign(desk, "crew", LEAD, "1", "bob")
        board.claim(desk, "crew", "bob", "1")
        assert reviews.request_review(desk, "crew", "bob", "1").reviewer is None

    def test_a_review_that_is_over_is_not_decided_again(self, desk):
        reviews.request_review(desk, "crew", "ann", "1", "bob")
        reviews.approve(desk, "crew", "bob", "1")
        with pytest.raises(ReviewRefused, match="not in review"):
            reviews.request_changes(desk, "crew", "bob", "1", "wait")

    def test_many_remarks_take_nobodys_review_away(self, desk):
        reviews.request_review(desk, "crew", "ann", "1", "bob")
        for number in range(101):
            board.comment(desk, "crew", "cleo", "1", str(number))
        with pytest.raises(ReviewRefused):
            reviews.approve(desk, "crew", "cleo", "1")

    def test_a_name_that_leads_out_of_its_folder_is_refused(self, desk):
        with pytest.raises(BadName):
            reviews.request_review(desk, "crew", "ann", "1", "../bob")

    def test_somebody_without_an_inbox_is_not_told_and_that_is_no_failure(self, desk):
        assert reviews.request_review(desk, "crew", "ann", "1", "stranger").reviewer == "stranger"


class TestPlans:
    @pytest.fixture
    def id(self, desk) -> str:
        board.complete(desk, "crew", "ann", "1")
        return work_on(desk, "ann", needs_plan=True)

    def test_a_plan_is_sent_to_the_lead_and_work_begins_with_a_yes(self, desk, id):
        reviews.submit_plan(desk, "crew", "ann", id, "first this")
        assert "first this" in letters(desk, LEAD)[-1]
        with pytest.raises(PlanRefused):
            board.start(desk, "crew", "ann", id)
        reviews.approve_plan(desk, "crew", LEAD, id, "go")
        assert "your plan was approved. go" in letters(desk, "ann")[-1]
        assert board.start(desk, "crew", "ann", id).task is not None

    def test_no_answer_means_no_however_long_it_takes(self, desk, id):
        reviews.submit_plan(desk, "crew", "ann", id, "so")
        desk.clock.pass_time(10**7)
        with pytest.raises(PlanRefused, match="waits for an answer"):
            board.complete(desk, "crew", "ann", id)
        assert read(desk, id).plan == "submitted"

    def test_a_first_plan_and_three_revisions_and_then_nothing_by_itself(self, desk, id):
        for attempt in range(4):
            reviews.submit_plan(desk, "crew", "ann", id, f"plan {attempt}")
            done = reviews.reject_plan(desk, "crew", LEAD, id, "no")
            assert len(done.warnings) == (attempt == 3)
        with pytest.raises(PlanRefused, match="3 times"):
            reviews.submit_plan(desk, "crew", "ann", id, "plan 5")
        with pytest.raises(PlanRefused):
            board.complete(desk, "crew", "ann", id)
        reviews.approve_plan(desk, "crew", LEAD, id)
        board.complete(desk, "crew", "ann", id)

    def test_after_the_last_rejection_the_lead_may_give_the_task_to_somebody_who_plans_anew(self, desk, id):
        for attempt in range(4):
            reviews.submit_plan(desk, "crew", "ann", id, f"plan {attempt}")
            reviews.reject_plan(desk, "crew", LEAD, id, "no")
        board.assign(desk, "crew", LEAD, id, "bob")
        assert board.claim(desk, "crew", "bob", id).task is not None
        reviews.submit_plan(desk, "crew", "bob", id, "quite differently")

    @pytest.mark.parametrize("who", ["ann", "bob", "cleo", "stranger"])
    def test_agents_decide_about_no_plans(self, desk, id, who):
        reviews.submit_plan(desk, "crew", "ann", id, "so")
        with pytest.raises(NotAllowed):
            reviews.approve_plan(desk, "crew", who, id)
        with pytest.raises(NotAllowed):
            reviews.reject_plan(desk, "crew", who, id, "no")

    @pytest.mark.parametrize("who", [LEAD, "hugo", "human"])
    def test_the_lead_and_humans_decide_but_not_about_their_own(self, desk, id, who):
        board.release(desk, "crew", "ann", id)
        board.claim(desk, "crew", who, id)
        reviews.submit_plan(desk, "crew", who, id, "so")
        with pytest.raises(NotClaimant, match="their own plan"):
            reviews.approve_plan(desk, "crew", who, id)
        reviews.approve_plan(desk, "crew", "hugo" if who == LEAD else LEAD, id)

    def test_only_the_claimant_plans(self, desk, id):
        with pytest.raises(NotClaimant):
            reviews.submit_plan(desk, "crew", "bob", id, "so")

    def test_a_plan_that_was_not_asked_for_waits_for_a_yes_all_the_same(self, desk):
        reviews.submit_plan(desk, "crew", "ann", "1", "I would rather ask")
        with pytest.raises(PlanRefused):
            board.complete(desk, "crew", "ann", "1")

    def test_a_plan_that_is_too_long_is_refused(self, desk, id):
        with pytest.raises(BadTask):
            reviews.submit_plan(desk, "crew", "ann", id, "x" * 100_001)


class TestQuestions:
    @pytest.mark.parametrize("whom", ["lead", "user"])
    def test_a_question_makes_the_task_wait_and_an_answer_lets_it_go_on(self, desk, whom):
        asked = reviews.ask(desk, "crew", "ann", "1", whom, "red?")
        assert asked.task.needs == whom
        assert "red?" in letters(desk, LEAD)[-1]
        done = reviews.answer(desk, "crew", LEAD, "1", "blue")
        assert (done.task.needs, [comment["text"] for comment in done.task.comments]) == ("", ["red?", "blue"])
        assert "blue" in letters(desk, "ann")[-1]

    def test_a_pending_task_with_a_question_is_not_claimed(self, desk):
        id = planning.add(desk, "crew", LEAD, [NewTask("b")]).tasks[0].id
        reviews.ask(desk, "crew", "bob", id, "lead", "what?")
        refused = board.claim(desk, "crew", "cleo", id).refusal
        assert refused is not None
        assert refused.code == "clarification"
        reviews.answer(desk, "crew", LEAD, id, "that")
        assert "that" in letters(desk, "bob")[-1]  # nobody owns it: whoever asked is told
        assert board.claim(desk, "crew", "cleo", id).task is not None

    def test_nobody_answers_twice(self, desk):
        reviews.ask(desk, "crew", "ann", "1", "lead", "?")
        reviews.answer(desk, "crew", LEAD, "1", "!")
        with pytest.raises(TaskClosed):
            reviews.answer(desk, "crew", LEAD, "1", "!!")

    def test_nothing_is_asked_about_a_finished_task(self, desk):
        board.complete(desk, "crew", "ann", "1")
        with pytest.raises(TaskClosed):
            reviews.ask(desk, "crew", "ann", "1", "lead", "?")

    @pytest.mark.parametrize("whom", ["lead", "user"])
    def test_whoever_asked_does_not_answer_in_the_place_of_the_one_who_was_asked(self, desk, whom):
        reviews.ask(desk, "crew", "ann", "1", whom, "may I delete it all?")
        with pytest.raises(NotAllowed):
            reviews.answer(desk, "crew", "ann", "1", "yes")
        assert read(desk).needs == whom

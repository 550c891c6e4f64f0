"""`atm tasks` comment, clarify, review, plan: where one member waits for another's word."""

from __future__ import annotations

import json

import pytest
from tests.proving import proves


@pytest.fixture
def held(tasks):
    """#1, which ann works on."""
    tasks("add", "First")
    tasks("claim", "1", "--as", "ann")
    return tasks


def task(tasks, id="1"):
    return tasks("show", id, "--json").json["task"]


class TestComment:
    def test_it_has_an_id_and_an_author(self, held):
        answer = held("comment", "1", "mind\nthe gap", "--as", "bob", "--json").json
        (said,) = answer["task"]["comments"]
        assert (answer["action"], said["id"]) == ("comment", answer["comment_id"])
        assert (said["by"], said["text"]) == ("bob", "mind\nthe gap")

    def test_people_see_it_with_its_lines(self, held):
        held("comment", "1", "mind\nthe gap", "--as", "bob")
        assert "    mind\n    the gap\n" in held("show", "1").out

    def test_finished_tasks_can_be_commented_on(self, held):
        held("complete", "1", "--as", "ann")
        held("comment", "1", "thanks")

    @pytest.mark.parametrize("text", ["", "  ", "\n"])
    def test_a_blank_one_is_refused(self, held, text):
        held("comment", "1", text, code=1)
        assert task(held)["comments"] == []

    def test_two_hundred_are_kept_and_the_history_has_all(self, held, atm):
        path = atm.home / ".claude/tasks/crew/1.json"
        found = json.loads(path.read_text())
        found["metadata"]["atm"]["comments"] = [{"id": str(i), "by": "x", "at": "", "text": str(i)} for i in range(200)]
        path.write_text(json.dumps(found))
        held("comment", "1", "the last")
        comments = task(held)["comments"]
        assert (len(comments), comments[0]["text"], comments[-1]["text"]) == (200, "1", "the last")

    def test_text_may_begin_with_a_dash_after_two_dashes(self, held):
        held("comment", "1", "--", "--force is wrong here")
        assert task(held)["comments"][0]["text"] == "--force is wrong here"


class TestClarify:
    def test_the_task_waits_until_it_is_answered(self, held):
        answer = held("clarify", "1", "--needs", "user", "--question", "which?", "--as", "ann", "--json").json
        assert (answer["action"], answer["task"]["needs"]) == ("clarify", "user")
        assert answer["task"]["clarification"]["question"] == "which?"
        assert "an answer of the user" in held("list").out
        assert held("claim", "--as", "ann", "--json", code=3).json["reason_code"] == "waiting"
        held("clarify", "1", "--answer", "that one")
        assert task(held)["needs"] is None
        assert held("claim", "--as", "ann").out.startswith("go on with #1")

    def test_the_lead_is_asked_unless_said_otherwise(self, held):
        assert held("clarify", "1", "--question", "which?", "--as", "ann", "--json").json["task"]["needs"] == "lead"

    def test_question_and_answer_stand_among_the_comments(self, held):
        held("clarify", "1", "--question", "which?", "--as", "ann")
        held("clarify", "1", "--answer", "that one")
        assert [comment["text"] for comment in task(held)["comments"]] == ["which?", "that one"]

    def test_whoever_asked_gets_the_answer_by_mail(self, held, crew):
        held("clarify", "1", "--question", "which?", "--as", "ann")
        held("clarify", "1", "--answer", "that one")
        assert "that one" in crew.rows("ann")[-1]["text"]

    @proves("R002-8.1-22")
    @pytest.mark.parametrize(
        "words",
        [
            [],
            ["--question", "x", "--answer", "y"],
            ["--needs", "lead"],
            ["--needs", "ceo", "--question", "x"],
            ["--answer", "nobody asked"],
            ["--question", ""],
            ["--question", " "],
        ],
        ids=" ".join,
    )
    def test_a_wrong_line_is_explained_and_changes_nothing(self, held, words, contents, atm):
        before = contents(atm.home / ".claude/tasks")
        assert "\n  fix: " in held("clarify", "1", *words, "--as", "ann", code=1).err
        assert contents(atm.home / ".claude/tasks") == before

    def test_an_agent_cannot_answer_for_the_user_what_it_asked_itself(self, held):
        held("clarify", "1", "--needs", "user", "--question", "may I delete it?", "--as", "ann")
        held("clarify", "1", "--answer", "yes", "--as", "ann", code=1)
        assert task(held)["needs"] == "user"

    def test_a_finished_task_needs_no_answer(self, held):
        held("complete", "1", "--as", "ann")
        assert "#1 is completed" in held("clarify", "1", "--question", "x", "--as", "ann", code=1).err


class TestReview:
    def test_from_request_to_approval(self, held, crew):
        answer = held("review", "request", "1", "--reviewer", "bob", "--as", "ann", "--json").json
        assert (answer["action"], answer["verb"], answer["reviewer"]) == ("review", "request", "bob")
        assert answer["task"]["state"] == "review"
        assert "ready for review" in crew.rows("bob")[-1]["text"]
        assert "a review by bob" in held("list").out
        held("review", "start", "1", "--as", "bob")
        assert held("review", "approve", "1", "--as", "bob").out == "#1 was approved; ann can complete it\n"
        assert "approved" in crew.rows("ann")[-1]["text"]
        held("complete", "1", "--as", "ann")

    def test_what_is_in_review_cannot_be_completed(self, held):
        held("review", "request", "1", "--reviewer", "bob", "--as", "ann")
        assert "in review" in held("complete", "1", "--as", "ann", code=1).err

    def test_changes_go_back_to_the_owner_with_a_note(self, held, crew):
        held("review", "request", "1", "--reviewer", "bob", "--as", "ann")
        assert "--note" in held("review", "changes", "1", "--as", "bob", code=1).err
        held("review", "changes", "1", "--note", "handle empty input", "--as", "bob")
        assert "handle empty input" in crew.rows("ann")[-1]["text"]
        assert held("claim", "--as", "ann", "--json").json["task"]["id"] == "1"

    def test_people_see_what_the_reviewer_wants(self, held):
        held("review", "request", "1", "--reviewer", "bob", "--as", "ann")
        held("review", "changes", "1", "--note", "handle empty input", "--as", "bob")
        assert "handle empty input" in held("show", "1").out

    @pytest.mark.parametrize("verb", [["start"], ["approve"], ["changes", "--note", "x"]])
    def test_nobody_reviews_their_own_work(self, held, verb):
        held("review", "request", "1", "--as", "ann")
        assert "own work" in held("review", verb[0], "1", *verb[1:], "--as", "ANN", code=1).err

    def test_nobody_asks_themselves(self, held):
        assert "cannot review" in held("review", "request", "1", "--reviewer", "Ann", "--as", "ann", code=1).err

    def test_somebody_who_was_not_asked_is_pointed_to_who_was(self, held):
        held("review", "request", "1", "--reviewer", "bob", "--as", "ann")
        done = held("review", "approve", "1", "--as", "zed", code=1)
        assert "bob reviews #1, not zed" in done.err

    @proves("R002-8.2.2-19", "R002-27.0-13")
    def test_when_nobody_was_asked_there_is_none_and_a_reason(self, held):
        answer = held("review", "request", "1", "--as", "ann", "--json").json
        assert answer["reviewer"] is None
        assert answer["diagnostics"]
        assert held("show", "1", "--json").json["task"]["currentReviewer"] is None

    def test_whoever_starts_is_the_reviewer_then(self, held):
        held("review", "request", "1", "--as", "ann")
        held("review", "start", "1", "--as", "bob")
        assert held("show", "1", "--json").json["task"]["currentReviewer"] == "bob"
        assert "bob reviews #1" in held("review", "approve", "1", "--as", "zed", code=1).err

    @proves("R002-8.0-15", "R002-8.2.2-22")
    def test_a_former_reviewer_does_not_come_back_by_itself(self, held):
        held("review", "request", "1", "--as", "ann")
        held("review", "start", "1", "--as", "bob")
        held("review", "changes", "1", "--note", "x", "--as", "bob")
        answer = held("review", "request", "1", "--as", "ann", "--json").json
        assert answer["reviewer"] is None

    def test_the_approval_of_ones_work_does_not_hold_for_the_next(self, tasks):
        tasks("add", "First", "--reviewer", "bob")
        tasks("claim", "--as", "ann")
        tasks("review", "request", "1", "--as", "ann")
        tasks("review", "approve", "1", "--as", "bob")
        tasks("release", "1", "--as", "ann")
        tasks("claim", "1", "--as", "zed")
        assert "must be reviewed first" in tasks("complete", "1", "--as", "zed", code=1).err

    @pytest.mark.parametrize("verb", ["start", "approve"])
    def test_without_a_request_there_is_nothing_to_review(self, held, verb):
        done = held("review", verb, "1", "--as", "bob", code=1)
        assert "not in review" in done.err
        assert "atm tasks review request 1" in done.err

    def test_a_task_that_must_be_reviewed_cannot_be_completed_without(self, tasks):
        tasks("add", "First", "--reviewer", "bob")
        tasks("claim", "--as", "ann")
        done = tasks("complete", "1", "--as", "ann", code=1)
        assert "must be reviewed first" in done.err
        tasks("review", "request", "1", "--as", "ann")
        tasks("review", "approve", "1", "--as", "bob")
        tasks("complete", "1", "--as", "ann")

    @pytest.mark.parametrize("id", ["#1", "001", " 1"])
    def test_the_number_is_shown_as_it_is_whatever_was_typed(self, held, id):
        assert held("review", "request", id, "--reviewer", "bob", "--as", "ann").out == "#1 waits for a review by bob\n"
        assert held("review", "start", id, "--as", "bob").out == "bob reviews #1\n"
        assert held("review", "approve", id, "--as", "bob").out.startswith("#1 was approved")

    @pytest.mark.parametrize("words", [["review"], ["review", "reqest", "1"], ["review", "request"]])
    def test_a_wrong_line_is_explained(self, held, words):
        assert "request" in held(*words, code=1).err


class TestPlan:
    @pytest.fixture
    def planned(self, tasks):
        tasks("add", "First", "--plan")
        tasks("claim", "--as", "ann")
        return tasks

    @proves("R004-target-17", "R004-current-state-11", "R004-agent-lifecycle-L7", "R004-agent-lifecycle-L7c")
    def test_nothing_begins_without_an_approved_plan(self, planned):
        assert task(planned)["state"] == "planning"
        for words in (["start", "1"], ["complete", "1"]):
            assert "needs a plan" in planned(*words, "--as", "ann", code=1).err
        answer = planned("plan", "submit", "1", "--text", "first this", "--as", "ann", "--json").json
        assert (answer["action"], answer["verb"], answer["task"]["plan"]) == ("plan", "submit", "submitted")
        assert "waits" in planned("start", "1", "--as", "ann", code=1).err
        planned("plan", "approve", "1", "--note", "go")
        planned("start", "1", "--as", "ann")
        planned("complete", "1", "--as", "ann")

    def test_whoever_claims_it_is_told_to_submit_one(self, tasks):
        tasks("add", "First", "--plan")
        assert "atm tasks plan submit 1" in tasks("claim", "--as", "ann").out

    @proves("R004-target-17", "R004-gap-p2-01", "R004-files-12")
    def test_a_member_that_must_plan_must_plan(self, tasks, atm):
        config = atm.home / ".claude/teams/crew/config.json"
        team = json.loads(config.read_text())
        for member in team["members"]:
            member["planModeRequired"] = member["name"] == "ann"
        config.write_text(json.dumps(team))
        tasks("add", "First")
        assert tasks("claim", "--as", "ann", "--json").json["task"]["plan"] == "required"

    @proves("R004-agent-lifecycle-L7d", "R004-agent-lifecycle-L7e")
    def test_three_revisions_then_the_lead_decides(self, planned):
        for round in range(4):
            planned("plan", "submit", "1", "--text", f"plan {round}", "--as", "ann")
            done = planned("plan", "reject", "1", "--feedback", "too broad")
        assert "the lead decides" in done.err
        assert "the lead decides" in planned("plan", "submit", "1", "--text", "again", "--as", "ann", code=1).err
        planned("plan", "approve", "1", "--as", "team-lead")
        planned("complete", "1", "--as", "ann")

    @proves("R004-gap-p2-02", "R004-messaging-M8b")
    def test_a_rejection_says_why(self, planned, crew):
        planned("plan", "submit", "1", "--text", "x", "--as", "ann")
        assert "--feedback" in planned("plan", "reject", "1", code=1).err
        planned("plan", "reject", "1", "--feedback", "too broad")
        assert "too broad" in crew.rows("ann")[-1]["text"]
        assert "too broad" in planned("show", "1").out

    def test_a_second_submission_waits_for_the_first(self, planned):
        planned("plan", "submit", "1", "--text", "x", "--as", "ann")
        assert "no answer means no" in planned("plan", "submit", "1", "--text", "y", "--as", "ann", code=1).err

    def test_only_the_claimant_submits_and_only_others_approve(self, planned):
        assert "ann works on #1" in planned("plan", "submit", "1", "--text", "x", "--as", "bob", code=1).err
        planned("plan", "submit", "1", "--text", "x", "--as", "ann")
        assert planned("plan", "approve", "1", "--as", "bob", "--json", code=1).json["error"]["code"] == "not-allowed"

    def test_the_lead_does_not_approve_its_own_plan(self, tasks):
        tasks("add", "First", "--plan")
        tasks("claim", "--as", "team-lead")
        tasks("plan", "submit", "1", "--text", "x", "--as", "team-lead")
        tasks("plan", "approve", "1", "--as", "team-lead", code=1)

    def test_it_comes_from_a_file_or_standard_input(self, planned, crew):
        (crew.folder / "plan.md").write_text("first\nthen\n")
        planned("plan", "submit", "1", "--file", "plan.md", "--as", "ann")
        assert task(planned)["planDetails"]["text"] == "first\nthen\n"
        planned("plan", "reject", "1", "--feedback", "x")
        crew("tasks", "plan", "submit", "1", "--file", "-", "--as", "ann", stdin="better\n")
        assert task(planned)["planDetails"]["text"] == "better\n"

    @proves("R002-8.1-22")
    @pytest.mark.parametrize(
        "words", [[], ["--text", "x", "--file", "y"], ["--text", " "], ["--file", "missing"], ["--file", "/dev/null"]]
    )
    def test_a_wrong_line_is_explained_and_changes_nothing(self, planned, words, contents, atm):
        before = contents(atm.home / ".claude/tasks")
        assert "\n  fix: " in planned("plan", "submit", "1", *words, "--as", "ann", code=1).err
        assert contents(atm.home / ".claude/tasks") == before

    @pytest.mark.parametrize("id", ["#1", "001"])
    def test_the_number_is_shown_as_it_is_whatever_was_typed(self, planned, id):
        said = planned("plan", "submit", id, "--text", "x", "--as", "ann").out + planned("plan", "approve", id).out
        assert "the plan for #1 waits" in said
        assert "the plan for #1 is approved" in said


@pytest.mark.parametrize(
    ("words", "event"),
    [(["cancel", "1", "--reason", ""], "cancelled"), (["release", "1", "--reopen", "--reason", ""], "reopened")],
)
def test_an_empty_reason_is_as_good_as_none(tasks, words, event):
    tasks("add", "A")
    if "--reopen" in words:
        tasks("cancel", "1")
    tasks(*words)
    assert tasks("history", "1", "--json").json["events"][-1]["reason"] == event


@pytest.mark.parametrize("words", [["review", "changes", "1"], ["plan", "reject", "1"]])
def test_the_board_says_first_what_is_wrong_with_a_task(tasks, words):
    tasks("add", "A")
    assert tasks(*words, "--json", code=1).json["error"]["code"] != "usage"

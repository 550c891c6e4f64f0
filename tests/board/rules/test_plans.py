"""Plans need a yes, and questions an answer; no answer means no (D18, G8)."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.board.formats.task import apply, decode_task
from atm.board.rules import plans
from atm.board.rules.plans import MOST_REVISIONS
from atm.board.rules.tasks import Card, Change, Stamp, Task
from atm.core.work_errors import PlanRefused, TaskClosed


def task(**own: object) -> Task:
    from atm.files.formats.json_record import encode, to_bytes

    record = {"id": "1", "status": "in_progress", "owner": "ann", "metadata": {"atm": own}}
    return decode_task(to_bytes(encode(record)), 1)


def after(one: Task, change: Change) -> Task:
    from atm.files.formats.json_record import to_bytes

    return decode_task(to_bytes(apply(one.raw, change)), one.number)


def by(actor: str, id: str = "e") -> Stamp:
    return Stamp(actor, "2026-01-01T00:00:00.000Z", id)


def submitted(one: Task, text: str = "I shall do it") -> Task:
    return after(one, plans.submit(one, by("ann"), text))


def rejected(one: Task) -> Task:
    return after(one, plans.reject(one, by("lead"), "no"))


def test_a_plan_is_submitted_rejected_revised_and_approved():
    one = submitted(task(plan={"state": "required"}))
    assert (one.plan, one.part("plan")["revision"]) == ("submitted", 0)
    one = rejected(one)
    assert (one.plan, one.part("plan")["feedback"]) == ("rejected", "no")
    one = submitted(one, "differently")
    assert (one.plan, one.part("plan")["revision"], one.part("plan")["text"]) == ("submitted", 1, "differently")
    assert "feedback" not in one.part("plan")
    one = after(one, plans.approve(one, by("lead"), "go"))
    assert (one.plan, one.part("plan")["decidedBy"]) == ("approved", "lead")
    plans.check_may_begin(one)
    assert [event["type"] for event in one.events] == [
        "plan_submitted",
        "plan_rejected",
        "plan_submitted",
        "plan_approved",
    ]


@proves("R004-agent-lifecycle-L7d")
def test_there_are_a_first_plan_and_three_revisions_and_then_the_lead_decides():
    one = submitted(task(plan={"state": "required"}))
    for revision in range(1, MOST_REVISIONS + 1):
        one = rejected(one)
        assert not plans.lead_must_decide(one)
        one = submitted(one)
        assert one.part("plan")["revision"] == revision
    one = rejected(one)
    assert plans.lead_must_decide(one)
    with pytest.raises(PlanRefused, match="3 times"):
        plans.submit(one, by("ann"), "once more")
    with pytest.raises(PlanRefused):
        plans.check_may_begin(one)
    approved = after(one, plans.approve(one, by("lead"), ""))
    plans.check_may_begin(approved)


@pytest.mark.parametrize(
    ("state", "may"), [("", True), ("approved", True), ("required", False), ("submitted", False), ("rejected", False)]
)
def test_only_an_approved_plan_lets_the_work_begin(state, may):
    one = task(plan={"state": state})
    if may:
        plans.check_may_begin(one)
    else:
        with pytest.raises(PlanRefused) as caught:
            plans.check_may_begin(one)
        assert caught.value.remedy


@pytest.mark.parametrize(
    ("state", "text", "says"),
    [
        ("approved", "x", "approved already"),
        ("submitted", "x", "waits"),
        ("required", " \n", "empty"),
        ("", "", "empty"),
    ],
)
def test_a_plan_that_makes_no_sense_now_is_refused(state, text, says):
    with pytest.raises(PlanRefused, match=says):
        plans.submit(task(plan={"state": state}), by("ann"), text)


@pytest.mark.parametrize("state", ["", "required", "approved"])
def test_there_must_be_a_plan_to_decide_about(state):
    one = task(plan={"state": state})
    with pytest.raises(PlanRefused):
        plans.approve(one, by("lead"), "")
    with pytest.raises(PlanRefused):
        plans.reject(one, by("lead"), "no")


def test_a_rejection_says_why():
    with pytest.raises(PlanRefused, match="without saying why"):
        plans.reject(task(plan={"state": "submitted"}), by("lead"), "  ")


def test_a_plan_that_was_rejected_is_not_rejected_twice():
    with pytest.raises(PlanRefused):
        rejected(rejected(submitted(task())))


@pytest.mark.parametrize("revision", ["many", None, [], {}])
def test_a_revision_that_is_no_number_counts_as_the_first(revision):
    one = submitted(task(plan={"state": "rejected", "revision": revision}))
    assert one.part("plan")["revision"] == 1


def test_a_question_waits_until_it_is_answered():
    one = task()
    asked = after(one, plans.ask(one, by("ann"), "user", "blue or red?"))
    assert (asked.needs, asked.part("clarification")["question"]) == ("user", "blue or red?")
    assert asked.waits_for_others
    answered = after(asked, plans.answer(asked, by("lead"), "blue"))
    assert answered.needs == ""
    assert [(event["type"], event.get("note")) for event in answered.events] == [
        ("clarification_requested", "blue or red?"),
        ("clarification_answered", "blue"),
    ]


def test_nobody_answers_what_was_not_asked():
    with pytest.raises(TaskClosed):
        plans.answer(Card(1), by("lead"), "blue")


@pytest.mark.parametrize(
    "card",
    [
        Card(1, status="completed"),
        Card(1, status="in_progress", outcome="failed"),
        Card(1, status="in_progress", outcome="cancelled"),
    ],
)
def test_nothing_is_asked_about_what_is_finished(card):
    with pytest.raises(TaskClosed):
        plans.ask(card, by("ann"), "lead", "?")


def test_a_long_plan_is_no_approved_plan():
    """A peer took any text of more than 200 characters for an approved one."""
    submitted = task(plan={"state": "submitted", "text": "x" * 5000})
    with pytest.raises(PlanRefused):
        plans.check_may_begin(submitted)


@pytest.mark.parametrize(
    ("text", "files", "beyond"),
    [
        pytest.param("I change `src/a.py` and tests/test_a.py.", ["src/**", "tests/*.py"], [], id="expected ones"),
        pytest.param("I change src/a.py, then (./README.md)!", ["src/**"], ["README.md"], id="one more"),
        pytest.param("See https://x.y/z.html, e.g. v1.2 and/or 3.14 etc.", ["src/**"], [], id="no files at all"),
        pytest.param("I change setup.cfg", [], [], id="a task that expects none in particular"),
    ],
)
def test_files_that_a_plan_names_beside_the_expected_ones_are_found(text, files, beyond):
    assert plans.files_beyond(text, files) == beyond

"""Whose turn a review is: the current cycle only (seed 002, section 8.2.2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.board.formats.task import apply, decode_task
from atm.board.rules import reviews
from atm.board.rules.reviews import current_cycle, current_reviewer
from atm.board.rules.tasks import Card, Change, Stamp, Task
from atm.core.work_errors import ReviewRefused
from atm.files.formats.json_record import to_bytes

Event = dict[str, Any]


def task(*events: Event, state: str = "review", card: str = "", owner: str = "ann", **own: object) -> Task:
    review = {"state": state, **({"reviewer": card} if card else {})}
    return Task(
        Card(1, status="in_progress", owner=owner, review=state, reviewer=card),
        description="",
        own={"events": list(events), "review": review, **own},  # type: ignore[dict-item]
        raw="",
    )


def asked(reviewer: str = "", by: str = "ann") -> Event:
    return {"type": "review_requested", "actor": by, **({"reviewer": reviewer} if reviewer else {})}


def started(by: str) -> Event:
    return {"type": "review_started", "actor": by}


def moved(to: str) -> Event:
    return {"type": "status_changed", "to": to}


APPROVED: Event = {"type": "review_approved", "actor": "bob"}
CHANGES: Event = {"type": "review_changes_requested", "actor": "bob"}
COMMENT: Event = {"type": "commented", "actor": "eve"}


@proves(
    "R002-8.0-15",
    "R002-8.0-16",
    "R002-8.0-17",
    "R002-8.0-103",
    "R002-8.0-115",
    "R002-8.0-117",
    "R002-8.0-118",
    "R002-8.2.2-01",
    "R002-8.2.2-02",
    "R002-8.2.2-03",
    "R002-8.2.2-04",
    "R002-8.2.2-05",
    "R002-8.2.2-07",
    "R002-8.2.2-09",
    "R002-8.2.2-10",
    "R002-8.2.2-12",
    "R002-8.2.2-13",
    "R002-8.2.2-14",
    "R002-8.2.2-15",
    "R002-8.2.2-16",
    "R002-8.2.2-17",
    "R002-8.2.2-19",
    "R002-8.2.2-20",
    "R002-8.2.2-22",
    "R002-8.2.2-28",
    "R002-8.2.2-29",
    "R002-8.2.2-30",
    "R002-8.2.2-31",
    "R002-11.1-10",
    "R002-11.1-11",
    "R002-16.7-07",
    "R002-16.7-08",
    "R002-20.3-05",
    "R002-27.0-11",
    "R002-27.0-12",
    "R002-27.0-13",
    "R002-27.1-08",
    "R002-27.1-09",
    "R002-28-03",
)
@pytest.mark.parametrize(
    ("events", "card", "name", "diagnoses"),
    [
        ([asked("bob")], "bob", "bob", 0),
        ([asked("bob")], "", "bob", 0),
        ([asked("bob")], "BOB", "BOB", 0),
        ([asked()], "", None, 1),
        ([asked(), started("cleo")], "", "cleo", 0),
        ([asked("bob"), started("cleo")], "", "cleo", 0),
        ([asked("bob"), started("cleo")], "bob", "bob", 1),  # the card wins, and the conflict is told
        ([asked("bob"), asked("cleo")], "", "cleo", 0),
        ([asked(), started("bob"), started("cleo")], "", None, 1),
        ([asked(), started("bob"), started("cleo")], "cleo", "cleo", 1),
        ([asked(), started("bob"), started("BOB")], "", "bob", 0),
        ([], "", None, 1),
        ([COMMENT], "", None, 1),
        ([asked("bob"), CHANGES], "", None, 1),  # a former reviewer never comes back by itself
        ([asked("bob"), started("bob"), APPROVED], "", None, 1),
        ([asked("bob"), CHANGES, asked("cleo")], "", "cleo", 0),
        ([asked("bob"), started("bob"), CHANGES, asked()], "", None, 1),
        ([asked("bob"), moved("in_progress")], "", None, 1),
        ([asked("bob"), moved("pending")], "", None, 1),
        ([asked("bob"), moved("completed")], "", None, 1),
        ([asked("bob"), moved("deleted")], "", None, 1),
        ([asked("bob"), moved("failed"), asked("cleo")], "", "cleo", 0),
        ([asked("bob"), {"type": "task_created"}], "", None, 1),
        ([asked("bob"), COMMENT, COMMENT], "", "bob", 0),  # remarks change nothing
        ([asked("bob"), moved("review")], "", "bob", 0),
        ([asked("ann")], "", None, 1),  # never the owner
        ([asked("bob")], "ANN", None, 2),
        ([{"type": "review_requested", "reviewer": 5}], "", None, 1),
        ([{"type": "review_started"}], "", None, 1),
    ],
)
def test_the_reviewer_is_whoever_the_current_cycle_proves(events, card, name, diagnoses):
    found = current_reviewer(task(*events, card=card))
    assert (found.name, len(found.diagnostics)) == (name, diagnoses)


def test_of_several_who_were_asked_it_is_the_last_one_also_if_they_were_asked_before():
    found = current_reviewer(task(asked("bob"), asked("cleo"), asked("bob")))
    assert (found.name, found.diagnostics) == ("bob", [])


@proves("R002-8.2.2-08")
@pytest.mark.parametrize("state", ["", "approved", "changes_requested", "whatever"])
def test_outside_of_a_review_it_is_nobodys_turn(state):
    found = current_reviewer(task(asked("bob"), started("bob"), state=state, card="bob"))
    assert (found.name, found.diagnostics) == (None, [])


EVENTS = st.lists(
    st.sampled_from(
        [
            asked("bob"),
            asked("cleo"),
            asked("ann"),
            asked(),
            started("bob"),
            started("cleo"),
            APPROVED,
            CHANGES,
            COMMENT,
            moved("in_progress"),
            moved("completed"),
        ]
    ),
    max_size=12,
)


@proves("R002-8.2.2-20")
@given(EVENTS, st.sampled_from(["", "bob", "ann"]))
def test_the_reviewer_is_never_the_owner_and_is_named_in_the_cycle_or_on_the_card(events, card):
    found = current_reviewer(task(*events, card=card))
    named = {str(event.get(key)) for event in current_cycle(events) for key in ("actor", "reviewer")}
    assert found.name != "ann"
    if found.name is None:
        assert found.diagnostics
    else:
        assert found.name in named | {card}


@proves("R002-8.2.2-01", "R002-8.2.2-03", "R002-11.1-10", "R002-11.1-11")
@given(EVENTS, EVENTS)
def test_nothing_before_the_last_return_to_work_counts(before, events):
    assert current_cycle([*before, CHANGES, *events]) == current_cycle(events)


@given(EVENTS)
def test_remarks_change_nothing_about_whose_turn_it_is(events):
    with_remarks = [each for event in events for each in (event, COMMENT)]
    assert current_reviewer(task(*events)).name == current_reviewer(task(*with_remarks)).name


def by(actor: str) -> Stamp:
    return Stamp(actor, "2026-01-01T00:00:00.000Z", f"by-{actor}")


def real_task(status: str = "in_progress", owner: str = "ann", **own: object) -> Task:
    from atm.files.formats.json_record import encode

    return decode_task(to_bytes(encode({"id": "1", "status": status, "owner": owner, "metadata": {"atm": own}})), 1)


def after(one: Task, change: Change) -> Task:
    return decode_task(to_bytes(apply(one.raw, change)), 1)


def test_a_review_goes_from_the_request_to_the_approval():
    one = real_task()
    one = after(one, reviews.request(one, "bob", by("ann")))
    assert (one.review, one.reviewer, one.status) == ("review", "bob", "in_progress")
    one = after(one, reviews.start(one, by("bob")))
    assert current_reviewer(one).name == "bob"
    one = after(one, reviews.approve(one, by("bob"), "fine"))
    assert (one.review, one.part("review")["note"]) == ("approved", "fine")
    reviews.check_may_complete(one)


@proves("R002-8.0-17", "R002-8.0-118")
def test_changes_bring_the_task_back_to_its_owner_and_a_new_cycle_begins():
    one = real_task()
    one = after(one, reviews.request(one, "bob", by("ann")))
    one = after(one, reviews.request_changes(one, by("bob"), "rename it"))
    assert (one.review, one.owner, one.waits_for_others) == ("changes_requested", "ann", False)
    assert current_cycle(one.events) == []
    one = after(one, reviews.request(one, "cleo", by("ann")))
    assert current_reviewer(one).name == "cleo"
    with pytest.raises(ReviewRefused, match="cleo reviews"):
        reviews.approve(one, by("bob"), "")


@pytest.mark.parametrize("reviewer", ["ann", "ANN"])
def test_nobody_is_asked_to_review_their_own_work(reviewer):
    with pytest.raises(ReviewRefused, match="cannot review"):
        reviews.request(real_task(), reviewer, by("ann"))


@pytest.mark.parametrize("verb", ["start", "approve", "request_changes"])
def test_nobody_reviews_their_own_work_also_if_nobody_was_named(verb):
    one = after(real_task(), reviews.request(real_task(), "", by("ann")))
    rule = {
        "start": lambda: reviews.start(one, by("Ann")),
        "approve": lambda: reviews.approve(one, by("ann"), ""),
        "request_changes": lambda: reviews.request_changes(one, by("ann"), "x"),
    }[verb]
    with pytest.raises(ReviewRefused, match="their own"):
        rule()


@pytest.mark.parametrize("who", ["cleo", "team-lead", "human"])
def test_only_the_reviewer_who_was_asked_decides(who):
    one = after(real_task(), reviews.request(real_task(), "bob", by("ann")))
    for rule in (lambda: reviews.start(one, by(who)), lambda: reviews.approve(one, by(who), "")):
        with pytest.raises(ReviewRefused, match="bob reviews"):
            rule()
    with pytest.raises(ReviewRefused, match="bob reviews"):
        reviews.request_changes(one, by(who), "x")


@pytest.mark.parametrize(
    ("status", "own"),
    [
        ("pending", {}),
        ("completed", {}),
        ("in_progress", {"outcome": "failed"}),
        ("in_progress", {"outcome": "cancelled"}),
    ],
)
def test_a_review_is_asked_for_while_the_task_is_in_progress(status, own):
    with pytest.raises(ReviewRefused, match="#1 is"):
        reviews.request(real_task(status, "" if own else "ann", **own), "bob", by("ann"))


@pytest.mark.parametrize("state", ["", "approved", "changes_requested"])
def test_there_must_be_a_review_to_decide_about(state):
    one = real_task(review={"state": state, "reviewer": "bob"})
    with pytest.raises(ReviewRefused, match="not in review"):
        reviews.approve(one, by("bob"), "")


def test_changes_are_named():
    one = after(real_task(), reviews.request(real_task(), "bob", by("ann")))
    with pytest.raises(ReviewRefused, match="without saying which"):
        reviews.request_changes(one, by("bob"), " ")


@pytest.mark.parametrize(
    ("own", "may"),
    [
        ({}, True),
        ({"review": {"state": "review"}}, False),
        ({"review": {"state": "approved"}}, True),
        ({"review": {"state": "changes_requested"}}, True),
        ({"needsReview": True}, False),
        ({"needsReview": True, "review": {"reviewer": "bob"}}, False),
        ({"needsReview": True, "review": {"state": "changes_requested"}}, False),
        ({"needsReview": True, "review": {"state": "approved"}}, True),
        ({"needsReview": "yes"}, True),
    ],
)
def test_a_task_is_not_completed_over_the_reviewers_head(own, may):
    if may:
        reviews.check_may_complete(real_task(**own))
    else:
        with pytest.raises(ReviewRefused):
            reviews.check_may_complete(real_task(**own))


@proves("R002-8.0-117")
def test_a_reviewer_is_not_forgotten_because_many_remarks_push_the_request_out_of_the_file():
    one = after(real_task(), reviews.request(real_task(), "bob", by("ann")))
    for number in range(120):
        one = after(one, Change(Stamp("eve", "t", f"c{number}").event("commented", note="ok")))
    assert current_reviewer(one).name == "bob"


def test_a_review_that_was_started_without_being_asked_for_is_a_cycle_of_its_own():
    found = current_reviewer(task(moved("in_progress"), started("cleo")))
    assert (found.name, found.diagnostics) == ("cleo", [])


@pytest.mark.parametrize("verb", [reviews.approve, reviews.request_changes])
def test_where_several_started_nobody_decides_before_one_of_them_starts_again(verb):
    unclear = task(asked(), started("bob"), started("cleo"))
    with pytest.raises(ReviewRefused, match="not clear"):
        verb(unclear, Stamp("bob", "now", "e1"), "more tests")
    assert reviews.start(unclear, Stamp("bob", "now", "e2")).event is not None


@pytest.mark.parametrize("verb", [reviews.approve, reviews.request_changes])
@pytest.mark.parametrize("card", ["ann", ""], ids=["on the card", "in the history"])
def test_where_the_owner_is_named_as_reviewer_nobody_decides_before_somebody_starts(verb, card):
    unclear = task(asked("ann"), card=card)
    assert current_reviewer(unclear).is_unclear
    with pytest.raises(ReviewRefused, match="cannot review their own task"):
        verb(unclear, by("cleo"), "more tests")
    assert reviews.start(unclear, by("cleo")).event is not None


def test_where_nobody_in_particular_was_asked_anybody_else_decides():
    open_to_all = task(asked())
    assert not current_reviewer(open_to_all).is_unclear
    assert reviews.approve(open_to_all, by("cleo"), "").event is not None

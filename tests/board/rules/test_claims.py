"""Claims: the order, the refusals, and only the current claimant can finish (G5, D19)."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.proving import proves

from atm.board.formats.task import apply, decode_task, new_task
from atm.board.rules import claims
from atm.board.rules.claims import check_claimant, choose, may_claim, why_nothing
from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import PRIORITIES, STATUSES, Card, Change, Stamp, Task
from atm.core.errors import NotAllowed
from atm.core.plain import dicts_in
from atm.core.work_errors import NotClaimant, TaskClosed
from atm.files.formats.json_record import to_bytes

BY = Stamp("ann", "2026-01-01T00:00:00.000Z", "claim-1")


def board(*cards: Card) -> Board:
    return Board({card.number: card for card in cards})


def working(number: int, owner: str, **fields: object) -> Card:
    return Card(number, status="in_progress", owner=owner, claim_id=f"c{number}", **fields)  # type: ignore[arg-type]


def ended(number: int, outcome: str = "failed") -> Card:
    return Card(number, status="in_progress", outcome=outcome)


class TestChoice:
    def test_the_most_urgent_task_comes_first_and_then_the_lowest_id(self):
        made = board(Card(1, priority="low"), Card(2), Card(3, priority="critical"), Card(4, priority="critical"))
        assert choose(made, "ann").card is made.cards[3]

    def test_ones_own_unfinished_task_comes_before_everything(self):
        made = board(Card(1, priority="critical"), working(2, "ann", priority="low"), working(3, "bob"))
        choice = choose(made, "ANN")
        assert (choice.card, choice.is_resumed) == (made.cards[2], True)

    @pytest.mark.parametrize("waits", [{"review": "review"}, {"plan": "submitted"}, {"needs": "lead"}])
    def test_somebody_who_waits_for_others_may_claim_something_else(self, waits):
        made = board(working(1, "ann", **waits), Card(2))
        choice = choose(made, "ann")
        assert (choice.card, choice.is_resumed) == (made.cards[2], False)

    def test_somebody_who_waits_and_finds_nothing_else_is_told_so(self):
        found = choose(board(working(1, "ann", review="review"), working(2, "bob")), "ann")
        assert found.card is None
        assert found.refusal is not None
        assert found.refusal.code == "waiting"

    def test_a_task_is_passed_over_while_something_it_needs_is_open(self):
        made = board(Card(1, blocked_by=["2"], priority="critical"), working(2, "bob"), Card(3, priority="low"))
        assert choose(made, "ann").card is made.cards[3]

    def test_a_task_that_was_given_to_somebody_is_theirs_alone(self):
        made = board(Card(1, owner="bob"), Card(2))
        assert choose(made, "ann").card is made.cards[2]
        assert choose(made, "Bob").card is made.cards[1]

    @pytest.mark.parametrize(
        ("cards", "code"),
        [
            ([], "empty"),
            ([Card(1, is_hidden=True)], "empty"),
            ([Card(1, status="completed")], "all-finished"),
            ([ended(1), Card(2, blocked_by=["1"])], "all-finished"),
            ([working(1, "bob"), Card(2, blocked_by=["1"])], "all-claimed"),
            ([Card(1, blocked_by=["99"])], "broken-dependency"),
            ([Card(1, owner="bob")], "all-blocked"),
            ([Card(1, needs="lead")], "all-blocked"),
            ([Card(1, status="", problem="not JSON")], "all-blocked"),
            ([working(1, "ann", needs="user"), working(2, "bob")], "waiting"),
        ],
    )
    def test_an_empty_hand_comes_with_a_reason_that_tells_whether_waiting_helps(self, cards, code):
        found = choose(board(*cards), "ann")
        assert found.card is None
        assert found.refusal is not None
        assert (found.refusal.code, why_nothing(board(*cards), "ann").code) == (code, code)
        assert found.refusal.why


class TestMayClaim:
    @proves("R004-gap-p0-01", "R004-task-system-T2")
    @pytest.mark.parametrize(
        ("card", "code"),
        [
            (Card(1), None),
            (Card(1, owner="ann"), None),
            (Card(1, owner="Ann"), None),
            (working(1, "ann"), None),
            (working(1, "bob"), "claimed"),
            (Card(1, owner="bob"), "assigned"),
            (Card(1, status="completed"), "finished"),
            (ended(1), "finished"),
            (ended(1, "cancelled"), "finished"),
            (Card(1, outcome="failed"), "finished"),
            (Card(1, problem="not JSON"), "unreadable"),
            (Card(1, needs="lead"), "clarification"),
            (Card(1, is_hidden=True), "internal"),
            (Card(1, status="", problem="not JSON"), "unreadable"),
            (Card(1, blocked_by=["7"]), "blocked"),
            (Card(1, blocked_by=["8"]), "unreachable"),
            (Card(1, blocked_by=["99"]), "broken-dependency"),
            (Card(1, blocked_by=["9"]), None),
            (Card(1, blocked_by=["9", "7"]), "blocked"),
            (working(1, "ann", blocked_by=["7"]), None),
        ],
    )
    def test_a_task_is_had_or_refused_with_a_code(self, card, code):
        made = board(card, Card(7), ended(8), Card(9, status="completed"))
        refusal = may_claim(made, card, "ann")
        assert (refusal.code if refusal else None) == code

    @pytest.mark.parametrize("status", ["in_progress", "deleted", "whatever"])
    def test_what_nobody_can_take_is_refused_and_not_left_without_an_answer(self, status):
        refusal = may_claim(board(Card(1, status=status)), Card(1, status=status), "ann")
        assert refusal is not None
        assert refusal.code != "blocked"
        assert not refusal.why.endswith("waits for ")

    def test_a_long_list_of_blockers_is_cut(self):
        made = board(Card(1, blocked_by=[str(n) for n in range(2, 12)]), *[Card(n) for n in range(2, 12)])
        refusal = may_claim(made, made.cards[1], "ann")
        assert refusal is not None
        assert refusal.why == "#1 waits for #2, #3, #4, #5, #6 and 5 more"


class TestClaimant:
    @pytest.mark.parametrize(
        ("card", "claim_id", "error"),
        [
            (working(1, "ann"), "", None),
            (working(1, "ANN"), "", None),
            (working(1, "ann"), "c1", None),
            (working(1, "ann"), "old", NotClaimant),
            (working(1, "bob"), "", NotClaimant),
            (working(1, "bob"), "c1", NotClaimant),
            (Card(1), "", NotClaimant),
            (Card(1, owner="ann"), "", NotClaimant),
            (Card(1, status="in_progress", owner="ann"), "", None),
            (Card(1, status="in_progress", owner="ann"), "c1", NotClaimant),
            (Card(1, status="in_progress"), "", NotClaimant),
            (Card(1, status="completed", owner="ann"), "", TaskClosed),
            (ended(1), "", TaskClosed),
            (ended(1, "cancelled"), "c1", TaskClosed),
        ],
    )
    def test_only_the_current_claimant_may_finish(self, card, claim_id, error):
        if error is None:
            check_claimant(card, "ann", claim_id)
        else:
            with pytest.raises(error) as caught:
                check_claimant(card, "ann", claim_id)
            assert caught.value.remedy

    @pytest.mark.parametrize(("is_boss", "error"), [(True, None), (False, NotAllowed)])
    def test_some_things_are_for_the_lead_and_for_humans(self, is_boss, error):
        if error is None:
            claims.check_may_lead("ann", is_boss, "do that")
        else:
            with pytest.raises(error, match="ann may not do that"):
                claims.check_may_lead("ann", is_boss, "do that")


def after(card_text: bytes, change: Change) -> tuple[bytes, Card]:
    data = to_bytes(apply(card_text.decode(), change))
    return data, decode_task(data, 1)


def fresh(**own: object) -> bytes:
    return new_task(1, subject="s", description="", owner="", blocked_by=[], blocks=[], own={"events": [], **own})  # type: ignore[dict-item]


def claimed(**own: object) -> tuple[bytes, Card]:
    return after(fresh(**own), claims.claim(Card(1), "ann", BY, needs_plan=False))


class TestChanges:
    @proves("R004-architecture-07", "R004-task-system-T1c", "R004-task-system-T4c", "R004-task-system-T11i")
    def test_a_claim_is_owner_status_and_an_id(self):
        _, card = claimed()
        assert (card.status, card.owner, card.claim_id, card.claimed_at) == ("in_progress", "ann", "claim-1", BY.at)
        assert card.last_event == "claim-1"

    @pytest.mark.parametrize(
        ("needs_plan", "plan", "expected"),
        [(False, "", ""), (True, "", "required"), (True, "approved", "approved"), (True, "rejected", "rejected")],
    )
    def test_a_member_that_must_plan_gets_a_task_that_needs_one(self, needs_plan, plan, expected):
        text = fresh(plan={"state": plan}) if plan else fresh()
        _, card = after(text, claims.claim(Card(1, plan=plan), "ann", BY, needs_plan=needs_plan))
        assert card.plan == expected

    def test_a_completed_task_keeps_its_owner_and_says_how_it_was_proven(self):
        text, card = claimed()
        text, card = after(text, claims.complete(card, BY, result="done", evidence=[{"ok": True}], unverified=False))
        own = decode_task(text, 1).details
        assert (card.status, card.owner, card.claim_id) == ("completed", "ann", "")
        assert (own["result"], own["finishedBy"], own["evidence"]) == ("done", "ann", [{"ok": True}])
        assert "unverified" not in own
        assert "claim" not in own

    def test_a_completion_without_checks_is_recorded_as_such(self):
        text, card = claimed()
        text, card = after(text, claims.complete(card, BY, result="", evidence=[], unverified=True))
        task = decode_task(text, 1)
        assert task.part("unverified") == {"by": "ann", "at": BY.at}
        assert task.events[-1]["unverified"] is True

    @proves("R004-task-system-T1b", "R004-task-system-T11l", "R004-defects-08")
    @pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (1, 2), (2, 3), (5, 6)])
    def test_two_retries_are_three_attempts(self, retries, attempts):
        text, card = claimed(maxRetries=retries)
        for attempt in range(1, attempts + 1):
            text, card = after(text, claims.fail(card, BY, "boom"))
            assert (card.failures, bool(card.outcome)) == (attempt, attempt == attempts)
            assert card.owner == ""
            if not card.outcome:
                assert card.status == "pending"
                text, card = after(text, claims.claim(card, "ann", BY, needs_plan=False))
        assert (card.outcome, card.status, card.is_finished) == ("failed", "in_progress", True)

    def test_a_failure_can_be_final_at_once(self):
        text, card = claimed()
        assert after(text, claims.fail(card, BY, "boom", final=True))[1].outcome == "failed"

    def test_each_try_names_who_failed_and_not_who_says_so(self):
        text, card = claimed()
        text, _ = after(text, claims.fail(card, Stamp("lead", BY.at, "e-2"), "boom"))
        (tried,) = dicts_in(decode_task(text, 1).details["tries"])
        assert (tried["attempt"], tried["by"], tried["error"]) == (1, "ann", "boom")

    def test_what_could_not_be_begun_goes_back_with_the_reason_and_without_blame(self):
        text, card = claimed()
        text, card = after(text, claims.give_back(card, Stamp("a1", BY.at, "e-2"), "no worktree could be made"))
        assert (card.status, card.owner, card.failures) == ("pending", "", 0)
        assert decode_task(text, 1).part("refused") == {"why": "no worktree could be made", "at": BY.at, "by": "a1"}

    def test_a_release_is_without_blame(self):
        text, card = claimed()
        _, card = after(text, claims.release(card, BY))
        assert (card.status, card.owner, card.failures, card.claim_id) == ("pending", "", 0, "")

    def test_an_assignment_stops_the_old_claim_before_there_is_a_new_one(self):
        text, card = claimed()
        _, card = after(text, claims.assign(card, "bob", BY))
        assert (card.status, card.owner, card.claim_id, card.is_claimed) == ("pending", "bob", "", False)

    def test_what_was_cancelled_lies_where_claude_code_neither_takes_it_nor_goes_on(self):
        text, card = claimed()
        _, card = after(text, claims.cancel(card, BY, "not wanted"))
        assert (card.status, card.owner, card.outcome) == ("in_progress", "", "cancelled")

    @pytest.mark.parametrize("rule", ["fail", "cancel", "complete"])
    def test_what_is_finished_can_be_opened_again_with_all_its_retries(self, rule):
        text, card = claimed()
        change = {
            "fail": claims.fail(card, BY, "x", final=True),
            "cancel": claims.cancel(card, BY, "x"),
            "complete": claims.complete(card, BY, result="", evidence=[], unverified=False),
        }[rule]
        text, card = after(text, change)
        text, card = after(text, claims.reopen(card, BY, "again"))
        assert (card.status, card.owner, card.outcome, card.failures) == ("pending", "", "", 0)
        assert "finishedBy" not in decode_task(text, 1).details

    @pytest.mark.parametrize(
        "card", [Card(1, status="completed"), ended(1), ended(1, "cancelled"), Card(1, status="", problem="x")]
    )
    def test_what_is_closed_is_neither_assigned_nor_cancelled(self, card):
        for rule in (lambda: claims.assign(card, "bob", BY), lambda: claims.cancel(card, BY, "x")):
            with pytest.raises(TaskClosed):
                rule()


CARDS = st.builds(
    Card,
    number=st.integers(1, 6),
    status=st.sampled_from(STATUSES),
    owner=st.sampled_from(["", "ann", "bob"]),
    blocked_by=st.lists(st.integers(1, 8).map(str), max_size=3),
    priority=st.sampled_from([*PRIORITIES, "?"]),
    review=st.sampled_from(["", "review"]),
    needs=st.sampled_from(["", "lead"]),
    is_hidden=st.booleans(),
)


@given(st.lists(CARDS, max_size=6))
@example([Card(1, status="in_progress", owner="ann"), Card(2)])
@example([Card(1, status="in_progress", owner="bob"), Card(2)])
def test_whatever_the_board_a_choice_is_a_task_that_can_be_had_or_a_reason(cards):
    made = board(*cards)
    choice = choose(made, "ann")
    assert (choice.card is None) == (choice.refusal is not None)
    if choice.card is None:
        return
    if choice.is_resumed:
        assert choice.card.owner == "ann"
        assert choice.card.status == "in_progress"
    else:
        assert may_claim(made, choice.card, "ann") is None
        assert choice.card.status == "pending"
        assert not made.open_blockers(choice.card)
        assert choice.card.owner in ("", "ann")


@pytest.mark.parametrize(
    ("at_work", "says"),
    [
        ([working(1, "bob")], "what is left waits for a task that somebody works on"),
        ([working(1, "bob"), working(3, "cat")], "what is left waits for 2 tasks that others work on"),
    ],
)
def test_it_says_how_many_tasks_are_worked_on(at_work, says):
    assert why_nothing(board(*at_work, Card(2, blocked_by=["1"])), "ann").why == says


@pytest.mark.parametrize(
    ("card", "former"),
    [(Card(1, status="completed"), "completed"), (ended(1, "cancelled"), "cancelled"), (ended(1), "failed")],
)
def test_a_task_that_is_reopened_was_what_its_outcome_says(card, former):
    event = claims.reopen(card, BY, "once more").event
    assert event is not None
    assert (event["from"], event["to"]) == (former, "pending")


def test_that_work_was_merged_is_noted_once_for_each_commit_and_only_of_what_is_completed():
    def task(status: str, **work: str) -> Task:
        raw = {"id": "1", "subject": "a", "status": status, "metadata": {"atm": {"work": work}}}
        return decode_task(to_bytes(json.dumps(raw)), 1)

    assert claims.note_merged(task("completed", merged="abc"), BY, "abc", "main") is None
    assert claims.note_merged(task("in_progress"), BY, "abc", "main") is None
    for before in (task("completed"), task("completed", merged="earlier", commit="c")):
        change = claims.note_merged(before, BY, "abc", "main")
        assert change is not None
        assert change.own["work"] == {**before.part("work"), "merged": "abc", "into": "main"}

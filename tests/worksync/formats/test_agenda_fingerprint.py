"""The fingerprint of an agenda: it moves when the member's work does, and with nothing else (sections 8.3, 20.1)."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.board.rules.dependencies import Board
from atm.board.rules.reviews import Reviewer
from atm.board.rules.tasks import Card
from atm.worksync.formats.agenda_fingerprint import canonical_json, fingerprint
from atm.worksync.rules.agenda import Agenda, WorkItem, build_agendas

MEMBERS = ("ann", "bob", "boss")


def agenda_of(member: str, *cards: Card, team: str = "crew", gone: tuple[Card, ...] = (), **reviewers: Reviewer):
    board = Board({one.number: one for one in cards}, {one.number: one for one in gone})
    by_id = {key.removeprefix("task"): reviewer for key, reviewer in reviewers.items()}
    return build_agendas(board, team, MEMBERS, "boss", by_id)[member]


def of(member: str, *cards: Card, **other: Any) -> str:
    return fingerprint(agenda_of(member, *cards, **other))


def mine(**facts: Any) -> Card:
    return Card(**{"number": 1, "owner": "ann", "status": "in_progress", **facts})


@proves("R002-4.2-02", "R002-8.3-01", "R002-8.3-02")
def test_its_form():
    assert re.fullmatch(r"agenda:v1:[0-9a-f]{64}", of("ann", mine()))


@proves(
    "R002-1-04",
    "R002-4.2-01",
    "R002-8.0-08",
    "R002-8.1-09",
    "R002-8.1-10",
    "R002-8.1-12",
    "R002-8.1-13",
    "R002-8.1-14",
    "R002-8.1-15",
    "R002-8.1-16",
    "R002-8.2-01",
    "R002-8.2-02",
    "R002-8.2-04",
    "R002-8.3-01",
    "R002-8.3-02",
    "R002-8.3-03",
    "R002-8.3-08",
    "R002-8.3-09",
    "R002-8.3-21",
    "R002-8.3-33",
    "R002-8.3-34",
    "R002-8.3-35",
    "R002-8.3-36",
    "R002-8.3.1-22",
    "R002-21-07",
    "R002-27.1-21",
    "R002-27.2-05",
    "R002-28-04",
)
def test_it_is_the_sha256_of_the_canonical_text_and_stays_what_it_is():
    """Pinned: agents hold fingerprints over an upgrade."""
    text = (
        '{"items": [{"assignee": "ann", "displayId": "#1", "evidence": {"owner": "ann", "status": "in_progress"}, '
        '"kind": "work", "priority": "normal", "reason": "Owned task is in progress.", "taskId": "1"}], '
        '"memberName": "ann", "teamName": "crew"}'
    )
    assert canonical_json(agenda_of("ann", mine()).canonical()) == text
    assert of("ann", mine()) == f"agenda:v1:{hashlib.sha256(text.encode()).hexdigest()}"


class TestWhatMovesIt:
    """Every row of 20.1, and each fact of an item's evidence."""

    @proves(
        "R002-3.4-01",
        "R002-3.4-02",
        "R002-8.0-09",
        "R002-8.0-14",
        "R002-8.3-18",
        "R002-8.3-19",
        "R002-8.3-22",
        "R002-8.3-23",
        "R002-8.3-24",
        "R002-8.3-25",
        "R002-8.3-27",
        "R002-8.3-29",
        "R002-20.1-02",
    )
    @pytest.mark.parametrize(
        "facts",
        [
            {"number": 2},
            {"status": "pending"},
            {"status": "completed"},
            {"status": "deleted"},
            {"owner": "bob"},
            {"owner": ""},
            {"review": "changes_requested"},
            {"review": "approved"},
            {"needs": "lead"},
            {"needs": "user"},
            {"plan": "submitted"},
            {"plan": "approved"},
            {"blocked_by": ["98"]},
            {"blocked_by": ["98", "99"]},
            {"outcome": "failed"},
            {"is_hidden": True},
            {"problem": "not JSON"},
        ],
    )
    def test_each_fact_that_changes_the_work(self, facts):
        assert of("ann", mine(**facts)) != of("ann", mine())

    @proves("R002-8.3-22", "R002-8.3-23", "R002-8.3-25", "R002-20.1-08")
    def test_no_two_of_these_facts_look_the_same(self):
        facts: list[dict[str, Any]] = [
            *({}, {"status": "pending"}, {"owner": ""}, {"review": "changes_requested"}, {"review": "approved"}),
            *({"needs": "lead"}, {"needs": "user"}, {"plan": "submitted"}, {"plan": "approved"}),
            *({"blocked_by": ["98"]}, {"blocked_by": ["99"]}, {"number": 2}),
        ]
        assert len({of("ann", mine(**one)) for one in facts}) == len(facts)

    @proves("R002-8.3-28", "R002-20.1-02")
    def test_a_task_more(self):
        assert of("ann", mine()) != of("ann", mine(), mine(number=2))

    @proves("R002-8.0-13", "R002-8.2.1-47", "R002-8.3-19")
    def test_a_new_owner_moves_both(self):
        before, after = [mine()], [mine(owner="bob")]
        assert of("ann", *before) != of("ann", *after)
        assert of("bob", *before) != of("bob", *after)

    @proves("R002-8.3-20", "R002-8.3-26", "R002-20.1-07")
    def test_a_review_moves_the_owner_and_the_reviewer_and_a_second_cycle_moves_the_reviewer_again(self):
        task = mine(review="review")
        first, second = (of("bob", task, task1=Reviewer("bob", opened_by=id)) for id in ("e1", "e3"))
        assert len({of("bob"), first, second}) == 3
        assert of("ann", task, task1=Reviewer("bob")) == of("ann") != of("ann", mine())

    @proves("R002-4.1-06", "R002-8.0-14", "R002-8.2.1-27", "R002-8.3-24", "R002-20.1-08")
    def test_a_blocker_that_goes(self):
        open_one, done = Card(2), Card(2, status="completed")
        blocked = mine(blocked_by=["2"])
        assert of("ann", blocked, open_one) != of("ann", blocked, done) == of("ann", mine())

    def test_a_dependency_that_breaks_moves_the_lead_and_not_the_owner(self):
        blocked, there = mine(blocked_by=["2"]), Card(2)
        assert of("ann", blocked, there) == of("ann", blocked)
        assert of("boss", blocked, there) != of("boss", blocked)

    def test_another_team_or_member(self):
        empty = {of(member, team=team) for member in MEMBERS for team in ("crew", "other")}
        assert len(empty) == 6


class TestWhatDoesNot:
    @proves("R002-8.0-09", "R002-8.0-11", "R002-8.0-12", "R002-8.3-18", "R002-16.5-06", "R002-20.1-04")
    @pytest.mark.parametrize(
        "facts",
        [
            {"subject": "another subject"},
            {"priority": "critical"},
            {"files": ["a.py"]},
            {"last_event": "a weak comment"},
            {"claim_id": "c", "claimed_at": "2026-01-01T00:00:00Z"},
            {"failures": 2},
            {"max_retries": 9},
            {"owner": "ANN"},
            {"blocks": ["2"]},
            {"blocked_by": ["2"]},  # completed
            {"reviewer": "bob"},  # whom the task names for later
        ],
    )
    def test_each_fact_that_leaves_the_work_as_it_is(self, facts):
        done = Card(2, status="completed")
        assert of("ann", mine(**facts), done) == of("ann", mine(), done)

    @proves("R002-8.2.2-32", "R002-27.1-23")
    def test_a_conflict_about_the_reviewer_who_stays_the_same(self):
        task = mine(review="review")
        told = Reviewer("bob", ["the card says bob and the history says cleo"], opened_by="e1")
        assert of("bob", task, task1=told) == of("bob", task, task1=Reviewer("BOB", opened_by="e1"))

    @proves("R002-8.3-07", "R002-20.1-01")
    def test_the_order_of_keys_and_of_what_an_item_is_made_of(self):
        facts = {"owner": "ann", "status": "pending", "deep": {"b": 1, "a": [{"y": 1, "x": 2}]}}
        turned = {"deep": {"a": [{"x": 2, "y": 1}], "b": 1}, "status": "pending", "owner": "ann"}
        one, other = (WorkItem("1", "work", "ann", "normal", "because", found) for found in (facts, turned))  # type: ignore[arg-type]
        assert fingerprint(Agenda("crew", "ann", [one])) == fingerprint(Agenda("crew", "ann", [other]))

    def test_a_subject_of_lone_surrogates(self):
        assert of("ann", mine(subject="\ud800")) == of("ann", mine())

    @pytest.mark.parametrize("hostile", ["\ud800", "\0", "é" * 100_000, '"}], "x": [{'])
    def test_odd_text_in_a_fact_is_hashed_and_no_error(self, hostile):
        assert of("ann", mine(needs=hostile, review=hostile, plan=hostile)) != of("ann", mine())


IDS = st.lists(st.sampled_from(["1", "2", "3", "4", "99"]), max_size=3)
CARDS = st.builds(
    Card,
    number=st.integers(1, 4),
    blocked_by=IDS,
    status=st.sampled_from(["pending", "in_progress", "completed"]),
    owner=st.sampled_from(["", "ann", "bob"]),
    review=st.sampled_from(["", "", "approved", "changes_requested"]),
    needs=st.sampled_from(["", "", "lead"]),
    plan=st.sampled_from(["", "", "submitted"]),
)
BOARDS = st.lists(CARDS, max_size=4, unique_by=lambda one: one.number)
TEXT = st.text(max_size=10)
NOISE = st.fixed_dictionaries(
    {},
    optional={
        "subject": TEXT,
        "last_event": TEXT,
        "priority": st.sampled_from(["low", "critical", "odd"]),
        "claim_id": TEXT,
        "claimed_at": TEXT,
        "failures": st.integers(0, 9),
        "files": st.lists(TEXT, max_size=2),
        "reviewer": st.sampled_from(["", "bob"]),
    },
)


def again(one: Card, other: dict[str, object]) -> Card:
    copy = Card(*one.values())  # type: ignore[arg-type]
    for name, value in other.items():
        setattr(copy, name, value)
    return copy


@proves(
    "R002-4.2-01",
    "R002-8.3-04",
    "R002-8.3-05",
    "R002-8.3-06",
    "R002-8.3-18",
    "R002-8.3.1-01",
    "R002-11.1-07",
    "R002-21-32",
    "R002-27.1-24",
    "R002-27.1-52",
    "R002-28-04",
)
@given(BOARDS, st.lists(NOISE, min_size=4, max_size=4), st.data())
def test_noise_never_moves_anybodys_fingerprint(cards, noise, data):
    noisy = []
    for one, other in zip(cards, noise, strict=False):
        letters = {"owner": one.owner.upper(), "blocked_by": data.draw(st.permutations(one.blocked_by))}
        noisy.append(again(one, {**other, **letters}))
    unrelated = [Card(50, owner="bob"), Card(51), Card(52, status="completed", owner="ann")]
    mixed = data.draw(st.permutations([*noisy, *unrelated]))
    for member in ("ann", "boss"):
        assert of(member, *cards) == of(member, *mixed)


@proves("R002-4.2-01", "R002-8.3.1-01")
@given(BOARDS, BOARDS)
def test_two_agendas_have_one_fingerprint_only_if_they_are_the_same(one, other):
    first, second = agenda_of("ann", *one), agenda_of("ann", *other)
    assert (fingerprint(first) == fingerprint(second)) is (first.canonical() == second.canonical())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@proves("R002-8.0-08", "R002-8.3-07")
@given(JSON)
def test_the_canonical_text_says_the_same_in_the_order_of_its_keys(value):
    text = canonical_json(value)
    assert json.loads(text) == value
    assert "\n" not in text.replace("\\n", "")
    assert canonical_json(json.loads(text)) == text

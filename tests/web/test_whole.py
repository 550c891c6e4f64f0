"""What is new between two moments: whoever applies it has the second moment."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as some
from tests.tui.lantern import LANTERN, NOW
from tests.web.served import apply

from atm.ui.views.team.seen import MemberSeen, TaskSeen, TeamSeen
from atm.ui.web.whole import change_between, whole_of


def whole(seen: TeamSeen, now: float = NOW) -> dict[str, Any]:
    return {**whole_of(asdict(seen), seen, now)}


BEFORE = whole(LANTERN)


def changed(after: TeamSeen, now: float = NOW) -> dict[str, Any]:
    found = change_between(BEFORE, whole(after, now))
    assert found is not None
    return {**found}


def test_rows_say_who_must_act_first_and_what_can_be_done():
    rows = BEFORE["rows"]
    assert [row["group"] for row in rows][:3] == ["Needs you"] * 3
    assert rows[0]["target"] == ["approval", "a41c"]
    offers = {offer["deed"]: offer for offer in rows[0]["offers"]}
    assert offers["approve"] == {
        "deed": "approve",
        "word": "approve",
        "command": "atm approvals approve a41c --team lantern",
        "asks": "",
        "twice": True,
    }
    assert offers["deny"]["twice"] is True


def test_what_needs_a_terminal_or_only_opens_a_view_is_not_offered():
    assert not [offer for row in BEFORE["rows"] for offer in row["offers"] if offer["deed"] in ("attach", "open")]


def test_what_is_done_stands_in_the_tasks_alone():
    assert not [row for row in BEFORE["rows"] if row["group"] == "Done"]
    assert BEFORE["cells"] == {"7": "stalled", "6": "approval"}
    assert BEFORE["snapshot"]["tasks"][0]["shown"]["word"] == "merged"
    assert BEFORE["counts"] == {"needs": 3, "problems": 2}


def _later(age: float | None) -> float | None:
    return None if age is None else age + 30


def test_time_that_passes_is_no_news():
    older = replace(
        LANTERN,
        members=[
            replace(
                one,
                state_age_seconds=_later(one.state_age_seconds),
                liveness_age_seconds=_later(one.liveness_age_seconds),
            )
            for one in LANTERN.members
        ],
    )
    assert change_between(BEFORE, whole(older, NOW + 30)) is None


def test_whoever_is_heard_of_again_is_news():
    fresh = replace(LANTERN.members[-1], state_age_seconds=1.0, liveness_age_seconds=1.0)
    found = changed(replace(LANTERN, members=[*LANTERN.members[:-1], fresh]))
    assert [row["name"] for row in found["members"]["changed"]] == ["rook"]
    assert found["rows"] is not None
    assert found["tasks"] is None


def test_one_task_of_many_that_changes_is_told_alone():
    tasks = [replace(one, state="completed") if one.id == "7" else one for one in LANTERN.tasks]
    found = changed(replace(LANTERN, tasks=tasks))
    assert [row["id"] for row in found["tasks"]["changed"]] == ["7"]
    assert found["tasks"]["gone"] == []
    assert found["tasks"]["order"] is None
    assert found["members"] is None
    assert found["snapshot"] == {}


def test_a_task_that_is_gone_is_named_and_its_cell_with_it():
    found = changed(replace(LANTERN, tasks=LANTERN.tasks[1:], stalled=[]))
    assert found["tasks"] == {"changed": [], "gone": ["1"], "order": None}
    assert found["cells"] == {"7": None}


teams = some.builds(
    lambda tasks, members, status, troubles: replace(
        LANTERN,
        tasks=list({one.id: one for one in tasks}.values()),
        members=list({one.name: one for one in members}.values()),
        status=status,
        troubles=troubles,
    ),
    some.lists(
        some.builds(
            TaskSeen,
            id=some.sampled_from([str(number) for number in range(8)]),
            subject=some.text(max_size=3),
            state=some.sampled_from(["pending", "completed", "blocked", "in_progress"]),
            owner=some.sampled_from([None, "ann", "bob"]),
        ),
        max_size=8,
    ),
    some.lists(
        some.builds(
            MemberSeen,
            name=some.sampled_from(["ann", "bob", "kite", "wren"]),
            state=some.sampled_from(["idle", "working", "unknown"]),
            state_age_seconds=some.sampled_from([None, 0.0, 3.0, 600.0]),
            liveness=some.sampled_from(["online", "offline", "unknown"]),
        ),
        max_size=4,
    ),
    some.sampled_from(["active", "complete"]),
    some.lists(some.text(max_size=4), max_size=2),
)


@given(teams, teams)
def test_whoever_applies_a_change_has_what_was_seen(first, second):
    before, after = whole(first), whole(second)
    found = change_between(before, after)
    if found is None:
        assert without_ages(before) == without_ages(after)
    else:
        assert without_ages(apply(before, found)) == without_ages({"version": None, **after})


def without_ages(value: Any) -> Any:
    if isinstance(value, dict):
        hidden = ("age", "right", "state_age_seconds", "liveness_age_seconds", "version", "now")
        return {key: without_ages(one) for key, one in value.items() if key not in hidden}
    return [without_ages(one) for one in value] if isinstance(value, list) else value

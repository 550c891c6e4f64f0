"""What makes the control plane look at a member again: hints, routed without reading anything (section 16.4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.events.rules import KINDS, TeamEvent
from atm.worksync.rules.triggers import ALL_MEMBERS, OF_TASK, STRENGTH, THESE, Route, route, strongest


def event(kind: str, subject: str = "ann", team: str = "crew", **detail: Any) -> TeamEvent:
    return TeamEvent(kind, team, subject, 0.0, detail)


@proves(
    "R002-11.2.1-31",
    "R002-16.4-02",
    "R002-16.4-04",
    "R002-16.4-05",
    "R002-16.4-08",
    "R002-16.4-11",
    "R002-16.4-12",
    "R002-16.7-01",
)
@pytest.mark.parametrize(
    ("kind", "trigger", "scope", "names"),
    [
        ("message.written", "inbox_delivered", THESE, ("ann",)),
        ("message.surfaced", "inbox_delivered", THESE, ("ann",)),
        ("member.joined", "member_spawned", THESE, ("ann",)),
        ("member.back", "member_spawned", THESE, ("ann",)),
        ("member.left", "config_changed", ALL_MEMBERS, ()),
        ("member.changed", "config_changed", ALL_MEMBERS, ()),
        ("team.created", "startup_scan", ALL_MEMBERS, ()),
    ],
)
def test_each_event_is_about_whom_it_says(kind, trigger, scope, names):
    assert route(event(kind)) == Route("crew", trigger, scope, names)


@proves("R002-16.6-04", "R002-16.7-02")
@pytest.mark.parametrize("kind", ["message.written", "message.surfaced", "member.joined", "member.back"])
def test_where_nobody_is_named_everybody_is_looked_at(kind):
    assert route(event(kind, "")) == Route("crew", "config_changed", ALL_MEMBERS)


ROUTED = {
    *("task.created", "task.changed", "task.gone", "message.written", "message.surfaced"),
    *("member.joined", "member.back", "member.left", "member.changed", "team.created"),
}


@proves("R002-16.4-13", "R002-20.3-22")
@pytest.mark.parametrize("kind", [*sorted(set(KINDS) - ROUTED), "", "of.a.later.version"])
def test_all_other_events_are_nobodys_business(kind):
    assert route(event(kind)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_about_no_team_is_nobodys_business(kind):
    assert route(event(kind, team="")) is None


@pytest.mark.parametrize("kind", ["task.created", "task.changed", "task.gone"])
class TestTasks:
    @proves("R002-16.4-07")
    def test_a_task_is_about_its_owner_and_its_former_owner(self, kind):
        found = route(event(kind, "7", owner="ann", before={"owner": "bob", "status": "pending"}))
        assert found == Route("crew", "task_state_changed", OF_TASK, ("ann", "bob"), "7")

    def test_a_review_is_named_as_one(self, kind):
        found = route(event(kind, "7", owner="ann", before={"review": "review"}))
        assert found == Route("crew", "review_changed", OF_TASK, ("ann",), "7")

    @proves("R002-16.6-04")
    @pytest.mark.parametrize(
        "detail",
        [
            {},
            {"owner": ""},
            {"owner": None, "before": None},
            {"owner": ["ann"], "before": ["owner"]},
            {"owner": 5, "before": {"owner": {}}},
            {"before": "owner"},
        ],
    )
    def test_a_detail_that_says_nothing_of_use_still_names_the_task(self, kind, detail):
        assert route(event(kind, "7", **detail)) == Route("crew", "task_state_changed", OF_TASK, (), "7")

    def test_nobody_is_named_twice(self, kind):
        found = route(event(kind, "7", owner="ann", before={"owner": "ann"}))
        assert found is not None
        assert found.names == ("ann",)


@proves("R002-11.2.1-36")
@given(st.sets(st.sampled_from(STRENGTH), min_size=1))
def test_of_several_the_strongest_is_named(triggers):
    assert strongest(triggers) == min(triggers, key=STRENGTH.index)


def test_a_trigger_that_nobody_knows_is_the_weakest_and_none_is_none():
    assert strongest({"odd", "runtime_heartbeat"}) == "runtime_heartbeat"
    assert strongest({"odd"}) == "odd"
    assert strongest(set()) == ""


def test_they_are_all_different_and_a_person_comes_first():
    assert len(set(STRENGTH)) == len(STRENGTH)
    assert STRENGTH[0] == "manual_refresh"

"""One round for a team: look, plan, dispatch, and when to look again; and whom an event is about."""

from __future__ import annotations

import pytest
from tests.proving import proves
from tests.worksync.services.conftest import LEAD, Place

from atm.board.services import reviews
from atm.board.services import working as board
from atm.core.work_errors import BadTask
from atm.events import rules as events
from atm.events.rules import TeamEvent
from atm.files.ports.records import OUTBOX
from atm.team.formats.team_config import without_member
from atm.team.rules.liveness import WORKING
from atm.ui.cli.worksync.acting import came_of_it
from atm.worksync.rules.nudges import DELIVERED, RECOVERY_AFTER
from atm.worksync.rules.triggers import ALL_MEMBERS, OF_TASK, QUIET_SECONDS, THESE, Route, route
from atm.worksync.services.rounds import MARGIN, members_of, run_round


@proves("R002-1-50", "R002-6-13", "R002-12.1-09", "R002-15.3-02")
def test_a_round_looks_plans_and_sends(busy_place):
    done = busy_place.round("ann", "bob")
    assert {look.member: look.decision.kind for look in done.looks} == {"ann": "needs_sync", "bob": "caught_up"}
    assert [(one.member, one.outcome) for one in done.planned] == [("ann", "new")]
    assert [one.outcome for one in done.dispatched] == [DELIVERED]
    assert done.outbox_due is None
    assert len(busy_place.nudges()) == 1


def test_a_need_is_looked_at_again_when_a_reminder_could_be_due(busy_place):
    done = busy_place.round()
    assert done.again == {"ann": busy_place.now + RECOVERY_AFTER + MARGIN}


def test_the_end_of_a_lease_and_of_a_busy_time_are_looked_at(busy_place):
    busy_place.report()
    assert busy_place.round().again == {"ann": busy_place.now + 600 + MARGIN}
    busy_place.passes(600)
    busy_place.beats("ann", WORKING)
    assert busy_place.round().again == {"ann": busy_place.now + 600 + MARGIN}


def test_whoever_is_caught_up_is_not_looked_at_again_by_itself(place):
    assert place.round("ann", "bob").again == {}


def test_a_round_of_a_stopped_missing_or_empty_team_does_nothing(busy_place):
    assert run_round(busy_place.syncroom, "nobody", {"ann": "x"}).looks == []
    busy_place.stop()
    before = busy_place.everything()
    done = busy_place.round()
    assert (done.looks, done.planned, done.dispatched, done.again) == ([], [], [], {})
    assert busy_place.changed(before) == []


@proves("R002-1-51", "R002-1-52", "R002-1-68", "R002-6-14")
def test_a_round_without_members_still_sends_what_is_due(busy_place):
    busy_place.plan()
    assert [one.outcome for one in run_round(busy_place.syncroom, "crew", {}).dispatched] == [DELIVERED]


def test_a_whole_day_of_a_member_that_reports_has_no_nudge(busy_place):
    for _ in range(24 * 60 // 9):
        busy_place.report()
        busy_place.round()
        busy_place.passes(540)  # a lease is for ten minutes
    assert busy_place.nudges() == []


@proves("R002-10.1-80", "R002-16.5-10")
def test_a_stale_answer_is_corrective_and_brings_no_nudge_by_itself(busy_place):
    old = busy_place.words("ann")
    busy_place.add("the printer")
    before = len(busy_place.nudges())
    from atm.worksync.services.reports import submit

    submit(busy_place.syncroom, "crew", old, busy_place.knows("ann"))
    busy_place.passes(1.6)
    done = busy_place.round()
    assert (done.planned, done.dispatched, busy_place.items(), len(busy_place.nudges())) == ([], [], [], before)
    assert done.again == {"ann": pytest.approx(busy_place.now - 1.6 + QUIET_SECONDS + MARGIN)}
    busy_place.passes(QUIET_SECONDS)
    busy_place.round()
    assert len(busy_place.nudges()) == before + 1


def test_telling_the_lead_is_not_called_nudging_the_member(busy_place):
    for _ in range(40):
        done = busy_place.round()
        if busy_place.nudges(LEAD):
            break
        busy_place.passes(600)
    assert came_of_it(done, "ann", "")[0] == "lead_told"


def test_only_a_message_that_was_written_is_called_a_nudge(busy_place):
    """The outbox was lost, and the message lies there: nobody is nudged by finding it."""
    assert came_of_it(busy_place.round(), "ann", "")[0] == "nudged"
    busy_place.put(OUTBOX, {})
    busy_place.passes(QUIET_SECONDS)
    again = busy_place.round()
    assert [(one.outcome, one.is_new) for one in again.dispatched] == [(DELIVERED, False)]
    assert came_of_it(again, "ann", "")[0] == "delivered_before"


# Whom an event is about.


def about(place: Place, *, scope: str = OF_TASK, task: str = "", names: tuple[str, ...] = ()) -> list[str]:
    return named(place, Route("crew", "x", scope, names, task))


def named(place: Place, *routes: Route) -> list[str]:
    found = members_of(place.syncroom, place.team, routes)
    return sorted(set().union(*found.values()))


@pytest.fixture
def full(place: Place) -> Place:
    """ann has #1, bob #2 that waits for it, cleo reviews #3 of bob."""
    place.add("first")
    place.add("second", owner="bob", depends_on=["1"])
    place.add("third", owner="bob")
    board.claim(place.boardroom, "crew", "bob", "3")
    reviews.request_review(place.boardroom, "crew", "bob", "3", "cleo")
    return place


@proves("R002-16.4-01", "R002-20.3-19")
def test_a_task_concerns_its_owner_its_reviewer_and_who_waits_for_it(full):
    assert about(full, task="1") == ["ann", "bob"]
    assert about(full, task="2") == ["bob"]
    assert about(full, task="3") == ["bob", "cleo"]


def test_a_task_that_is_gone_concerns_the_lead_if_somebody_waits_for_it(full):
    full.boardroom.tasks.delete("crew", 1)
    assert about(full, task="1", names=("ann",)) == sorted(["ann", "bob", LEAD])
    full.boardroom.tasks.delete("crew", 3)
    assert about(full, task="3") == []


def test_a_task_of_somebody_who_is_not_in_the_team_concerns_the_lead_who_is_nudged_about_it(place):
    place.add("the parser")
    place.room.rosters.change("crew", lambda data: without_member(data, "ann"))  # as another program does it
    assert about(place, task="1") == [LEAD]
    place.passes(600)
    done = place.round(LEAD)
    assert [look.decision.kind for look in done.looks] == ["needs_sync"]
    assert "#1" in place.nudges(LEAD)[0]


@proves("R002-1-76", "R002-16.6-11", "R002-16.7-04")
def test_names_in_events_are_hints_and_strangers_are_nobody(full):
    assert about(full, scope=THESE, names=("ANN", "mallory", "")) == ["ann"]
    assert about(full, task="99", names=("mallory",)) == []


@pytest.mark.parametrize("task", ["", "x", "../1", "-1", "1.5", "0x1", "²"])
def test_a_task_that_is_none_concerns_nobody(full, task):
    assert about(full, task=task) == []


@pytest.mark.parametrize("task", ["9" * 40, "٣"])
def test_a_number_that_is_no_task_id_is_refused_in_words(full, task):
    with pytest.raises(BadTask, match="is no task id"):  # the daemon passes over it
        about(full, task=task)


@proves("R002-11.2.1-31")
def test_a_configuration_concerns_everybody(full):
    assert about(full, scope=ALL_MEMBERS) == sorted(full.team.names)


def test_a_board_that_is_not_there_leaves_the_names_of_the_event(place):
    place.boardroom.tasks.files.clear()
    assert about(place, task="1", names=("ann",)) == ["ann"]


def event(kind: str, subject: str = "", **detail) -> TeamEvent:
    return TeamEvent(kind, "crew", subject, 0.0, detail)


@proves("R002-6-01", "R002-16.4-01", "R002-16.4-02", "R002-16.4-08", "R002-16.7-04")
@pytest.mark.parametrize(
    ("heard", "wanted"),
    [
        (event(events.TASK_CHANGED, "1"), ["ann", "bob"]),
        (event(events.TASK_CHANGED, "1", before={"owner": "cleo"}), ["ann", "bob", "cleo"]),
        (event(events.TASK_CREATED, "2", owner="bob"), ["bob"]),
        (event(events.MESSAGE_WRITTEN, "ann"), ["ann"]),
        (event(events.MESSAGE_SURFACED, "mallory"), []),
        (event(events.MEMBER_JOINED, "cleo"), ["cleo"]),
    ],
)
def test_an_event_leads_to_those_whom_it_concerns(full, heard, wanted):
    found = route(heard)
    assert found is not None
    assert named(full, found) == wanted


@proves("R002-16.4-05", "R002-16.4-12")
@pytest.mark.parametrize("kind", [events.MEMBER_LEFT, events.MEMBER_CHANGED, events.TEAM_CREATED])
def test_an_event_that_does_not_say_whom_it_concerns_leads_to_everybody(full, kind):
    found = route(event(kind))
    assert found is not None
    assert named(full, found) == sorted(full.team.names)


@proves("R002-16.4-14", "R002-20.3-23")
def test_routing_reads_nothing_and_writes_nothing(full):
    before = full.everything()
    for kind in events.KINDS:
        route(event(kind, "1", owner="ann", before={"owner": 7, "review": []}))
    assert full.changed(before) == []


def test_many_events_are_one_look_at_the_board(full, monkeypatch):
    looks, board_of = [], full.boardroom.tasks.board

    def noted(team):
        looks.append(team)
        return board_of(team)

    monkeypatch.setattr(full.boardroom.tasks, "board", noted)
    routes = [Route("crew", f"trigger {number % 2}", OF_TASK, (), str(number % 4)) for number in range(1000)]
    assert named(full, *routes) == ["ann", "bob", "cleo"]
    assert len(looks) == 1

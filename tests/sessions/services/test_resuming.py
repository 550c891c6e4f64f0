"""A lead finds its team again: seven steps, one lead at a time, nobody told twice."""

from __future__ import annotations

from typing import Any

import pytest
from tests.proving import proves
from tests.sessions.services.stage import MINUTE, SessionStage

from atm.core.errors import NoSuchTeam, TeamCompleted, UnreadableFile
from atm.core.work_errors import LeadPresent, TeamNotInitialized
from atm.roster.services.ending import archive_team
from atm.roster.services.members import create_team
from atm.sessions.ports.surroundings import FactSource
from atm.sessions.services.checkpointing import checkpoint, commit_checkpoint
from atm.sessions.services.resumed import STEPS
from atm.sessions.services.resuming import INTERRUPTED, RESUMED, probe, resume
from atm.team.rules.endpoints import Endpoint
from atm.team.services.endpoints import put_endpoint
from atm.team.services.leading import lead_of


@pytest.fixture
def stage() -> SessionStage:
    made = SessionStage()
    made.task("parse", owner="bob")
    made.say("bob", "ann", "half of it is done")
    made.say("ann", "bob", "good")
    return made


def codes(done: Any) -> list[str]:
    return [one.code for one in done.warnings]


def bytes_of(stage: Any) -> object:
    commits = [one.commit for one in stage.desk.git.commits("/r/.git", "crew", 9)]
    return stage.room.states.content["crew"], stage.room.ledger.content("crew"), commits


@proves(
    "R003-goal-01",
    "R003-1.1-27",
    "R003-1.1-30",
    "R003-2.2-01",
    "R003-2.2-03",
    "R003-2.2-10",
    "R003-2.2-15",
    "R003-2.2-16",
    "R003-2.2-17",
    "R003-2.2-18",
    "R003-2.2-19",
    "R003-2.2-20",
    "R003-2.2-21",
    "R003-2.3-04",
    "R003-2.3-05",
    "R003-2.3-07",
    "R003-2.3-09",
    "R003-3.2-13",
    "R003-3.3-10",
    "R003-4.2-02",
    "R003-5.1-04",
    "R003-5.2-05",
    "R003-5.3-01",
    "R003-5.3-02",
    "R003-5.3-03",
    "R003-5.3-04",
    "R003-5.3-05",
    "R003-5.3-06",
    "R003-5.3-07",
    "R003-6-02",
    "R003-6-10",
    "R003-6-11",
    "R003-7-team-03",
    "R003-7-teammate-03",
    "R003-9-06",
    "R003-10-03",
)
def test_the_seven_steps_are_told_as_they_are_done(stage):
    heard: list[str] = []
    done: Any = resume(stage.desk, "crew", heard=lambda step: heard.append(step.name))
    assert tuple(heard) == STEPS
    assert [one.number for one in done.steps] == [1, 2, 3, 4, 5, 6, 7]
    assert [(one.seq, one.sender, one.body) for one in done.view.tail] == [
        (1, "bob", "half of it is done"),
        (2, "ann", "good"),
    ]
    assert [one.id for one in done.view.in_progress] == ["1"]


@proves("R003-goal-04", "R003-1.1-36", "R003-1.2-05", "R003-2.1-02", "R003-2.2-07", "R003-3.2-15")
def test_the_same_session_finds_its_team_again_and_tells_nobody(stage):
    resume(stage.as_session("one"), "crew")
    stage.later(3 * 3600)
    done: Any = resume(stage.desk, "crew")
    assert (done.how, done.told, done.asked, codes(done)) == ("reattached", [], [], [])


@proves(
    "R003-2.2-08",
    "R003-2.2-09",
    "R003-2.2-22",
    "R003-2.2-23",
    "R003-2.2-24",
    "R003-2.3-01",
    "R003-2.3-02",
    "R003-2.3-03",
    "R003-6-03",
    "R003-6-12",
    "R003-6-13",
)
def test_another_session_is_refused_for_half_an_hour_unless_it_insists(stage):
    resume(stage.as_session("one"), "crew")
    stage.later(30 * MINUTE)
    with pytest.raises(LeadPresent, match="another session leads crew: one"):
        resume(stage.as_session("two"), "crew")
    assert lead_of(stage.room, "crew").session == "one"
    done: Any = resume(stage.desk, "crew", force=True)
    assert (done.how, done.session, done.session_old, codes(done)) == ("forced", "two", "one", ["different-lead"])


@proves(
    "R003-2.1-02",
    "R003-2.2-08",
    "R003-2.3-12",
    "R003-3.2-12",
    "R003-3.2-14",
    "R003-3.3-07",
    "R003-3.3-08",
    "R003-3.3-09",
    "R003-6-04",
    "R003-7-team-05",
    "R003-8-02",
)
def test_after_that_it_takes_over_and_everybody_hears_of_it_once(stage):
    resume(stage.as_session("one"), "crew")
    stage.later(31 * MINUTE)
    done: Any = resume(stage.as_session("two"), "crew")
    assert (done.how, done.told, done.asked) == ("taken_over", ["bob", "cat"], ["bob"])
    resume(stage.desk, "crew")
    assert stage.inbox("cat") == [RESUMED]
    assert stage.inbox("bob")[1:] == [RESUMED, INTERRUPTED]
    assert "session one has lost it" in stage.inbox("ann")[-1]


def test_one_that_was_cut_off_in_the_middle_tells_everybody_the_next_time(stage):
    resume(stage.as_session("one"), "crew")
    stage.later(31 * MINUTE)

    def cut(step: Any) -> None:
        if step.name == "mailbox":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resume(stage.as_session("two"), "crew", heard=cut)
    done = resume(stage.desk, "crew")
    assert (done.how, done.told, done.asked) == ("reattached", ["bob", "cat"], ["bob"])
    assert resume(stage.desk, "crew").told == []


def test_a_latch_is_lifted_and_said(stage):
    resume(stage.desk, "crew")
    stage.crew.records.set_latch("crew", {"by": "human"})
    assert codes(resume(stage.desk, "crew")) == ["was-stopped"]
    assert stage.crew.records.latch("crew") is None


def test_a_lead_whose_process_runs_is_never_away(stage):
    resume(stage.as_session("one"), "crew")
    stage.room.presence.running.add(77)
    stage.alive("ann", pid=77)
    stage.later(3 * 3600)
    with pytest.raises(LeadPresent):
        resume(stage.as_session("two"), "crew")


@proves("R003-2.1-03", "R003-10-02")
def test_probing_changes_nothing(stage):
    resume(stage.desk, "crew")
    before = bytes_of(stage)
    done = probe(stage.as_session("two"), "crew")
    assert (done.how, [one.name for one in done.steps]) == ("", [*STEPS])
    assert bytes_of(stage) == before


@proves("R003-2.2-02", "R003-2.2-22", "R003-2.2-23", "R003-2.2-24")
def test_a_team_that_nobody_knows_is_said_in_the_seeds_words(stage):
    with pytest.raises(NoSuchTeam, match=r"^Team nobody not found. Use --list-teams$"):
        resume(stage.desk, "nobody")


@proves("R003-2.2-06")
def test_a_team_in_which_nobody_works_is_not_initialized(stage):
    create_team(stage.room, "new", lead="ann")
    with pytest.raises(TeamNotInitialized, match="Spawn with --create-team"):
        resume(stage.desk, "new")


@proves("R003-2.2-05")
def test_a_complete_team_can_only_be_reviewed(stage):
    stage.done("1", "bob")
    archive_team(stage.room, "crew", "ann", force=True)
    before = stage.room.states.content["crew"]
    with pytest.raises(TeamCompleted, match="Use --review-team crew"):
        resume(stage.desk, "crew")
    assert stage.room.states.content["crew"] == before


@proves("R003-2.2-13", "R003-2.2-14", "R003-6-10", "R003-6-11", "R003-8-11", "R003-8-12", "R003-9-09")
def test_stale_facts_are_named_with_what_renews_them_and_stop_nobody(stage):
    desk = stage.desk
    desk.fact_sources = [FactSource(name="modules", paths=("m.json",), renew="make facts")]
    desk.facts.sums["modules"] = "abc"
    resume(desk, "crew")
    desk.facts.sums["modules"] = "other"
    done: Any = resume(desk, "crew")
    assert (done.stale, codes(done)) == ([("modules", "make facts")], ["facts-stale"])
    assert done.warnings[0].message == "Facts stale. Run `make facts`"
    checkpoint(desk, "crew", facts=True)
    assert resume(desk, "crew").stale == []


@proves("R003-4.4-02", "R003-4.4-03", "R003-4.4-04", "R003-4.4-05", "R003-8-09", "R003-8-10")
def test_a_clock_that_was_set_back_is_said_and_order_stays_by_number(stage):
    resume(stage.desk, "crew")
    stage.room.clock.jump(-7 * 24 * 3600.0)
    done: Any = resume(stage.desk, "crew")
    assert "clock-skew" in codes(done)
    assert [one.seq for one in done.view.tail] == [1, 2]


@proves("R003-2.2-15", "R003-2.2-16", "R003-2.2-17", "R003-3.2-13")
def test_a_ledger_with_doubled_missing_and_mixed_numbers_is_shown_once_and_in_order(stage):
    ledger = stage.room.ledger
    one, two = ledger.content("crew").splitlines(keepends=True)
    later = two.replace(b'"seq": 2', b'"seq": 5').replace(b'"id": "', b'"id": "other-', 1)
    ledger.take_away("crew")
    ledger.put("crew", b"".join([two, later, one, two]))
    done: Any = resume(stage.desk, "crew")
    assert [one.seq for one in done.view.tail] == [1, 2, 5]
    assert (done.view.numbers.gaps, done.view.numbers.duplicates) == ([(3, 4)], [2])
    assert codes(done) == ["mailbox-gap", "mailbox-duplicate"]


@proves("R003-1.2-07")
def test_a_torn_state_comes_back_from_git(stage):
    resume(stage.desk, "crew")
    stage.room.states.content["crew"] = b'{"version": "1.'
    done: Any = resume(stage.desk, "crew")
    assert (done.restored_from, done.how) == ("git", "reattached")
    assert "restored-from-git" in codes(done)


def test_a_torn_state_without_a_copy_is_a_reason_to_try_again(stage):
    stage.room.states.content["crew"] = b'{"version": "1.'
    with pytest.raises(UnreadableFile):
        resume(stage.desk, "crew")


def test_of_two_copies_the_higher_sequence_counts(stage):
    resume(stage.desk, "crew")
    old = stage.room.states.content["crew"]
    stage.task("lex")
    checkpoint(stage.desk, "crew")
    commit_checkpoint(stage.desk, "crew", "test")
    stage.room.states.content["crew"] = old
    assert resume(stage.desk, "crew").restored_from == "git"


@proves("R003-1.1-35")
def test_the_same_sequence_with_other_content_is_a_divergence(stage):
    resume(stage.desk, "crew")
    content = stage.room.states.content
    content["crew"] = content["crew"].replace(b'"pending": []', b'"pending": ["9"]')
    done: Any = resume(stage.desk, "crew")
    assert "divergence" in codes(done)
    assert b'"divergence_detected": true' in content["crew"]


@proves("R003-6-17", "R003-7-teammate-17")
def test_held_mail_is_delivered_in_order(stage):
    resume(stage.as_session("one"), "crew")
    stage.room.rosters.away["crew"] = b"{}"
    assert [stage.say("bob", "cat", text).outcome for text in ("one", "two")] == ["held", "held"]
    assert stage.inbox("cat") == []
    done: Any = resume(stage.desk, "crew")
    assert (done.released, stage.inbox("cat")) == (2, ["one", "two"])


@proves("R003-3.3-11", "R003-3.3-12", "R003-3.3-13", "R003-4.2-09")
def test_a_member_goes_on_or_is_rolled_back(stage):
    stage.task("lex", owner="cat")
    resume(stage.as_session("one"), "crew")
    done: Any = resume(stage.as_session("two"), "crew", force=True, go_on=["bob"], back=["cat"])
    assert done.asked == []
    assert "Continue" in stage.inbox("bob")[-1]
    assert (stage.card("1").owner, stage.card("2").status, stage.card("2").claim_id) == ("bob", "pending", "")
    assert done.rolled_back == {"cat": ["2"]}


def test_a_conversation_is_called_resumable_only_where_its_transcript_was_found(stage):
    team = stage.room.rosters.load("crew")
    for name, session in (("bob", "b1"), ("cat", "c1")):
        put_endpoint(stage.room, team, name, Endpoint(vendor="claude", session=session, at=0.0))
    stage.desk.transcripts.found["claude", "b1"] = True
    stage.desk.transcripts.found["claude", "c1"] = False
    assert resume(stage.desk, "crew").resumable == {"bob": True, "cat": False}


@proves("R003-4.3-01", "R003-4.3-02", "R003-4.3-03", "R003-4.3-05", "R003-8-07", "R003-8-08")
def test_a_message_that_lies_unseen_before_a_member_who_is_there_is_undelivered(stage):
    stage.later(6 * MINUTE)
    stage.alive("bob")
    done: Any = probe(stage.desk, "crew")
    assert [one.to for one in done.view.undelivered] == ["ann", "bob"]

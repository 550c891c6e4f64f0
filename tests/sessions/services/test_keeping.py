"""What is kept of a team: checkpoints at home and in git, signs of life, lost teams, hand-overs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.proving import proves
from tests.sessions.services.stage import MINUTE, SessionStage

from atm.board.rules.acceptance import COMMAND, Ran, check
from atm.board.services import working
from atm.board.services.leaving import release_silent
from atm.core.errors import NoSuchMember, TeamCompleted
from atm.core.work_errors import (
    ChecksFailed,
    MemberInUse,
    NotClaimant,
    TaskClosed,
)
from atm.crew.rules.states import ERROR, READY
from atm.crew.services.crewroom import change
from atm.crew.services.reaping import clear_away, reconcile
from atm.crew.services.spawning import AgentWish, spawn
from atm.roster.services.ending import archive_team
from atm.roster.services.members import add_member, create_team
from atm.sessions.rules.policy import SessionPolicy
from atm.sessions.services.checkpointing import checkpoint, commit_checkpoint
from atm.sessions.services.keeping import keep, led_teams, restart_lost
from atm.sessions.services.listing import list_teams
from atm.sessions.services.overview import look_at
from atm.sessions.services.reassigning import reassign
from atm.sessions.services.resuming import probe, resume
from atm.sessions.services.teammates import checkpoint_in, save_all, save_member, tree_of
from atm.team.rules.agent_processes import owner_in
from atm.team.rules.team import Member
from atm.team.services.leading import note_lead
from atm.team.services.lifecycle import note_activity


@pytest.fixture
def stage() -> SessionStage:
    made = SessionStage(SessionPolicy(keep_commits=4))
    made.task("parse", owner="bob")
    made.task("lex")
    resume(made.as_session("one"), "crew")
    return made


def state(stage: Any) -> Any:
    return json.loads(stage.room.states.content["crew"])


# Checkpoints.


@proves("R003-1.2-06", "R003-1.2-09", "R003-5.1-07")
def test_a_team_that_rests_is_not_written_to(stage):
    before = stage.room.states.content["crew"]
    assert not checkpoint(stage.desk, "crew").is_new
    assert stage.room.states.content["crew"] == before
    assert commit_checkpoint(stage.desk, "crew", "test").commit == ""


@proves(
    "R003-1.2-01",
    "R003-1.2-02",
    "R003-1.2-03",
    "R003-1.2-04",
    "R003-1.2-08",
    "R003-1.2-09",
    "R003-1.2-10",
    "R003-2.3-14",
    "R003-5.1-01",
    "R003-5.1-02",
    "R003-5.1-03",
    "R003-5.1-07",
    "R003-5.1-11",
    "R003-5.1-12",
    "R003-5.2-10",
    "R003-9-07",
)
def test_every_change_is_one_more_checkpoint_and_one_commit(stage):
    first = state(stage)["checkpoint_sequence"]
    stage.say("bob", "ann", "it is done")
    stage.done("1", "bob")
    made, committed = keep(stage.desk, "crew", git=True, why="completion")
    assert committed is not None
    assert (made.sequence, committed.commit != "") == (first + 1, True)
    files: Any = stage.desk.git.latest("/r/.git", "crew")
    assert {*files} >= {"state.json", "mailbox.log"}
    assert json.loads(files["state.json"])["task_queue"]["completed"] == ["1"]


def test_commits_are_thinned(stage):
    for number in range(12):
        stage.later(2 * 3600)
        stage.task(f"more {number}")
        checkpoint(stage.desk, "crew")
        commit_checkpoint(stage.desk, "crew", "test")
    assert len(stage.desk.git.commits("/r/.git", "crew", 99)) <= 5


def test_without_a_repository_there_is_no_copy_and_that_is_said(stage):
    create_team(stage.room, "bare", lead="ann")
    stage.desk.caller = replace(stage.desk.caller, folder="/nowhere")
    checkpoint(stage.desk, "bare")
    assert "does not work in a repository" in commit_checkpoint(stage.desk, "bare", "test").trouble


def test_only_teams_that_somebody_leads_are_kept_by_the_daemon(stage):
    create_team(stage.room, "mail", lead="ann")
    assert led_teams(stage.desk) == ["crew"]


@proves("R003-6-01", "R003-7-team-01")
def test_whoever_starts_agents_leads_unless_another_does(stage):
    mine = stage.as_session("two").as_lead()
    note_lead(stage.room, "crew", mine, 1800.0)
    assert state(stage)["lead_session_id"] == "one"
    stage.later(31 * MINUTE)
    note_lead(stage.room, "crew", mine, 1800.0)
    assert (state(stage)["lead_session_id"], state(stage)["lead_session_old"]) == ("two", "one")


# Signs of life.


@proves("R003-3.1-01", "R003-7-teammate-14", "R003-9-10", "R003-10-02")
def test_a_process_that_is_known_to_be_a_members_own_keeps_it_online(stage):
    stage.room.presence.running.add(77)
    stage.alive("bob", pid=77)
    team = stage.room.rosters.load("crew")
    stage.later(11 * MINUTE)
    keep(stage.desk, "crew", git=False)
    assert stage.room.presence.last("crew", "bob").source == "test"  # anybody could have that number now
    stage.room.processes.record(77, owner_in(team, "bob"))
    keep(stage.desk, "crew", git=False)
    beat = stage.room.presence.last("crew", "bob")
    assert (beat.source, beat.task, beat.state) == ("atm daemon (its process runs)", "1", "working")


# Agents that died.


def started(stage: Any) -> Any:
    stage.crew.worktrees.add_repository("/src", {"a.txt": "one\n"})

    def host(launch: Any, pid: int) -> None:
        record = stage.crew.records.read(launch.team, launch.member)
        began = stage.crew.processes.began(pid)
        change(stage.crew, launch.team, launch.member, record.generation, state=READY, pid=pid, began=began)

    stage.crew.backends["headless"].answers = host
    return spawn(stage.crew, AgentWish(team="crew", member="dan", runtime="command", folder="/src", command=["x"]))


def die(stage: Any) -> Any:
    record = stage.crew.records.read("crew", "dan")
    del stage.crew.processes.processes[record.pid]
    reconcile(stage.crew, "crew")
    return stage.crew.records.read("crew", "dan")


@proves("R003-4.2-06")
def test_an_agent_that_died_is_started_again_once(stage):
    started(stage)
    assert die(stage).state == ERROR
    assert restart_lost(stage.desk, "crew") == ["dan"]
    assert stage.crew.records.read("crew", "dan").generation == 2
    stage.later(60)
    die(stage)
    assert restart_lost(stage.desk, "crew") == []


def test_one_that_had_lived_for_long_is_started_again(stage):
    started(stage)
    die(stage)
    restart_lost(stage.desk, "crew")
    stage.later(6 * MINUTE)
    die(stage)
    assert restart_lost(stage.desk, "crew") == ["dan"]


def test_a_stopped_team_stays_stopped(stage):
    started(stage)
    die(stage)
    stage.crew.records.set_latch("crew", {"by": "human"})
    assert restart_lost(stage.desk, "crew") == []


# Hand-overs.


@proves("R003-4.3-04")
def test_an_owner_who_is_online_keeps_its_task(stage):
    with pytest.raises(MemberInUse, match="bob is online"):
        reassign(stage.desk, "crew", "1", "cat", "ann")
    assert reassign(stage.desk, "crew", "1", "cat", "ann", force=True).to == "cat"


@proves(
    "R003-goal-03",
    "R003-3.2-16",
    "R003-3.3-02",
    "R003-3.3-03",
    "R003-3.3-04",
    "R003-3.3-05",
    "R003-3.3-07",
    "R003-3.3-08",
    "R003-4.2-03",
    "R003-4.2-04",
    "R003-4.2-05",
    "R003-4.2-08",
    "R003-4.3-04",
    "R003-7-teammate-17",
    "R003-8-04",
)
def test_the_new_owner_gets_what_the_old_one_left_and_the_old_ones_late_word_does_not_count(stage):
    record = started(stage)
    working.claim(stage.boardroom, "crew", "dan", "2")
    stage.crew.worktrees.trees[record.worktree]["a.txt"] = "two\n"
    kept = save_member(stage.desk, stage.room.rosters.load("crew"), "dan", "2")
    assert kept.files == ["a.txt"]
    stage.later(11 * MINUTE)
    done: Any = reassign(stage.desk, "crew", "2", "cat", "ann")
    assert (done.former, done.inherited.salvage, done.inherited.files) == ("dan", kept.salvage, ["a.txt"])
    mine: Any = checkpoint_in(stage.desk, "crew", "cat")
    assert mine.inherited_from == "dan"
    assert kept.salvage in stage.inbox("cat")[-1]
    with pytest.raises(NotClaimant):
        stage.done("2", "dan")


def test_who_goes_on_learns_which_check_failed_and_which_commit_was_good(stage):
    started(stage)
    programs: Any = stage.boardroom.programs
    first, second = (stage.task(name, owner="dan", acceptance=[check(COMMAND, "make")]) for name in ("lex", "emit"))
    programs.results = {"commit HEAD": Ran(0, "c1")}
    stage.done(first, "dan")
    programs.results = {"commit HEAD": Ran(0, "c2"), "make": Ran(2, "no rule")}
    with pytest.raises(ChecksFailed):
        stage.done(second, "dan")
    kept = save_member(stage.desk, stage.room.rosters.load("crew"), "dan", second)
    assert (kept.command, kept.code, kept.output, kept.good) == ("make", 2, "no rule", "c1")
    stage.later(11 * MINUTE)
    reassign(stage.desk, "crew", second, "cat", "ann")
    assert "Its last check, `make`, ended with 2." in stage.inbox("cat")[-1]
    assert "The last commit whose checks passed: c1" in stage.inbox("cat")[-1]
    assert probe(stage.desk, "crew").checkpoints["cat"].code == 2


def test_work_and_failed_check_are_handed_over_also_when_the_claim_went_back_and_the_worktree_is_gone(stage):
    record = started(stage)
    id = stage.task("emit", owner="dan", acceptance=[check(COMMAND, "make")])
    stage.crew.worktrees.trees[record.worktree]["a.txt"] = "two\n"
    stage.boardroom.programs.results = {"make": Ran(None, timed_out=True)}
    with pytest.raises(ChecksFailed):
        stage.done(id, "dan")
    team = stage.room.rosters.load("crew")
    saved = save_member(stage.desk, team, "dan", id)
    stage.later(11 * MINUTE)
    release_silent(stage.boardroom, "crew")
    assert save_all(stage.desk, look_at(stage.desk, "crew"), print)["dan"].task == id, "it has none now"
    clear_away(stage.crew, stage.crew.records.read("crew", "dan"))
    done: Any = reassign(stage.desk, "crew", id, "cat", "ann")
    assert (done.inherited.salvage, done.inherited.how_it_ended) == (saved.salvage, "did not end")
    assert "Its last check, `make`, did not end." in stage.inbox("cat")[-1]


@pytest.mark.parametrize(("cwd", "is_ours"), [("/r", True), ("/private", False), ("/nowhere", False)])
def test_a_roster_does_not_choose_whose_files_are_copied(stage, cwd, is_ours):
    for folder in ("/r", "/private"):
        stage.crew.worktrees.add_repository(folder, {"a.txt": "one\n"})
    add_member(stage.room, "crew", Member("eve", cwd=cwd))
    assert (tree_of(stage.desk, stage.room.rosters.load("crew"), "eve") is not None) == is_ours


@proves("R003-4.2-03", "R003-4.2-04", "R003-4.2-05", "R003-4.2-08")
def test_what_went_back_to_the_board_is_still_handed_over_by_who_had_it(stage):
    record = started(stage)
    working.claim(stage.boardroom, "crew", "dan", "2")
    stage.crew.worktrees.trees[record.worktree]["a.txt"] = "two\n"
    stage.later(11 * MINUTE)
    assert release_silent(stage.boardroom, "crew") == ["1", "2"]
    done: Any = reassign(stage.desk, "crew", "2", "cat", "ann")
    assert (done.former, done.inherited.files) == ("dan", ["a.txt"])


def test_nothing_of_a_complete_team_is_written(stage):
    stage.later(11 * MINUTE)
    archive_team(stage.room, "crew", "ann", force=True)
    with pytest.raises(TeamCompleted):
        reassign(stage.desk, "crew", "1", "cat", "ann")
    assert stage.desk.members.content == {}


def test_what_cannot_be_handed_over_is_said(stage):
    stage.later(11 * MINUTE)
    with pytest.raises(NoSuchMember):
        reassign(stage.desk, "crew", "1", "nobody", "ann")
    stage.done("1", "bob")
    with pytest.raises(TaskClosed):
        reassign(stage.desk, "crew", "1", "cat", "ann")


@proves("R003-3.2-10", "R003-7-team-04", "R003-7-teammate-04", "R003-7-teammate-05", "R003-7-teammate-15", "R003-10-04")
def test_the_former_autosave_goes_when_a_newer_one_is_there(stage):
    record = started(stage)
    team = stage.room.rosters.load("crew")
    refs = []
    for number in range(3):
        stage.later(30)
        stage.crew.worktrees.trees[record.worktree]["a.txt"] = f"{number} more\n"
        refs.append(save_member(stage.desk, team, "dan", "2").salvage)
    assert len({*refs}) == 3
    assert [one.ref for one in stage.crew.worktrees.saved(record.common, "crew")] == refs[-1:]


# Lost teams.


@proves(
    "R003-goal-01",
    "R003-1.2-01",
    "R003-1.2-02",
    "R003-1.2-03",
    "R003-1.2-04",
    "R003-1.2-07",
    "R003-5.2-01",
    "R003-5.2-02",
    "R003-5.2-03",
    "R003-5.2-04",
    "R003-5.2-06",
    "R003-6-04",
)
def test_a_lost_team_comes_back_with_its_members_tasks_and_unread_mail(stage):
    stage.say("bob", "cat", "look at line 427")
    checkpoint(stage.desk, "crew")
    commit_checkpoint(stage.desk, "crew", "test")
    room = stage.room
    room.rosters.take_away("crew")
    room.states.content.pop("crew")
    room.ledger.take_away("crew")
    done = resume(stage.desk, "crew")
    team = room.rosters.load("crew")
    assert (team.names, team.lead, done.restored_from) == (["ann", "bob", "cat"], "ann", "git")
    assert {*room.files.lists["crew"]} == {1, 2}
    assert room.ledger.content("crew") != b""


@proves("R003-2.1-01")
def test_dormant_teams_are_those_whose_lead_is_not_there(stage):
    create_team(room := stage.room, "fresh", lead="ann")
    note_activity(room, "fresh")
    assert [one.team for one in list_teams(stage.desk)] == ["fresh"]
    stage.later(6 * MINUTE)
    found = {one.team: one for one in list_teams(stage.desk)}
    assert {*found} == {"crew", "fresh"}
    assert (found["crew"].session, found["fresh"].last_seen) == ("one", None)

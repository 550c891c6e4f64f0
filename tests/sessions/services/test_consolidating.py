"""Bringing a team's work together: every step can be cut off and done again; nothing is committed unasked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.proving import proves
from tests.sessions.services.stage import SessionStage

from atm.board.rules.acceptance import Ran
from atm.core.errors import RequestError
from atm.core.work_errors import (
    BadMove,
    ChecksFailed,
    ConsolidationRunning,
    GitTrouble,
)
from atm.crew.ports.worktrees import Worktree
from atm.sessions.rules.consolidation import STEPS
from atm.sessions.rules.policy import SessionPolicy
from atm.sessions.services import teammates
from atm.sessions.services.consolidating import Consolidating, consolidation_of, interrupted_in
from atm.sessions.services.resuming import probe, resume
from atm.team.services.lifecycle import standing


@pytest.fixture
def stage() -> SessionStage:
    made = SessionStage(SessionPolicy(checks=("make check",), confirm=5.0))
    made.task("parse", owner="bob")
    made.done("1", "bob")
    resume(made.as_session("one"), "crew")
    made.boardroom.programs.results = {"make check": Ran(0, "fine")}
    made.desk.tree.now = replace(made.desk.tree.now, unstaged=["a.py"], untracked=["b.py"])
    return made


def begin(stage: Any, **facts: Any) -> Any:
    return Consolidating(stage.desk, "crew", "ann", **facts).begin("all of it", "")


def where(stage: Any) -> str:
    return standing(stage.room, "crew").status


@proves("R003-2.3-16", "R003-4.1-09", "R003-5.1-08", "R003-5.2-07", "R003-7-team-07", "R003-7-team-10", "R003-9-08")
def test_all_steps_lead_to_one_commit_and_an_immutable_team(stage):
    done = begin(stage)
    assert (tuple(done.steps), done.commit, done.status) == (STEPS, "c1", "complete")
    assert stage.desk.tree.messages == ["all of it"]
    assert stage.desk.git.commits("/r/.git", "crew", 1)[0].text.endswith("(complete)")


def test_what_was_staged_already_is_all_that_is_committed(stage):
    stage.desk.tree.now = replace(stage.desk.tree.now, staged=["c.py"])
    begin(stage)
    assert stage.desk.tree.now.unstaged == ["a.py"]


@proves("R003-5.1-09", "R003-5.1-10", "R003-7-team-06")
def test_open_tasks_stop_it_at_the_gate_unless_forced(stage):
    stage.task("lex")
    with pytest.raises(ChecksFailed, match="open tasks: #2"):
        begin(stage)
    assert (where(stage), consolidation_of(stage.desk, "crew")) == ("active", None)
    assert begin(stage, force=True).status == "complete"


def test_work_that_cannot_be_saved_stops_it_at_the_gate_and_leaves_no_half_consolidation(stage, monkeypatch):
    def refuse(*_: object) -> None:
        raise GitTrouble("no space left", "make some")

    monkeypatch.setattr(stage.crew.worktrees, "save", refuse)
    monkeypatch.setattr(teammates, "has_tree", lambda *_: True)
    monkeypatch.setattr(teammates, "tree_of", lambda *_: Worktree(path="/w", branch="b", base="c", common="/r/.git"))
    with pytest.raises(ChecksFailed, match="bob: its work could not be saved: no space left"):
        begin(stage)
    assert (where(stage), consolidation_of(stage.desk, "crew")) == ("active", None)


@proves("R003-4.1-06", "R003-7-team-11")
def test_red_checks_are_told_to_the_members_and_work_goes_on(stage):
    stage.boardroom.programs.results["make check"] = Ran(2, "line 427 is wrong")
    with pytest.raises(ChecksFailed, match="line 427"):
        begin(stage)
    assert (where(stage), stage.desk.tree.messages) == ("active", [])
    assert "line 427" in stage.inbox("bob")[-1]
    stage.boardroom.programs.results["make check"] = Ran(0, "")
    assert begin(stage).status == "complete"


@proves("R003-4.1-07", "R003-7-team-07")
def test_a_hook_sees_what_is_staged_and_one_that_refuses_leaves_the_index_as_it_was(stage):
    seen: list[list[str]] = []

    def hook(*_: object) -> Ran:
        seen.append([*stage.desk.tree.now.staged])
        return Ran(1, "no")

    stage.desk.tree.hooks = hook
    with pytest.raises(ChecksFailed, match="pre-commit hook"):
        begin(stage)
    assert seen == [["a.py", "b.py"]]
    assert (where(stage), stage.desk.tree.messages, stage.desk.tree.now.staged) == ("active", [], [])


def cut_off(stage: Any, verb: str) -> None:
    """The lead dies in the middle of a verb of the working tree."""

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    kept = getattr(stage.desk.tree, verb)
    setattr(stage.desk.tree, verb, die)
    with pytest.raises(KeyboardInterrupt):
        begin(stage)
    setattr(stage.desk.tree, verb, kept)
    stage.room.presence.running.discard(stage.crew.pid)
    stage.crew.pid = stage.crew.processes.make(command="atm").pid
    stage.room.presence.running.add(stage.crew.pid)


@proves("R003-2.2-04", "R003-4.1-01", "R003-4.1-02", "R003-4.1-03", "R003-7-team-08", "R003-8-05", "R003-8-06")
@pytest.mark.parametrize("verb", ["hooks", "index", "stage_all", "commit"])
def test_whoever_was_killed_in_the_middle_is_found_by_both_signs_and_nothing_is_committed(stage, verb):
    cut_off(stage, verb)
    found = interrupted_in(stage.desk, "crew")
    assert found is not None
    assert found.step == ("commit" if verb == "commit" else "hooks")
    assert probe(stage.desk, "crew").interrupted is not None
    assert stage.desk.tree.messages == []
    with pytest.raises(BadMove, match="was interrupted at"):
        begin(stage)


@proves("R003-4.1-06", "R003-4.1-08", "R003-7-team-09", "R003-8-05", "R003-8-06")
@pytest.mark.parametrize("verb", ["hooks", "stage_all", "commit"])
def test_it_goes_on_with_the_step_that_was_cut_off(stage, verb):
    cut_off(stage, verb)
    done = Consolidating(stage.desk, "crew", "ann", force=True).go_on()
    assert (done.steps[0], done.status) == ("commit" if verb == "commit" else "hooks", "complete")
    assert stage.desk.tree.messages == ["all of it"]


@proves("R003-4.1-02")
def test_a_clean_tree_is_no_interrupted_consolidation(stage):
    cut_off(stage, "hooks")
    stage.desk.tree.now = replace(stage.desk.tree.now, staged=[], unstaged=[], untracked=[])
    assert interrupted_in(stage.desk, "crew") is None


@proves("R003-4.1-08")
def test_going_back_leaves_the_index_as_it_was(stage):
    cut_off(stage, "commit")
    assert stage.desk.tree.now.staged == ["a.py", "b.py"]
    done = Consolidating(stage.desk, "crew", "ann").abort()
    assert (stage.desk.tree.now.staged, done.status) == ([], "active")
    with pytest.raises(BadMove):
        Consolidating(stage.desk, "crew", "ann").abort()


@proves("R003-4.1-04", "R003-4.1-05")
def test_members_who_are_there_are_asked_and_their_word_counts(stage):
    stage.alive("bob", "cat")
    cut_off(stage, "commit")
    with pytest.raises(RequestError, match="bob, cat did not say"):
        Consolidating(stage.desk, "crew", "ann").go_on()
    stage.say("bob", "ann", "My edits OK")
    stage.say("cat", "ann", "Need to fix: the lexer")
    with pytest.raises(ChecksFailed, match="cat must fix"):
        Consolidating(stage.desk, "crew", "ann").go_on()
    assert where(stage) == "active"
    assert len([text for text in stage.inbox("bob") if "Verify your changes" in text]) == 1


def test_with_everybodys_yes_it_goes_on(stage):
    stage.alive("bob")
    cut_off(stage, "commit")
    with pytest.raises(RequestError):
        Consolidating(stage.desk, "crew", "ann").go_on()
    stage.say("bob", "ann", "My edits OK")
    assert Consolidating(stage.desk, "crew", "ann").go_on().status == "complete"


@proves("R003-2.2-04")
def test_two_at_once_are_not_possible(stage):
    one = Consolidating(stage.desk, "crew", "ann")
    one._note(one._mine(step="checks"))
    stage.crew.pid = stage.crew.processes.make(command="atm").pid
    with pytest.raises(ConsolidationRunning):
        begin(stage)
    with pytest.raises(ConsolidationRunning, match="Wait for completion"):
        resume_while_consolidating(stage)


def resume_while_consolidating(stage: Any) -> None:
    from atm.team.rules import lifecycle
    from atm.team.services.lifecycle import walk

    walk(stage.room, "crew", lifecycle.CONSOLIDATING, "ann")
    resume(stage.desk, "crew")


@proves("R003-7-team-12")
def test_a_push_that_fails_can_be_tried_again(stage):
    stage.desk.tree.pushes = Ran(1, "no route")
    with pytest.raises(GitTrouble, match="no route"):
        Consolidating(stage.desk, "crew", "ann").begin("m", "origin")
    assert where(stage) == "consolidating"
    stage.desk.tree.pushes = Ran(0, "")
    stage.alive("bob")
    with pytest.raises(RequestError, match="pushed to origin; nobody has asked for that now"):
        Consolidating(stage.desk, "crew", "ann").go_on()
    done = Consolidating(stage.desk, "crew", "ann").go_on(push="origin")  # committed: nobody is asked about it
    assert (done.pushed, done.status, stage.desk.tree.messages) == ("origin", "complete", ["m"])


def test_a_push_that_is_asked_for_when_it_is_over_is_refused_and_not_forgotten(stage, monkeypatch):
    work = Consolidating(stage.desk, "crew", "ann")
    monkeypatch.setattr(work, "_mark", lambda: (_ for _ in ()).throw(GitTrouble("no space", "make some")))
    with pytest.raises(GitTrouble):
        work.begin("m", "")
    with pytest.raises(RequestError, match="the push is over"):
        Consolidating(stage.desk, "crew", "ann").go_on(push="origin")
    assert Consolidating(stage.desk, "crew", "ann").go_on().status == "complete"


def test_a_half_done_merge_is_not_committed_over(stage):
    stage.desk.tree.now = replace(stage.desk.tree.now, is_half_done="merge")
    with pytest.raises(GitTrouble, match="a merge waits"):
        begin(stage)

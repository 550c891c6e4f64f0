"""Starting an agent: all of it, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.proving import proves

from atm.core.work_errors import (
    MemberInUse,
    RuntimeMissing,
    SpawnFailed,
    TeamStopped,
)
from atm.crew.rules.marks import read_mark
from atm.crew.rules.states import READY
from atm.crew.services.crewroom import CrewPolicy, Fenced, change
from atm.crew.services.ending import REQUEST, answer_to_asker, ask_to_end, down, keep, kill, stop
from atm.crew.services.reaping import clear_away, reconcile
from atm.crew.services.spawning import AgentWish, agent_environment, spawn
from atm.mail.formats.typed_message import typed
from atm.mail.rules.message_types import is_yes
from atm.mail.services.typed.consuming import take
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing.agents import memory_crewroom
from atm.testing.rooms import memory_boardroom


@pytest.fixture
def crew() -> Any:
    boardroom = memory_boardroom()
    create_team(boardroom.room, "crew", lead="lena")
    made: Any = memory_crewroom(boardroom, policy=CrewPolicy(start=1.0, shutdown=2.0, finish=5.0, gone=0.5))
    made.worktrees.add_repository("/src", {"a.txt": b"one\n"})

    def host_says_ready(launch, pid: int) -> None:
        record = made.records.read(launch.team, launch.member)
        began = made.processes.began(pid)
        change(made, launch.team, launch.member, record.generation, state=READY, pid=pid, began=began)

    made.backends["headless"].answers = host_says_ready
    return made


def wish(member: str = "ann", runtime: str = "command", **facts: Any) -> AgentWish:
    return AgentWish(**{"team": "crew", "member": member, "runtime": runtime, "folder": "/src", **facts})


def nothing_is_left(crew: Any) -> bool:
    marked = [one for one in crew.processes.running() if one.mark]
    return not marked and not crew.worktrees.left("crew") and not crew.slots.taken()


@proves("R004-target-02")
def test_roster_worktree_slot_and_process_are_there_together(crew):
    record = spawn(crew, wish(environment={"CI": "1"}))
    assert (record.state, record.generation, record.slot) == (READY, 1, 0)
    assert crew.room.rosters.load("crew").member("ann") is not None
    assert [one.path for one in crew.worktrees.left("crew")] == [record.worktree]
    mark: Any = read_mark(record.mark)
    assert (mark.team, mark.member, mark.generation) == ("crew", "ann", 1)
    assert [one.mark for one in crew.processes.running() if one.mark] == [record.mark]


@pytest.mark.parametrize("runtime", ["script"])
def test_a_script_has_its_worktrees_with_its_tasks(crew, runtime):
    assert spawn(crew, wish(runtime=runtime)).worktree == ""


@proves("R004-agent-lifecycle-L2f")
def test_in_a_folder_that_was_named_it_works_in_place(crew):
    assert spawn(crew, wish(in_place=True)).worktree == ""


def test_what_cannot_be_started_leaves_nothing(crew):
    crew.backends["headless"].refusal = "no memory"
    with pytest.raises(SpawnFailed):
        spawn(crew, wish())
    assert nothing_is_left(crew)
    assert crew.room.rosters.load("crew").member("ann") is None
    assert crew.records.read("crew", "ann").state == "error"


def test_a_member_that_was_there_before_stays_when_its_start_fails(crew):
    add_member(crew.room, "crew", Member("ann"))
    crew.backends["headless"].refusal = "no memory"
    with pytest.raises(SpawnFailed):
        spawn(crew, wish())
    assert crew.room.rosters.load("crew").member("ann") is not None


def test_a_host_that_never_says_that_it_is_there_is_ended(crew):
    crew.backends["headless"].answers = lambda *_: None
    with pytest.raises(SpawnFailed) as error:
        spawn(crew, wish())
    assert "not ready within 1 s" in str(error.value)
    assert nothing_is_left(crew)


def test_an_interrupted_start_takes_everything_back(crew):
    def interrupt(*_) -> None:
        raise KeyboardInterrupt

    crew.backends["headless"].answers = interrupt
    with pytest.raises(KeyboardInterrupt):
        spawn(crew, wish())
    assert nothing_is_left(crew)


def test_nobody_is_started_beside_itself_and_a_later_life_has_a_higher_number(crew):
    first = spawn(crew, wish())
    with pytest.raises(MemberInUse):
        spawn(crew, wish())
    kill(crew, "crew", "ann", "zoe")
    assert spawn(crew, wish()).generation == first.generation + 1


def test_a_host_of_a_former_life_has_no_say(crew):
    first = spawn(crew, wish())
    kill(crew, "crew", "ann", "zoe")
    spawn(crew, wish())
    with pytest.raises(Fenced):
        change(crew, "crew", "ann", first.generation, state="idle")


def test_unknown_runtimes_missing_programs_and_backends_say_what_to_do(crew):
    with pytest.raises(RuntimeMissing) as error:
        spawn(crew, wish(runtime="claud"))
    assert error.value.remedy == "did you mean 'claude'?"
    crew.find_program = lambda _: ""
    with pytest.raises(RuntimeMissing) as error:
        spawn(crew, wish(runtime="codex"))
    assert "npm install -g @openai/codex" in error.value.remedy
    with pytest.raises(RuntimeMissing):
        spawn(crew, wish(backend="tmux"))
    assert crew.records.names("crew") == []


@proves("R002-13-09", "R002-13-10", "R002-13-16", "R002-26-33", "R002-26-34", "R002-27.2-43", "R002-27.2-54")
def test_required_tools_that_are_missing_refuse_and_a_script_needs_none(crew):
    crew.policy.required_tools = ("mcp",)
    with pytest.raises(RuntimeMissing) as error:
        spawn(crew, wish(runtime="codex"))
    assert error.value.remedy.startswith("set it up with `atm init --vendor codex`")
    crew.set_up = lambda _: {"hooks": False, "mcp": True}
    spawn(crew, wish(runtime="codex"))
    spawn(crew, wish("bob", runtime="script"))


@proves("R002-27.2-42", "R002-28-18")
def test_an_agent_without_any_tool_of_ours_starts_unless_the_user_requires_one(crew):
    crew.set_up = lambda _: {"hooks": False, "mcp": False}
    spawn(crew, wish(runtime="codex"))
    assert crew.records.names("crew") == ["ann"]


def test_people_are_not_started(crew):
    add_member(crew.room, "crew", Member("zoe", backend="human"))
    with pytest.raises(MemberInUse):
        spawn(crew, wish("zoe"))


def test_after_a_stop_nothing_is_started(crew):
    spawn(crew, wish())
    done = stop(crew, ["crew"], "zoe")
    assert [(one.member, one.how) for one in done.ended] == [("ann", "killed")]
    assert nothing_is_left(crew)
    with pytest.raises(TeamStopped) as error:
        spawn(crew, wish())
    assert "by zoe" in str(error.value)


def test_a_stop_names_what_it_could_not_end(crew):
    record = spawn(crew, wish())
    crew.processes.stubborn.add(record.pid)
    done = stop(crew, ["crew"], "zoe")
    assert [one.pid for one in done.left] == [record.pid]
    assert crew.records.read("crew", "ann").pid == record.pid


def test_a_stop_finds_agents_without_any_record(crew):
    record = spawn(crew, wish())
    with crew.records.turn("crew", "ann") as turn:
        turn.remove()
    stop(crew, ["crew"], "zoe")
    assert crew.processes.began(record.pid) == ""


def test_another_home_on_the_machine_is_left_alone(crew):
    stranger = crew.processes.make(mark="elsewhere/crew/ann/1/k")
    stop(crew, [], "zoe")
    reconcile(crew)
    assert crew.processes.began(stranger.pid)


def test_one_that_said_nothing_is_ended_after_its_time(crew):
    spawn(crew, wish())
    began = crew.clock.monotonic()
    done = down(crew, "crew", "zoe")
    assert [(one.how, one.reason) for one in done] == [("terminated", "it said nothing for 2 s")]
    assert crew.clock.monotonic() - began < 4
    assert nothing_is_left(crew)


def test_one_that_finishes_gets_the_time_for_that_and_no_more(crew):
    record = spawn(crew, wish())
    change(crew, "crew", "ann", record.generation, state="working")
    asked = crew.clock.sleep

    def answer(seconds: float) -> None:
        now = crew.records.read("crew", "ann")
        if now.is_asked and not now.answer:
            change(crew, "crew", "ann", now.generation, answer="finishing")
        asked(seconds)

    crew.clock.sleep = answer
    done = down(crew, "crew", "zoe")
    assert [(one.how, one.reason) for one in done] == [("terminated", "it did not finish within 5 s")]


@proves("R004-agent-lifecycle-L5c")
@proves("R004-summary-05", "R004-target-18", "R004-gap-p0-06")
def test_one_that_refuses_is_left_alone_and_its_reason_told(crew):
    spawn(crew, wish())
    asked = crew.clock.sleep

    def refuse(seconds: float) -> None:
        if not crew.records.read("crew", "ann").answer:
            keep(crew, "crew", "ann", "a migration runs")
        asked(seconds)

    crew.clock.sleep = refuse
    done = down(crew, "crew", "zoe", ["ann"])
    assert [(one.how, one.reason) for one in done] == [("refused", "a migration runs")]
    assert not nothing_is_left(crew)


@proves("R004-defects-10b")
@pytest.mark.parametrize("state", ["spawning", "ready", "working", "idle", "shutting_down"])
def test_whatever_a_crash_left_one_look_clears_away_and_the_work_is_saved(crew, state):
    record = spawn(crew, wish())
    tree = crew.worktrees.left("crew")[0]
    crew.worktrees.trees[tree.path]["new.txt"] = b"unsaved\n"
    with crew.records.turn("crew", "ann") as turn:
        turn.write(type(record)(**{**_fields(turn.record), "state": state, "spawner": 0, "spawner_began": ""}))
    del crew.processes.processes[record.pid]
    tool = crew.processes.make(mark=record.mark)
    done = reconcile(crew)
    assert [one.member for one in done.cleared] == ["ann"]
    assert crew.processes.began(tool.pid) == ""
    assert nothing_is_left(crew)
    assert [one.untracked for one in crew.worktrees.saved(tree.common)] == [["new.txt"]]
    again = reconcile(crew)
    assert (again.cleared, again.orphans, again.trees) == ([], [], [])


def test_who_lives_is_adopted(crew):
    spawn(crew, wish())
    done = reconcile(crew)
    assert [one.member for one in done.adopted] == ["ann"]
    assert not nothing_is_left(crew)


def _fields(record) -> dict:
    return {name: getattr(record, name) for name in record.__slots__}


def test_a_worktree_that_was_made_a_moment_before_it_could_be_noted_goes_too(crew):
    record = spawn(crew, wish(runtime="script"))
    repository = crew.worktrees.repository("/src")
    crew.worktrees.make(repository, "crew", "7", "ann")
    crew.worktrees.make(repository, "crew", "7", "not-ann")
    kill(crew, "crew", record.member, "zoe")
    assert [one.path.rpartition("/")[2] for one in crew.worktrees.left("crew")] == ["7-not-ann"]


def test_what_an_agent_notes_while_somebody_comes_for_it_is_cleared_too(crew):
    record = spawn(crew, wish(runtime="script"))
    made = crew.worktrees.make(crew.worktrees.repository("/src"), "crew", "7", "ann")
    facts = {"worktree": made.path, "branch": made.branch, "base": made.base, "common": made.common, "task": "7"}
    change(crew, "crew", "ann", record.generation, **facts)
    clear_away(crew, record)  # as it was before
    assert nothing_is_left(crew)
    assert crew.records.read("crew", "ann").worktree == ""


@proves("R004-agent-lifecycle-L2e")
def test_an_agent_inherits_the_environment_is_told_who_it_is_and_commits_as_itself(crew):
    crew.environment = {"PATH": "/bin", "ATM_TASK": "7", "ATM_AGENT": "home/crew/lena/1/k", "GIT_AUTHOR_NAME": "Uma"}
    record = spawn(crew, wish(runtime="gemini", environment={"CI": "1"}))
    found = agent_environment(crew, record)
    assert {
        key: found[key] for key in ("PATH", "CI", "ATM_TEAM", "ATM_IDENTITY", "ATM_GENERATION", "ATM_PORT_BASE")
    } == {
        "PATH": "/bin",
        "CI": "1",
        "ATM_TEAM": "crew",
        "ATM_IDENTITY": "ann",
        "ATM_GENERATION": "1",
        "ATM_PORT_BASE": "20000",
    }
    assert "ATM_TASK" not in found
    assert found["ATM_AGENT"] == record.mark
    assert (found["GIT_AUTHOR_NAME"], found["GIT_COMMITTER_NAME"]) == ("Uma", "ann")
    assert "GIT_COMMITTER_NAME" not in agent_environment(crew, spawn(crew, wish("bob", runtime="script")))


def test_opencode_gets_a_password_and_is_told_to_ask(crew):
    found = agent_environment(crew, spawn(crew, wish(runtime="opencode")))
    assert len(found["OPENCODE_SERVER_PASSWORD"]) >= 16
    assert '"bash": "ask"' in found["OPENCODE_PERMISSION"]


def test_an_agent_that_was_started_while_somebody_looked_around_is_no_orphan(crew):
    looked = crew.processes.running

    def starts_meanwhile() -> Any:
        crew.processes.running = looked
        spawn(crew, wish())
        return looked()

    crew.processes.running = starts_meanwhile
    assert reconcile(crew).orphans == []
    assert not nothing_is_left(crew)


def test_the_process_that_starts_an_agent_when_its_team_is_stopped_is_no_agent_and_lives(crew):
    spawner = crew.processes.make(command="atm run")
    spawn(crew, wish())
    with crew.records.turn("crew", "ann") as turn:
        facts = {"state": "spawning", "spawner": spawner.pid, "spawner_began": spawner.began}
        turn.write(type(turn.record)(**{**_fields(turn.record), **facts}))
    done = stop(crew, ["crew"], "zoe")
    assert crew.processes.began(spawner.pid) == spawner.began
    assert [(one.pid, one.member) for one in done.untouched] == [(spawner.pid, "ann")]
    assert "names it as its starter" in done.untouched[0].why
    assert nothing_is_left(crew)


@pytest.mark.parametrize("moment", ["before its host", "after its host"])
def test_a_start_under_way_when_its_team_is_stopped_sees_that_itself_and_leaves_nothing(crew, moment):
    backend = crew.backends["headless"]
    started = backend.start

    def stopped_now(launch: Any) -> Any:
        stop(crew, ["crew"], "zoe")
        return started(launch)

    if moment == "after its host":
        backend.start, backend.answers = stopped_now, lambda *_: None
    else:
        crew.slots.take = _then(crew.slots.take, lambda: crew.records.set_latch("crew", {"by": "zoe"}))
    with pytest.raises(TeamStopped):
        spawn(crew, wish())
    assert nothing_is_left(crew)
    assert crew.records.read("crew", "ann").is_over


def _then(step: Any, more: Any) -> Any:
    def both(*words: Any) -> Any:
        made = step(*words)
        more()
        return made

    return both


STRANGERS: dict[str, Any] = {
    "its host, with the mark of no agent": lambda pid, began: {"pid": pid, "began": began, "mark": ""},
    "its host, with the mark of a daemon": lambda pid, began: {"pid": pid, "began": began, "mark": "no-agent"},
    "its host": lambda pid, began: {"pid": pid, "began": began},
    "its starter": lambda pid, began: {"state": "spawning", "spawner": pid, "spawner_began": began},
    "its program": lambda pid, _: {"program_pid": pid},
}


@pytest.mark.parametrize("verb", ["stop", "stop all", "kill", "reconcile", "down"])
@pytest.mark.parametrize("claim", STRANGERS)
def test_a_forged_record_ends_no_process_of_others(crew, claim, verb):
    crew.policy.gone = 0.1
    spawn(crew, wish())
    stranger = crew.processes.make(command="vim letter.txt")
    child = crew.processes.make(parent=stranger.pid)
    daemon = crew.processes.make(mark="no-agent")
    other = crew.processes.make(mark=f"{crew.records.home}/other/bob/1/k")
    with crew.records.turn("crew", "ann") as turn:
        facts = STRANGERS[claim](stranger.pid, stranger.began)
        turn.write(type(turn.record)(**{**_fields(turn.record), **facts}))
    if verb.startswith("stop"):
        stop(crew, [] if verb == "stop all" else ["crew"], "zoe")
    elif verb == "kill":
        kill(crew, "crew", "ann", "zoe")
    elif verb == "down":
        down(crew, "crew", "zoe", ["ann"])
    else:
        reconcile(crew)
    for one in (stranger, child, daemon):
        assert crew.processes.began(one.pid) == one.began, one.command
    assert bool(crew.processes.began(other.pid)) == (verb not in ("stop all", "reconcile"))  # of no record: an orphan


def test_a_record_with_the_mark_of_another_agent_does_not_end_that_one(crew):
    spawn(crew, wish())
    bob = spawn(crew, wish("bob"))
    with crew.records.turn("crew", "ann") as turn:
        turn.write(type(turn.record)(**{**_fields(turn.record), "mark": bob.mark, "pid": bob.pid, "began": bob.began}))
    kill(crew, "crew", "ann", "zoe")
    assert crew.processes.began(bob.pid) == bob.began
    assert [one.mark for one in crew.processes.running() if one.mark] == [bob.mark]


def test_an_agent_that_stops_its_own_team_is_asked_and_not_killed_under_the_command(crew):
    spawn(crew, wish("bob"))
    record = spawn(crew, wish())
    shell = crew.processes.make(parent=record.pid, mark=record.mark)
    crew.pid = crew.processes.make(parent=shell.pid, mark=record.mark).pid
    done = stop(crew, ["crew"], "ann")
    assert done.asking == ["ann"]
    assert not done.is_complete
    assert [(one.member, one.how) for one in done.ended] == [("bob", "killed")]
    assert all(crew.processes.began(pid) for pid in (record.pid, shell.pid, crew.pid))
    assert crew.records.read("crew", "ann").is_asked
    assert [one.path for one in crew.worktrees.left("crew")] == [record.worktree]


def test_a_command_inside_of_an_agent_that_kills_it_says_that_it_cannot(crew):
    record = spawn(crew, wish())
    crew.pid = crew.processes.make(parent=record.pid, mark=record.mark).pid
    done = kill(crew, "crew", "ann", "zoe")
    assert "runs inside of ann" in done.troubles[0]
    assert crew.processes.began(record.pid)
    assert [one.path for one in crew.worktrees.left("crew")] == [record.worktree]


def test_tools_are_limited_where_that_can_be_and_refused_where_not(crew):
    record = spawn(crew, wish(runtime="claude", tools=["Read", "Grep"]))
    assert record.command[:3] == ["claude", "--tools", "Read,Grep"]
    with pytest.raises(RuntimeMissing):
        spawn(crew, wish("bob", runtime="codex", tools=["Read"]))
    assert "--tools" not in spawn(crew, wish("cat", runtime="claude")).command


@pytest.mark.parametrize(("runtime", "words"), [("codex", ["resume", "s-1"]), ("opencode", ["--session", "s-1"])])
def test_in_a_window_a_conversation_goes_on_too(crew, runtime, words):
    crew.backends["tmux"] = crew.backends["headless"]
    record = spawn(crew, wish(runtime=runtime, backend="tmux", resume="s-1"))
    assert record.command[1:3] == words


def test_one_that_has_refused_is_not_asked_any_more_until_somebody_asks_again(crew):
    record = spawn(crew, wish())
    change(crew, "crew", "ann", record.generation, asked_at=1.0, asked_by="zoe")
    assert crew.records.read("crew", "ann").is_asked
    keep(crew, "crew", "ann", "a migration runs")
    assert not crew.records.read("crew", "ann").is_asked


def letters(crew, who):
    return [typed(row) for row in crew.room.inboxes.rows("crew", who)]


def test_one_with_a_mind_of_its_own_is_asked_by_a_message_that_says_so_to_programs_and_in_words(crew):
    spawn(crew, wish(runtime="codex"))
    down(crew, "crew", "lena", ["ann"])
    (asked,) = letters(crew, "ann")
    assert (asked.type, asked.sender) == ("shutdown_request", "lena")
    assert asked.metadata["request_id"].endswith("@ann")
    assert REQUEST in asked.text


def test_whoever_asked_is_told_by_mail_that_one_refuses_and_why(crew):
    record = spawn(crew, wish(runtime="codex"))
    ask_to_end(crew, record, "lena")
    keep(crew, "crew", "ann", "a migration runs")
    (asked,), (answer,) = letters(crew, "ann"), take(crew.room, "crew", "lena", ["shutdown_response"])
    assert (answer.sender, answer.text) == ("ann", "Asked to end: no, not yet.\na migration runs")
    assert answer.metadata == {
        "approved": "false",
        "request_id": asked.metadata["request_id"],
        "reason": "a migration runs",
    }


def test_whoever_asked_is_told_by_mail_that_one_ends(crew):
    record = spawn(crew, wish())
    ask_to_end(crew, record, "lena")
    answer_to_asker(crew, crew.records.read("crew", "ann"), approved=True)
    (answer,) = take(crew.room, "crew", "lena", ["shutdown_response"])
    assert is_yes(answer.metadata)


def test_somebody_without_an_inbox_may_ask_too(crew):
    record = spawn(crew, wish())
    ask_to_end(crew, record, "human")
    keep(crew, "crew", "ann", "a migration runs")
    assert crew.records.read("crew", "ann").answer == "refused"

"""A lead that is away, seen by a real daemon: mail waits and is not lost, tasks come back, the bound ends it."""

from __future__ import annotations

import pytest
from tests.sessions.conftest import BRISK, LEAD, Record, Stage, kill

from atm.files.adapters.machine import host_name
from atm.files.adapters.processes import boot_id

RESUMED, INTERRUPTED = "Lead resumed. Proceed or wait?", "Detected you were interrupted. Status?"
AWAY = "The lead has been away for"


@pytest.fixture
def watched(led: Stage) -> Stage:
    """A team that is led, and a daemon that looks often."""
    led.settle(**BRISK)
    led.daemon.start()
    return led


def lead_goes_away(stage: Stage, minutes: float = 6) -> None:
    stage.age_lead(minutes)
    stage.eventually(lambda: stage.is_marked)


def sent(stage: Stage, *words: str) -> Record:
    found: Record = stage(*words, "--json").json
    return found


def outcome(stage: Stage, sender: str, to: str, text: str, *more: str) -> str:
    return str(sent(stage, "send", to, text, "--from", sender, *more)["outcome"])


def test_mail_of_teammates_waits_for_the_lead_and_comes_in_order_when_it_is_back(watched: Stage) -> None:
    watched("teams", "add-member", "crew", "rita", "--backend-type", "human")
    assert outcome(watched, "ann", "bob", "before") == "success"
    lead_goes_away(watched)
    assert watched.state["lead_timeout_detected_utc_ms"] > watched.state["lead_last_seen_utc_ms"]
    watched.eventually(lambda: watched.texts("bob")[-1].startswith(AWAY))
    assert [outcome(watched, "ann", "bob", f"held {number}") for number in (1, 2)] == ["held", "held"]
    assert outcome(watched, "cat", LEAD, "for the lead") == "held"
    assert sorted(one["outcome"] for one in sent(watched, "broadcast", "held 3", "--from", "cat")["results"]) == [
        *("held", "held", "held", "success")
    ]
    assert outcome(watched, "ann", "bob", "at once", "--urgent") == "success"
    assert outcome(watched, "ann", "rita", "for a person") == "success"
    assert outcome(watched, LEAD, "bob", "from the lead") == "success"
    assert outcome(watched, "rita", "bob", "from a person") == "success"
    watched.look_twice()
    assert {entry["reason"] for entry in watched("spool", "list", "--json").json["pending"]} == {"lead-away"}
    assert [text.rpartition("\n")[2] for text in watched.texts("bob")[2:]] == [
        *("[URGENT] at once", "from the lead", "from a person")
    ]
    members = {one["name"]: one["status"] for one in watched.session("show", "crew")["members"]}
    assert members["bob"] == "zombie"
    done = watched.session("resume", "crew")
    assert (done["how"], done["asked"]) == ("reattached", ["bob"])
    assert not watched.is_marked
    assert "lead_timeout_detected_utc_ms" not in watched.state
    assert watched.texts("bob")[5:] == ["held 1", "held 2", "held 3", RESUMED, INTERRUPTED]
    assert watched.texts(LEAD)[:2] == ["for the lead", "held 3"]
    assert outcome(watched, "ann", "bob", "after") == "success"
    watched.look_twice()
    everybody = [text for name in ("ann", "bob", "cat") for text in watched.texts(name)]
    assert [everybody.count(text) for text in (RESUMED, INTERRUPTED)] == [3, 1]
    assert sum(text.startswith(AWAY) for text in everybody) == 3, "each is told once that it is away"
    assert watched.session("resume", "crew")["told"] == []


def test_a_lead_that_goes_on_without_a_word_is_back_by_its_heartbeat(watched: Stage) -> None:
    lead_goes_away(watched)
    assert outcome(watched, "ann", "bob", "held") == "held"
    watched("tasks", "beat", "--as", LEAD)
    watched.eventually(lambda: not watched.is_marked)
    watched.eventually(lambda: all(watched.texts(name)[-1] == RESUMED for name in ("ann", "bob", "cat")))
    assert watched.texts("bob")[1:] == ["held", RESUMED]
    watched.look_twice()
    assert [watched.texts(name).count(RESUMED) for name in ("ann", "bob", "cat")] == [1, 1, 1]


def test_nobody_is_held_up_by_a_daemon_that_was_killed_and_the_next_one_goes_on(watched: Stage) -> None:
    lead_goes_away(watched)
    assert outcome(watched, "ann", "bob", "held") == "held"
    watched.daemon.kill()
    assert watched.is_marked, "nobody could take it away"
    assert outcome(watched, "ann", "bob", "next") == "success"
    assert watched.texts("bob")[-2:] == ["held", "next"], "what waited goes first"
    watched.daemon.start()
    watched.eventually(lambda: outcome(watched, "ann", "cat", "try") == "held")
    assert sum(text.startswith(AWAY) for text in watched.texts("bob")) == 1, "it was told before"
    watched.daemon.end()
    assert outcome(watched, "ann", "bob", "last") == "success"


def test_a_team_that_nobody_leads_and_a_lead_whose_process_runs_are_never_away(team: Stage) -> None:
    team.settle(**BRISK, lead_away_minutes=0)
    team.daemon.start()
    team.look_twice()
    team.look_twice()
    assert not team.is_marked
    assert "lead_session_id" not in team.state
    assert outcome(team, "ann", "bob", "one") == "success"
    lead = team.stand_in(LEAD)
    team.session("resume", "crew")
    team.leave_heartbeat(LEAD, 60, host=host_name(), boot=boot_id(), pid=lead)
    team.age_lead(60)
    team.look_twice()
    team.look_twice()
    assert not team.is_marked, "a long turn is no time-out"
    assert outcome(team, "ann", "bob", "two") == "success"
    assert team.session("list", code=3)["teams"] == []


def test_a_lead_whose_process_was_killed_is_away_though_nobody_has_asked_after_it_yet(watched: Stage) -> None:
    kill(watched.stand_in(LEAD))
    watched.leave_heartbeat(LEAD, 60, host=host_name(), boot=boot_id(), pid=watched.started[-1].pid)
    watched.age_lead(60)
    watched.look_twice()
    watched.look_twice()
    assert watched.is_marked


def test_blocked_tasks_come_back_and_who_rests_loses_the_task(led: Stage) -> None:
    led.settle(**BRISK, blocked_minutes=0.0001, zombie_idle_minutes=0.0001)
    led("tasks", "claim", "2", "--as", "cat")
    led("tasks", "add", "Four", "--plan")
    led("tasks", "claim", "4", "--as", "ann")
    led("tasks", "plan", "submit", "4", "--as", "ann", "--text", "first this, then that")
    (led.folder / "half.txt").write_text("half\n")
    led.leave_heartbeat("cat", state="idle")
    led.daemon.start()
    led.look_twice()
    assert [led.task(id)["owner"] for id in ("1", "2", "4")] == ["bob", "cat", "ann"], "while the lead is there"
    led.age_lead(6)
    led.eventually(lambda: [led.task(id)["state"] for id in ("2", "4")] == ["pending", "pending"])
    led.look_twice()
    assert led.task("1")["owner"] == "bob", "who works goes on"
    kept = (led.home_of_team / "bob_checkpoint.json").read_text()
    assert "half.txt" in kept
    assert "refs/atm/salvage" in kept
    led.session("resume", "crew")
    assert led.task("1")["state"] == "in_progress"


def test_at_the_bound_agents_of_ours_are_shut_down_and_come_back_with_the_lead(stage: Stage) -> None:
    stage.settle(**BRISK, zombie_minutes=0.001)
    stage.make_team("crew", "ann")
    stage("tasks", "add", "Write", "--run", "echo two > b.txt")
    stage("up", "script:cat", env={"ATM_SESSION_ID": "s1"})
    assert stage.state["lead_session_id"] == "s1", "whoever starts agents leads"
    stage.is_done("1")
    stage.becomes("cat", "idle")
    stage.daemon.start()
    stage.look_twice()
    assert stage.record("cat").state == "idle"
    stage.age_lead(6)
    stage.becomes("cat", "stopped")
    stage.eventually(lambda: stage.running() == [])
    assert stage.task("1")["state"] == "completed"
    assert stage.session("resume", "crew")["how"] == "reattached"
    stage("up", env={"ATM_SESSION_ID": "s1"})
    stage.becomes("cat", "idle")
    stage("down")


def test_at_the_bound_others_are_told_once_and_are_marked(led: Stage) -> None:
    led.settle(**BRISK, zombie_minutes=0.02)
    led("tasks", "beat", "--as", "ann")
    led.daemon.start()
    lead_goes_away(led)
    led.eventually(lambda: any("shut down" in text for text in led.texts("cat")))
    led.eventually(lambda: not led.is_marked)
    led.look_twice()
    assert [sum("shut down" in text for text in led.texts(name)) for name in ("ann", "bob", "cat")] == [1, 1, 1]
    assert outcome(led, "ann", "bob", "after") == "success"
    assert led.session("show", "crew")["lead"]["state"] == "over"
    people = {one["id"]: one["status"] for one in led.state["teammates"]}
    assert (people["ann"], people["bob"]) == ("shutdown", "shutdown"), "decision 9: others are marked and told"


def test_heartbeats_have_the_fields_of_the_seed_and_the_daemon_writes_them_for_processes(watched: Stage) -> None:
    pid = watched.stand_in("bob")
    outcome(watched, "bob", "ann", "said something")
    written = watched.heartbeat("bob")["timestamp_utc_ms"]
    watched.eventually(lambda: watched.heartbeat("bob")["timestamp_utc_ms"] > written)
    beat = watched.heartbeat("bob")
    facts = ("teammate_id", "task_claimed", "context_usage_percent", "status", "message_seq", "pid")
    assert {key: beat[key] for key in facts} == {
        "teammate_id": "bob",
        "task_claimed": "1",
        "context_usage_percent": 47,
        "status": "in_progress",
        "message_seq": 1,
        "pid": pid,
    }
    bob = next(one for one in watched.session("show", "crew")["members"] if one["name"] == "bob")
    assert (bob["liveness"], bob["context_usage_percent"], bob["last_message_seq"]) == ("online", 47, 1)
    assert beat["checkpoint_seq"] > 0, "the number of the checkpoint that it belongs to"

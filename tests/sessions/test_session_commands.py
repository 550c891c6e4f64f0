"""`atm session` word for word as its contract says: arguments, JSON, exit codes, files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from tests.attacks.shells import refused, shell
from tests.sessions.conftest import LEAD, Record, Stage, said

from atm.files.formats.times import to_iso
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.team.formats.team_config import new_team

STEPS = ["load", "status", "lead", "probe", "facts", "mailbox", "summary"]


# Looking.


def test_dormant_teams_are_listed_and_with_all_the_others_too(led: Stage) -> None:
    led.make_team("other", "dan")
    shown = {one["team"]: one for one in led.session("list")["teams"]}
    assert [*shown] == ["other"], "a lead that was never seen makes a team dormant"
    every = {one["team"]: one for one in led.session("list", "--all")["teams"]}
    assert [*every] == ["crew", "other"]
    crew = every["crew"]
    assert {*crew} >= {"team", "team_id", "status", "lead", "last_seen", "members", "online"}
    assert (crew["status"], crew["members"], crew["online"]) == ("active", 4, 1)
    assert (crew["lead"], crew["session"]) == (LEAD, "s1")
    led.age_lead(4.9)
    assert [one["team"] for one in led.session("list")["teams"]] == ["other"]
    led.age_lead(5.1)
    assert [one["team"] for one in led.session("list")["teams"]] == ["crew", "other"]
    led("teams", "archive", "crew", "--force")
    assert [one["team"] for one in led.session("list")["teams"]] == ["other"]
    assert "other" in led("session", "list").out


def test_show_says_what_a_lead_sees_and_history_what_became_of_it(led: Stage) -> None:
    shown = led.session("show", "crew")
    assert (shown["action"], shown["status"], shown["lead"]["session"]) == ("session show", "active", "s1")
    assert [one["name"] for one in shown["members"]] == [LEAD, "ann", "bob", "cat"]
    assert shown["team_id"] == led.state["team_id"]
    assert led.session("show", shown["team_id"])["team"] == "crew", "its id is as good as its name"
    past = led.session("history", "crew")
    assert [(one["from"], one["to"]) for one in past["moves"]] == [("init", "pending"), ("pending", "active")]
    assert [one["text"] for one in past["checkpoints"]] == ["atm: checkpoint 1 of crew (resume)"]
    assert past["on_remotes"] == []


def test_a_probe_tells_who_is_there_and_changes_no_byte_and_no_time(led: Stage) -> None:
    send(led.room, "crew", "ann", Draft(sender="bob", text="hello"))
    os.utime(led.folder / "a.txt", (1, 1))  # git would like to write that down
    led.git("commit", "-q", "--allow-empty", "-m", "second")
    before = led.everything()
    seen = led.session("probe", "crew")
    assert led.everything() == before
    assert (seen["action"], seen["alive"]) == ("session probe", True)
    assert not {"attached", "how"} & {*seen}
    assert [one["name"] for one in seen["steps"]] == STEPS
    assert {one["name"]: one["liveness"] for one in seen["members"]}["bob"] == "online"
    assert [one["text"] for one in seen["messages"]] == ["hello"]
    led.leave_heartbeat("bob", 11)
    before = led.everything()
    assert led.session("probe", "crew", code=3)["alive"] is False
    led("session", "probe", "crew", code=3)
    assert led.everything() == before


def test_a_probe_of_a_broken_off_consolidation_and_of_a_lost_team_changes_nothing_either(led: Stage) -> None:
    led("teams", "state", "crew", "consolidating")
    led.change_state(consolidation={"step": "commit", "partial": True, "pid": 1, "began": "x", "boot": "y"})
    (led.folder / "b.txt").write_text("new\n")
    os.utime(led.folder / "a.txt", (1, 1))
    before = led.everything()
    seen = led.session("probe", "crew")
    assert seen["interrupted_consolidation"]["files"] == ["b.txt"]
    assert led.everything() == before
    shutil.rmtree(led.home_of_team)
    before = led.everything()
    assert led.refusal("probe", "crew", code=2) == "no-such-team"
    assert led.everything() == before


# Resuming.


def test_resume_takes_seven_steps_and_says_all_that_a_lead_inherits(team: Stage) -> None:
    for number in range(60):
        sender, to = ("bob", "ann") if number % 2 else ("ann", "bob")
        send(team.room, "crew", to, Draft(sender=sender, text=f"message {number}"))
    done = team.session("resume", "crew")
    assert (done["action"], done["team"], done["attached"]) == ("session resume", "crew", True)
    assert [(one["n"], one["name"], one["ok"]) for one in done["steps"]] == [
        (number, name, True) for number, name in enumerate(STEPS, 1)
    ]
    assert all(isinstance(one["ms"], int | float) for one in done["steps"])
    assert done["status"] == "active"
    assert done["lead"] == {"member": LEAD, "session": "s1", "session_old": None, "last_seen": None}
    bob = next(one for one in done["members"] if one["name"] == "bob")
    facts = {key: bob[key] for key in ("status", "liveness", "task", "context_usage_percent", "vendor_session")}
    assert facts == {
        "status": "in_progress",
        "liveness": "online",
        "task": "1",
        "context_usage_percent": None,
        "vendor_session": None,
    }
    assert bob["source"]
    assert bob["age_seconds"] >= 0
    assert [one["text"] for one in done["messages"]] == [f"message {number}" for number in range(10, 60)]
    assert {*done["messages"][0]} >= {"seq", "from", "to", "text", "timestamp"}
    assert [one["seq"] for one in done["messages"]] == sorted(one["seq"] for one in done["messages"])
    assert (done["tasks"]["pending"], done["tasks"]["completed"]) == (["2", "3"], [])
    assert [(one["id"], one["assigned_to"]) for one in done["tasks"]["in_progress"]] == [("1", "bob")]
    assert done["progress"] == {"done": 0, "total": 3, "percent": 0, "eta_seconds": None}
    assert done["facts"] == {"stale": []}
    assert done["mailbox"] == {"last_seq": 60, "gaps": [], "duplicates": [], "torn": False}
    assert (done["restored_from"], done["interrupted_consolidation"], done["warnings"]) == ("home", None, [])
    assert all(command.startswith(("atm ", "git ")) for command in done["next"])
    before = time.time()
    send(team.room, "crew", LEAD, Draft(sender="bob", text="since then"))
    again = team.session("resume", "crew")
    assert (again["how"], again["changed"]["messages"]) == ("reattached", 1)
    assert again["changed"]["since"] == again["lead"]["last_seen"] <= to_iso(before)
    words = team("session", "resume", "crew", env={"ATM_SESSION_ID": "s1"}).out
    assert [f"{number}/7 {name}" in words for number, name in enumerate(STEPS, 1)] == [True] * 7
    assert words.count("→") == 10, "the screen shows the last ten"
    assert "since then" in words


def test_state_json_has_the_shape_of_the_seed_and_what_the_contract_adds(led: Stage) -> None:
    led.session("checkpoint", "crew")
    state = led.state
    assert {*state} >= {
        *("version", "team_id", "checkpoint_sequence", "created_utc_ms", "updated_utc_ms", "lead_session_id"),
        *("status", "teammate_count", "teammates", "task_queue", "mailbox_seq", "facts_checksums"),
        *("since", "by", "history", "lead_last_seen_utc_ms", "mailbox_tail", "metadata"),
    }
    assert (state["version"], state["lead_session_id"], state["teammate_count"]) == ("1.0", "s1", 4)
    bob = next(one for one in state["teammates"] if one["id"] == "bob")
    assert {*bob} >= {
        *("id", "index", "role", "quantum", "status", "task_claimed", "context_usage_percent"),
        *("heartbeat_utc_ms", "last_message_seq", "last_checkpoint_seq"),
    }
    assert (bob["index"], bob["status"], bob["task_claimed"]) == (2, "in_progress", "1")
    assert state["task_queue"]["in_progress"][0]["description"] == "One"
    assert state["metadata"] == {"N": 4, "divergence_detected": False}
    assert oct((led.home_of_team / "state.json").stat().st_mode)[-3:] == "600"


def test_what_a_retry_cannot_change_ends_with_two(led: Stage) -> None:
    led.make_team("fresh", "dan")
    led.room.rosters.create("session-1", new_team("session-1", description="", lead="x", now=1.0))
    led.make_team("done", "dan")
    led("teams", "archive", "done", "--force")
    wrong = {
        "nobody": "no-such-team",
        "../x": "bad-name",
        "fresh": "team-not-initialized",
        "session-1": "team-not-ours",
        "done": "team-completed",
    }
    for verb in ("resume", "takeover"):
        assert {name: led.refusal(verb, name, code=2) for name in wrong} == wrong
    messages = {name: led.session("resume", name, code=2)["error"]["message"] for name in wrong}
    assert messages["nobody"] == "Team nobody not found. Use --list-teams"
    assert messages["done"] == "Team is complete. Use --review-team done"
    assert messages["fresh"] == "Team not initialized. Spawn with --create-team"
    others = ("show", "review", "history", "checkpoint", "shutdown", "consolidate")
    assert {verb: led.refusal(verb, "../x") for verb in others} == dict.fromkeys(others, "bad-name")


def test_no_name_leads_an_abort_out_of_its_folder(led: Stage) -> None:
    before = {path for path in led.atm.home.rglob("*") if "locks" not in path.parts}
    assert led.session("abort", "../x", "--yes", code=None).get("error", {}).get("code") == "bad-name"
    assert {path for path in led.atm.home.rglob("*") if "locks" not in path.parts} == before


def test_everything_that_was_said_since_the_lead_was_seen_is_counted(led: Stage) -> None:
    led.age_lead(3)
    for number in range(52):
        send(led.room, "crew", "ann", Draft(sender="bob", text=f"message {number}"))
    assert led.session("resume", "crew")["changed"]["messages"] == 52


def test_another_lead_may_come_after_half_an_hour_or_by_force_and_the_former_one_is_told(led: Stage) -> None:
    led.age_lead(29)
    before = led.of_the_team()
    assert led.refusal("takeover", "crew", by="s2") == "lead-present"
    assert led.refusal("resume", "crew", by="s2") == "lead-present"
    assert led.of_the_team() == before
    led.age_lead(31)
    done = led.session("takeover", "crew", by="s2")
    assert (done["action"], done["how"]) == ("session takeover", "taken_over")
    assert (done["lead"]["session"], done["lead"]["session_old"]) == ("s2", "s1")
    assert [one["code"] for one in done["warnings"]] == ["different-lead"]
    assert done["warnings"][0]["message"] == "Different lead detected. Coordinator override needed."
    assert (led.state["lead_session_id"], led.state["lead_session_old"]) == ("s2", "s1")
    assert ["s2" in text and "s1" in text for text in led.texts(LEAD)] == [True]
    forced = led.session("resume", "crew", "--force", by="s3")
    assert (forced["how"], forced["lead"]["session_old"]) == ("forced", "s2")
    again = led.session("resume", "crew", by="s3")
    assert (again["how"], again["warnings"], again["told"]) == ("reattached", [], [])
    assert led("session", "resume", "crew", "--session", "s3", "--json").json["how"] == "reattached"


def test_signs_of_life_of_the_one_who_asks_are_not_those_of_the_lead_that_is_gone(led: Stage) -> None:
    led.age_lead(31)
    done = shell(led.atm, LEAD, "atm session takeover crew --session s2 --json; exit $?")
    assert (done.returncode, led.state["lead_session_id"]) == (0, "s2"), done.stdout


def test_of_two_takeovers_at_once_one_wins(led: Stage) -> None:
    led.age_lead(31)
    tries = [led.start("session", "takeover", "crew", "--session", name, "--json") for name in ("s2", "s3")]
    answers = [json.loads(one.communicate(timeout=120)[0]) for one in tries]
    assert sorted(one.returncode for one in tries) == [0, 1]
    won, lost = sorted(answers, key=lambda one: "error" in one)
    assert lost["error"]["code"] == "lead-present"
    assert led.state["lead_session_id"] == won["lead"]["session"]
    assert len([text for text in led.texts("ann") if text.startswith("Lead resumed.")]) == 1


def test_everybody_is_told_once_and_who_was_in_the_middle_is_asked_once(led: Stage) -> None:
    led.change_state(lead_timeout_detected_utc_ms=round(time.time() * 1000))
    done = led.session("resume", "crew")
    assert (done["told"], done["asked"]) == (["ann", "bob", "cat"], ["bob"])
    assert led.session("resume", "crew")["told"] == []
    resumed, asked = "Lead resumed. Proceed or wait?", "Detected you were interrupted. Status?"
    assert {name: led.texts(name) for name in ("ann", "bob", "cat")} == {
        "ann": [resumed],
        "bob": [resumed, asked],
        "cat": [resumed],
    }
    rows = [entry["row"] for entry in led.atm.ledger() if "row" in entry]
    assert [one["from"] for one in rows if one["text"] == resumed] == [LEAD] * 3


def test_warnings_stop_nobody(team: Stage) -> None:
    team.settle("[facts.modules]", 'path = "*.json"', 'renew = "make facts"')
    (team.folder / "modules.json").write_text("{}")
    team.session("resume", "crew")
    assert team.state["facts_checksums"].keys() == {"modules"}
    for number in range(6):
        send(team.room, "crew", "ann", Draft(sender="bob", text=f"message {number}"))
    ledger = team.home_of_team / "mailbox.log"
    lines = ledger.read_text().splitlines(keepends=True)
    mixed = [lines[5], lines[0], lines[1], lines[1], *lines[4:5], '{"seq": 7, "ki']
    ledger.write_text("".join(mixed))
    (team.folder / "modules.json").write_text('{"a": 1}')
    team.change_state(created_utc_ms=round((time.time() + 3600) * 1000))
    done = team.session("resume", "crew")
    assert [one["code"] for one in done["warnings"]] == [
        *("clock-skew", "facts-stale", "mailbox-gap", "mailbox-duplicate", "mailbox-torn"),
    ]
    assert done["facts"]["stale"] == [{"name": "modules", "command": "make facts"}]
    assert "Facts stale. Run `make facts`" in [one["message"] for one in done["warnings"]]
    assert done["mailbox"] == {"last_seq": 6, "gaps": [[3, 4]], "duplicates": [2], "torn": True}
    texts = [one["text"] for one in done["messages"]]
    assert texts == [f"message {number}" for number in (0, 1, 4, 5)], "by their numbers, each once"
    team.session("checkpoint", "crew")
    assert "facts-stale" not in [one["code"] for one in team.session("resume", "crew")["warnings"]]


def test_a_member_whose_clock_is_ahead_is_online_and_named(led: Stage) -> None:
    led.leave_heartbeat("cat", -60)
    done = led.session("resume", "crew")
    assert [one["code"] for one in done["warnings"]] == ["clock-skew"]
    assert "cat" in done["warnings"][0]["message"]
    assert {one["name"]: one["liveness"] for one in done["members"]}["cat"] == "online"


def test_a_team_that_was_stopped_is_active_again_and_one_in_consolidation_warns(led: Stage) -> None:
    led("teams", "state", "crew", "stopped")
    done = led.session("resume", "crew")
    assert [one["code"] for one in done["warnings"]] == ["was-stopped"]
    assert led.state["status"] == "active"
    led("teams", "state", "crew", "consolidating")
    done = led.session("resume", "crew")
    assert [(one["code"], one["message"]) for one in done["warnings"]] == [
        ("consolidating", "Team in consolidation. Wait for completion.")
    ]
    assert (done["status"], done["interrupted_consolidation"]) == ("consolidating", None)


def test_after_an_emergency_stop_a_resume_by_a_person_takes_the_latch_away(led: Stage) -> None:
    led("stop", "--team", "crew", code=None)
    assert Path(led.layout.stop_latch("crew")).exists()
    done = led.session("resume", "crew")
    assert not Path(led.layout.stop_latch("crew")).exists()
    assert [one["code"] for one in done["warnings"]] == ["was-stopped"]


def test_the_answer_to_a_resume_says_what_is_so_afterwards(led: Stage) -> None:
    led("teams", "state", "crew", "stopped")
    assert led.session("resume", "crew")["status"] == led.state["status"] == "active"


def test_what_a_retry_may_change_ends_with_one(led: Stage) -> None:
    led.git("branch", "-D", "atm/checkpoints/crew")  # so there is no other copy
    state = led.home_of_team / "state.json"
    whole = state.read_bytes()
    state.write_bytes(whole[: len(whole) // 2])
    assert led.refusal("resume", "crew") == "unreadable-file"
    assert led.refusal("takeover", "crew", by="s2") == "unreadable-file"
    assert state.read_bytes() == whole[: len(whole) // 2]
    state.write_bytes(whole)
    with led.locks.private(str(state)):
        assert led.refusal("resume", "crew") == "file-busy"
    assert led.session("resume", "crew")["attached"] is True


def test_a_repository_that_is_gone_keeps_nobody_from_leading(led: Stage, tmp_path: Path) -> None:
    led.folder.rename(tmp_path / "moved")
    led.folder.mkdir()
    assert led.session("resume", "crew")["restored_from"] == "home"


def test_whoever_goes_on_is_told_and_whoever_is_rolled_back_loses_the_task_and_no_work(led: Stage) -> None:
    led("tasks", "claim", "2", "--as", "cat")
    (led.folder / "half.txt").write_text("half\n")
    led.age_lead(31)
    seen = led.user_sees()
    done = led.session("resume", "crew", "--continue", "cat", "--rollback", "bob", by="s2")
    assert done["asked"] == []
    assert led.texts("cat")[-1] == "Continue: go on from your checkpoint."
    assert led.task("1")["state"] == "pending"
    assert led.task("2")["state"] == "in_progress"
    assert led.user_sees() == seen
    kept = led("salvage", "list", "--json").json["items"]
    assert [one["untracked"] for one in kept] == [["half.txt"]]
    assert any("1" in one for one in done["rolled_back"]["bob"])


def test_a_session_of_claude_code_goes_on_as_a_team_of_ours(stage: Stage) -> None:
    name, folder = "session-1a2b3c4d", stage.atm.home / ".claude"
    members = [{"agentId": f"{who}@{name}", "name": who, "cwd": "/"} for who in ("team-lead", "dan")]
    config = {"name": name, "createdAt": 1, "leadAgentId": f"team-lead@{name}", "members": members}
    files = {
        f"teams/{name}/config.json": config,
        f"teams/{name}/inboxes/dan.json": [
            {"from": "team-lead", "text": "seen", "timestamp": "2026-01-01T00:00:00.000Z", "read": True},
            {"from": "team-lead", "text": "not seen", "timestamp": "2026-01-01T00:00:00.001Z", "read": False},
        ],
        f"tasks/{name}/1.json": {"id": "1", "subject": "Done", "status": "completed", "blocks": ["2"], "blockedBy": []},
        f"tasks/{name}/2.json": {"id": "2", "subject": "Open", "status": "pending", "blocks": [], "blockedBy": ["1"]},
    }
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(json.dumps(content))
    before = {path: (folder / path).read_bytes() for path in files}
    done = stage.session("resume", name, "--into", "ours")
    assert (done["team"], done["members"], done["messages"]) == ("ours", ["team-lead", "dan"], 1)
    assert {path: (folder / path).read_bytes() for path in files} == before
    assert not [*(folder / "teams" / name).glob("state.json*")]
    assert [row["text"] for row in stage.atm.rows("dan", "ours")] == ["not seen"]
    assert stage.session("resume", "ours")["how"] == "taken_over"
    stage.session("resume", name, "--into", "ours", code=1)
    claimed = stage("tasks", "claim", "--as", "dan", "--team", "ours", "--json", code=None)
    assert claimed.code == 0, f"what it needs was done in the session: {claimed.out}"
    assert claimed.json["task"]["subject"] == "Open"


# Complete teams.


def test_a_complete_team_can_be_read_and_nothing_in_it_changes(led: Stage) -> None:
    assert led.session("review", "crew", code=1)["error"]
    led.leave_heartbeat("bob", 11)
    done = led.session("consolidate", "crew", "--force")
    assert done["status"] == "complete"
    before = led.of_the_team()
    assert led.session("review", "crew")["status"] == "complete"
    assert led.session("show", "crew")["status"] == "complete"
    assert led.session("history", "crew")["moves"][-1]["to"] == "complete"
    mutations = (
        ("checkpoint", "crew"),
        ("checkpoint", "crew", "--git"),
        ("shutdown", "crew"),
        ("abort", "crew", "--yes"),
        ("consolidate", "crew"),
        ("consolidate", "crew", "--continue"),
        ("consolidate", "crew", "--abort"),
    )
    answers = {words: led.refusal(*words) for words in mutations}
    assert answers == dict.fromkeys(mutations, "team-completed")
    assert led.refusal("resume", "crew", "--force", code=2) == "team-completed"
    for words in (("tasks", "claim", "2", "--as", "ann"), ("send", "ann", "hi", "--from", "bob")):
        assert said(led(*words, "--json", code=1)) == "team-completed"
    assert led.of_the_team() == before


def test_nothing_of_a_complete_team_is_handed_over(led: Stage) -> None:
    led("tasks", "claim", "2", "--as", "cat")
    led("tasks", "complete", "2", "--as", "cat", "--result", "done")
    led.leave_heartbeat("bob", 11)
    led.session("consolidate", "crew", "--force")
    before = led.of_the_team()
    codes = {task: said(led("session", "reassign", task, "ann", "--json", code=1)) for task in ("1", "2", "3")}
    changed = [path for path, content in led.of_the_team().items() if before.get(path) != content]
    assert (codes, changed) == (dict.fromkeys(("1", "2", "3"), "team-completed"), [])


# Handing over.


def test_a_task_is_handed_over_with_what_its_owner_left_and_the_late_word_does_not_count(led: Stage) -> None:
    (led.folder / "half.txt").write_text("half\n")
    before = led.of_the_team()
    assert said(led("session", "reassign", "1", "ann", "--json", code=1)) == "member-in-use"
    assert led.of_the_team() == before
    led.leave_heartbeat("bob", 11)
    seen = led.user_sees()
    done = led("session", "reassign", "1", "ann", "--json").json
    assert (done["action"], done["task"], done["from"], done["to"]) == ("session reassign", "1", "bob", "ann")
    assert done["inherited"]["files"] == ["half.txt"]
    assert led.git("show", f"{done['inherited']['salvage']}:half.txt") == "half"
    assert led.user_sees() == seen
    mine = json.loads((led.home_of_team / "ann_checkpoint.json").read_bytes())
    assert (mine["task"], mine["file_edits"]["files"], mine["inherited_from"]) == ("1", ["half.txt"], "bob")
    assert {*mine} >= {"file_edits", "compile_state", "last_good_state"}
    assert done["inherited"]["salvage"] in led.texts("ann")[-1]
    task = led.task("1")
    assert (task["owner"], task["state"]) == ("ann", "pending" if task["state"] == "pending" else "in_progress")
    led("tasks", "complete", "1", "--as", "bob", "--result", "late", code=1)
    assert led.task("1")["state"] != "completed"
    led("tasks", "claim", "1", "--as", "ann")
    led("tasks", "complete", "1", "--as", "ann", "--result", "mine")
    assert (led.task("1")["state"], led.task("1")["finishedBy"]) == ("completed", "ann")


def test_by_force_it_is_taken_from_one_who_is_there(led: Stage) -> None:
    assert led("session", "reassign", "1", "cat", "--force", "--json").json["from"] == "bob"
    assert led.task("1")["owner"] == "cat"
    led("tasks", "complete", "1", "--as", "bob", "--result", "late", code=1)
    led("session", "reassign", "1", "nobody", "--json", code=1)
    led("session", "reassign", "99", "cat", "--json", code=1)


# Checkpoints.


def test_a_checkpoint_in_git_changes_nothing_that_the_user_sees(led: Stage) -> None:
    (led.folder / "a.txt").write_text("changed\n")
    led.git("stash", "-q")
    (led.folder / "a.txt").write_text("staged\n")
    led.git("add", "a.txt")
    (led.folder / "c.txt").write_text("untracked\n")
    before = led.user_sees()
    send(led.room, "crew", "ann", Draft(sender="bob", text="for the ledger"))
    done = led.session("checkpoint", "crew", "--git")
    assert led.user_sees() == before
    assert (done["changed"], done["branch"]) == (True, "atm/checkpoints/crew")
    assert led.git("rev-parse", "refs/heads/atm/checkpoints/crew") == done["commit"]
    paths = led.git("ls-tree", "-r", "--name-only", done["commit"]).split("\n")
    assert {*paths} >= {f".claude/teams/crew/{name}" for name in ("state.json", "mailbox.log", "tasks.jsonl")}
    copy = json.loads(led.git("show", f"{done['commit']}:.claude/teams/crew/state.json"))
    assert copy == led.state
    again = led.session("checkpoint", "crew", "--git")
    assert (again["changed"], again["commit"], again["sequence"]) == (False, None, done["sequence"])
    assert [one["commit"] for one in led.session("history", "crew", "--limit", "1")["checkpoints"]] == [done["commit"]]


def test_where_there_is_no_repository_there_is_no_git_copy_and_that_is_said(team: Stage, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    lead = {"ATM_SESSION_ID": "s1"}
    team.atm("session", "resume", "crew", cwd=plain, env=lead)
    done = team.atm("session", "checkpoint", "crew", "--git", "--json", cwd=plain, env=lead).json
    assert (done["commit"], done["branch"]) == (None, None)
    assert "no git copy" in done["note"]
    assert team.git("branch", "--list", "atm/*") == ""


def test_names_that_git_refuses_and_ids_with_a_plus_work_everywhere(stage: Stage) -> None:
    for name, branch in (("team-engine+schema+test-ids6b", "team-engine+schema+test-ids6b"), ("a.", "a%2E")):
        stage.make_team(name, "dan")
        stage("tasks", "add", "One", "--team", name)
        stage("tasks", "claim", "--as", "dan", "--team", name)
        stage("--resume-team", name, env={"ATM_SESSION_ID": "s1"})
        assert stage("--probe-team", name, "--json").json["team"] == name
        stage("--checkpoint-team", name, "--git")
        assert stage.git("rev-parse", f"refs/heads/atm/checkpoints/{branch}")


# The seed's own spellings.


def test_the_commands_can_be_spelled_as_the_seed_does(led: Stage) -> None:
    led.age_lead(6)
    assert led("--list-teams", "--json").json["action"] == "session list"
    assert led("--probe-team", "crew", "--json").json["action"] == "session probe"
    assert led("--resume-team", "crew", "--json", env={"ATM_SESSION_ID": "s1"}).json["how"] == "reattached"
    assert led("--checkpoint-team", "crew", "--json").json["action"] == "session checkpoint"
    led.leave_heartbeat("bob", 11)
    assert led("--force-reassign", "1", "ann", "--json").json["to"] == "ann"
    assert led("--abort-team", "crew", "--json").json["dry_run"] is True
    assert led("--review-team", "crew", "--json", code=1).json["error"]
    led.session("consolidate", "crew", "--force")
    assert led("--review-team", "crew", "--json").json["action"] == "session review"


# Who may.

VERBS = (
    "session resume crew --force",
    "session takeover crew --force",
    "session resume crew --into other",
    "session reassign 1 cat",
    "session shutdown crew",
    "session abort crew --yes",
    "session consolidate crew --force",
)


def test_a_member_does_not_lead_hand_over_or_end_its_team(led: Stage) -> None:
    before = led.of_the_team()
    script = "\n".join(f"atm {words} --json" for words in VERBS)
    done = shell(led.atm, "cat", script)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    codes = {words: one.get("error", {}).get("code") for words, one in zip(VERBS, answers, strict=True)}
    assert codes == dict.fromkeys(VERBS, "not-allowed")
    after = led.of_the_team()
    assert [path for path in after if before.get(path) != after[path]] == [
        str(led.home_of_team / "heartbeats/cat.json")
    ]


def test_a_member_does_not_lead_its_team_by_its_id_either(led: Stage) -> None:
    done = shell(led.atm, "cat", "atm session takeover $ID --force --json; exit $?", env={"ID": led.state["team_id"]})
    assert "lead it from here" in refused(done)
    assert led.state["lead_session_id"] == "s1"


def test_the_lead_may_but_only_a_person_takes_up_what_a_person_stopped(led: Stage) -> None:
    by = {"ID": led.state["team_id"], "ATM_SESSION_ID": "s1"}
    done = shell(led.atm, LEAD, "atm session resume crew --json; exit $?", env=by)
    assert done.returncode == 0, done.stdout
    led("stop", "--team", "crew", code=None)
    for name in ("crew", "$ID"):
        done = shell(led.atm, LEAD, f"atm session resume {name} --json; exit $?", env=by)
        assert "only a person" in refused(done)
        assert Path(led.layout.stop_latch("crew")).exists()


# Ends.


def test_shutdown_asks_first_and_abort_kills_after_a_yes(led: Stage) -> None:
    lead = {"ATM_SESSION_ID": "s1"}
    led("up", "script:ann", "command:dan", env=lead)
    assert led.session("abort", "crew")["members"] == ["ann", "dan"]
    assert len({one.mark for one in led.running()}) == 2
    done = led.session("shutdown", "crew")
    assert [(one["member"], one["how"]) for one in done["members"]] == [("ann", "asked"), ("dan", "asked")]
    assert (done["status"], led.state["status"]) == ("consolidating", "consolidating")
    shown = led.session("resume", "crew")["members"]
    assert {one["name"]: one["liveness"] for one in shown if one["name"] in ("ann", "dan")} == {
        "ann": "offline",
        "dan": "offline",
    }
    led("teams", "state", "crew", "active")
    led("up", "script:ann", env=lead)
    killed = led.session("abort", "crew", "--yes")
    assert ([one["member"] for one in killed["stopped"]], killed["left"]) == (["ann"], [])
    assert led.running() == []
    assert Path(led.layout.stop_latch("crew")).exists()


# Kinds of messages, and no terminal.


def test_a_message_has_a_kind_in_the_row_and_in_the_ledger_and_never_in_its_type(led: Stage) -> None:
    for kind in ("info", "question", "challenge", "resolution"):
        led("send", "ann", f"a {kind}", "--from", "bob", "--kind", kind)
    led("send", "ann", "x", "--from", "bob", "--kind", "shout", code=1)
    rows = led.atm.rows("ann")
    assert [(row["text"], row.get("kind", "info")) for row in rows] == [
        (f"a {kind}", kind) for kind in ("info", "question", "challenge", "resolution")
    ]
    assert not [row for row in rows if row.get("type") in ("question", "challenge", "resolution")]
    shown = led.session("show", "crew")["messages"]
    assert [one["kind"] for one in shown] == ["info", "question", "challenge", "resolution"]
    led.session("checkpoint", "crew")
    assert [one["type"] for one in led.state["mailbox_tail"]] == ["info", "question", "challenge", "resolution"]


def test_all_of_it_works_without_a_terminal_and_with_closed_input(team: Stage) -> None:
    def run(*words: str) -> Record:
        done = subprocess.run(
            team.atm.command("session", *words, "--json"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=team.atm.environment,
            cwd=team.folder,
            start_new_session=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout
        found: Record = json.loads(done.stdout)
        return found

    first = run("resume", "crew")
    assert first["lead"]["session"].startswith("cli-")
    second = run("resume", "crew", "--force")
    assert second["lead"]["session"] != first["lead"]["session"], "another session of the system is another lead"
    assert [run(verb, "crew")["action"] for verb in ("show", "probe", "history", "checkpoint")] == [
        *("session show", "session probe", "session history", "session checkpoint")
    ]

"""Agents are started, seen, and ended with nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from tests.chaos import LONG
from tests.crew.conftest import NOTHING, Crew
from tests.optional import skip_without
from tests.proving import proves


@proves("R004-agent-lifecycle-L5")
@proves("R004-target-02", "R004-target-04", "R004-gap-p0-02", "R004-gap-p0-05", "R004-architecture-03")
@proves("R003-7-team-02")
def test_two_agents_come_up_are_seen_and_go_down_with_nothing_left(crew: Crew) -> None:
    said = crew("up", "script:ann", "command:bob", "--json").json
    assert (said["action"], said["team"]) == ("up", "crew")
    assert [(one["name"], one["runtime"], one["backend"], one["error"]) for one in said["members"]] == [
        ("ann", "script", "headless", None),
        ("bob", "command", "headless", None),
    ]
    assert all(one["pid"] and one["state"] in ("ready", "idle") for one in said["members"])
    seen = crew("peek", "--json").json["members"]
    assert [(one["name"], one["runs"]) for one in seen] == [("ann", True), ("bob", True)]
    members = {one["name"]: one for one in crew("members", "--json").json["members"]}
    assert {name: members[name]["liveness"] for name in ("ann", "bob")} == {"ann": "online", "bob": "online"}
    assert crew("teams", "state", "crew", "--json").json["state"] == "active"
    ended = crew("down", "--json").json
    assert [(one["member"], one["how"]) for one in ended["members"]] == [("ann", "asked"), ("bob", "asked")]
    assert crew.left() == NOTHING
    assert crew("teams", "state", "crew", "--json").json["state"] == "stopped"
    assert crew("down", code=3).out == "no agent of this team runs\n"


def test_ports_that_somebody_else_uses_are_not_given_to_an_agent(crew: Crew) -> None:
    with socket.socket() as others:
        others.bind(("127.0.0.1", 0))
        others.listen()
        crew("config", "set", "crew.first_port", str(others.getsockname()[1]))
        crew("up", "script:ann")
        assert crew.record("ann").slot > 0
    crew("down")


def test_what_ran_before_comes_up_again_as_it_was(crew: Crew) -> None:
    crew("up", "script:ann", "command:bob")
    first = crew.record("bob")
    crew("down")
    again = crew("up", "--json").json["members"]
    assert [(one["name"], one["runtime"]) for one in again] == [("ann", "script"), ("bob", "command")]
    second = crew.record("bob")
    assert second.generation == first.generation + 1
    assert second.command == first.command
    crew("down")


@proves("R004-current-state-05", "R004-gap-p0-03")
def test_a_script_agent_does_tasks_in_worktrees_of_its_own_and_leaves_branches(crew: Crew) -> None:
    crew("tasks", "add", "Write it", "--run", "echo two > b.txt", "--run", "echo $ATM_TASK $ATM_IDENTITY >> b.txt")
    crew("tasks", "add", "Read it", "--run", "cat a.txt", "--depends-on", "1")
    crew("tasks", "add", "For a mind")
    (crew.folder / "dirty.txt").write_text("the user's own")
    before = crew.git("status", "--porcelain"), crew.git("rev-parse", "HEAD")
    crew("up", "script:ann")
    crew.is_done("2")
    task = crew.task("1")
    assert (task["state"], task["finishedBy"]) == ("completed", "ann")
    branch = "atm/work/crew/1-ann"
    assert branch in task["result"]
    assert crew.git("show", f"{branch}:b.txt") == "two\n1 ann"
    assert crew.git("log", "-1", "--format=%an", branch) == "ann"
    assert (crew.git("status", "--porcelain"), crew.git("rev-parse", "HEAD")) == before
    assert crew.task("3")["state"] == "pending"
    crew.becomes("ann", "idle")
    assert crew.left()["worktrees"] == []
    crew("down")
    assert crew.left() == NOTHING


def test_a_command_that_fails_fails_the_task_and_its_work_is_saved(crew: Crew) -> None:
    crew("tasks", "add", "Break", "--run", "echo half > half.txt; exit 7", "--max-retries", "0")
    crew("up", "script:ann")
    crew.is_done("1")
    task = crew.task("1")
    assert task["state"] == "failed"
    assert "ended with 7" in task["error"]
    crew("down")
    items = crew("salvage", "list", "--json").json["items"]
    assert [item["untracked"] for item in items] == [["half.txt"]]
    crew("salvage", "restore", items[0]["id"], "--to", str(crew.folder / "back"))
    assert (crew.folder / "back" / "half.txt").read_text() == "half\n"
    assert crew.left() == NOTHING


def test_checks_run_in_the_worktree_and_their_no_is_heard(crew: Crew) -> None:
    crew("tasks", "add", "Prove", "--run", "echo x > proof.txt", "--accept", "test -f proof.txt")
    crew("tasks", "add", "Fail", "--run", "true", "--accept", "test -f proof.txt", "--max-retries", "0")
    crew("up", "script:ann")
    crew.is_done("1")
    crew.is_done("2")
    assert crew.task("1")["state"] == "completed"
    assert crew.task("2")["state"] == "failed"
    crew("down")


def test_commands_of_a_plan_wait_for_a_persons_yes(crew: Crew, tmp_path: Path) -> None:
    plan = tmp_path / "plan.md"
    plan.write_text("- [ ] Evil (run: touch evil.txt)\n")
    crew("tasks", "import", str(plan))
    crew("up", "script:ann")
    crew.is_done("1")
    task = crew.task("1")
    assert task["state"] == "failed"
    assert "no person has said yes" in task["error"]
    crew("tasks", "allow", "1")
    crew("tasks", "release", "1", "--reopen", "--reason", "looked at")
    crew.eventually(lambda: crew.task("1")["state"] == "completed")
    crew("down")


@proves("R004-agent-lifecycle-L5b")
@proves("R004-summary-05", "R004-target-18", "R004-current-state-12", "R004-gap-p0-05", "R004-gap-p0-06")
def test_asked_in_the_middle_of_its_task_it_finishes_first(crew: Crew) -> None:
    go = crew.folder / "go"
    crew("tasks", "add", "Long", "--run", f"until test -e {go}; do sleep 0.05; done; echo done > d.txt")
    crew("up", "script:ann")
    crew.becomes("ann", "working")
    down = crew.atm.start("down", "--json", env={"ATM_CONFIG": str(_settings(crew, "shutdown_seconds = 120"))})
    crew.eventually(lambda: crew.record("ann").answer == "finishing", 120)
    go.touch()
    out, _ = down.communicate(timeout=240)
    assert json.loads(out)["members"][0]["how"] == "asked"
    assert crew.task("1")["state"] == "completed"
    assert crew.left() == NOTHING


@proves("R004-agent-lifecycle-L6")
@proves("R004-summary-05", "R004-target-18", "R004-current-state-12", "R004-architecture-03")
def test_only_silence_is_killed_and_its_task_is_free_again(crew: Crew) -> None:
    crew("tasks", "add", "Hang", "--run", "echo begun > begun.txt; sleep 1000")
    crew("up", "script:ann")
    crew.becomes("ann", "working")
    crew.eventually(lambda: any("sleep 1000" in one.command for one in crew.running()))
    os.kill(crew.record("ann").pid, signal.SIGSTOP)
    said = crew("down", "--json", env={"ATM_CONFIG": str(_settings(crew, "shutdown_seconds = 0.2"))}).json["members"]
    assert [(one["how"], one["released"]) for one in said] == [("terminated", ["1"])]
    assert "said nothing" in said[0]["reason"]
    assert crew.task("1")["state"] == "pending"
    assert crew.left() == NOTHING
    assert crew("salvage", "list", "--json").json["items"][0]["untracked"] == ["begun.txt"]


def test_a_killed_host_is_cleared_away_by_the_next_command(crew: Crew) -> None:
    crew("tasks", "add", "Hang", "--run", "echo begun > begun.txt; sleep 1000")
    crew("up", "script:ann")
    crew.eventually(lambda: any("sleep 1000" in one.command for one in crew.running()))
    os.kill(crew.record("ann").pid, signal.SIGKILL)
    crew.eventually(lambda: not _lives(crew.record("ann").pid))
    assert any("sleep 1000" in one.command for one in crew.running())
    crew("up", "script:bob")
    assert not any("sleep 1000" in one.command and "ann" in one.mark for one in crew.running())
    assert crew.record("ann").state == "error"
    crew("stop", "--json")
    assert crew.left() == NOTHING
    why = [item["why"] for item in crew("salvage", "list", "--json").json["items"]]
    assert any("its host is gone" in one for one in why)


@proves("R003-2.3-17", "R003-7-teammate-18")
def test_stop_ends_everything_also_what_left_its_session_and_cleared_its_environment(crew: Crew) -> None:
    # All processes of the machine are looked at; nobody else sleeps for just so long.
    nap = f"sleep 9{os.getpid()}"
    hides = f"setsid env -i {nap}1 & setsid {nap}2 & (trap '' TERM INT HUP; {nap}3) & {nap}4"
    crew("spawn", "command:bob", "--prompt", hides)
    crew.eventually(lambda: sum(line.startswith(nap) for line in _commands()) == 4)
    said = crew("stop", "--json").json
    assert [(one["member"], one["how"]) for one in said["stopped"]] == [("bob", "killed")]
    assert said["left"] == []
    assert [line for line in _commands() if nap in line] == []
    assert crew.left() == NOTHING
    assert crew("stop", code=3).out == "no agent ran\n"


def test_stop_works_with_team_files_that_cannot_be_read_and_latches(crew: Crew) -> None:
    crew("up", "script:ann")
    folder = Path(crew.layout.team("crew"))
    folder.rename(folder.with_name("elsewhere"))
    said = crew("stop", "--team", "crew", "--json").json
    assert [one["member"] for one in said["stopped"]] == ["ann"]
    assert crew.running() == []
    folder.with_name("elsewhere").rename(folder)
    assert Path(crew.layout.stop_latch("crew")).exists()
    crew("up", "script:ann")
    assert not Path(crew.layout.stop_latch("crew")).exists()
    crew("down")


def test_only_a_person_starts_a_stopped_team_again(crew: Crew) -> None:
    crew("tasks", "add", "Try", "--run", f"{_atm(crew)} up script:bob --team crew", "--max-retries", "0")
    crew("up", "script:ann")
    crew.is_done("1")
    assert "only a person or the lead may start agents" in crew.task("1")["error"]
    crew("down")


def test_nobody_is_started_twice_and_two_who_try_at_once_get_one(crew: Crew) -> None:
    crew("up", "script:ann")
    refused = crew("up", "script:ann", "--json", code=1).json["members"][0]
    assert refused["error"]["code"] == "member-in-use"
    crew("down")
    tries = [crew.atm.start("up", "script:ann", "--json", "--team", "crew") for _ in range(4)]
    said = [json.loads(one.communicate(timeout=240)[0])["members"][0] for one in tries]
    assert sum(one["pid"] is not None for one in said) == 1
    assert len({one.pid for one in crew.running() if "crew.host" in one.command}) == 1
    crew("down")
    assert crew.left() == NOTHING


STAGES = {
    "the record is there": lambda _: True,
    "it has a slot": lambda record: record.slot >= 0,
    "it has a worktree": lambda record: record.worktree,
    "it has a command": lambda record: record.command,
    "it has a process": lambda record: record.pid,
    "it is there": lambda record: record.state != "spawning",
}


@pytest.mark.parametrize("stage", STAGES)
def test_killed_anywhere_while_it_starts_an_agent_the_next_command_leaves_nothing_half_made(crew: Crew, stage) -> None:
    started = crew.atm.start("up", "command:bob", "--team", "crew")

    def is_reached() -> bool:
        record = crew.record("bob")
        return started.poll() is not None or (record is not None and bool(STAGES[stage](record)))

    crew.eventually(is_reached)
    started.kill()
    started.communicate()
    found = crew("down", "--json", code=None)
    assert found.code in (0, 3), found.err
    assert crew.left() == NOTHING
    crew("up", "command:bob")
    crew("down")
    assert crew.left() == NOTHING


def test_an_agent_that_ends_badly_says_so_and_leaves_nothing(crew: Crew) -> None:
    crew("spawn", "command:bob", "--prompt", "echo no >&2; sleep 1; exit 3")
    crew.becomes("bob", "error")
    assert crew.record("bob").error == "its program ended with 3"
    assert "no" in crew("peek", "bob").out.split()
    crew("down", code=None)
    assert crew.left() == NOTHING


def test_what_cannot_be_started_says_what_would_bring_it_and_keeps_nobody_back(crew: Crew) -> None:
    path = {"PATH": _only("git", crew.folder.parent)}
    said = crew("up", "claude:ann", "script:bob", "--json", code=2, env=path).json["members"]
    assert said[0]["error"]["code"] == "runtime-missing"
    assert "npm install -g @anthropic-ai/claude-code" in said[0]["error"]["hint"]
    assert said[1]["error"] is None
    assert crew.record("ann") is None
    crew("down")


def test_the_team_is_made_where_there_is_none(crew: Crew) -> None:
    crew("teams", "delete", "crew", "--force", code=None)
    said = crew("up", "script:ann", "--team", "fresh", "--json").json
    assert said["team"] == "fresh"
    crew("down", "--team", "fresh")


def test_without_a_repository_it_works_in_the_folder_itself(crew: Crew, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    crew("tasks", "add", "Write", "--run", "echo here > here.txt")
    crew.atm("up", "script:ann", "--team", "crew", cwd=plain)
    crew.is_done("1")
    assert (plain / "here.txt").read_text() == "here\n"
    crew("down")


def test_in_a_repository_without_a_commit_nobody_is_started_and_the_way_out_is_said(crew: Crew) -> None:
    crew.git("update-ref", "-d", "HEAD")
    said = crew("up", "script:ann", code=None)
    assert said.code != 0
    assert "no commit yet" in said.out + said.err
    assert "git commit --allow-empty -m start" in said.out + said.err
    assert crew.left()["processes"] == []


def test_a_task_without_a_place_to_work_in_waits_and_says_what_to_do(crew: Crew) -> None:
    """It could not be begun, so it is no attempt (D35), and is tried again."""
    crew("up", "script:ann")
    crew.becomes("ann", "idle")
    head = crew.git("rev-parse", "HEAD")
    crew.git("update-ref", "-d", "HEAD")
    crew("tasks", "add", "Write", "--run", "echo here > here.txt", "--owner", "ann")
    crew.eventually(lambda: crew.task("1")["refused"])
    crew.eventually(lambda: crew.task("1")["state"] == "pending")
    found, shown = crew.task("1"), crew("tasks", "show", "1").out
    crew.git("update-ref", "HEAD", head)
    assert (found["failures"], found["refused"]["by"]) == (0, "ann")
    for said in (found["refused"]["why"], shown.replace("\n", " ")):
        assert "no commit yet" in said
    assert "git commit --allow-empty -m start" in found["refused"]["why"]
    crew("down")


def test_a_crew_file_is_started_after_a_yes_to_exactly_that(crew: Crew) -> None:
    crew("init", "--crew")
    file = crew.folder / "crew.toml"
    assert 'runtime = "script"' in file.read_text()
    refused = crew("up", "--crew", "crew.toml", "--json", code=1)
    assert refused.json["error"]["code"] == "not-trusted"
    crew("up", "--crew", "crew.toml", "--yes", "--team", "crew")
    crew("down")
    file.write_text(file.read_text() + '\n[[agents]]\nname = "bob"\nruntime = "command"\ncommand = ["touch", "evil"]\n')
    assert crew("up", "--crew", "crew.toml", "--json", code=1).json["error"]["code"] == "not-trusted"
    assert crew.running() == []


@proves("R004-target-10", "R004-gap-p3-02")
def test_in_tmux_it_has_a_window_of_its_own_that_goes_with_it(crew: Crew) -> None:
    skip_without("tmux")
    crew.atm.environment["TMUX_TMPDIR"] = str(crew.folder.parent)
    crew.atm.environment["SECRET"] = "only for it"
    said = crew("up", "command:bob", "--backend", "tmux", "--prompt", "echo $SECRET; exec cat", "--json").json
    pane = said["members"][0]["pane"]
    assert pane.startswith("%")
    crew.eventually(lambda: "only for it" in crew("peek", "bob").out)
    words = crew("attach", "bob", "--json").json["command"]
    assert words[-1] == pane
    crew("down")
    assert crew.left() == NOTHING
    crew.eventually(lambda: crew("peek", "bob", code=None).code == 0)
    left = subprocess.run([*words[3:6], "list-sessions"], env=crew.atm.environment, capture_output=True, check=False)
    assert left.stdout == b""


@proves("R004-defects-09b")
def test_the_windows_of_agents_stand_side_by_side_and_looking_on_disturbs_nobody(crew: Crew) -> None:
    skip_without("tmux")
    crew.atm.environment["TMUX_TMPDIR"] = str(crew.folder.parent)
    for name in ("ann", "bob"):
        crew("up", f"command:{name}", "--backend", "tmux", "--prompt", f"echo I am {name}; exec cat")
    crew.eventually(lambda: "I am bob" in crew("peek", "bob").out)
    server = crew("attach", "bob", "--json").json["command"][3:6]

    def tmux(*words: str, at: tuple[str, ...] = ("tmux", "-L", "watcher", "-f", "/dev/null")) -> str:
        return subprocess.run([*at, *words], env=crew.atm.environment, capture_output=True, check=False).stdout.decode()

    windows = (
        "list-windows",
        "-a",
        "-F",
        "#{session_name} #{window_id} #{window_active} #{window_width}x#{window_height}",
    )
    before = tmux(*windows, at=tuple(server))
    tmux("new-session", "-d", "-x", "100", "-y", "30", *crew.atm.command("top", "--tmux"))
    crew.eventually(
        lambda: {"I am ann", "I am bob"} <= {line.strip(" │") for line in re.split("[\n│]", tmux("capture-pane", "-p"))}
    )
    ours = [line for line in tmux(*windows, at=tuple(server)).splitlines() if line.startswith("atm-crew ")]
    assert ours == before.splitlines()
    tmux("kill-server")
    crew.eventually(lambda: tmux(*windows, at=tuple(server)) == before)
    assert "I am bob" in crew("peek", "bob").out
    crew("down")


def test_what_an_agent_has_changed_is_shown(crew: Crew) -> None:
    crew("up", "command:bob", "--prompt", "echo two >> a.txt; echo three > c.txt; exec sleep 300")
    crew.eventually(lambda: "+three" in crew("peek", "bob", "--diff", code=None).out)
    said = crew("peek", "bob", "--diff", "--json").json
    assert {"+two", "+three"} <= set(said["diff"].split("\n"))
    crew("down")
    assert "changed nothing" in crew("peek", "bob", "--diff", code=3).out


def test_runtimes_are_listed_and_the_users_own_among_them(crew: Crew) -> None:
    settings = Path(crew.layout.settings)
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[runtimes.mine]\ncommand = ["sh", "-c", "cat"]\n')
    said = {one["name"]: one for one in crew("runtimes", "list", "--json").json["runtimes"]}
    assert {"claude", "codex", "gemini", "opencode", "command", "script", "mine"} == set(said)
    assert said["script"]["installed"] is True
    assert said["mine"]["origin"].startswith("user file")
    crew("up", "mine:ann")
    assert crew.record("ann").command == ["sh", "-c", "cat"]
    crew("down")
    assert crew("runtimes", "check", "claud", code=1).err.count("did you mean 'claude'") == 1


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for _ in range(2048):
            file.write(b"x" * 1024)


def _settings(crew: Crew, line: str) -> Path:
    path = crew.folder.parent / "more.toml"
    path.write_text(f"[crew]\n{line}\n")
    return path


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _commands() -> list[str]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                found.append(Path(f"/proc/{name}/cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " "))
            except OSError:
                continue
    return found


def _atm(crew: Crew) -> str:
    return " ".join(crew.atm.command())


def _only(program: str, folder: Path) -> str:
    """A folder with this program alone."""
    import shutil

    bin = folder / "bin"
    bin.mkdir()
    for name in (program, "sh", "python3"):
        (bin / name).symlink_to(str(shutil.which(name)))
    return str(bin)


@proves("R004-gap-p3-06")
def test_a_team_with_agents_is_not_deleted_and_with_force_nothing_of_it_stays_but_what_was_saved(crew: Crew) -> None:
    crew("tasks", "add", "Write", "--run", "echo two > b.txt")
    crew("up", "script:ann", "command:bob")
    crew.is_done("1")
    refused = crew("teams", "delete", "crew", "--yes", "--json", code=1).json
    assert refused["error"]["code"] == "team-in-use"
    crew("teams", "delete", "crew", "--yes", "--force")
    assert crew.left() == NOTHING
    assert crew.git("branch", "--list", "atm/*") == ""
    saved = crew.git("for-each-ref", "--format=%(refname)", "refs/atm/salvage").split("\n")
    assert len(saved) == 1
    assert crew.git("show", f"{saved[0]}:b.txt") == "two"
    assert crew.records.names("crew") == []


def test_an_archived_team_leaves_no_worktree_and_no_branch(crew: Crew) -> None:
    crew("up", "command:bob")
    crew("down")
    crew("teams", "archive", "crew", "--force")
    assert crew.left() == NOTHING
    assert crew.git("branch", "--list", "atm/*") == ""


def test_when_its_tmux_server_is_killed_the_agent_ends_and_nothing_is_left(crew: Crew) -> None:
    skip_without("tmux")
    crew.atm.environment["TMUX_TMPDIR"] = str(crew.folder.parent)
    crew("up", "command:bob", "--backend", "tmux", "--prompt", "(setsid sleep 3001 &); exec sleep 3002")
    crew.eventually(lambda: sum("sleep 300" in one.command for one in crew.running()) >= 2)
    words = crew("attach", "bob", "--json").json["command"]
    subprocess.run([*words[3:6], "kill-server"], env=crew.atm.environment, check=True)
    crew("down", code=None)
    assert crew.left() == NOTHING


def test_on_a_full_disk_nothing_is_started_and_nothing_half_made_stays(crew: Crew, tiny_disk) -> None:
    state = Path(crew.layout.state_root)
    tiny_disk(state, "1m")
    crew("up", "script:ann")
    crew("down")
    with pytest.raises(OSError, match="No space left"):
        _fill(state / "filler")
    refused = crew("up", "command:bob", code=1)
    assert "Traceback" not in refused.err
    assert crew.running() == []
    (state / "filler").unlink()
    crew("up", "command:bob")
    crew("down")
    assert crew.left() == NOTHING


def test_thirty_agents_come_up_and_go_down(crew: Crew) -> None:
    many = 30 if LONG else 6
    names = [f"script:a{number}" for number in range(many)]
    said = crew("up", *names, "--json").json["members"]
    assert [one["error"] for one in said] == [None] * many
    assert len({one["pid"] for one in said}) == many
    for number in range(many):
        crew("tasks", "add", f"Task {number}", "--run", "echo $ATM_IDENTITY > who.txt")
    for number in range(many):
        crew.is_done(str(number + 1))
    crew("down")
    assert crew.left() == NOTHING
    assert len(crew.git("branch", "--list", "atm/work/crew/*").split("\n")) == many


@proves("R004-agent-lifecycle-L2d", "R004-architecture-18")
def test_a_member_that_must_plan_gets_nothing_done_before_its_plan_is_approved(crew: Crew) -> None:
    crew("tasks", "add", "Careful", "--run", "echo x > x.txt")
    crew("up", "script:ann", "--require-plan")
    crew.becomes("ann", "planning")
    crew.eventually(lambda: crew.task("1")["plan"] == "submitted")
    assert "- echo x > x.txt" in crew.task("1")["planDetails"]["text"]
    crew("down")
    assert crew.task("1")["state"] == "pending"
    crew("up")
    crew.eventually(lambda: crew.task("1")["plan"] == "submitted")
    crew("tasks", "plan", "approve", "1")
    crew.is_done("1")
    assert crew.task("1")["state"] == "completed"
    crew("down")
    assert crew.left() == NOTHING


def test_stop_works_with_settings_that_cannot_be_read(crew: Crew) -> None:
    crew("up", "script:ann")
    Path(crew.layout.settings).parent.mkdir(parents=True, exist_ok=True)
    Path(crew.layout.settings).write_text("[[[")
    said = crew("stop", "--team", "crew", "--json")
    assert [one["member"] for one in said.json["stopped"]] == ["ann"]
    assert "is not a settings file" in said.err
    assert crew.running() == []


def test_no_agent_stops_everybody(crew: Crew) -> None:
    crew("tasks", "add", "Try", "--run", f"{_atm(crew)} stop --all", "--max-retries", "0")
    crew("up", "script:ann")
    crew.is_done("1")
    assert "only a person or the lead may stop a team" in crew.task("1")["error"]
    assert crew.records.latch("crew") is None
    crew("down")


def test_a_crew_file_may_have_any_name_and_its_prompts_lie_beside_it(crew: Crew) -> None:
    folder = crew.folder / "setup"
    folder.mkdir()
    (folder / "first.txt").write_text("echo from-the-file; exec cat")
    agent = '[[agents]]\nname = "bob"\nruntime = "command"\nprompt_file = "first.txt"\n'
    (folder / "team.toml").write_text(agent)
    crew("up", "--crew", "setup/team.toml", "--yes", "--team", "crew")
    assert crew.record("bob").command == ["/bin/sh", "-c", "echo from-the-file; exec cat"]
    crew("down")
    (folder / "team.toml").write_text("not a crew")
    assert "is no crew file" in crew("up", "--crew", "setup/team.toml", "--yes", code=1).err


def test_saved_work_is_dropped_by_people_alone(crew: Crew) -> None:
    crew("tasks", "add", "Break", "--run", "echo half > half.txt; exit 7", "--max-retries", "0")
    crew("up", "script:ann")
    crew.is_done("1")
    saved = crew("salvage", "list", "--json").json["items"][0]["id"]
    crew("tasks", "add", "Drop", "--run", f"{_atm(crew)} salvage drop {saved} --yes", "--max-retries", "0")
    crew.is_done("2")
    assert "only a person may drop saved work" in crew.task("2")["error"]
    crew("down")
    assert len(crew("salvage", "list", "--json").json["items"]) >= 1


def test_a_script_has_read_what_says_that_a_task_is_its_own_and_nothing_else(crew: Crew) -> None:
    crew("up", "script:ann")
    crew("tasks", "add", "Write it", "--run", "echo two > b.txt", "--owner", "ann")
    crew.is_done("1")
    crew("send", "ann", "are you there?")
    inbox = crew.atm.inbox("ann")
    crew.eventually(lambda: [row["read"] for row in json.loads(inbox.read_text())] == [True, False])
    crew("down")
    status = crew("status", "--json").json
    assert next(one["unread"] for one in status["members"] if one["name"] == "ann") == 1

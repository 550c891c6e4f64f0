"""A run that was killed or interrupted is the first thing that a person sees, with the command that resumes it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Terminal, on_terminal, screen
from tests.crew.conftest import NOTHING, Crew
from tests.crew.test_runs import PLAN, SCRIPTS, Slow, plan, run

from atm.wiring.runs import build_runs

__all__ = ["on_terminal", "plan"]

COLOUR = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
HOSTILE = "\x1b]0;owned\x07 $(touch pwned)"


def only_run(crew: Crew) -> dict[str, Any]:
    (found,) = crew("status", "--team", "crew", "--json").json["runs"]
    return dict(found)


def resume_of(run: str) -> str:
    return f"atm run --resume {run} --team crew"


def kill(slow: Slow) -> None:
    """
    As it happens: its parent, this test, has not asked after it yet when the next command is typed. It waits until the
    process has ended, for a busy machine takes a moment for that, and leaves it as it is.
    """
    slow.process.kill()
    os.waitid(os.P_PID, slow.process.pid, os.WEXITED | os.WNOWAIT)


@pytest.fixture
def dead(crew: Crew, plan: Path) -> Iterator[Slow]:
    """Killed in the middle of a task, after another was completed."""
    slow = Slow(crew, plan, PLAN)
    crew.eventually(lambda: crew.task("2")["state"] == "completed")
    kill(slow)
    yield slow
    slow.go.write_text("")
    slow.process.communicate(timeout=60)


def test_a_killed_run_is_the_first_line_of_everything_that_shows_the_team(crew: Crew, dead: Slow, on_terminal) -> None:
    (name,) = build_runs(crew.layout).names("crew")
    first = re.compile(rf"run {name} died( [^:]+ ago)?: \d of 4 tasks completed; still running: a1, a2")
    for words in (("status",), ("members",)):
        lines = crew(*words, "--team", "crew").out.splitlines()
        assert first.fullmatch(lines[0]), lines[0]
        assert lines[1] == f"  resume it: {resume_of(name)}"
    shown = crew("runs", "show", "--team", "crew").out.splitlines()
    assert first.fullmatch(shown[0])
    assert shown[1] == f"  resume it: {resume_of(name)}"
    assert "  #2  completed    Make b" in shown
    crew.atm.environment |= {"ATM_TEAM": "crew"}
    bare = COLOUR.sub("", on_terminal(columns=80).read_until(lambda _: False)).replace("\r\n", "\n").split("\n")
    text = " ".join(line.strip() for line in bare[:2])
    assert first.match(text), bare
    assert f"  resume it: {resume_of(name)}" in bare[1:3]
    assert "nothing waits for you" not in bare
    assert bare[bare.index("next") + 1].strip() == resume_of(name)
    top = crew("top", "--plain", "--team", "crew").out
    assert top.splitlines()[2].startswith("1. Run died. ")
    assert f"Resume it: {resume_of(name)}" in top


def test_programs_get_the_state_the_time_and_the_command(crew: Crew, dead: Slow) -> None:
    found = only_run(crew)
    (snapshot,) = crew("snapshot", "--team", "crew", "--json").json["teams"]
    assert snapshot["runs"] == [found]
    assert crew("members", "--team", "crew", "--json").json["runs"] == [found]
    assert (found["state"], found["resume"], found["resumable"]) == ("died", resume_of(found["run"]), True)
    assert found["since"].endswith("Z")
    assert (found["tasks"], found["alive"]) == (4, ["a1", "a2"])
    (listed,) = crew("runs", "list", "--team", "crew", "--json").json["runs"]
    assert listed["state"] == "died"
    shown = crew("runs", "show", "--team", "crew", "--json").json
    assert (shown["state"], shown["report"], shown["resume"]) == ("died", None, found["resume"])
    assert {"id": "1", "subject": "Wait", "state": "in_progress"} in shown["tasks_now"]


def test_the_command_that_is_named_resumes_the_run_and_nothing_is_said_of_it_any_more(crew: Crew, dead: Slow) -> None:
    command = only_run(crew)["resume"]
    dead.go.write_text("")
    crew(*command.split()[1:])
    assert crew("status", "--team", "crew", "--json").json["runs"] == []
    assert crew("status", "--team", "crew").out.startswith("Team: crew")
    assert crew("runs", "show", "--team", "crew").out.startswith("success: 4 of 4 tasks")
    assert crew.left() == NOTHING


def test_a_run_that_works_is_listed_as_running_and_is_no_news(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan)
    assert (only_run(crew)["state"], only_run(crew)["resume"]) == ("running", None)
    assert crew("status", "--team", "crew").out.startswith("Team: crew")
    slow.go.write_text("")
    slow.process.communicate(timeout=120)
    assert crew("status", "--team", "crew", "--json").json["runs"] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_names_the_way_back_at_its_end_and_on_every_first_line(
    crew: Crew, plan: Path, number: int
) -> None:
    slow = Slow(crew, plan)
    _, said = slow.end(number)
    found = only_run(crew)
    assert said[-1]["resume"] == resume_of(found["run"]) == found["resume"]
    assert found["state"] == "paused"
    lines = crew("members", "--team", "crew").out.splitlines()
    assert lines[0].startswith(f"run {found['run']} was interrupted")
    assert lines[1] == f"  resume it: {found['resume']}"
    assert found["resume"] in crew("runs", "show", "--team", "crew").out
    folder = Path(crew.layout.run("crew", found["run"]))
    assert f"`{found['resume']}`" in (folder / "report.md").read_text()


def test_the_report_of_an_interruption_is_not_shown_as_that_of_a_death_that_came_later(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan)
    slow.end(signal.SIGINT)
    slow.mark.unlink()
    again = crew.atm.start("run", "--resume", "--team", "crew", "--json")
    crew.eventually(slow.mark.exists)
    again.kill()
    again.communicate(timeout=60)
    said = crew("runs", "show", "--team", "crew").out
    assert " died" in said.splitlines()[0]
    assert "a person interrupted it" not in said
    shown = crew("runs", "show", "--team", "crew", "--json").json
    assert (shown["state"], shown["report"], "outcome" in shown) == ("died", None, False)
    slow.go.write_text("")
    report = json.loads(crew("run", "--resume", "--team", "crew", "--json").out.splitlines()[-1])
    assert crew("runs", "show", "--team", "crew", "--json").json["outcome"] == report["outcome"] == "success"


def test_ctrl_c_at_a_terminal_ends_with_the_command_that_resumes_on_lines_of_their_own(
    crew: Crew, plan: Path, on_terminal
) -> None:
    for term in ("xterm-256color", "dumb"):
        mark = plan.parent / f"mark-{term}"
        plan.write_text(f"- [ ] Wait (run: touch {mark}; sleep 600)\n")
        team = "plain" if term == "dumb" else "drawn"
        words = ("--plan", str(plan), "--runtime", "script", "--agents", "1", "--team", team, "--yes")
        terminal: Terminal = on_terminal("run", *words, env={"TERM": term}, columns=80)
        read_on(terminal, mark)
        interrupt(terminal)
        terminal.read_until(lambda _: False)
        assert terminal.process.wait(60) == 130
        lines = screen(terminal.text)
        (name,) = build_runs(crew.layout).names(team)
        assert lines[-2].strip() == f"resume it: atm run --resume {name} --team {team}"
        assert lines[-1] == ""  # where the shell writes its prompt
        assert [line for line in lines if "^C" in line and not line.endswith("^C")] == []
        assert any(line.startswith("interrupted: the agents end") for line in lines)


def interrupt(terminal: Terminal) -> None:
    """As a terminal does it: it draws `^C`, and sends the signal."""
    before = terminal.text.count("^C")
    terminal.type("\x03")
    terminal.read_until(lambda text: text.count("^C") > before)
    terminal.process.send_signal(signal.SIGINT)


def read_on(terminal: Terminal, mark: Path) -> None:
    """Until the file is there. The output is read meanwhile: a terminal that is not read would stop the program."""
    while not mark.exists() and not terminal.ended:
        _read_more(terminal, mark, terminal.text)


def _read_more(terminal: Terminal, mark: Path, known: str) -> None:
    terminal.read_until(lambda text: mark.exists() or text != known)


def test_ctrl_c_at_a_question_leaves_the_prompt_of_the_shell_a_line_of_its_own(crew: Crew, plan: Path, on_terminal):
    terminal: Terminal = on_terminal("run", "--plan", str(plan), *SCRIPTS, columns=80)
    terminal.read_until(lambda text: "Begin?" in text)
    interrupt(terminal)
    assert terminal.read_until(lambda _: False).endswith("^C\r\n")
    assert terminal.process.wait(60) == 130
    assert crew("runs", "list", "--team", "crew", code=3)


def test_a_run_is_resumed_in_the_background_and_outlives_the_command(crew: Crew, dead: Slow) -> None:
    found = only_run(crew)
    said = crew("run", "--resume", found["run"], "--detach", "--team", "crew", "--json").json
    assert (said["outcome"], said["run"]) == ("resumed", found["run"])
    assert os.getsid(said["pid"]) == said["pid"]
    assert only_run(crew)["state"] == "running"
    refused = crew("run", "--resume", "--detach", "--team", "crew", "--json", code=1).json
    assert refused["error"]["code"] == "run-active"
    dead.go.write_text("")
    crew.eventually(lambda: crew("status", "--team", "crew", "--json").json["runs"] == [])
    assert "success: 4 of 4 tasks" in Path(said["log"]).read_text()
    crew.eventually(lambda: crew.left() == NOTHING)


def test_a_log_that_was_put_in_its_place_is_not_written_to(crew: Crew, dead: Slow, tmp_path: Path) -> None:
    found = only_run(crew)
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    folder = Path(crew.layout.run("crew", found["run"]))
    (folder / "loop.log").symlink_to(mine)
    crew("run", "--resume", "--detach", "--team", "crew")
    assert mine.read_text() == "mine"
    assert not (folder / "loop.log").is_symlink()
    dead.go.write_text("")
    crew.eventually(lambda: crew("status", "--team", "crew", "--json").json["runs"] == [])


def test_only_a_run_that_is_there_goes_on_in_the_background(crew: Crew, plan: Path) -> None:
    said = crew("run", "--plan", str(plan), *SCRIPTS, "--detach", "--yes", "--json", code=1).json
    assert said["error"]["code"] == "usage"


def test_an_agent_resumes_no_run_in_the_background_either(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan)
    slow.end(signal.SIGINT)
    crew("teams", "add-member", "crew", "bob")
    shell = f"{' '.join(crew.atm.command('tasks', 'beat', '--as', 'bob', '--pid'))} $$ --team crew && "
    shell += " ".join(crew.atm.command("run", "--resume", "--detach", "--team", "crew", "--json"))
    done = subprocess.run(
        ["/bin/sh", "-c", shell], cwd=crew.folder, env=crew.atm.environment, capture_output=True, check=False
    )
    assert (done.returncode, b"not-allowed" in done.stdout) == (1, True)
    assert only_run(crew)["state"] == "paused"


def test_a_run_that_waits_for_a_person_is_held_and_names_what_answers_it(crew: Crew, plan: Path) -> None:
    plan.write_text("- [ ] Mine (run: touch x)\n")
    crew("tasks", "import", str(plan), "--team", "crew")
    process = crew.atm.start("run", *SCRIPTS, "--yes", "--json")
    crew.eventually(lambda: [one["state"] for one in crew("status", "--json").json["runs"]] == ["held"])
    found = only_run(crew)
    assert (found["resume"], found["resumable"]) == ("atm tasks show 1 --team crew", False)
    lines = crew("status", "--team", "crew").out.splitlines()
    assert lines[0].startswith(f"run {found['run']} waits for a person")
    assert lines[1] == "  answer it: atm tasks show 1 --team crew"
    crew("tasks", "allow", "1", "--team", "crew")
    process.communicate(timeout=240)
    assert crew("status", "--json").json["runs"] == []


def test_a_run_that_gave_up_waiting_is_held_until_it_is_resumed(crew: Crew, plan: Path) -> None:
    plan.write_text("- [ ] Mine (run: touch x)\n")
    crew("tasks", "import", str(plan), "--team", "crew")
    crew("config", "set", "runs.human_minutes", "0.01")
    said = json.loads(crew("run", *SCRIPTS, "--yes", "--json", code=1).out.splitlines()[-1])
    found = only_run(crew)
    assert (found["state"], "nobody answered" in found["why"]) == ("held", True)
    crew("tasks", "allow", "1", "--team", "crew")
    again = only_run(crew)
    assert (again["resume"], again["resumable"]) == (said["resume"], True)
    report = json.loads(crew("run", "--resume", "--team", "crew", "--json").out.splitlines()[-1])
    assert report["outcome"] == "success"
    assert crew("status", "--json").json["runs"] == []


def test_a_run_that_a_person_stopped_says_so_until_it_is_resumed(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan)
    crew("stop", "--team", "crew", code=None)
    slow.process.communicate(timeout=120)
    found = only_run(crew)
    assert (found["state"], found["resume"]) == ("stopped", resume_of(found["run"]))
    crew("tasks", "cancel", "1", "--reason", "not wanted", "--team", "crew")
    assert crew("status", "--json").json["runs"] == []  # nothing of it is left to be done


def test_only_the_last_run_is_told_of(crew: Crew, dead: Slow) -> None:
    old = only_run(crew)["run"]
    dead.go.write_text("")
    crew("run", "--fresh", *SCRIPTS, "--yes", "--json", code=None)
    assert [one["run"] for one in crew("status", "--json").json["runs"] if one["run"] == old] == []


def test_an_order_that_cannot_be_read_is_said_instead_of_a_command_that_would_fail(crew: Crew, dead: Slow) -> None:
    found = only_run(crew)
    Path(crew.layout.run("crew", found["run"]), "plan.json").write_text(HOSTILE)
    assert (only_run(crew)["resume"], only_run(crew)["state"]) == (None, "died")
    lines = crew("status", "--team", "crew").out.splitlines()
    assert "it cannot be resumed" in lines[1]


def test_the_time_of_a_run_includes_every_resume_and_what_passed_before_a_kill(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan)
    first = only_run(crew)
    runs = build_runs(crew.layout)
    lead = Path(f"{crew.layout.heartbeats('crew')}/team-lead.json")
    beats = [*lead.parent.glob("*.json")]
    crew.eventually(lambda: any('"atm run"' in path.read_text() for path in beats))
    kill(slow)
    slow.process.communicate(timeout=60)
    before = runs.events("crew", first["run"])[-1].at
    dead_at = only_run(crew)["since"]
    slow.go.write_text("")
    report = json.loads(crew("run", "--resume", "--team", "crew", "--json").out.splitlines()[-1])
    resumed = next(one for one in runs.events("crew", first["run"]) if one.kind == "run.resumed")
    assert resumed.number("seen_at") >= before
    ended = runs.events("crew", first["run"])[-1].at
    started = runs.events("crew", first["run"])[0].at
    loops = (resumed.number("seen_at") - started) + (ended - resumed.at)
    assert report["seconds"] == pytest.approx(loops, abs=1.0)
    assert dead_at


def test_a_success_tells_what_was_cancelled(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan, "- [ ] Not wanted (id: n) (depends: w) (run: true)\n")
    crew("tasks", "cancel", "2", "--reason", "not wanted", "--team", "crew")
    slow.go.write_text("")
    out, _ = slow.process.communicate(timeout=120)
    assert json.loads(out.splitlines()[-1])["outcome"] == "success"
    said = crew("runs", "show", "--team", "crew").out
    assert said.startswith("success: 1 of 2 tasks, 1 cancelled, in ")
    assert "\n  cancelled: #2\n" in said
    (found,) = crew("runs", "list", "--team", "crew", "--json").json["runs"]
    assert "Cancelled: #2." in Path(crew.layout.run("crew", found["run"]), "report.md").read_text()


def test_clean_says_what_goes_what_is_saved_and_what_stays(crew: Crew, plan: Path) -> None:
    _, report = run(crew, plan)
    name = report["run"]
    asked = crew("runs", "clean", name, "--team", "crew", code=1).err
    assert f"this removes the folder of run {name} and 3 branches: 3 merged, 0 saved first" in asked
    said = crew("runs", "clean", name, "--team", "crew", "--yes").out
    assert said.startswith(f"removed the folder of run {name} and 3 branches\n")
    assert said.count(", merged\n") == 3
    assert "its work stays on atm/result/crew" in said


def test_clean_of_a_run_that_can_be_resumed_says_that_it_cannot_be_afterwards(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan)
    slow.end(signal.SIGINT)
    name = only_run(crew)["run"]
    assert "cannot be resumed afterwards" in crew("runs", "clean", name, "--team", "crew", code=1).err

"""
Commands over MCP, in a server that acts for others: only a person's run, only as entered, only where allowed (D25).

A teammate's means here: the tools, the roster (its own entry and others'), a plan, and task files written past atm.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.crew import Crew

from atm import config
from atm.board.rules.acceptance import COMMAND, TESTS, check
from atm.board.services import planning
from atm.board.services.marks import allow_checks
from atm.board.services.new_tasks import NewTask
from atm.core.errors import AtmError
from atm.roster.services.members import update_member
from atm.ui.mcp.caller import Caller


@pytest.fixture
def crew(layout) -> Crew:
    return Crew(layout)


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    return tmp_path / "pwned"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a person wants commands to run."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def entered(crew: Crew, who: str, command: str, *, folder: object = "", kind: str = COMMAND) -> None:
    """As `atm tasks add --accept` does it, in a shell of theirs."""
    wish = NewTask("work", acceptance=[check(kind, command)], folder=str(folder))
    planning.add(crew.boardroom, "crew", who, [wish])


def completed(crew: Crew, who: str = "bob") -> str:
    """How the attempt over MCP ended."""
    crew.call(who, "board_claim", id="1")
    try:
        task = crew.call(who, "board_complete", id="1")["task"]
    except AtmError as error:
        return error.code
    return str(task["state"])


def task_file(crew: Crew) -> Path:
    return Path(crew.layout.tasks("crew")) / "1.json"


def own(crew: Crew) -> Any:
    return json.loads(task_file(crew).read_text())["metadata"]["atm"]


def write_own(crew: Crew, **fields: object) -> None:
    record = json.loads(task_file(crew).read_text())
    record["metadata"]["atm"] |= fields
    task_file(crew).write_text(json.dumps(record))


# Whose it is.


def test_a_persons_command_runs_in_the_folder_that_the_person_named(crew, place):
    entered(crew, "hugo", "pwd > where", folder=place)
    assert completed(crew) == "completed"
    assert (place / "where").read_text().strip() == str(place)


@pytest.mark.parametrize("who", ["ann", "bob", "lena", "mallory"])
@pytest.mark.parametrize("kind", [COMMAND, TESTS])
def test_nobody_elses_runs(crew, place, trap, who, kind):
    entered(crew, who, f"touch {trap}", folder=place, kind=kind)
    assert completed(crew) == "not-trusted"
    assert not trap.exists()


@pytest.mark.parametrize("backend", ["human", "human:slack"])
def test_a_command_does_not_become_a_persons_with_the_name_that_entered_it(crew, place, trap, backend):
    entered(crew, "ann", f"touch {trap}", folder=place)
    update_member(crew.room, "crew", "ann", {"backendType": backend})
    assert crew.room.rosters.load("crew").member("ann").kind == "human"
    assert completed(crew) == "not-trusted"
    assert not trap.exists()


def test_a_persons_command_stays_one_when_the_roster_says_something_else(crew, place):
    entered(crew, "hugo", "touch proof", folder=place)
    update_member(crew.room, "crew", "hugo", {"backendType": "tmux"})
    assert completed(crew) == "completed"
    assert (place / "proof").exists()


def test_a_member_with_the_name_of_the_person_at_the_terminal_is_not_that_person(crew, place, trap):
    entered(crew, "human", f"touch {trap}", folder=place)
    config_file = Path(crew.layout.team_config("crew"))
    team = json.loads(config_file.read_text())
    team["members"].append({**team["members"][1], "name": "human", "agentId": "human@crew"})
    config_file.write_text(json.dumps(team))
    assert completed(crew) == "not-trusted"
    assert not trap.exists()


@pytest.mark.parametrize("key", ["tier", "person", "by", "human", "trusted"])
def test_no_word_in_the_file_makes_it_a_persons(crew, place, trap, key):
    entered(crew, "ann", f"touch {trap}", folder=place)
    (one,) = own(crew)["acceptance"]
    write_own(crew, acceptance=[{**one, key: "hugo" if key == "by" else "person"}])
    assert completed(crew) == "not-trusted"
    assert not trap.exists()


def test_whoever_claims_is_shown_whose_it_is(crew, place):
    entered(crew, "ann", "make test")
    (one,) = own(crew)["acceptance"]
    write_own(crew, acceptance=[one, {"kind": "command", "command": "x" * 1000}, {"kind": "file", "path": "out"}])
    for task in (crew.call("bob", "board_claim", id="1")["task"], crew.call("bob", "board_show", id="1")["task"]):
        mine, strange, file = task["checks"]
        assert mine == "command make test (ann's)"
        assert strange.endswith("… (not trusted)")
        assert file == "file exists: out"


def test_a_server_without_a_daemon_acts_for_others_all_the_same(crew, place, trap):
    """`atm mcp serve`, or a server of an agent's own program: both stand outside of what fences the agent in."""
    entered(crew, "ann", f"touch {trap}", folder=place)
    caller = Caller(
        crew.layout, crew.settings, team="crew", member="bob", role="teammate", source="token", has_daemon=False
    )
    crew.call_as(caller, "board_claim", {"id": "1"})
    with pytest.raises(AtmError, match="ann's"):
        crew.call_as(caller, "board_complete", {"id": "1"})
    assert not trap.exists()


# Where it runs.


def test_a_persons_command_for_wherever_the_work_is_does_not_run_here(crew, place):
    """`make test` is whatever lies in the folder, and the folder is the claimant's word."""
    (place / "run").write_text("touch ran\n")
    entered(crew, "hugo", "sh ./run")
    update_member(crew.room, "crew", "bob", {"cwd": str(place)})
    assert completed(crew) == "not-trusted"
    assert not (place / "ran").exists()


def test_a_persons_yes_holds_for_the_folder_in_which_it_was_said(crew, place, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for folder in (place, elsewhere):
        (folder / "run").write_text("touch ran\n")
    entered(crew, "mallory", "sh ./run")
    update_member(crew.room, "crew", "bob", {"cwd": str(place)})
    crew.call("bob", "board_claim", id="1")
    monkeypatch.chdir(place)
    allow_checks(crew.boardroom, "crew", "hugo", "1")
    update_member(crew.room, "crew", "bob", {"cwd": str(elsewhere)})
    refusal = crew.refused("bob", "board_complete", id="1")
    assert refusal.code == "not-trusted"
    assert str(elsewhere) in str(refusal)
    update_member(crew.room, "crew", "bob", {"cwd": str(place)})
    assert crew.call("bob", "board_complete", id="1")["task"]["state"] == "completed"
    assert [folder.name for folder in (place, elsewhere) if (folder / "ran").exists()] == ["place"]


@pytest.mark.parametrize("where", ["task", "check"])
def test_the_folder_of_a_yes_is_not_rewritten(crew, place, tmp_path, trap, where, monkeypatch):
    entered(crew, "mallory", f"touch {trap}", folder=place if where == "task" else "")
    monkeypatch.chdir(place)
    crew.call("bob", "board_claim", id="1")
    allow_checks(crew.boardroom, "crew", "hugo", "1")
    (one,) = own(crew)["acceptance"]
    moved = {"folder": str(tmp_path)}
    write_own(crew, **(moved if where == "task" else {"acceptance": [{**one, **moved}]}))
    assert crew.refused("bob", "board_complete", id="1").code == "not-trusted"
    assert not trap.exists()


def test_a_hook_of_the_users_own_does_not_run_in_a_folder_that_an_agent_chose(crew, place, tmp_path):
    """`python3 -m words` is whatever `words.py` lies there."""
    (place / "words.py").write_text("open('ran', 'w')\n")
    settings = Path(crew.layout.settings)
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f'[hooks]\nTaskCompleted = ["python3 -m words", "cat > {tmp_path}/told"]\n')
    update_member(crew.room, "crew", "bob", {"cwd": str(place)})
    read = config.load(crew.layout, {}, "/", {})
    caller = Caller(crew.layout, read, team="crew", member="bob", role="teammate", source="token", has_daemon=True)
    crew.add("work")
    crew.call_as(caller, "board_claim", {"id": "1"})
    crew.call_as(caller, "board_complete", {"id": "1"})
    assert not (place / "ran").exists()
    assert json.loads((tmp_path / "told").read_text())["cwd"] == str(place)


# Plans.


PLANS = {
    "markdown": "- [ ] harmless title (accept: {command})\n",
    "json": '[{{"subject": "harmless title", "accept": ["{command}"]}}]',
    "yaml": "- subject: harmless title\n  accept: ['{command}']\n",
}


@pytest.mark.parametrize("format", PLANS)
@pytest.mark.parametrize("who", ["lena", "hugo"])
def test_commands_of_a_plan_are_listed_and_are_nobodys_whoever_hands_it_in(crew, trap, format, who):
    command = f"touch {trap}"
    plan = PLANS[format].format(command=command)
    listed = [{"subject": "harmless title", "command": command}]
    dry = crew.call(who, "board_import", plan=plan, format=format, dry_run=True)
    done = crew.call(who, "board_import", plan=plan, format=format)
    for answer in (dry, done):
        assert (answer["commands"], answer["command_count"]) == (listed, 1)
        assert "--allow-checks" in answer["commands_wait"]
    assert {*own(crew)["acceptance"][0]} == {"kind", "command"}
    assert completed(crew) == "not-trusted"
    assert not trap.exists()


def test_a_plan_without_commands_says_nothing_of_them(crew):
    assert "commands" not in crew.call("lena", "board_import", plan="- [ ] harmless\n")


def test_of_many_commands_the_number_is_told(crew):
    plan = "".join(f"- [ ] task {n} (accept: {'x' * 400} {n})\n" for n in range(60))
    answer = crew.call("lena", "board_import", plan=plan, dry_run=True)
    assert (len(answer["commands"]), answer["command_count"]) == (20, 60)

"""Commands that come with a plan, a task file or a teammate: none runs without standing, none unseen (D25)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.attacks.shells import refused, under

from atm.roster.services.members import add_member
from atm.team.rules.team import Member


@pytest.fixture
def crew(atm, room):
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    add_member(room, "crew", Member("cat"))
    return atm


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """What a command that must not run would leave."""
    return tmp_path / "pwned"


def task_file(crew, id: str) -> Path:
    path: Path = crew.home / f".claude/tasks/crew/{id}.json"
    return path


def with_commands(crew, id: str, checks: list[dict[str, str]]) -> None:
    """As another program would write it, past atm."""
    fields = json.loads(task_file(crew, id).read_text())
    fields["metadata"]["atm"]["acceptance"] = checks
    task_file(crew, id).write_text(json.dumps(fields))


def plan_with(crew, trap: Path) -> str:
    path = crew.folder / "plan.md"
    path.write_text(f"- [ ] harmless title (accept: touch {trap})\n")
    return str(path)


def test_commands_of_a_plan_are_shown_and_do_not_run_by_themselves(crew, trap):
    plan = plan_with(crew, trap)
    dry = crew("tasks", "import", plan, "--dry-run", "--json")
    assert dry.json["commands"] == [{"subject": "harmless title", "command": f"touch {trap}"}]
    assert f"touch {trap}" in crew("tasks", "import", plan).err
    assert f"touch {trap} (not trusted)" in crew("tasks", "show", "1").out
    assert f"touch {trap} (not trusted)" in crew("tasks", "claim", "1", "--as", "bob").out
    done = crew("tasks", "complete", "1", "--as", "bob", "--json", code=1)
    assert done.json["error"]["code"] == "not-trusted"
    assert f"touch {trap}" in done.json["error"]["message"]
    assert not trap.exists()


@pytest.mark.parametrize("when", ["import", "complete"])
def test_a_persons_yes_makes_them_count(crew, trap, when):
    yes = {when: ("--allow-checks",)}
    crew("tasks", "import", plan_with(crew, trap), *yes.get("import", ()))
    crew("tasks", "claim", "1", "--as", "bob")
    crew("tasks", "complete", "1", "--as", "bob", *yes.get("complete", ()))
    assert trap.exists()
    (check,) = crew("tasks", "show", "1", "--json").json["task"]["acceptance"]
    assert (check["by"], check["trusted"], "mark" in check) == ("human", True, False)


@pytest.mark.parametrize("words", [("tasks", "import", "plan.md"), ("tasks", "complete", "1", "--as", "bob")])
def test_no_agent_says_a_persons_yes(crew, trap, words):
    crew("tasks", "import", plan_with(crew, trap))
    crew("tasks", "claim", "1", "--as", "bob")
    refused(under(crew, "bob", *words, "--allow-checks", "--json"))
    assert not trap.exists()


def test_a_command_that_was_written_into_the_file_does_not_run(crew, trap):
    crew("tasks", "add", "work", "--accept", "true", "--as", "human")
    with_commands(crew, "1", [{"kind": "command", "command": f"touch {trap}"}])
    crew("tasks", "claim", "1", "--as", "bob")
    crew("tasks", "complete", "1", "--as", "bob", code=1)
    assert not trap.exists()


@pytest.mark.parametrize("change", ["command", "task", "folder", "author", "kind"])
def test_a_mark_holds_for_its_own_command_task_folder_and_author_alone(crew, trap, tmp_path, change):
    crew("tasks", "add", "work", "--accept", f"touch {trap}", "--as", "bob")
    crew("tasks", "add", "other work", "--as", "bob")
    (check,) = json.loads(task_file(crew, "1").read_text())["metadata"]["atm"]["acceptance"]
    id = "2" if change == "task" else "1"
    more = {"command": {"command": f"touch {trap}; true"}, "author": {"by": "human"}, "kind": {"kind": "tests"}}
    with_commands(crew, id, [{**check, **more.get(change, {})}])
    if change == "folder":
        fields = json.loads(task_file(crew, "1").read_text())
        fields["metadata"]["atm"]["folder"] = str(tmp_path)
        task_file(crew, "1").write_text(json.dumps(fields))
    crew("tasks", "claim", id, "--as", "bob")
    assert crew("tasks", "complete", id, "--as", "bob", "--json", code=1).json["error"]["code"] == "not-trusted"
    assert not trap.exists()


def test_what_a_member_entered_runs_in_the_claimants_own_process(crew, trap):
    crew("tasks", "add", "work", "--accept", f"touch {trap}", "--as", "cat")
    assert "(cat's)" in crew("tasks", "claim", "1", "--as", "bob").out
    crew("tasks", "complete", "1", "--as", "bob")
    assert trap.exists()


def test_a_stranger_on_no_roster_enters_no_command(crew, trap):
    crew("tasks", "add", "work", "--accept", f"touch {trap}", "--as", "mallory")
    crew("tasks", "claim", "1", "--as", "bob")
    assert crew("tasks", "complete", "1", "--as", "bob", "--json", code=1).json["error"]["code"] == "not-trusted"
    assert not trap.exists()


def test_an_agent_enters_no_command_as_a_person(crew):
    refused(under(crew, "cat", "tasks", "add", "work", "--accept", "true", "--as", "human", "--json"))
    done = under(crew, "cat", "tasks", "add", "work", "--accept", "true", "--as", "cat", "--json")
    assert json.loads(done.stdout)["task"]["acceptance"][0]["by"] == "cat"


def test_a_secret_that_is_gone_trusts_nothing(crew, trap):
    crew("tasks", "add", "work", "--accept", f"touch {trap}", "--as", "cat")
    (crew.home / ".claude/teams/crew/.member-work-sync/report-token-secret.json").unlink()
    crew("tasks", "claim", "1", "--as", "bob")
    crew("tasks", "complete", "1", "--as", "bob", code=1)
    assert not trap.exists()


def test_files_and_commits_need_no_mark_for_they_run_nothing(crew, trap):
    crew("tasks", "add", "work", "--as", "mallory", "--accept-file", str(trap))
    crew("tasks", "claim", "1", "--as", "bob")
    assert crew("tasks", "complete", "1", "--as", "bob", "--json", code=1).json["error"]["code"] == "checks-failed"
    trap.touch()
    crew("tasks", "complete", "1", "--as", "bob")

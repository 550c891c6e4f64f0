"""An agent is no person: by its process, which `atm permit` registers first of all, and by its environment."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.attacks.shells import program

from atm.roster.services.members import add_member
from atm.team.rules.agent_environment import agent_in
from atm.team.rules.team import Member

BOB = {"ATM_IDENTITY": "bob", "ATM_TEAM": "crew"}
MARK = {"ATM_AGENT": "0a1b/crew/bob/1/key", "ATM_GENERATION": "1"}
POLICY = '[approvals]\ndefault = "ask-human"\nhook_seconds = 0\n'

# The rule.


@pytest.mark.parametrize(
    ("environment", "agent"),
    [
        ({}, ""),
        ({"ATM_IDENTITY": "zoe", "ATM_TEAM": "crew"}, ""),
        ({"ATM_IDENTITY": "bob", "ATM_TEAM": "crew"}, "bob@crew (ATM_IDENTITY)"),
        ({"ATM_IDENTITY": "bob"}, "bob (ATM_IDENTITY)"),
        ({"ATM_TEAM": "crew"}, ""),
        (MARK, "bob@crew (ATM_AGENT)"),
        ({"ATM_GENERATION": "1"}, "an agent (ATM_GENERATION)"),
        ({"ATM_RUN": "r1", "ATM_IDENTITY": "zoe"}, "zoe (ATM_RUN)"),
        ({"ATM_AGENT": "no-agent", "ATM_IDENTITY": "bob", "ATM_GENERATION": "1"}, ""),
    ],
    ids=str,
)
def test_an_environment_names_an_agent_or_a_person(environment, agent):
    assert agent_in(environment, lambda _, name: name == "bob") == agent


# Real processes.


@pytest.fixture
def crew(atm, room):
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    path = Path(atm.home / ".config/atm/config.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(POLICY)
    path.chmod(0o600)
    add_member(room, "crew", Member("zoe", backend="human"))
    return atm


def asked_in(crew) -> str:
    """The hook's payload in a file, and the words that call the hook with it."""
    said = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "session_id": "s", "tool_use_id": "c"}
    payload = crew.folder / "payload.json"
    payload.write_text(json.dumps({**said, "cwd": str(crew.folder), "tool_input": {"command": "git push"}}))
    return f"atm permit claude PreToolUse < {shlex.quote(str(payload))}"


def test_the_first_call_of_the_permission_hook_makes_the_caller_the_agents_process(crew):
    """Before any other hook ran, and without a word of the agent about itself afterwards."""
    script = f"""
        {asked_in(crew)} >/dev/null
        id=$(atm approvals list --json | sed 's/.*"id": "\\([0-9a-f]*\\)".*/\\1/')
        unset ATM_IDENTITY ATM_TEAM
        atm approvals approve $id --as zoe --team crew --json
        exit $?
    """
    done = program(crew, "claude", script, env=BOB)
    assert done.returncode == 1, done.stdout + done.stderr
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "not-allowed"
    assert "runs under the process of bob@crew" in error["message"]


def test_a_hook_that_registered_its_caller_writes_nothing_when_it_comes_again(crew):
    script = f"""
        {asked_in(crew)} >/dev/null; ls -i --time-style=full-iso -l $HOME_OF_ATM/processes
        {asked_in(crew)} >/dev/null; ls -i --time-style=full-iso -l $HOME_OF_ATM/processes
    """
    place = str(crew.home / ".local/state/atm")
    done = program(crew, "claude", script, env={**BOB, "HOME_OF_ATM": place})
    lines = done.stdout.strip().splitlines()
    assert len(lines) > 1, done.stderr
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]


@pytest.mark.parametrize(
    "words",
    [
        ("approvals", "approve", "ID", "--as", "zoe", "--json"),
        ("web", "--no-open", "--json"),
        ("mcp", "token", "new", "--as", "zoe", "--role", "human", "--json"),
        ("config", "set", "core.default_team", "crew", "--json"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("environment", [BOB, {"ATM_IDENTITY": "bob"}, MARK], ids=["named", "without a team", "marked"])
def test_with_the_environment_of_an_agent_there_is_no_person(crew, words, environment):
    """Also outside of its process tree, as after `setsid -f`."""
    id = crew("approvals", "ask", "--tool", "Bash", "--command", "x", "--as", "bob", "--team", "crew", "--json", code=3)
    given = [id.json["approval"]["id"] if word == "ID" else word for word in words]
    done = crew(*given, env=environment, code=1)
    assert "only a person may" in done.out + done.err


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux tells a process's environment")
def test_a_page_that_an_agent_opens_in_a_session_of_its_own_is_refused(crew):
    script = """
        setsid -f sh -c 'atm web --no-open --json > web.out 2>&1; echo ended >> web.out'
        while ! grep -q ended web.out 2>/dev/null; do sleep 0.05; done; cat web.out
    """
    done = program(crew, "claude", script, env=BOB)
    assert "only a person may open the page" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "environment",
    [{}, {"ATM_IDENTITY": "zoe", "ATM_TEAM": "crew"}, {"ATM_IDENTITY": "zoe"}, {"ATM_TEAM": "crew"}],
    ids=str,
)
def test_a_person_stays_one_without_a_terminal(crew, environment):
    """As from a systemd unit, over ssh without a terminal, or from a desktop's launcher."""
    made = crew("mcp", "token", "new", "--as", "zoe", "--team", "crew", "--json", env=environment)
    assert made.code == 0

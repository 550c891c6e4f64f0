"""Agents that `atm up` starts, with each vendor's real program: spoken to, resumed, ended, and nothing is left."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.lab.conftest import ME, LabAgent, processes_of, until
from tests.lab.running import first_port
from tests.optional import skip_without
from tests.proving import proves

pytestmark = pytest.mark.lab


class Upped:
    """Bob, started by atm, in a repository with one commit."""

    def __init__(self, agent: LabAgent) -> None:
        self.agent = agent
        agent.atm("config", "set", "crew.first_port", str(first_port()), me="")
        git = ["git", "-C", str(agent.folder), "-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
        (agent.folder / "a.txt").write_text("one\n")
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "first"], check=True)

    def atm(self, *words: str) -> Any:
        """As a person in the repository, with the variables that the program needs."""
        done = subprocess.run(
            ["atm", *words, "--team", "crew", "--json"],
            env={key: value for key, value in self.agent.environment.items() if not key.startswith("ATM_")},
            cwd=self.agent.folder,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode in (0, 3), done.stdout + done.stderr
        return json.loads(done.stdout)

    def probe(self) -> Any:
        """As its lead would look at it."""
        done = subprocess.run(
            ["atm", "session", "probe", "crew", "--json"],
            env={key: value for key, value in self.agent.environment.items() if not key.startswith("ATM_")},
            cwd=self.agent.folder,
            capture_output=True,
            check=True,
        )
        return json.loads(done.stdout)

    def press(self, *keys: str) -> None:
        """As a person who has attached to its window."""
        said = json.loads((self.agent.home / f".local/state/atm/crew/crew/{ME}.json").read_text())
        which = "-S" if "/" in said["server"] else "-L"
        subprocess.run(
            ["tmux", which, said["server"], "send-keys", "-t", said["pane"], *keys],
            env=self.agent.environment,
            check=True,
        )

    def record(self) -> Any:
        return next(one for one in self.atm("peek")["members"] if one["name"] == ME)

    def says(self, state: str) -> None:
        until(lambda: self.record()["state"] == state, 240, lambda: self.atm("peek", ME))


def left_in(agent: LabAgent) -> list[str]:
    """What still runs of this home, but the daemon and the scripted model."""
    found = []
    for pid in processes_of(agent.home):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " ")
        except OSError:
            continue
        if "daemon run" not in command:
            found.append(command)
    return found


def is_written_down(agent: LabAgent, *words: bytes) -> bool:
    """In the vendor's own transcript: whoever is killed before that has nothing to go on with."""
    places = (".claude/projects/**/*", ".codex/sessions/**/*", ".gemini/tmp/*/chats/*", ".local/share/opencode/**/*")
    files = [path for place in places for path in agent.home.glob(place) if path.is_file()]
    written = b"".join(path.read_bytes() for path in files)
    return all(word in written for word in words)


@proves("R004-target-04", "R004-target-05")
def test_it_is_started_spoken_to_by_mail_and_ended_with_nothing_left(agent):
    agent.story.otherwise().says("at your service")
    upped = Upped(agent)
    said = upped.atm("up", f"{agent.vendor.name}:{ME}", "--prompt", "begin the day")
    assert said["members"][0]["error"] is None, said
    agent.seen.asks(1, 240)
    agent.seen.once("begin the day")
    upped.says("idle")
    assert upped.record()["session"]
    message = agent.gets("letter from ann")
    agent.seen.eventually("letter from ann", within=240)
    agent.seen.once("letter from ann")
    assert agent.state_of(message) in ("surfaced", "read")
    upped.says("idle")
    ended = upped.atm("down")["members"][0]
    assert (ended["member"], ended["troubles"]) == (ME, [])
    assert ended["how"] in ("asked", "terminated")
    assert left_in(agent) == []
    assert list((agent.home / ".local/state/atm/worktrees").glob("*/*/*")) == []


def test_in_a_window_it_is_started_looked_at_and_ended_with_nothing_left(agent):
    """The user's own tmux is not asked: it has a server of its own."""
    skip_without("tmux")
    agent.story.otherwise().says("at your service")
    upped = Upped(agent)
    said = upped.atm("up", f"{agent.vendor.name}:{ME}", "--backend", "tmux", "--prompt", "begin the day")
    assert said["members"][0]["error"] is None, said
    assert said["members"][0]["pane"]
    if agent.vendor.name == "codex":  # it asks a person once about hooks that are new; atm never answers for one
        until(lambda: "Hooks need review" in str(upped.atm("peek", ME)), 120)
        upped.press("Down", "Enter")
    agent.seen.asks(1, 240)
    agent.seen.once("begin the day")
    until(lambda: "at your service" in str(upped.atm("peek", ME)), 120)
    ended = upped.atm("down")["members"][0]
    assert (ended["member"], ended["troubles"]) == (ME, [])
    until(lambda: left_in(agent) == [], 60)
    assert list((agent.home / ".local/state/atm/worktrees").glob("*/*/*")) == []


def test_in_a_window_without_a_prompt_it_says_what_it_asks_and_gets_its_mail(agent):
    """Nobody has typed anything: the dialogs of a first start are told, and mail comes when a person answered them."""
    skip_without("tmux")
    agent.atm("daemon", "start")
    agent.story.otherwise().says("at your service")
    upped = Upped(agent)
    said = upped.atm("up", f"{agent.vendor.name}:{ME}", "--backend", "tmux")
    assert said["members"][0]["error"] is None, said
    if agent.vendor.name == "codex":
        until(lambda: upped.record()["state"] == "waiting", 120, lambda: upped.atm("peek", ME))
        assert upped.record()["asks"] == "to review hooks that are new or changed"
        until(lambda: agent.state == "waiting", 30)
        told = agent.says("send", ME, "letter-1 before the dialog is answered")
        assert "to review hooks" in told.err, told.words
        assert "atm attach --team crew" in told.err
        upped.press("Down", "Enter")
        until(lambda: upped.record()["state"] == "idle", 60, lambda: upped.atm("peek", ME))
        agent.seen.eventually("letter-1 before the dialog is answered", within=120)
        agent.seen.once("letter-1 before the dialog is answered")
    message = agent.gets("letter-2 for a window that nobody typed in")
    agent.seen.eventually("letter-2 for a window that nobody typed in", within=120)
    agent.seen.once("letter-2 for a window that nobody typed in")
    assert agent.state_of(message) in ("surfaced", "read")
    upped.atm("down")
    until(lambda: left_in(agent) == [], 60)


def test_mail_reaches_a_codex_whose_hooks_a_person_refused(agent):
    if agent.vendor.name != "codex":
        pytest.skip("has no such dialog")
    skip_without("tmux")
    agent.atm("daemon", "start")
    agent.story.otherwise().says("at your service")
    upped = Upped(agent)
    upped.atm("up", f"{agent.vendor.name}:{ME}", "--backend", "tmux")
    until(lambda: upped.record()["state"] == "waiting", 120, lambda: upped.atm("peek", ME))
    upped.press("Down", "Down", "Enter")
    message = agent.gets("letter-3 without any hook")
    agent.seen.eventually("letter-3 without any hook", within=120)
    assert agent.state_of(message) in ("surfaced", "read")
    upped.atm("down")
    until(lambda: left_in(agent) == [], 60)


def test_its_conversation_is_called_resumable_when_its_transcript_is_there(agent):
    agent.story.otherwise().says("at your service")
    upped = Upped(agent)
    upped.atm("up", f"{agent.vendor.name}:{ME}", "--prompt", "the word is heliotrope")
    agent.seen.asks(1, 240)
    upped.says("idle")
    until(lambda: is_written_down(agent, b"heliotrope", b"at your service"), 120)
    probed = upped.probe()
    kept = next(one for one in probed["members"] if one["name"] == ME)["vendor_session"]
    assert kept["id"] == upped.record()["session"]
    assert kept["resumable"] is (None if agent.vendor.name == "opencode" else True)
    upped.atm("down")
    assert left_in(agent) == []


def test_stopped_in_the_middle_of_a_tool_it_leaves_no_orphan(agent):
    agent.vendor.shell(agent.story.first(), "sleep 4242")
    agent.story.otherwise().says("done")
    upped = Upped(agent)
    upped.atm("up", f"{agent.vendor.name}:{ME}", "--prompt", "begin")
    agent.seen.asks(1, 240)
    upped.atm("stop")
    assert left_in(agent) == []


def test_killed_with_everything_it_goes_on_with_its_conversation(agent):
    agent.story.otherwise().says("at your service")
    upped = Upped(agent)
    upped.atm("up", f"{agent.vendor.name}:{ME}", "--prompt", "the word is heliotrope")
    agent.seen.asks(1, 240)
    upped.says("idle")
    session = upped.record()["session"]
    until(lambda: is_written_down(agent, b"heliotrope", b"at your service"), 120)
    upped.atm("kill", ME)
    assert left_in(agent) == []
    minute = time.strftime("%M")
    until(lambda: agent.vendor.name != "gemini" or time.strftime("%M") != minute, 90)  # see `began_this_minute`
    before = len(agent.seen.requests)
    upped.atm("spawn", f"{agent.vendor.name}:{ME}", "--resume", session, "--prompt", "which word?")
    agent.seen.asks(before + 1, 240)
    assert any("heliotrope" in str(request.body) for request in agent.seen.requests[before:])
    upped.atm("down")
    assert left_in(agent) == []

"""An agent whose program asks a person in its window is told of as such, everywhere; and mail reaches it afterwards."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.crew.conftest import Crew
from tests.optional import skip_without

from atm.vendors.dialogs import UNRECOGNISED

SCREENS = Path(__file__).parents[1] / "corpus/screens"
HOOKS = "to review hooks that are new or changed"
ANSWER = "atm attach --team crew bob"


class Asking:
    """Bob, whose program shows a recorded screen of the real Codex until a person presses Enter there."""

    def __init__(self, crew: Crew, screen: str) -> None:
        self.crew = crew
        self.log = crew.folder.parent / "seen.jsonl"
        program = crew.folder.parent / "asker"
        agent = [sys.executable, "-m", "atm.testing.scripted_agent", "--vendor", "plain", "--log", str(self.log)]
        shown = shlex.quote(str(SCREENS / f"{screen}.txt"))
        program.write_text(f"#!/bin/sh\ncat {shown}\nread answer\nprintf '\\033[2J\\033[H'\nexec {shlex.join(agent)}\n")
        program.chmod(0o700)
        settings = Path(crew.layout.config_root) / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(f'[runtimes.asker]\ncommand = ["{program}"]\nlike = "codex"\n')
        settings.chmod(0o600)
        crew.atm.environment["TMUX_TMPDIR"] = str(crew.folder.parent)
        self.said = crew("up", "asker:bob", "--backend", "tmux", "--json").json["members"][0]

    def asks(self, question: str) -> None:
        self.crew.eventually(lambda: self.crew.record("bob").asks == question)

    def press(self, key: str) -> None:
        record = self.crew.record("bob")
        words = ["tmux", "-S", record.server, "send-keys", "-t", record.pane, key]
        subprocess.run(words, env=self.crew.atm.environment, check=True)

    def got(self) -> str:
        return self.log.read_text() if self.log.exists() else ""


@pytest.fixture
def asking(crew: Crew) -> Asking:
    skip_without("tmux")
    return Asking(crew, "codex-0.166.0-hooks")


def test_every_surface_says_that_it_waits_for_a_person_and_for_what(asking: Asking) -> None:
    crew = asking.crew
    asking.asks(HOOKS)
    crew.eventually(lambda: _member(crew)["state"] == "waiting")
    assert _member(crew)["asks"] == HOOKS
    for command in ("members", "status", "peek"):
        said = " ".join(crew(command, "--team", "crew").out.split())
        assert "waits for you" in said
        assert f"its program asks a person {HOOKS}; {ANSWER}" in said
    peeked = crew("peek", "--team", "crew", "--json").json["members"][0]
    assert (peeked["state"], peeked["asks"]) == ("waiting", HOOKS)
    seen = crew("snapshot", "--team", "crew", "--json").json["teams"][0]
    assert next(one for one in seen["members"] if one["name"] == "bob")["agent"]["state"] == "waiting"
    crew("down", "--team", "crew")


def test_the_sender_is_told_at_once_and_the_mail_comes_when_a_person_has_answered(asking: Asking) -> None:
    crew = asking.crew
    asking.asks(HOOKS)
    sent = crew("send", "bob", "letter-1 for later", "--team", "crew")
    assert f"its program asks a person {HOOKS}; {ANSWER}" in " ".join(sent.err.split())
    assert crew("send", "bob", "letter-2", "--team", "crew", "--json").json["asks"] == HOOKS
    told = crew("deliver", "bob", "--team", "crew", code=None)
    assert "asks a person" in told.out + told.err
    assert "letter-1" not in asking.got()
    asking.press("Enter")
    crew.eventually(lambda: crew.record("bob").asks == "")
    crew.eventually(lambda: _member(crew)["state"] == "idle")

    def arrives() -> bool:
        crew("deliver", "bob", "--team", "crew", code=None)
        return "letter" in asking.got() or "read " in asking.got()

    crew.eventually(arrives)
    assert "asks" not in crew("send", "bob", "letter-3", "--team", "crew", "--json").json
    crew("down", "--team", "crew")


def test_a_window_that_atm_does_not_recognise_is_not_called_idle_and_its_senders_are_told(crew: Crew) -> None:
    """Neither a composer nor a known question, and no hook has spoken: mail would wait without a word."""
    skip_without("tmux")
    odd = crew.folder.parent / "odd"
    odd.with_suffix(".txt").write_text("Loading the workspace index ...\n")
    asking = Asking(crew, str(odd))
    asking.asks(UNRECOGNISED)
    crew.eventually(lambda: _member(crew)["state"] == "unknown")
    why = "no session of it is known yet, and atm does not recognise what its window shows"
    for command in ("members", "status", "peek"):
        said = " ".join(crew(command, "--team", "crew").out.split())
        assert "waits for you" in said
        assert f"{why}; {ANSWER}" in said
    sent = crew("send", "bob", "letter-1", "--team", "crew")
    assert f"bob reads it later: {why}; {ANSWER}" in " ".join(sent.err.split())
    told = crew("deliver", "bob", "--team", "crew", "--json", code=None)
    assert "no session of this agent is known here" in told.out
    assert ANSWER in told.out
    asking.press("Enter")
    crew.eventually(lambda: crew.record("bob").asks == "")
    crew.eventually(lambda: _member(crew)["state"] == "idle")
    crew("down", "--team", "crew")


def test_a_host_that_was_killed_leaves_nothing_that_asks(asking: Asking) -> None:
    """After kill -9 the record still holds the question; nobody is sent to a window that is gone."""
    crew = asking.crew
    asking.asks(HOOKS)
    record = crew.record("bob")
    os.kill(record.pid, signal.SIGKILL)
    crew.eventually(lambda: crew.record("bob").pid == 0 or not Path(f"/proc/{record.pid}").exists())
    assert "asks" not in crew("send", "bob", "letter-4", "--team", "crew", "--json").json
    assert "waits for you" not in crew("members", "--team", "crew").out
    assert "waits for you: its program" not in crew("status", "--team", "crew").out
    crew("stop", "--team", "crew", code=None)


def test_a_runs_program_that_shows_a_composer_asks_nothing(crew: Crew) -> None:
    skip_without("tmux")
    asking = Asking(crew, "codex-0.166.0-idle")
    crew.becomes("bob", "idle", "ready")
    crew.eventually(lambda: "Ask Codex" in crew("peek", "bob", "--team", "crew").out)
    asking.press("Enter")
    crew("send", "bob", "letter-5", "--team", "crew")

    def arrives() -> bool:
        crew("deliver", "bob", "--team", "crew", code=None)
        return "letter-5" in asking.got()

    crew.eventually(arrives)
    assert crew.record("bob").asks == ""
    assert asking.got().count("letter-5") == 1
    crew("down", "--team", "crew")


def _member(crew: Crew) -> dict[str, object]:
    found = json.loads(crew("members", "--team", "crew", "--json").out)["members"]
    return next(one for one in found if one["name"] == "bob")

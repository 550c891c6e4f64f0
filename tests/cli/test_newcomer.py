"""
The first ten minutes: somebody who has read nothing types only what the screen told them, in a terminal of 80 columns,
on a machine without any vendor's program. Two agents talk, and a task is finished.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Terminal, screen

COLUMNS = 80
PROPOSED = re.compile(r"^  (atm\b.*?)(?:  +.*)?$", re.M)
"""A command on a line of its own, and perhaps what comes of it."""

TAKES_THE_SCREEN = ("atm top", "atm watch")
ENDS_IT = ("atm down",)


class Newcomer:
    """Sits at a terminal, and remembers what was proposed and what they typed."""

    def __init__(self, atm, folder: Path) -> None:
        self.atm = atm
        self.folder = folder
        self.proposed = ["atm"]  # the one word that the README's first screen has taught
        self.typed: list[str] = []

    def type(self, command: str) -> str:
        assert command in self.proposed, f"nobody has told them of {command!r}; only of {self.proposed}"
        self.typed.append(command)
        environment = {**self.atm.environment, "TERM": "xterm-256color"}
        terminal = Terminal(["/bin/sh", "-c", command], environment, self.folder, COLUMNS)
        try:
            shown = "\n".join(screen(terminal.read_until(lambda _: False)))
        finally:
            terminal.close()
        assert [line for line in shown.split("\n") if len(line) > COLUMNS] == [], command
        assert "error:" not in shown, shown
        self.proposed += [one for one in PROPOSED.findall(shown) if one not in self.proposed]
        return shown

    def next(self) -> str:
        """The first thing that was proposed, and that they have not done yet."""
        left = [one for one in self.proposed if one not in (*self.typed, *TAKES_THE_SCREEN, *ENDS_IT)]
        assert left, f"the screen proposes nothing more: {self.proposed}"
        return left[0]

    def look_until(self, words: str, eventually) -> None:
        eventually(lambda: words in self.type("atm"))


@pytest.fixture
def newcomer(atm, tmp_path) -> Iterator[Newcomer]:
    """A clone of somebody's repository, an empty home, and no program of any vendor."""
    (atm.home / ".gitconfig").write_text("[user]\n\tname = Zoe Hara\n\temail = zoe@example.org\n")
    atm.environment |= {"PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin", "SHELL": "/bin/sh"}
    origin = tmp_path / "origin"
    for words in (
        ["init", "-q", "-b", "main", str(origin)],
        ["-C", str(origin), "commit", "-qm", "First", "--allow-empty"],
    ):
        subprocess.run(["git", *words], env=atm.environment, check=True)
    subprocess.run(["git", "clone", "-q", str(origin), str(tmp_path / "shop")], env=atm.environment, check=True)
    yield Newcomer(atm, tmp_path / "shop")
    atm("stop", "--all", code=None)
    atm("daemon", "stop", code=None)


@pytest.fixture
def claudes_session(atm) -> str:
    folder = atm.home / ".claude/teams/session-1a2b3c4d"
    (folder / "inboxes").mkdir(parents=True)
    (folder / "config.json").write_text('{"name": "session-1a2b3c4d", "members": [{"name": "team-lead"}]}')
    return "session-1a2b3c4d"


def senders(newcomer: Newcomer, agent: str) -> list[str]:
    return [row["from"] for row in newcomer.atm.rows(agent, "shop")]


def ten_minutes(newcomer: Newcomer, eventually) -> None:
    assert "There is no team here yet. Three steps:" in newcomer.type("atm")
    assert "✓ ann (script) runs" in newcomer.type(newcomer.next())
    assert "added #1" in newcomer.type(newcomer.next())
    newcomer.look_until("1 of 1 done", eventually)
    eventually(lambda: "ann" in senders(newcomer, "bob"))
    newcomer.look_until("atm tasks add 'Answer ann'", eventually)
    assert newcomer.type("atm tasks add 'Answer ann' --owner bob --run 'atm read; atm send ann hi'").startswith(
        "added #2"
    )
    newcomer.look_until("2 of 2 done", eventually)
    eventually(lambda: "bob" in senders(newcomer, "ann"))
    assert "✓ ann has ended" in newcomer.type("atm down")


def test_from_a_clone_to_two_agents_who_talk_and_a_finished_task(newcomer, eventually):
    ten_minutes(newcomer, eventually)
    assert newcomer.typed[1:3] == [
        "atm up script:ann script:bob",
        "atm tasks add 'Greet bob' --owner ann --run 'atm send bob hello'",
    ]


def test_the_same_beside_a_session_of_claude_code(newcomer, claudes_session, eventually):
    inboxes = newcomer.atm.home / f".claude/teams/{claudes_session}/inboxes"
    ten_minutes(newcomer, eventually)
    assert list(inboxes.iterdir()) == []


def test_whoever_names_programs_that_are_not_there_is_told_what_to_type_instead(newcomer):
    newcomer.proposed = ["atm up claude:ann codex:bob"]  # of the README
    shown = newcomer.type("atm up claude:ann codex:bob")
    assert "npm install" in shown
    assert newcomer.next() == "atm up script:ann script:bob"
    assert "✓ bob (script) runs" in newcomer.type("atm up script:ann script:bob")


def test_a_member_that_is_any_program_talks_too(newcomer, eventually):
    """`command:` beside `script:`: what it runs answers whoever writes to it."""
    answer = "atm read --wait 60 && atm send ann 'and to you'"
    newcomer.atm("up", "script:ann", cwd=newcomer.folder)
    newcomer.atm("spawn", "command:bob", "--prompt", answer, cwd=newcomer.folder)
    newcomer.atm("tasks", "add", "Greet bob", "--run", "atm send bob hello", cwd=newcomer.folder)
    eventually(lambda: "bob" in senders(newcomer, "ann"))
    # Bob may be faster than ann's program, which says that the task is done when it has sent.
    eventually(lambda: newcomer.atm("tasks", "--json", cwd=newcomer.folder).json["tasks"][0]["state"] == "completed")

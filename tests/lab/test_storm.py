"""
The storm: a real Claude Code session with a teammate, and atm, writing the same inboxes at once, and kills.

Claude Code's own teams take rows out of the inbox themselves. What they were told is read in the requests of the
models: nothing that was reported as sent may be missing. Claude Code can show a row twice by itself (it submits before
it holds the lock); so for what a model saw twice, the ledger must say that atm wrote it once.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from pathlib import Path

import pytest
from tests.chaos import LONG
from tests.lab.conftest import LabAgent, until
from tests.lab.vendors import ClaudeCode, Vendor, edit
from tests.optional import needs

from atm.testing.model import sees

pytestmark = [pytest.mark.lab, needs("tmux")]

EACH = 100 if LONG else 20
SCOUT = "you are the scout; wait"
"""What only a scout is told: so its requests are known, in the lead's process or in one of its own."""

KILLED = 0.2
"""Share of atm's senders that are killed at some moment."""


@pytest.fixture
def vendor() -> Vendor:
    """The only one that has teams of its own."""
    return ClaudeCode()


class Sender(threading.Thread):
    """Sends letters one after the other, some with a process that is killed; what was reported as sent is kept."""

    def __init__(self, agent: LabAgent, to: str, name: str) -> None:
        super().__init__()
        self._agent, self._to, self._name = agent, to, name
        self.sent: dict[str, str] = {}

    def run(self) -> None:
        chance = random.Random(self._name)
        for number in range(EACH):
            mark = f"{self._name}-{number:03d}."
            process = self._agent.spawn("send", self._to, mark, "--json")
            if chance.random() < KILLED:
                time.sleep(chance.random() * 0.15)
                process.kill()
            out, _ = process.communicate(timeout=120)
            if process.returncode == 0:
                self.sent[mark] = str(json.loads(out)["message_id"])


@pytest.mark.parametrize("mode", ["in-process", "tmux"])
def test_what_both_write_at_once_arrives_and_nothing_is_damaged(agent, mode):
    edit(agent.home / ".claude/settings.json", teammateMode=mode)
    story = agent.story
    scout = sees(SCOUT)
    story.when(~scout).runs("Agent", description="a scout", prompt=SCOUT, name="scout", run_in_background=True)
    for number in range(EACH):
        line = story.when(scout & sees("GO now"))
        line.runs("SendMessage", to="team-lead", summary="s", message=f"scout-{number:03d}.").after(0.05)
    story.otherwise().says("noted")
    pane = agent.sits_down("begin", CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS="1")
    with pane.shown_on_failure():
        until(lambda: _told(agent, is_lead=False), 120)
    (team,) = [path.name for path in (agent.home / ".claude/teams").glob("session-*")]

    agent.atm("send", f"scout@{team}", "GO now")
    senders = [
        Sender(agent, f"team-lead@{team}", "atm-a"),
        Sender(agent, f"team-lead@{team}", "atm-b"),
        Sender(agent, f"scout@{team}", "atm-s"),
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()

    to_lead = [*senders[0].sent, *senders[1].sent, *(f"scout-{number:03d}." for number in range(EACH))]
    with pane.shown_on_failure():
        until(lambda: not _missing(agent, to_lead, is_lead=True), 240, lambda: _missing(agent, to_lead, is_lead=True))
        until(
            lambda: not _missing(agent, [*senders[2].sent], is_lead=False),
            240,
            lambda: _missing(agent, [*senders[2].sent], is_lead=False),
        )
    if mode == "tmux":  # the teammate has the lead's environment, and is not the lead
        endpoint = json.loads(next((agent.home / ".claude/teams/crew").rglob("endpoints/bob.json")).read_text())
        assert endpoint["pane"] == "%0"
    for path in (agent.home / f".claude/teams/{team}/inboxes").glob("*.json"):
        assert isinstance(json.loads(path.read_bytes()), list), path.name
    for sender, is_lead in zip(senders, (True, True, False), strict=True):
        for mark in _doubled(agent, sender.sent, is_lead=is_lead):
            states = _states(agent, team, sender.sent[mark])
            assert states.count("written") == 1, (mark, states)
            assert "restored" not in states, (mark, states)


def _told(agent: LabAgent, *, is_lead: bool) -> list[str]:
    """What stands in the newest request of the lead or of the scout, without what tools gave and summaries."""
    for request in reversed(agent.seen.requests):
        if any(SCOUT in piece.text for piece in request.told) != is_lead:
            return [re.sub(r'summary="[^"]*"', "", piece.text) for piece in request.told if piece.kind != "tool_result"]
    return []


def _missing(agent: LabAgent, marks: list[str], *, is_lead: bool) -> list[str]:
    said = "\n".join(_told(agent, is_lead=is_lead))
    return [mark for mark in marks if mark not in said]


def _doubled(agent: LabAgent, marks: dict[str, str], *, is_lead: bool) -> list[str]:
    said = "\n".join(_told(agent, is_lead=is_lead))
    return [mark for mark in marks if said.count(mark) > 1]


def _states(agent: LabAgent, team: str, message: str) -> list[str]:
    ledgers = [path for path in agent.home.rglob("mailbox.log") if team in path.parts]
    lines = [json.loads(line) for path in ledgers for line in Path(path).read_text().splitlines()]
    return [str(line.get("state")) for line in lines if message in (line.get("ids") or line.get("id") or [])]

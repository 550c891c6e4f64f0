"""What atm reads of the vendors' own files is where it looks for it: with the real programs, in a terminal."""

from __future__ import annotations

import pytest
from tests.lab.conftest import LabAgent, until
from tests.optional import needs

from atm.testing.model import sees

pytestmark = [pytest.mark.lab, needs("tmux")]

RELIED_ON = {
    "claude": {
        ".claude/sessions/*.json": {"pid", "sessionId", "status", "procStart"},
        ".claude/projects/*/*.jsonl": {"user.sessionId"},
    },
    "codex": {".codex/sessions/*/*/*/rollout-*.jsonl": {"session_meta.payload"}},
    "gemini": {".gemini/tmp/*/chats/session-*.json*": {"line.sessionId"}},
    "opencode": {".local/share/opencode/opencode.db": {"session.id"}},
}

INBOX = ".claude/teams/session-*/inboxes/*.json"
OF_TEAMS = {
    ".claude/teams/session-*/config.json": {
        *("name", "leadAgentId", "leadSessionId", "members[].agentId", "members[].name", "members[].joinedAt"),
        *("members[].tmuxPaneId", "members[].backendType"),
    },
    INBOX: {"from", "text", "timestamp", "read"},
    ".claude/tasks/session-*/[0-9]*.json": {"id", "subject", "description", "status", "blocks", "blockedBy"},
}

SCOUT = "you are the scout; write to the lead"
LETTERS = 200
"""Claude Code takes a letter out of its inbox a moment after it was written: one of them will be met there."""


class Watch:
    """Looks at the files of a program until everything was there that atm looks for."""

    def __init__(self, agent: LabAgent, wanted: dict[str, set[str]]) -> None:
        self._agent, self._wanted = agent, wanted
        self._met: dict[str, set[str]] = {}

    @property
    def lacking(self) -> dict[str, set[str]]:
        lacking = {kind: fields - self._met.get(kind, set()) for kind, fields in self._wanted.items()}
        return {kind: fields for kind, fields in lacking.items() if fields}

    def is_over(self) -> bool:
        found = self._agent.shapes()
        if found.keys() & self._wanted.keys() - self._met.keys():  # a letter, say: it lies there for a moment
            self._agent.keep_shapes(found)
        for kind, shape in found.items():
            self._met.setdefault(kind, set()).update(shape)
        return not self.lacking


def test_what_atm_looks_for_in_a_programs_files_is_there(agent):
    agent.story.otherwise().says("at your service")
    watch, pane = Watch(agent, RELIED_ON[agent.vendor.name]), agent.sits_down("begin")
    with pane.shown_on_failure():
        agent.seen.asks(1)
        until(watch.is_over, 60, lambda: watch.lacking)


def test_what_atm_looks_for_in_the_folders_of_claude_codes_own_teams_is_there(agent):
    """A lead, a teammate in its process, a task of theirs, and letters from one to the other."""
    if agent.vendor.name != "claude":
        pytest.skip("has no teams of its own")
    story, scout = agent.story, sees(SCOUT)
    story.when(~scout).runs("TaskCreate", subject="look around", description="everywhere")
    story.when(~scout).runs("Agent", description="a scout", prompt=SCOUT, name="scout", run_in_background=True)
    for number in range(LETTERS):
        story.when(scout).runs("SendMessage", to="team-lead", summary="s", message=f"letter {number}")
    story.otherwise().says("noted")
    watch, pane = Watch(agent, OF_TEAMS), agent.sits_down("begin", CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS="1")
    with pane.shown_on_failure():
        until(watch.is_over, 120, lambda: watch.lacking)

"""How Claude Code is run."""

from __future__ import annotations

from atm.vendors.runtime import Runtime

STREAM_JSON = "stream-json"

RUNTIME = Runtime(
    "claude",
    protocol=STREAM_JSON,
    program="claude",
    headless=(
        *("claude", "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
        *("--permission-prompt-tool", "stdio", "--session-id", "{session}", "--resume", "{resume}"),
        *("--model", "{model}", "--permission-mode", "{mode}", "--append-system-prompt", "{instructions}"),
    ),
    terminal=(
        *("claude", "--session-id", "{session}", "--resume", "{resume}", "--model", "{model}"),
        *("--permission-mode", "{mode}", "--append-system-prompt", "{instructions}", "{prompt}"),
    ),
    tools=("--tools", "{tools}"),
    modes={"default": "default", "edits": "acceptEdits", "plan": "plan", "asks": "default"},
    environment={"CLAUDE_CODE_MAX_RETRIES": "4"},
    version=("claude", "--version"),
    brings="npm install -g @anthropic-ai/claude-code",
    vendor="claude",
    goes_on=True,
    driver="atm.vendors.claude.stream_json:StreamJsonDriver",
    remarks=("SIGTERM in the middle of a tool leaves its command behind: it is interrupted first",),
)

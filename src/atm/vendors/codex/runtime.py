"""How Codex is run."""

from __future__ import annotations

from atm.vendors.codex.calls import APP_SERVER
from atm.vendors.runtime import Runtime

RUNTIME = Runtime(
    "codex",
    protocol=APP_SERVER,
    program="codex",
    headless=("codex", "app-server"),
    terminal=("codex", "--no-daemon", "--model", "{model}", "{prompt}"),
    resume=("resume", "{resume}"),
    version=("codex", "--version"),
    brings="npm install -g @openai/codex",
    vendor="codex",
    goes_on=True,
    driver="atm.vendors.codex.app_server:AppServerDriver",
    remarks=(
        "plan mode is only instructions: it gets a read-only sandbox beside it",
        "its sandbox must be told of the repository's git folder, or it cannot commit in a worktree",
    ),
)

"""Antigravity CLI's hooks."""

from __future__ import annotations

from atm.vendors.google import who_speaks
from atm.vendors.hooks import BLOCK, CONTEXT, HookTable
from atm.vendors.moments import PROMPT, START, STOP, TOOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.vendors.moments import HookCall


def _steps(_: HookCall, text: str) -> dict[str, object]:
    """Its other kind, ephemeralMessage, is gone after one call of the model."""
    return {"injectSteps": [{"userMessage": text}]}


# SessionStart is not on its page and so not entered, though it is reported to fire. PreToolUse and PostToolUse are on
# it and not entered either: an answer without a decision refuses the tool, and a hook that fails spoils its result.
# Reported, and unclear: some versions read no hooks of a project; those up to 1.1.1 want groups at every event.
HOOKS = HookTable(
    events={"SessionStart": START, "PreInvocation": PROMPT, "PostInvocation": TOOL, "PostToolUse": TOOL, "Stop": STOP},
    others=("PreToolUse",),
    entered=("PreInvocation", "Stop"),
    # What PostInvocation adds may lie until the next turn; what PreInvocation adds is read at once.
    carries={"PreInvocation": CONTEXT, "Stop": BLOCK},
    stay="continue",
    context=_steps,
    silence="{}",
    # A hook that cannot be started is reported to break off the turn. It is run by sh or cmd: both know `exit 0`.
    unless=" || exit 0",
    also="gemini",
    speaker=who_speaks,
)

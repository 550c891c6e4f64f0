"""What OpenCode does by itself in each of our modes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.core.plain import Plain

_ASKED = {"bash": "ask", "webfetch": "ask", "websearch": "ask", "external_directory": "ask", "doom_loop": "ask"}
ACTIONS: dict[str, dict[str, str]] = {
    "default": {**_ASKED, "edit": "allow", "question": "deny"},
    "edits": {**_ASKED, "edit": "allow", "question": "deny"},
    "plan": {**_ASKED, "edit": "deny", "bash": "deny", "question": "deny"},
    "asks": {**_ASKED, "edit": "ask", "question": "deny"},
}
"""
Its own default is to allow everything, and its plan agent runs commands. Its questions to people would wait for ever
where nobody sees them.
"""


def as_variable(mode: str) -> str:
    """The value of `OPENCODE_PERMISSION` for a process in this mode."""
    return "{" + ", ".join(f'"{what}": "{action}"' for what, action in ACTIONS[mode].items()) + "}"


def as_rules(mode: str, tools: Sequence[str] = ()) -> list[dict[str, Plain]]:
    """
    The same for one session; the last rule that fits is the one that counts. With `tools`, all others are denied; to be
    among them is no leave to use one unasked.
    """
    actions = ACTIONS[mode]
    wanted = {"*": "deny", **{tool: actions.get(tool, "allow") for tool in tools}} if tools else actions
    return [{"permission": what, "pattern": "*", "action": action} for what, action in wanted.items()]

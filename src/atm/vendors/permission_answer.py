"""
Our word on a call, in the shape that each vendor's permission hook reads from stdout.

Here an answer is always given where there is one: silence would leave the decision to whatever the program does by
itself. `NO_OPINION` is for calls that no policy is about.
"""

from __future__ import annotations

from atm.vendors.hook_answer import ascii_document, whole_text
from atm.vendors.moments import CLAUDE, CODEX, GEMINI, OPENCODE

NO_OPINION, YES, NO, ASK, LATER = "", "allow", "deny", "ask", "defer"
REQUEST = "PermissionRequest"


def encode_permission(vendor: str, event: str, verdict: str, reason: str) -> str:
    """One JSON document, or nothing."""
    if vendor not in (CLAUDE, CODEX, GEMINI, OPENCODE):
        return ""  # whose words nobody knows: a no is an exit code
    if verdict == NO_OPINION or (verdict in (ASK, LATER) and vendor != CLAUDE):
        return ""
    said: dict[str, object]
    reason = whole_text(reason)
    if vendor == GEMINI:
        said = {"decision": verdict, "reason": reason}
    elif vendor == OPENCODE:
        said = {"permission": verdict, "reason": reason}
    elif event == REQUEST:
        decision = {"behavior": verdict} if verdict == YES else {"behavior": verdict, "message": reason}
        said = {"hookSpecificOutput": {"hookEventName": REQUEST, "decision": decision}}
    elif verdict == YES and vendor != CLAUDE:
        return ""  # Codex: nothing said lets the call go on; its sandbox is its own
    else:
        decided = {"permissionDecision": verdict, "permissionDecisionReason": reason}
        said = {"hookSpecificOutput": {"hookEventName": event, **decided}}
    return ascii_document(said)

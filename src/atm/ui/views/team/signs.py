"""
One sign, one word and one of five meanings for each state, the same on every face. Never colour alone.

`you` waits for the person who looks, `broken` needs somebody, `moving` gets on, `proven` is done, `rest` is at rest or
unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

YOU, BROKEN, MOVING, PROVEN, REST = "you", "broken", "moving", "proven", "rest"


@dataclass(frozen=True, slots=True)
class Sign:
    """How a state looks, with and without Unicode, and what it means."""

    mark: str
    ascii: str
    meaning: str


SIGNS = {
    **dict.fromkeys(("command", "question", "mail", "merge", "late"), Sign("◆", "*", YOU)),
    **dict.fromkeys(("run paused", "run held", "run stopped"), Sign("◆", "*", YOU)),
    "run died": Sign("▲", "!", BROKEN),
    **dict.fromkeys(("plan", "planning"), Sign("✎", "*", YOU)),
    **dict.fromkeys(
        ("stalled", "gone", "crashed", "died", "given up", "trouble", "unreadable"), Sign("▲", "!", BROKEN)
    ),
    **dict.fromkeys(("conflict", "collides"), Sign("≠", "!", BROKEN)),
    **dict.fromkeys(("failed", "unreachable", "denied", "expired"), Sign("✗", "x", BROKEN)),
    **dict.fromkeys(("working", "in_progress", "merging", "resolved", "starting"), Sign("◉", ">", MOVING)),
    "review": Sign("◎", ">", MOVING),
    **dict.fromkeys(("idle", "ready", "pending", "queued", "online"), Sign("○", "-", REST)),
    "blocked": Sign("◌", ".", REST),
    **dict.fromkeys(("completed", "merged", "done", "approved"), Sign("✓", "+", PROVEN)),
    **dict.fromkeys(("stopped", "offline", "cancelled", "skipped"), Sign("·", ".", REST)),
}
UNKNOWN = Sign("?", "?", REST)

CELLS = {
    "completed": ("■", "#"),
    "merging": ("▣", "%"),
    "review": ("◎", ">"),
    "you": ("◆", "*"),
    "stalled": ("▲", "!"),
    "conflict": ("≠", "!"),
    "in_progress": ("◉", ">"),
    "planning": ("✎", "*"),
    "pending": ("○", "-"),
    "blocked": ("◌", "."),
    "failed": ("✗", "x"),
    "unreachable": ("✗", "x"),
    "cancelled": ("·", "."),
}
"""One cell for each task, in the strip at the top."""

VENDORS = {
    **dict.fromkeys(("claude", "claude-code", "in-process", "iterm2"), ("CC", "Claude Code")),
    "codex": ("CX", "Codex"),
    "gemini": ("GM", "Gemini CLI"),
    "opencode": ("OC", "OpenCode"),
    **dict.fromkeys(("script", "command", "shell"), ("SH", "a script")),
    "human": ("··", "a person"),
}


def sign(state: str) -> Sign:
    return SIGNS.get(state, UNKNOWN)


def vendor(*known: str | None) -> tuple[str, str]:
    """Two letters and a name, from what is known best: its runtime, its backend, its model."""
    for one in known:
        name = (one or "").partition(":")[0].casefold()
        if name in VENDORS:
            return VENDORS[name]
        if any(word in name for word in ("claude", "opus", "sonnet", "haiku")):
            return VENDORS["claude"]
    return "", "an agent of an unknown kind"

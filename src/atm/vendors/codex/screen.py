"""What Codex's window shows."""

from __future__ import annotations

from atm.vendors.screen import PERMISSION, SIGN_IN, TRUST, Screen

SCREEN = Screen(
    asking=(
        "would you like to",
        "esc to cancel",
        "press enter to continue",
        "press enter to confirm",
        "tell codex what to do differently",
        "no, continue without",
        "skip until next version",
        "enter to submit answer",
        "t trust all",
        "t trust · esc back",
        "enter continue · esc quit",
        "enter confirm · esc skip",
        "press enter to save",
    ),
    asking_near=("do you trust the contents of this", "sign in with chatgpt", "paste or type your api key"),
    running=("shell mode",),
    working=("esc to interrupt",),
    suggestions=(
        "ask codex to do anything",
        "explain this codebase",
        "summarize recent commits",
        "implement {feature}",
        "find and fix a bug in @filename",
        "write tests for @filename",
        "improve documentation in @filename",
        "run /review on my current changes",
        "use /skills to list available skills",
    ),
    questions=(
        ("hooks need review", "to review hooks that are new or changed"),
        ("need review before they can run", "to review hooks that are new or changed"),
        ("needs review before it can run", "to review hooks that are new or changed"),
        ("trust this folder", TRUST),
        ("do you trust", TRUST),
        ("choose how you want to use codex", SIGN_IN),
        ("sign in with chatgpt", SIGN_IN),
        ("paste or type your api key", SIGN_IN),
        ("skip until next version", "whether to update itself"),
        ("tell codex what to do differently", PERMISSION),
        ("would you like to", PERMISSION),
    ),
)

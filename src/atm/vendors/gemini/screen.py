"""What Gemini CLI's window shows."""

from __future__ import annotations

from atm.vendors.screen import BY_SCREEN, PERMISSION, SIGN_IN, TRUST, Screen

SCREEN = Screen(
    asking=(
        "enter to select",
        "allow execution of",
        "apply this change?",
        "action required",
        "no, suggest changes",
        "waiting for user confirmation",
        "allow once",
        "allow always",
    ),
    asking_near=("do you trust this folder", "how would you like to authenticate", "enter the authorization code"),
    running=("shell mode enabled",),
    working=("esc to cancel",),
    suggestions=("type your message or @path/to/file",),
    questions=(
        ("trust this folder", TRUST),
        ("do you trust", TRUST),
        ("how would you like to authenticate", SIGN_IN),
        ("enter the authorization code", SIGN_IN),
        ("waiting for auth", SIGN_IN),
        ("enter gemini api key", SIGN_IN),
        ("allow execution of", PERMISSION),
        ("apply this change?", PERMISSION),
        ("waiting for user confirmation", PERMISSION),
        ("allow once", PERMISSION),
    ),
    turn_ends=BY_SCREEN,  # no hook is called after a dialog that was cancelled
)

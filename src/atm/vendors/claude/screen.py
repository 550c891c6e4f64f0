"""What Claude Code's window shows."""

from __future__ import annotations

from atm.vendors.screen import BY_NOTE, PERMISSION, SIGN_IN, TRUST, Screen

SCREEN = Screen(
    asking=(
        "do you want to",
        "would you like to",
        "tell claude what to do differently",
        "tab to amend",
        "enter to confirm",
        "enter to select",
        "esc to cancel",
        "esc to exit",
        "esc to go back",
        "ready to code?",
        "no, exit",
        "press enter to continue",
    ),
    asking_near=(
        "quick safety check",
        "do you trust the files in this folder",
        "yes, i trust this folder",
        "select login method",
        "paste code here if prompted",
        "choose the text style that looks best",
    ),
    running=("bash mode",),
    working=("esc to interrupt",),
    suggestions=('try "', "press up to edit queued messages"),
    questions=(
        ("do you trust", TRUST),
        ("quick safety check", TRUST),
        ("select login method", SIGN_IN),
        ("paste code here if prompted", SIGN_IN),
        ("detected a custom api key", "whether to use the API key that it found"),
        ("choose the text style that looks best", "to choose a theme"),
        ("tell claude what to do differently", PERMISSION),
        ("do you want to", PERMISSION),
        ("would you like to", PERMISSION),
    ),
    signed_out=("not logged in",),
    turn_ends=BY_NOTE,  # no hook is called after Esc
)

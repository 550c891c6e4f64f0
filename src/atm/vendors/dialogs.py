"""
What a program in a terminal asks a person, told from the visible lines of its pane.

Pure. `panes` decides whether a question is in front; this module says which one it is, in words of ours: text from the
screen is untrusted and changes with every version of a program. Recorded screens of the real programs are its tests
(tests/corpus/screens).
"""

from __future__ import annotations

from atm.vendors.panes import asks, below_composer, squeezed

PERMISSION = "to allow a step of its work"
SIGN_IN = "to sign in"
OTHER = "a question that its window shows"
UNRECOGNISED = "something that atm does not know"
"""Noted of a window that shows neither a composer nor a known question, while no session of its agent is known."""

QUESTIONS: tuple[tuple[str, str, str], ...] = (
    # words on the screen, without regard to case and white space; who shows them; what they ask
    ("hooks need review", "codex", "to review hooks that are new or changed"),
    ("need review before they can run", "codex", "to review hooks that are new or changed"),
    ("needs review before it can run", "codex", "to review hooks that are new or changed"),
    ("trust this folder", "codex, gemini", "whether to trust this folder"),
    ("do you trust", "claude, codex, gemini, antigravity", "whether to trust this folder"),
    ("quick safety check", "claude", "whether to trust this folder"),
    ("choose how you want to use codex", "codex", SIGN_IN),
    ("sign in with chatgpt", "codex", SIGN_IN),
    ("paste or type your api key", "codex", SIGN_IN),
    ("select login method", "claude", SIGN_IN),
    ("paste code here if prompted", "claude", SIGN_IN),
    ("how would you like to authenticate", "gemini", SIGN_IN),
    ("enter the authorization code", "gemini", SIGN_IN),
    ("waiting for auth", "gemini", SIGN_IN),
    ("enter your api key", "any", SIGN_IN),
    ("enter gemini api key", "gemini", SIGN_IN),
    ("detected a custom api key", "claude", "whether to use the API key that it found"),
    ("choose the text style that looks best", "claude", "to choose a theme"),
    ("skip until next version", "codex", "whether to update itself"),
    ("password:", "any", "for a password"),
    ("passphrase", "any", "for a password"),
    ("tell claude what to do differently", "claude", PERMISSION),
    ("tell codex what to do differently", "codex", PERMISSION),
    ("allow execution of", "gemini", PERMISSION),
    ("apply this change?", "gemini", PERMISSION),
    ("waiting for user confirmation", "gemini", PERMISSION),
    ("permission required", "opencode", PERMISSION),
    ("allow once", "gemini, opencode", PERMISSION),
    ("do you want to", "claude", PERMISSION),
    ("would you like to", "claude, codex", PERMISSION),
)
"""The first that fits is the answer: what a program asks before it can work comes first."""

SIGNED_OUT = (("not logged in", "claude"),)
"""Words of a status line, below a composer that takes text and can do nothing with it."""

_SIGNED_OUT = tuple(squeezed(words).lower() for words, _ in SIGNED_OUT)
_KNOWN = tuple((squeezed(words).lower(), question) for words, _, question in QUESTIONS)


def asked_in_words(question: str) -> str:
    """A clause about the agent, for a question that was noted of its window."""
    if question == UNRECOGNISED:
        return "no session of it is known yet, and atm does not recognise what its window shows"
    return f"its program asks a person {question}"


def question_on(screen: str) -> str:
    """What the program asks a person, to be read after `it asks`; empty if no question is in front."""
    if not asks(screen):
        status = squeezed(below_composer(screen)).lower()
        return SIGN_IN if any(words in status for words in _SIGNED_OUT) else ""
    text = squeezed(screen).lower()
    return next((question for words, question in _KNOWN if words in text), OTHER)

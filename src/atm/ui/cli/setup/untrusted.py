"""In a repository whose settings no person has said yes to: one line, or the question. Light: every send may say it."""

from __future__ import annotations

import sys

from atm.core.untrusted_text import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.config import Settings
    from atm.ui.cli.session import Session

MOST_NAMED, LONGEST_KEY = 5, 80


def note(settings: Settings) -> str:
    """What counts as absent, and the command that changes that."""
    repo, file = settings.repo, settings.repo_file
    if repo.owner is not None:
        return f"note: {file} is not read: it, its folder or its repository belongs to another user ({repo.owner})"
    shown = [shell_word(key[:LONGEST_KEY]) for key in [*repo.ignored][:MOST_NAMED]]  # a key may pass for words of ours
    named = ", ".join(shown) + (", …" if len(repo.ignored) > MOST_NAMED else "")
    look = f"atm trust --show {shell_word(file or '.')}"
    return f"note: {file} is not trusted, so this counts as absent: {named}; look at it with: {look}"


def ask_or_tell(session: Session) -> bool:
    """At a terminal a person is asked, once for each content of the file; else one line says what is left out."""
    if session.settings.repo.ignored and not session.as_json and _has_terminal():
        from atm.ui.cli.setup.consent import said_yes

        if said_yes(session):
            return True
    session.warn(note(session.settings))
    return False


def _has_terminal() -> bool:
    return bool(sys.stdin) and sys.stdin.isatty() and sys.stderr.isatty()

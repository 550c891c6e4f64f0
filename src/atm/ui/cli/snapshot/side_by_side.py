"""`atm top --tmux`: the windows of a team's agents side by side, each as it is, in a tmux of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

from atm.core.errors import UsageError
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import NoSuchAgent
from atm.crew.services.ending import agents_of
from atm.ui.cli.crew.wishes import open_crew

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.services.crewroom import Crewroom
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

SECONDS = 10.0
SERVER = "atm-top"


def arrange(args: Args, session: Session) -> int:
    """
    Who looks on is one more client of each agent's window: it may be typed into, its size stays what it was, and
    whoever leaves (Ctrl-B, then D) leaves everybody else as they were.
    """
    crew, team = open_crew(session), session.team(args)
    looks = _windows(crew, team)
    if not looks:
        fix = f"start some in windows: atm up claude:ann --backend tmux --team {shell_words(team)}"
        raise NoSuchAgent(f"no agent of {team!r} has a window", fix)
    if not sys.stdout.isatty():
        raise UsageError("windows need a terminal", "look at one agent: `atm peek NAME`")
    name = f"{SERVER}-{os.getpid()}"
    first, *others = looks
    _tmux("new-session", "-d", "-s", name, "-x", "200", "-y", "50", "-n", team, first[1])
    for _, command in others:
        _tmux("split-window", "-t", f"={name}:", command)
        _tmux("select-layout", "-t", f"={name}:", "tiled")
    for number, (member, _) in enumerate(looks):
        _tmux("select-pane", "-t", f"={name}:.{number}", "-T", member)
    for option, value in (("pane-border-status", "top"), ("pane-border-format", " #{pane_title} "), ("status", "off")):
        _tmux("set-option", "-t", f"={name}:", option, value)
    look = ("attach-session", "-t", f"={name}", ";", "set-option", "destroy-unattached", "on")
    done = subprocess.run(["tmux", "-u", "-L", SERVER, *look], env=_outside(), check=False)
    return done.returncode


def _windows(crew: Crewroom, team: str) -> list[tuple[str, str]]:
    """Each as one line for a shell: of several words the outer tmux would take a `;` for the end of its own command."""
    found = ((record.member, crew.backends[record.backend].look_on(record)) for record in agents_of(crew, team))
    return [(member, shlex.join(words)) for member, words in found if words]


def _tmux(*words: str) -> None:
    done = subprocess.run(
        ["tmux", "-u", "-L", SERVER, *words], capture_output=True, timeout=SECONDS, env=_outside(), check=False
    )
    if done.returncode != 0:
        raise NoSuchAgent(f"tmux could not arrange the windows: {done.stderr.decode('utf-8', 'replace').strip()}")


def _outside() -> dict[str, str]:
    """As if it were not begun inside another tmux."""
    return {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}

"""
Popups of tmux. Implements `ports.delivery.popups.Popups`.

tmux itself runs the program in the popup and waits for it; we started that tmux and go on. What the popup is told
comes from us alone: no text of an agent is ever part of a command.
"""

from __future__ import annotations

import shlex
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Collection, Mapping, Sequence

SECONDS = 3.0
_CLIENTS = "#{client_activity} #{client_name}"


class TmuxPopups:
    """At the terminal that was used last."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._command = shlex.join(popup_words([sys.executable, "-P", "-m", "atm"], environment))
        self._environment = {key: value for key, value in environment.items() if key not in ("TMUX", "TMUX_PANE")}
        self._shown: subprocess.Popen[bytes] | None = None

    def is_open(self) -> bool:
        return self._shown is not None and self._shown.poll() is None

    def show(self, title: str, servers: Collection[str]) -> bool:
        if self.is_open():
            return True
        seen = [found for server in dict.fromkeys(["", *servers]) for found in self._clients(server)]
        if not seen:
            return False
        _, server, client = max(seen)
        size = ("-w", "90%", "-h", "80%")
        self._shown = self._start(server, "display-popup", "-c", client, *size, "-T", title, "-E", self._command)
        return self._shown is not None

    def _clients(self, server: str) -> list[tuple[int, str, str]]:
        """Terminals at which somebody sits: when they were last used, the server, the name."""
        started = self._start(server, "list-clients", "-F", _CLIENTS, listens=True)
        if started is None:
            return []
        import subprocess

        try:
            said = started.communicate(timeout=SECONDS)[0].decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            started.kill()
            started.communicate()
            return []
        rows = [row.partition(" ") for row in said.splitlines()]
        return [(int(at), server, name) for at, _, name in rows if at.isdecimal() and name]

    def _start(self, server: str, *words: str, listens: bool = False) -> subprocess.Popen[bytes] | None:
        import subprocess

        where = ("-S", server) if server else ()
        try:
            return subprocess.Popen(
                ["tmux", "-u", *where, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if listens else subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self._environment,
                start_new_session=True,
            )
        except (OSError, ValueError):  # no tmux here
            return None


def popup_words(program: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Our own program, for the person: with the homes of whoever asks, and in nobody's name."""
    homes = [f"{name}={environment[name]}" for name in ("ATM_HOME", "CLAUDE_CONFIG_DIR", "HOME") if name in environment]
    nobody = [word for name in ("ATM_IDENTITY", "ATM_TEAM", "ATM_AGENT") for word in ("-u", name)]
    return ["env", *nobody, *homes, *program, "approvals", "review"]

"""
Popups of tmux. Implements `delivery.ports.popups.Popups`.

tmux itself runs the program in the popup and waits for it; we started that tmux and go on. What the popup is told
comes from us alone: no text of an agent is ever part of a command.
"""

from __future__ import annotations

import shlex
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping, Sequence

SECONDS = 3.0
_CLIENTS = "#{client_activity} #{client_pid} #{client_name}"


class TmuxPopups:
    """At the terminal that was used last."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._command = shlex.join(popup_words([sys.executable, "-P", "-m", "atm"], environment))
        self._environment = {key: value for key, value in environment.items() if key not in ("TMUX", "TMUX_PANE")}
        self._shown: subprocess.Popen[bytes] | None = None

    def is_open(self) -> bool:
        return self._shown is not None and self._shown.poll() is None

    def show(self, title: str, is_agents: Callable[[int], bool]) -> bool:
        """On the user's own server alone: agents have others."""
        if self.is_open():
            return True
        seen = [(at, name) for at, pid, name in self._clients() if not is_agents(pid)]
        if not seen:
            return False
        size = ("-w", "90%", "-h", "80%")
        self._shown = self._start("display-popup", "-c", max(seen)[1], *size, "-T", title, "-E", self._command)
        return self._shown is not None

    def _clients(self) -> list[tuple[int, int, str]]:
        """Terminals at which somebody sits: when they were last used, their process, the name."""
        started = self._start("list-clients", "-F", _CLIENTS, listens=True)
        if started is None:
            return []
        import subprocess

        try:
            said = started.communicate(timeout=SECONDS)[0].decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            started.kill()
            started.communicate()
            return []
        rows = [row.split(" ", 2) for row in said.splitlines()]
        return [(int(row[0]), int(row[1]), row[2]) for row in rows if len(row) == 3 and (row[0] + row[1]).isdecimal()]

    def _start(self, *words: str, listens: bool = False) -> subprocess.Popen[bytes] | None:
        import subprocess

        try:
            return subprocess.Popen(
                ["tmux", "-u", *words],
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

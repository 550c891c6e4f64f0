"""
Hosts in windows of tmux, for eyes: implements `crew.ports.agents.Backend`.

On a server of atm's own, so that the user's sessions and options stay theirs, and a window of ours does not end with
them. What an agent gets by its environment never stands on a command line, where other users could read it: only its
mark does, and the host takes the rest from a private file.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from atm.core.work_errors import SpawnFailed
from atm.crew.ports.agents import Started
from atm.crew.rules.marks import NO_AGENT, VARIABLE
from atm.files.adapters.disk import make_private, open_private
from atm.files.adapters.processes import began
from atm.files.formats.json_record import encode, to_bytes
from atm.vendors.runtime import TMUX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.ports.agents import Launch
    from atm.crew.rules.agents import AgentRecord
    from atm.files.formats.layout import Layout

SECONDS = 10.0
_INSIDE = ("TMUX", "TMUX_PANE")


class TmuxBackend:
    """One server for each home, one session for each team, one window for each agent."""

    name = TMUX

    def __init__(self, layout: Layout, home: str) -> None:
        self._layout = layout
        self._server = f"atm-{home}"

    def problem(self) -> str:
        return "" if shutil.which("tmux") else "tmux is not installed"

    def start(self, launch: Launch) -> Started:
        path = environment_file(self._layout, launch.team, launch.member)
        make_private(os.path.dirname(path), self._layout.private_roots)
        fd = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(fd, to_bytes(encode(launch.environment)))
        finally:
            os.close(fd)
        mark = f"{VARIABLE}={launch.environment.get(VARIABLE, '')}"
        window = ("-d", "-P", "-F", "#{pane_id} #{pane_pid} #{socket_path}", "-c", launch.folder, "-n", launch.member)
        words = [*window, "-e", mark, "--", *launch.command]
        session = session_name(launch.team)
        code, said = self._run("new-window", "-t", f"={session}:", *words)
        if code != 0:  # with the session's first window its mark would go to all windows that a person opens later
            forget = (";", "set-environment", "-u", VARIABLE)
            code, said = self._run("new-session", "-s", session, "-x", "200", "-y", "50", *words, *forget)
        parts = said.split(" ", 2)
        if code != 0 or len(parts) != 3 or not parts[1].isdecimal():
            os.unlink(path)
            raise SpawnFailed(f"tmux made no window for {launch.member}: {said.strip() or 'it said nothing'}")
        return Started(int(parts[1]), parts[2].strip(), parts[0])

    def clear(self, record: AgentRecord) -> None:
        """
        Only the very pane: its number may be another's by now. Not one with a living process: those of the agent were
        ended before, and a record can name the pane of another agent.
        """
        is_over = not began(record.pid) or record.pid == os.getpid()
        if record.pane and is_over and self._pid_in(record) == str(record.pid):
            self._run("kill-pane", "-t", record.pane)
        try:
            os.unlink(environment_file(self._layout, record.team, record.member))
        except OSError:
            return

    def screen(self, record: AgentRecord) -> str | None:
        if self._pid_in(record) != str(record.pid):
            return None
        code, said = self._run("capture-pane", "-p", "-J", "-t", record.pane)
        return said if code == 0 else None

    def attach(self, record: AgentRecord) -> list[str]:
        if self._pid_in(record) != str(record.pid):
            return []
        self._run("set-option", "-u", "-w", "-t", record.pane, "window-size")  # who sits at it sees all of it
        self._run("select-window", "-t", record.pane)
        return ["env", "-u", "TMUX", "tmux", "-L", self._server, "attach-session", "-t", record.pane]

    def look_on(self, record: AgentRecord) -> list[str]:
        """
        In a session of its own over the same windows: it has another current window. The size stays as it is until
        somebody sits down: tmux would take that of the only client, also if that says it should not count.
        """
        if self._pid_in(record) != str(record.pid):
            return []
        self._run("set-option", "-w", "-t", record.pane, "window-size", "manual")
        session = ("new-session", "-t", f"={session_name(record.team)}", "-f", "ignore-size")
        then = (";", "set-option", "destroy-unattached", "on", ";", "set-option", "status", "off")
        return [
            "env",
            "-u",
            "TMUX",
            "tmux",
            "-u",
            "-L",
            self._server,
            *session,
            *then,
            ";",
            "select-window",
            "-t",
            record.pane,
        ]

    def _pid_in(self, record: AgentRecord) -> str:
        if not (record.pane.startswith("%") and record.pane[1:].isdecimal()):
            return ""
        code, said = self._run("display-message", "-p", "-t", record.pane, "#{pane_pid}")
        return said.strip() if code == 0 else ""

    def _run(self, *words: str) -> tuple[int | None, str]:
        try:
            done = subprocess.run(
                ["tmux", "-u", "-L", self._server, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                env={**{key: value for key, value in os.environ.items() if key not in _INSIDE}, VARIABLE: NO_AGENT},
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            return None, str(error)
        return done.returncode, (done.stdout or done.stderr).decode("utf-8", "replace").rstrip("\n")


def environment_file(layout: Layout, team: str, member: str) -> str:
    return f"{layout.crews}/{team}/.{member}.env"


def session_name(team: str) -> str:
    """tmux has no points and colons in names of sessions."""
    return f"atm-{team.replace('.', '_').replace(':', '_')}"

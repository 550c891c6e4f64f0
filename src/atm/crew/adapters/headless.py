"""Hosts without a terminal: implements `crew.ports.agents.Backend`."""

from __future__ import annotations

import os
import subprocess

from atm.core.work_errors import SpawnFailed
from atm.crew.ports.agents import Started
from atm.vendors.runtime import HEADLESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.ports.agents import Launch
    from atm.crew.rules.agents import AgentRecord


class HeadlessBackend:
    """A process in a session of its own: the terminal that it was started from may close."""

    name = HEADLESS

    def problem(self) -> str:
        return ""

    def start(self, launch: Launch) -> Started:
        try:
            process = subprocess.Popen(
                launch.command,
                cwd=launch.folder,
                env=launch.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise SpawnFailed(f"{launch.member} could not be started in {launch.folder}: {error.strerror}") from None
        process.returncode = 0  # it is not ours to wait for: no complaint when we end before it
        return Started(process.pid)

    def clear(self, record: AgentRecord) -> None:
        """A child of ours that has ended is still in the table until it is asked after."""
        if record.pid <= 1:
            return  # to `waitpid`, 0 and -1 mean any child
        try:
            os.waitpid(record.pid, os.WNOHANG)
        except (ChildProcessError, OverflowError, OSError):
            return

    def screen(self, record: AgentRecord) -> str | None:  # noqa: ARG002
        return None

    def look_on(self, record: AgentRecord) -> list[str]:  # noqa: ARG002
        return []

    def attach(self, record: AgentRecord) -> list[str]:  # noqa: ARG002
        return []

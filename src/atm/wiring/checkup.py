"""What doctor looks at."""

from __future__ import annotations

from atm.files.adapters.disk import RealDisk
from atm.files.adapters.machine import RealClock, host_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.checkup.ports import DaemonSeen, FilesAround
    from atm.files.formats.layout import Layout

DAEMON_SECONDS = 2.0
"""Longer than commands wait that can do without: here it is the question."""


def build_files_around(layout: Layout, environment: Mapping[str, str]) -> FilesAround:
    from atm.checkup.adapters.files_around import FilesOnDisk

    return FilesOnDisk(RealDisk(layout.private_roots), RealClock(), layout, environment, host=host_name())


def look_at_daemon(layout: Layout) -> DaemonSeen:
    """Whether one runs for this home, and what it says of itself."""
    from atm.checkup.ports import DaemonSeen
    from atm.core.work_errors import DaemonTrouble
    from atm.daemon.adapters.client import ask
    from atm.daemon.adapters.seat import find_running

    running = find_running(layout)
    if running is None:
        return DaemonSeen()
    try:
        facts = ask(layout, "status", seconds=DAEMON_SECONDS)
    except DaemonTrouble:
        facts = None
    if not isinstance(facts, dict):
        return DaemonSeen(running.pid, answers=False, version=running.version, socket=running.socket)
    problems = facts.get("problems")
    said = tuple(str(one) for one in problems) if isinstance(problems, list) else ()
    return DaemonSeen(running.pid, True, str(facts.get("version") or ""), running.socket, said)


def find_program(name: str, environment: Mapping[str, str]) -> str:
    """Where it lies; empty if it is not on the PATH."""
    import shutil

    return shutil.which(name, path=environment.get("PATH", "")) or ""


def find_extras() -> dict[str, bool]:
    """Every part that atm can be installed with, and whether it is."""
    from atm.setup.adapters.installation import has_extra
    from atm.setup.rules.installation import EXTRAS

    return {extra: has_extra(extra) for extra in EXTRAS}

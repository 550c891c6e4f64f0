"""
The program of a host: `python -m atm.ui.cli.crew.host TEAM MEMBER GENERATION`. Started by atm alone.

It has no terminal to speak of. What goes wrong stands in the agent's record and log.
"""

from __future__ import annotations

import os
import signal
import sys

from atm import config
from atm.core.errors import AtmError
from atm.crew.rules.marks import HOST_ASKS, VARIABLE
from atm.crew.services.crewroom import Fenced
from atm.crew.services.reaping import clear_away
from atm.vendors.runtime import BOARD, TMUX
from atm.wiring.crew import build_agent_records, build_host, environment_left_for
from atm.wiring.files import find_layout
from atm.wiring.mail import build_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.services.hosting import Host


class Terminated(BaseException):
    """A signal asks us to end: what the agent has begun is given back on the way out."""


def main(words: list[str]) -> int:
    team, member, generation = words
    layout = find_layout(os.environ)
    left = environment_left_for(layout, team, member, os.environ)
    if left is not None:
        os.execve(sys.executable, [*sys.orig_argv], left)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _end)
    settings = config.load(layout, os.environ, os.getcwd(), {}, member)
    room = build_room(layout, settings)
    room.acting_pid = os.getpid()
    records = build_agent_records(layout)
    record = records.read(team, member)
    if record is None or str(record.generation) != generation or record.mark != os.environ.get(VARIABLE):
        return 1  # another life has begun
    if records.latch(team) is not None:
        return 1  # the team was stopped while this host was being started; `atm stop` clears the record
    return _live(build_host(layout, settings, room, record))


def _end(*_: object) -> None:
    raise Terminated


def _live(host: Host) -> int:
    try:
        host.machine.adopt_orphans()
        _work(host)
    except Fenced:
        return 0
    except Terminated:
        _give_back(host, "")
        return 0
    except (AtmError, OSError) as error:
        _give_back(host, str(error))
        return 1
    return 0


def _work(host: Host) -> None:
    record = host.record
    runtime = host.crew.runtimes[record.runtime]
    if runtime.protocol == BOARD:
        from atm.crew.services.script_work import work

        host.begin()
        work(host)
        return
    from atm.crew.services.program_work import ProgramWork

    folder = record.worktree or record.folder
    hosted = {HOST_ASKS: str(os.getpid())} if HOST_ASKS in os.environ else {}
    child = host.machine.start(record.command, folder, {**os.environ, **hosted}, in_terminal=record.backend == TMUX)
    ProgramWork(host).work(child)


def _give_back(host: Host, error: str) -> None:
    """Everything of the agent but this process."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    host.machine.log(error or "asked to end by a signal")
    try:
        os.chdir(host.record.folder)
        host.say_goodbye(error)
        clear_away(host.crew, host.record, state=host.record.state, error=error)
    except (AtmError, OSError):
        return  # the next command finds it


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

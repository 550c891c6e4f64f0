"""
The mark that every process of an agent carries in its environment, and who belongs to an agent by it.

Tools of all vendors run in sessions of their own, so a process group proves nothing. What an agent starts inherits its
mark; what clears its environment is still a child of something that has it. Between the two nothing gets away, except a
process that does both and leaves its parents on purpose.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

HOST_ASKS = "ATM_HOST_ASKS"
"""Set for an agent whose host is asked by its program, for as long as it takes: the process of that host."""

VARIABLE = "ATM_AGENT"
NO_AGENT = "no-agent"
"""What a daemon or a server carries that an agent happened to start: it is nobody's, and outlives them all."""


class AgentMark:
    """One life of one agent of one home."""

    __slots__ = ("generation", "home", "key", "member", "team")

    def __init__(self, home: str, team: str, member: str, generation: int, key: str) -> None:
        self.home = home
        """Short name of the folder in which atm keeps its state: two homes on a machine know nothing of each other."""
        self.team = team
        self.member = member
        self.generation = generation
        self.key = key

    def __str__(self) -> str:
        return f"{self.home}/{self.team}/{self.member}/{self.generation}/{self.key}"


def read_mark(text: str) -> AgentMark | None:
    """A mark as it stands in an environment; None for anything else."""
    parts = text.split("/")
    if len(parts) != 5 or not parts[3].isdecimal() or not all(parts):
        return None
    return AgentMark(parts[0], parts[1], parts[2], int(parts[3]), parts[4])


class RunningProcess:
    """What the system tells of one."""

    __slots__ = ("began", "command", "mark", "parent", "pid")

    def __init__(self, pid: int, parent: int, began: str, command: str = "", mark: str = "") -> None:
        self.pid = pid
        self.parent = parent
        self.began = began
        """With the number, this means one process and never another."""
        self.command = command
        self.mark = mark


def family(
    running: Iterable[RunningProcess], marks: Iterable[str], heads: Iterable[tuple[int, str]] = ()
) -> list[RunningProcess]:
    """
    Every process that carries one of these marks, every process of `heads`, and all their descendants, parents first.

    A process with another mark is another agent, also if this agent started it, and so are its descendants. A text that
    is no mark means no process: an empty one would mean every process without a mark. `heads` are processes that were
    proven before, by number and start time; a number that a file names is no proof.
    """
    wanted = {mark for mark in marks if read_mark(mark) is not None}
    known_heads = set(heads)
    by_parent: dict[int, list[RunningProcess]] = {}
    for process in (everybody := [one for one in running if one.pid > 1]):
        by_parent.setdefault(process.parent, []).append(process)
    found: dict[int, RunningProcess] = {}
    waiting = [one for one in everybody if one.mark in wanted or (one.pid, one.began) in known_heads]
    while waiting:
        process = waiting.pop(0)
        if process.pid in found or (process.mark and process.mark not in wanted):
            continue
        found[process.pid] = process
        waiting += by_parent.get(process.pid, [])
    return list(found.values())


def with_ancestors(running: Iterable[RunningProcess], pid: int) -> set[int]:
    """The numbers of a process and of everything that it runs under: the caller, which nothing of ours may end."""
    parents = {process.pid: process.parent for process in running}
    found: set[int] = set()
    while pid > 0 and pid not in found:
        found.add(pid)
        pid = parents.get(pid, 0)
    return found

"""
Whose a process is: agents leave the number of theirs, and whatever they start runs under it (D26).

Pure. A process belongs to members for as long as it lives, whatever becomes of them: an agent that says goodbye, is
removed or becomes a person on paper is still the same agent. Nobody is let into a process of another member, except by
the lead of the team, whose program may host its teammates or start them.
"""

from __future__ import annotations

from atm.core.names import same_name
from atm.vendors.known import of_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from atm.team.rules.team import Team
    from atm.vendors.vendor import Vendor

SHELLS = ("sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "env", "timeout", "nice", "nohup", "setsid")
"""Programs that only start others: between an agent and the hook that it calls."""

INTERPRETERS = ("node", "bun", "deno")
"""What agents run in. A hook or a server that was started by neither these nor a vendor's program says nothing about a
process: it may be a person's editor, whose terminals are the person's."""


class ProcessOwner:
    """A member in one life."""

    __slots__ = ("joined_at", "member", "team")

    def __init__(self, team: str, member: str, joined_at: float | None) -> None:
        self.team = team
        self.member = member
        self.joined_at = joined_at

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProcessOwner) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def key(self) -> tuple[str, str, float | None]:
        return self.team, self.member, self.joined_at


def owner_in(team: Team, member: str) -> ProcessOwner:
    known = team.member(member)
    return ProcessOwner(team.name, member, known.joined_at if known is not None else None)


def may_join(above: Iterable[ProcessOwner], team: Team, member: str) -> bool:
    """May a process become this member's, which runs under processes of these?"""
    return all(
        same_name(one.team, team.name) and (same_name(one.member, member) or same_name(one.member, team.lead))
        for one in above
    )


def nearest_agent(commands: Iterable[tuple[int, str]]) -> int | None:
    """
    Of a process's ancestors and their command lines, nearest first: the agent that started it, if it was one.

    A process that only forked has the command line of its parent, and may be gone in a moment: the parent is meant.
    """
    found, agent = None, ""
    for pid, command in commands:
        if found is not None and command != agent:
            break
        program = program_in(command)
        if program in SHELLS:
            continue
        is_interpreter = program in INTERPRETERS
        if not is_interpreter and shared_server_in(command) is not None:
            break  # of several members: what one of them leaves there would be everybody's
        if pid <= 1 or not (is_interpreter or of_process(program) is not None):
            break
        found, agent = pid, command
    return found


def is_started_by(host: int, commands: Iterable[tuple[int, str]]) -> bool:
    """
    Was the agent of a hook, by whose ancestors it is known, started by this host itself? One that an agent started has
    a shell between: it inherits what the host told its own, and the host knows nothing of it. The first process of a
    machine is nobody's host: whatever has lost its parent runs under that.
    """
    has_agent = False
    for pid, command in commands:
        if pid == host:
            return has_agent and pid > 1
        is_shell = program_in(command) in SHELLS
        if has_agent and is_shell:
            return False
        has_agent = has_agent or not is_shell
    return False


def teammate_in(command: str) -> tuple[str, str] | None:
    """
    Name and team of a teammate that Claude Code has started in a pane, by its command line, words parted by NUL.

    It inherits the environment of its lead, whose names would say that it is the lead.
    """
    words = command.split("\0")
    for at, word in enumerate(words[:-1]):
        name, mark, team = words[at + 1].rpartition("@")
        if word == "--agent-id" and mark and name and team:
            return name, team
    return None


def shared_server_in(command: str) -> Vendor | None:
    """Whose server for any number of terminals is this, if it is one?"""
    vendor = of_process(program_in(command))
    server = vendor.shared_server if vendor is not None else None
    return vendor if server is not None and server.is_server(command.split("\0")) else None


def terminal_in(command: str) -> Vendor | None:
    """Whose program is this, in a terminal of its own before its shared server?"""
    vendor = of_process(program_in(command))
    server = vendor.shared_server if vendor is not None else None
    return vendor if server is not None and server.is_terminal(command.split("\0")) else None


def program_in(command: str) -> str:
    """The short name of what a command line, its words parted by NUL, runs: `node`, `claude`."""
    return command.partition("\0")[0].strip().rpartition("/")[2].lstrip("-")

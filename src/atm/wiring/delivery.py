"""The ways to agents on this machine."""

from __future__ import annotations

from atm.roster.services.teamroom import Teamroom

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.config import Settings
    from atm.delivery.ports.agent_sessions import AgentSessions
    from atm.delivery.ports.popups import Popups
    from atm.delivery.services.pushing import Channels
    from atm.files.formats.layout import Layout
    from atm.team.rules.endpoints import Endpoint
    from atm.team.rules.team import Team
    from atm.vendors.agent_servers import AgentServers
    from atm.vendors.moments import HookCall


def locate_session(room: Teamroom, call: HookCall, environment: Mapping[str, str]) -> Endpoint:
    """Where the session that calls runs: its pane, if it has one, and what is in front there."""
    from atm.delivery.adapters.tmux import TmuxTerminals, pane_of
    from atm.team.rules.endpoints import Endpoint

    url_pid = _listener(call.url) if call.url else None
    found = Endpoint(
        vendor=call.vendor,
        session=call.session,
        at=room.clock.now(),
        host=room.presence.host,
        boot=room.presence.boot,
        url=call.url if url_pid is not None else "",
        url_pid=url_pid,
        wakes_itself=call.wakes_itself,
    )
    at = pane_of(environment)
    pane = TmuxTerminals().pane(at) if at is not None else None
    if at is not None and pane is not None:
        found.server, found.pane, found.pane_pid, found.pane_command = at.server, at.pane, pane.pid, pane.command
    return found


def meet_terminal(room: Teamroom, team: Team, member: str, pid: int) -> None:
    """
    An agent's process has started its MCP server. A program that may share a server calls its first hook with the first
    prompt only: until then this is all that tells of it, and where it sits is in its own environment.
    """
    from atm.files.adapters.processes import command_of
    from atm.team.adapters.speaker import environment_of
    from atm.team.rules.agent_processes import terminal_in
    from atm.team.services.endpoints import sit_down
    from atm.vendors.known import every
    from atm.vendors.moments import START, HookCall

    every()  # also those of other packages
    vendor = terminal_in(command_of(pid))

    def locate() -> Endpoint | None:
        call = HookCall(vendor=vendor.name if vendor is not None else "", event="", moment=START)
        found = locate_session(room, call, environment_of(pid) or {})
        return found if found.pane else None

    if vendor is not None:
        sit_down(room, team, member, pid, "its MCP server", locate)


def _listener(url: str) -> int | None:
    """Which of the processes that this hook runs under has its server there. OpenCode names a port that is no one's."""
    import os

    from atm.files.adapters.listeners import listener_among
    from atm.files.adapters.processes import ancestors_of

    return listener_among(ancestors_of(os.getpid())[1:], url)


def environment_of_speaker(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The environment of this process, with the names of whoever really speaks in it."""
    import os

    from atm.team.adapters import speaker

    return speaker.environment_of_speaker(environment, os.getpid())


def commands_above(pid: int) -> list[tuple[int, str]]:
    """The processes that this one runs under, nearest first, and their command lines."""
    from atm.files.adapters.processes import ancestors_of, command_of

    return [(above, command_of(above)) for above in ancestors_of(pid)[1:]]


def build_channels(settings: Settings) -> Channels:
    """Terminals and servers of agents on this machine."""
    from atm.delivery.adapters.tmux import TmuxTerminals
    from atm.delivery.services.pushing import Channels

    return Channels(TmuxTerminals(), _server_of, panes_allowed=settings.yes("delivery.tmux"))


def _server_of(vendor: str) -> AgentServers | None:
    """What speaks with the own server of this vendor's agents."""
    from atm.vendors.known import get
    from atm.vendors.vendor import loaded

    known = get(vendor)
    made = loaded(known.agent_server) if known is not None and known.agent_server else None
    return made() if callable(made) else None


def build_popups(environment: Mapping[str, str]) -> Popups:
    """Windows before whoever sits at a terminal of this machine."""
    from atm.delivery.adapters.popups import TmuxPopups

    return TmuxPopups(environment)


def build_sessions(layout: Layout) -> AgentSessions:
    """What agents on this machine note about their sessions, whoever their vendors are."""
    from atm.delivery.services.noted_sessions import NotedSessions
    from atm.files.adapters.disk import RealDisk
    from atm.vendors.known import every
    from atm.vendors.vendor import loaded

    disk = RealDisk(layout.private_roots)
    readers = [loaded(vendor.session_notes) for vendor in every() if vendor.session_notes]
    return NotedSessions([reader(disk, layout) for reader in readers if callable(reader)])

"""The ways to agents on this machine."""

from __future__ import annotations

from atm.services.roster.teamroom import Teamroom

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.config import Settings
    from atm.domain.delivery.moments import HookCall
    from atm.domain.team.endpoints import Endpoint
    from atm.services.delivery.pushing import Channels


def locate_session(room: Teamroom, call: HookCall, environment: Mapping[str, str]) -> Endpoint:
    """Where the session that calls runs: its pane, if it has one, and what is in front there."""
    from atm.domain.team.endpoints import Endpoint
    from atm.system.delivery.tmux import TmuxTerminals, pane_of

    at = pane_of(environment)
    pane = TmuxTerminals().pane(at) if at is not None else None
    return Endpoint(
        vendor=call.vendor,
        session=call.session,
        at=room.clock.now(),
        host=room.presence.host,
        boot=room.presence.boot,
        server=at.server if at is not None and pane is not None else "",
        pane=at.pane if at is not None and pane is not None else "",
        pane_pid=pane.pid if pane is not None else None,
        pane_command=pane.command if pane is not None else "",
        url=call.url,
    )


def environment_of_speaker(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The environment of this process, with the names of whoever really speaks in it."""
    import os

    from atm.system.team import speaker

    return speaker.environment_of_speaker(environment, os.getpid())


def build_channels(settings: Settings) -> Channels:
    """Terminals and servers of agents on this machine."""
    from atm.services.delivery.pushing import Channels
    from atm.system.delivery.opencode import OpenCodeServers
    from atm.system.delivery.tmux import TmuxTerminals

    return Channels(TmuxTerminals(), OpenCodeServers(), panes_allowed=settings.yes("delivery.tmux"))

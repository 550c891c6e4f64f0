"""
The daemon as everybody else sees it: ask it, start it, end it, read its log. Part of the composition root.
"""

from __future__ import annotations

import os

from atm.files.adapters.machine import RealClock, host_name
from atm.wiring.files import build_locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from atm.access.ports import AccessTokens
    from atm.core.plain import Plain
    from atm.daemon.adapters.log import JsonLog
    from atm.daemon.adapters.otlp import Otlp
    from atm.daemon.adapters.seat import RunningDaemon
    from atm.daemon.ports import ServiceUnits
    from atm.files.formats.layout import Layout
    from atm.worksync.rules.identity import Trusted


def start_daemon(
    layout: Layout, environment: Mapping[str, str], *, wait: bool = False, seconds: float | None = None
) -> str:
    """Start the daemon unless it runs; what went wrong, or nothing. `seconds` to wait for it, if not the usual ones."""
    from atm.daemon.adapters.client import READY_SECONDS, start

    return start(layout, environment, wait=wait, seconds=READY_SECONDS if seconds is None else seconds)


def find_daemon(layout: Layout) -> RunningDaemon | None:
    """The daemon that serves this home, if one does."""
    from atm.daemon.adapters.seat import find_running

    return find_running(layout)


def find_mcp_socket(layout: Layout) -> str:
    """Where the daemon's MCP server listens, if it does."""
    from atm.daemon.adapters import mcp_socket

    return mcp_socket.find_mcp_socket(layout)


def stop_daemon(layout: Layout, seconds: float) -> str:
    """`stopped`, `killed` or `not running`."""
    from atm.daemon.adapters.client import stop

    return stop(layout, seconds)


def left_by_daemon(layout: Layout) -> list[str]:
    """What the daemon that ended last could not finish."""
    from atm.daemon.adapters.client import what_was_left

    return what_was_left(layout)


def listen_to_daemon(layout: Layout, fields: dict[str, Plain]) -> Iterator[dict[str, Plain]]:
    """Events as they happen; none if no daemon runs."""
    from atm.daemon.adapters.client import listen

    return listen(layout, fields)


def ask_daemon(
    layout: Layout, do: str, fields: dict[str, Plain] | None = None, seconds: float | None = None
) -> Plain | None:
    """What the daemon answers; None if none runs, or it is too slow. Who can do nothing without it waits for longer."""
    from atm.daemon.adapters.client import QUERY_SECONDS, ask

    return ask(layout, do, fields, QUERY_SECONDS if seconds is None else seconds)


def judge_report(
    layout: Layout, team: str, arguments: Mapping[str, Plain], trusted: Trusted
) -> dict[str, Plain] | None:
    """The daemon's verdict on a member's report; None if it cannot be had, and the report must be noted instead."""
    from atm.core.work_errors import DaemonTrouble

    knows: dict[str, Plain] = {"source": trusted.source, "team": trusted.team, "member": trusted.member}
    try:
        answer = ask_daemon(layout, "sync-report", {"team": team, "arguments": {**arguments}, "knows": knows})
    except DaemonTrouble:
        return None  # an older daemon, or one that is too slow: it will find the note
    return answer if isinstance(answer, dict) else None


def build_log(
    layout: Layout, *, least: str = "debug", also: Callable[[dict[str, Plain]], None] | None = None
) -> JsonLog:
    """The daemon's log. `also` hears every line as well: an exporter, or whoever counts errors."""
    from atm.daemon.adapters.log import JsonLog

    return JsonLog(layout.daemon_log, RealClock(), host=host_name(), pid=os.getpid(), least=least, also=also)


def build_exporter(endpoint: str) -> Otlp:
    """To an OpenTelemetry collector. Raises ImportError without the extra `otel`."""
    from atm.daemon.adapters.otlp import Otlp

    return Otlp(endpoint, host_name())


def has_daemon_log(layout: Layout) -> bool:
    from atm.daemon.adapters.log_reading import has_log

    return has_log(layout.daemon_log)


def read_daemon_log(
    layout: Layout,
    *,
    last: int | None = None,
    level: str | None = None,
    source: str | None = None,
    since: float | None = None,
) -> list[dict[str, Plain]]:
    """The newest lines of the daemon's log, oldest first."""
    from atm.daemon.adapters.log_reading import read_log

    return read_log(layout.daemon_log, last=last, level=level, source=source, since=since)


def follow_daemon_log(
    layout: Layout,
    *,
    last: int | None = 0,
    level: str | None = None,
    source: str | None = None,
    since: float | None = None,
    ended: Callable[[], bool] | None = None,
) -> Iterator[dict[str, Plain]]:
    """The same, then every new line, until `ended` says so; it is asked at least once a second."""
    from atm.daemon.adapters.log_reading import follow

    return follow(layout.daemon_log, last=last, level=level, source=source, since=since, ended=ended)


def build_units(environment: Mapping[str, str]) -> ServiceUnits:
    """What starts the daemon at log-in: systemd or launchd, whichever this machine has."""
    from atm.daemon.adapters.service_units import find_units

    return find_units(environment)


# Tokens for MCP over HTTP.


def build_access_tokens(layout: Layout) -> AccessTokens:
    from atm.access.adapters import AccessTokenFile

    locks = build_locks(layout)
    return AccessTokenFile(locks, layout)


def end_access(layout: Layout, team: str, member: str | None = None) -> list[str]:
    """The tokens of a life that is over open nothing any more; what kept us from taking them off the list."""
    from atm.access.services import revoke_all
    from atm.core.errors import AtmError

    try:
        revoke_all(build_access_tokens(layout), team, member)
    except AtmError as error:
        return [f"tokens of {member or 'the team'} could not be taken off the list: {error}"]
    return []


def can_tell_users() -> bool:
    """Does the system say which user a connection of this machine belongs to?"""
    from atm.daemon.adapters.loopback_peers import has_table

    return has_table()


def user_at(peer: tuple[str, int], here: tuple[str, int]) -> int | None:
    """The user at the other end of a connection of this machine, as far as the system tells."""
    from atm.daemon.adapters import loopback_peers

    return loopback_peers.user_at(peer, here)

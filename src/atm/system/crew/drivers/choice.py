"""Which driver speaks which protocol."""

from __future__ import annotations

from atm.domain.crew.runtimes import ACP, APP_SERVER, OPENCODE, PLAIN, STREAM_JSON
from atm.system.crew.drivers.acp import AcpDriver
from atm.system.crew.drivers.app_server import AppServerDriver
from atm.system.crew.drivers.opencode import OpenCodeDriver
from atm.system.crew.drivers.plain import PlainDriver
from atm.system.crew.drivers.stream_json import StreamJsonDriver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from atm.ports.crew.drivers import Brief, Driver


def build_driver(protocol: str, stdin: IO[bytes], stdout: IO[bytes], brief: Brief) -> Driver:
    """For a process that was just started. Raises ValueError for a protocol that no driver speaks."""
    if protocol == STREAM_JSON:
        return StreamJsonDriver(stdin, stdout, brief)
    if protocol == APP_SERVER:
        return AppServerDriver(stdin, stdout, brief)
    if protocol == ACP:
        return AcpDriver(stdin, stdout, brief)
    if protocol == OPENCODE:
        return OpenCodeDriver(stdin, stdout, brief)
    if protocol == PLAIN:
        return PlainDriver(stdin, stdout)
    raise ValueError(f"no driver speaks {protocol!r}")

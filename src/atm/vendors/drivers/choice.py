"""Which driver speaks which protocol."""

from __future__ import annotations

from atm.vendors.drivers.acp import AcpDriver
from atm.vendors.drivers.app_server import AppServerDriver
from atm.vendors.drivers.opencode import OpenCodeDriver
from atm.vendors.drivers.plain import PlainDriver
from atm.vendors.drivers.stream_json import StreamJsonDriver
from atm.vendors.runtimes import ACP, APP_SERVER, OPENCODE, PLAIN, STREAM_JSON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from atm.vendors.driver import Brief, Driver


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

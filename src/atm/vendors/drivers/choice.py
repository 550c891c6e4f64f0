"""Which driver speaks with a runtime's program."""

from __future__ import annotations

from atm.vendors.vendor import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from atm.vendors.driver import Brief, Driver
    from atm.vendors.runtime import Runtime


def build_driver(runtime: Runtime, stdin: IO[bytes], stdout: IO[bytes], brief: Brief) -> Driver:
    """For a process that was just started. Raises ValueError for a protocol that no driver speaks."""
    if not runtime.driver:
        raise ValueError(f"no driver speaks {runtime.protocol!r}")
    made: Driver = loaded(runtime.driver)(stdin, stdout, brief)  # type: ignore[operator]
    return made

"""What the process of a plugin tells its host: lines for the log, who it is, and how it ended."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping

from atm.core.plain import counted
from atm.teamd.plugins.api import PluginMetadata, Unsuitable
from atm.teamd.plugins.wire import END, LOG, Budget, LineWriter, known_level

LONGEST_TEXT = 8192
MOST_FIELDS = 32
BURST, PER_SECOND = 500.0, 50.0
"""Lines that a plugin may log at once, and each second on average."""


class LogLines:
    """Puts lines of a log on the wire, not too many and not too long."""

    def __init__(self, wire: LineWriter) -> None:
        self._wire = wire
        self._budget = Budget(BURST, PER_SECOND, time.monotonic())

    def __call__(self, level: str, text: str, fields: Mapping[str, object]) -> None:
        if not self._budget.allows(time.monotonic()):
            return
        lost = self._budget.take_dropped()
        if lost:
            self._wire.send(LOG, level="warn", text=f"dropped {counted(lost, 'line')}: it logs too much", fields={})
        plain = {str(key)[:64]: _plain(value) for key, value in list(fields.items())[:MOST_FIELDS]}
        self._wire.send(LOG, level=known_level(level), text=text[:LONGEST_TEXT], fields=plain)


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return _shown(value)[:1000]


def _shown(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - other people's __str__
        return f"<{type(value).__name__}>"


def describe_error(error: BaseException) -> str:
    said = _shown(error)
    return f"{type(error).__name__}: {said}"[:2000] if said else type(error).__name__


def tell_end(wire: LineWriter, phase: str, error: BaseException | None) -> None:
    """The last line: how it ended. A plugin that finds itself unsuitable has not failed."""
    if error is None:
        wire.send(END, phase=phase)
    elif isinstance(error, Unsuitable):
        wire.send(END, phase=phase, disabled=_shown(error)[:2000])
    else:
        trace = "".join(traceback.format_exception(error))[-LONGEST_TEXT:]
        wire.send(LOG, level="error", text=describe_error(error), fields={"phase": phase, "traceback": trace})
        wire.send(END, phase=phase, error=describe_error(error))


def introduction(metadata: PluginMetadata) -> dict[str, object]:
    """Who it is, as plain data."""
    return {
        "name": metadata.name,
        "version": str(metadata.version),
        "description": str(metadata.description),
        "capabilities": sorted({capability.value for capability in metadata.capabilities}),
    }

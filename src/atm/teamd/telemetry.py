"""
What the daemon tells an OpenTelemetry collector, if one is named: its log, the rounds of its loops, its events.

Nothing of it matters to the work: without a collector all of this does nothing, and with one that is away it drops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from atm.wiring.daemon import build_exporter

if TYPE_CHECKING:
    from atm.domain.events import TeamEvent
    from atm.domain.plain import Plain
    from atm.system.daemon.otlp import Otlp

CLOSING_SECONDS = 1.0


class Telemetry:
    """The exporter of the moment; the settings may name another one while the daemon runs."""

    def __init__(self, environment: Mapping[str, str], build: Callable[..., Otlp | None] = build_exporter) -> None:
        self._environment = environment
        self._build = build
        self._setting: str | None = None
        self._exporter: Otlp | None = None

    def use(self, setting: str) -> None:
        """The collector that the settings name; OpenTelemetry's own variables come first."""
        if setting == self._setting:
            return
        self.close()
        self._setting = setting
        self._exporter = self._build(self._environment, setting)

    def log(self, record: dict[str, Plain]) -> None:
        if self._exporter is not None:
            self._exporter.log(record)

    def round(self, loop: str, began: float, ended: float, ok: bool) -> None:
        """One round of a loop; times are seconds since 1970."""
        if self._exporter is not None:
            self._exporter.span(f"loop {loop}", began, ended, ok, loop=loop)
            self._exporter.count("atm.rounds", 1, loop=loop, ok=ok)

    def event(self, event: TeamEvent) -> None:
        if self._exporter is not None:
            self._exporter.count("atm.events", 1, kind=event.kind)

    def stats(self) -> dict[str, Plain] | None:
        return self._exporter.stats() if self._exporter is not None else None

    def close(self) -> None:
        if self._exporter is not None:
            self._exporter.close(CLOSING_SECONDS)
            self._exporter = None

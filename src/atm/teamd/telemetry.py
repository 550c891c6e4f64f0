"""
What the daemon tells an OpenTelemetry collector, if one is named: its log, the rounds of its loops, its events.

Nothing of it matters to the work: without a collector all of this does nothing, and with one that is away it drops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from atm.core.redaction import redact
from atm.setup.rules.installation import extra_command
from atm.wiring.daemon import build_exporter
from atm.wiring.setup import read_installation

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.daemon.adapters.otlp import Otlp
    from atm.events.rules import TeamEvent

CLOSING_SECONDS = 1.0


def endpoint_from(environment: Mapping[str, str], setting: str) -> str:
    """
    Where to send, from OpenTelemetry's own variables or else from a setting; empty for nowhere.

    The setting `off` switches the variables off too. A collector that is spoken to by gRPC is of no use to us.
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or setting == "off":
        return ""
    given = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()
    if environment.get("OTEL_EXPORTER_OTLP_PROTOCOL", "").strip().lower() == "grpc":
        given = ""
    endpoint = given or setting.strip()
    return endpoint if _is_address(endpoint) else ""


def _is_address(endpoint: str) -> bool:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(endpoint)
        parts.port  # noqa: B018 - raises for one that is no number
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)


class Telemetry:
    """The exporter of the moment; the settings may name another one while the daemon runs."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.problem = ""
        """Why there is no export though a collector is named."""
        self._environment = environment
        self._setting: str | None = None
        self._exporter: Otlp | None = None

    def use(self, setting: str) -> str:
        """The collector that the settings name; OpenTelemetry's own variables come first. What is wrong with it."""
        if setting == self._setting:
            return ""
        self.close()
        self._setting = setting
        self.problem = ""
        endpoint = endpoint_from(self._environment, setting)
        try:
            self._exporter = build_exporter(endpoint) if endpoint else None
        except ImportError as error:
            self.problem = (
                f"telemetry needs OpenTelemetry's SDK ({error}); "
                f"install it with: {extra_command(read_installation(), 'otel')}; then `atm daemon restart`"
            )
        except Exception as error:  # noqa: BLE001 - whatever the SDK does not like about its variables
            self.problem = redact(f"telemetry cannot begin: {type(error).__name__}: {error}")
        return self.problem

    def log(self, record: dict[str, Plain]) -> None:
        self._tell(lambda exporter: exporter.log(record))

    def round(self, loop: str, began: float, ended: float, ok: bool) -> None:
        """One round of a loop; times are seconds since 1970."""
        self._tell(lambda exporter: exporter.span(f"loop {loop}", began, ended, ok, loop=loop))
        self._tell(lambda exporter: exporter.count("atm.rounds", loop=loop, ok=ok))

    def event(self, event: TeamEvent) -> None:
        self._tell(lambda exporter: exporter.count("atm.events", kind=event.kind))

    def _tell(self, tell: Callable[[Otlp], None]) -> None:
        try:
            if self._exporter is not None:
                tell(self._exporter)
        except Exception:  # noqa: BLE001 - what cannot be told costs only itself
            pass

    def stats(self) -> dict[str, Plain] | None:
        return self._exporter.stats() if self._exporter is not None else None

    def close(self) -> None:
        if self._exporter is not None:
            self._exporter.close(CLOSING_SECONDS)
            self._exporter = None

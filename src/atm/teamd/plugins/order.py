"""What the host tells the process of a plugin to be: the first line on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from atm.files.formats.layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain


@dataclass(frozen=True, slots=True)
class PluginOrder:
    """One plugin in one place."""

    name: str
    target: str
    root: str
    repo: str | None
    claude_root: str
    config_root: str
    state_root: str
    config: dict[str, object] = field(default_factory=dict)
    beat_every: float = 1.0
    stop_within: float = 5.0
    look_every: float = 1.0

    @property
    def layout(self) -> Layout:
        return Layout(claude_root=self.claude_root, config_root=self.config_root, state_root=self.state_root)

    def fields(self) -> dict[str, object]:
        return asdict(self)


def order_from(fields: Mapping[str, Plain]) -> PluginOrder:
    """The order that `fields` made. It comes from our own host."""
    known = {key: value for key, value in fields.items() if key in PluginOrder.__slots__}
    return PluginOrder(**known)  # type: ignore[arg-type]
